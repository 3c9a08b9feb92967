/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Parts that YeAH and TCP-Gentle share, as parts/queue_meter.rs and decongestion.rs of crates/control: the own segments
 * in the queue, estimated once a round trip from its smallest RTT, and how much of them a window gives up. All numbers
 * are whole: microseconds, one more than measured, and segments.
 */
#ifndef ACK_QUEUE_H
#define ACK_QUEUE_H

#include "ack.h"

PARAMETER(u32, q_max, 80);
PARAMETER(u32, phi, 8);
PARAMETER(u32, gamma, 1);
PARAMETER(u32, epsilon, 1);
PARAMETER(u32, delta, 3);
PARAMETER(u32, rho, 16);
PARAMETER(u32, zeta, 50);

/* No RTT yet. */
#define NO_RTT (~0u)
/* With fewer samples a round trip gives no estimate. */
#define ENOUGH 3

struct meter {
	/* The smallest RTT of all and of this round trip. */
	u32 base;
	u32 least;
	u32 samples;
	/* The round trip ends with an ACK beyond this sequence number. */
	u32 end;
	/* Q and the queueing delay of the last estimate. */
	u32 queue;
	u32 delay;
};

inline_always void restart_round(const struct sock *sk, struct meter *m)
{
	m->end = tcp_sk(sk)->snd_nxt;
	m->samples = 0;
	m->least = NO_RTT;
}

/* The path is measured anew. */
inline_always void forget_path(const struct sock *sk, struct meter *m)
{
	restart_round(sk, m);
	m->base = NO_RTT;
}

inline_always void observe_rtt(struct meter *m, const struct ack_sample *sample)
{
	s32 rtt = sample->rtt_us;
	if (rtt < 0)
		return;
	m->base = min_u64(m->base, (u32)rtt + 1);
	m->least = min_u64(m->least, (u32)rtt + 1);
	m->samples += 1;
}

/* True if the ACK that covers everything below `ack` ends a round trip with enough samples. Queue and delay are then
 * values of that round trip. */
inline_always bool close_round(const struct sock *sk, struct meter *m, u32 ack)
{
	if (!is_after(ack, m->end))
		return false;
	bool enough = m->samples >= ENOUGH;
	if (enough) {
		m->delay = m->least - m->base;
		m->queue = (u64)tcp_sk(sk)->snd_cwnd * m->delay / m->least;
	}
	restart_round(sk, m);
	return enough;
}

inline_always bool is_queue_long(const struct meter *m) { return m->queue > q_max || m->delay > m->base / phi; }

/* The window after a decongestion, not below `floor`. */
inline_always u32 decongested(u32 window, u32 queue, u32 floor)
{
	return max_u64(window - min_u64(queue / gamma, window >> epsilon), floor);
}

/* The threshold that a loss leaves after `rounds` round trips with a long queue. */
inline_always u32 threshold_after_loss(const struct sock *sk, const struct meter *m, u32 rounds)
{
	u32 window = tcp_sk(sk)->snd_cwnd, half = max_u64(window / 2, 2);
	u32 cut = rounds >= rho ? half : max_u64(min_u64(m->queue, half), window >> delta);
	return window > cut + 2 ? window - cut : 2;
}

/* The window that a Reno flow might have, one round trip with a long queue later. */
inline_always u32 next_virtual_window(u32 before, u32 window)
{
	return before <= 2 ? max_u64(window / 2, 2) : before + 1;
}

#endif
