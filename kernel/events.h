/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The state that a controller in terms of events has besides its own. The controller includes this file first, defines
 * `struct controller` with members `struct events events` and `struct reno reno`, then the events as functions, and
 * includes callbacks.h last.
 */
#ifndef ACK_EVENTS_H
#define ACK_EVENTS_H

#include "ack.h"

/* Window and threshold (RFC 5681, section 3.1). */
struct reno {
	segments window;
	segments threshold;
};

#define MINIMUM WHOLE(2) /* RFC 5681, equation 4 */

inline_always bool in_slow_start(const struct reno *reno) { return reno->window < reno->threshold; }

/* Takes back a reduction: window and threshold are at least as large as before it. */
inline_always void restore(struct reno *reno, const struct reno *before)
{
	reno->window = max_u64(reno->window, before->window);
	reno->threshold = max_u64(reno->threshold, before->threshold);
}

struct events {
	bool started;
	struct rtt_sampler sampler;
	/* The sample of the present ACK, 0 if it has none. */
	span rtt;
	/* The present ACK covers, cumulatively or by SACK, the first segment sent after the last ACK that did. */
	bool round_start;
	u32 round_end;
	/* ssthresh was asked for. */
	bool pending;
	bool timed_out;
	bool undone;
	bool echo;
	/* Window and threshold as this controller last left them to the kernel: others mean that the stack changed them. */
	u32 window;
	u32 threshold;
	/* When the present ACK came, microseconds, and whether its probes are still to be reported. */
	u64 acked_at;
	bool owing;
	u64 probe_turn;
};

#endif
