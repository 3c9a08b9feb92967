// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * CDG, "CAIA Delay-Gradient" (Hayes and Armitage, "Revisiting TCP Congestion Control using Delay Gradients", IFIP
 * Networking 2011).
 *
 * | equation | here |
 * | --- | --- |
 * | (1) to (4), Figure 1: gradients, moving average, queue state | close_interval, queue_after |
 * | (5): probability of a back-off | backoff_probability |
 * | (6): window per RTT | back_off, on_ack |
 * | (7): shadow window | on_interval, resync_shadow |
 * | (8): window on a loss | on_loss |
 *
 * Notable differences from the paper: as in crates/control/src/controllers/cdg.rs.
 * Notable differences from crates/control/src/controllers/cdg.rs:
 * - Windows are in units of 2^-16 segments, parameters in units of 2^-32. A back-off rounds to the nearest. The kernel
 *   is given whole segments, rounded down.
 * - The probability (5) has an error below 2^-20, and the random number 32 bits.
 * - "In recovery" has the kernel's meaning.
 * - A change of `a` holds for connections that start after it.
 *
 * Ranges: RTTs are below an hour, windows below 2^31 segments.
 */
#include "events.h"

PARAMETER(u32, a, 8);
PARAMETER(span, G, 3 * MILLISECOND);
PARAMETER(real, beta_d, REAL(0.7));
PARAMETER(real, beta_l, REAL(0.5));
PARAMETER(u32, b, 5);
PARAMETER(u32, b_prime, 5);
PARAMETER(span, rtt_tick, MILLISECOND);
CHOICE(shadow_resync, before, before, after);
PARAMETER(bool, unknown_is_congestion, true);
PARAMETER(bool, hold_freezes_window, true);
PARAMETER(bool, loss_tolerance, true);
PARAMETER(bool, use_shadow, true);
PARAMETER(bool, loss_may_raise, true);
PARAMETER(bool, use_ineffectual, true);

PROBES(shadow_window, gradient_min_raw, gradient_max_raw, gradient_min, gradient_max, queue_state, interval,
       interval_rtt_min_ms,
       interval_rtt_max_ms, indications, backoffs, losses_tolerated, losses_congestion, losses_full);

/* The longest moving average. */
#define CAPACITY 64
#define LONGEST_RTT (3600 * SECOND)
/* On an exact clock, smoothed gradients smaller than this are zero to the queue state. */
#define FLAT (MILLISECOND / 16)

enum queue { QUEUE_UNKNOWN, QUEUE_FULL, QUEUE_EMPTY, QUEUE_RISING, QUEUE_FALLING };

/* The smallest and the largest RTT of an interval. None as long as max is 0. */
struct extremes {
	span min;
	span max;
};

/* The sum of the last `length` gradients, those before the first counted as zero. */
struct average {
	s64 ring[CAPACITY];
	s64 sum;
	s64 raw;
};

struct controller {
	struct events events;
	struct reno reno;
	/* s: the window that NewReno would have, 0 while not tracked. */
	segments shadow;

	struct extremes open;
	struct extremes last;
	struct average min;
	struct average max;
	u32 length;
	u32 oldest;
	/* The interval should end, but has no valid sample yet. */
	bool overdue;
	/* The last interval may be compared with. */
	bool comparable;
	u8 queue;

	/* The path was just relieved: until this segment is acknowledged the effect is not seen. */
	bool relieved;
	u32 relieved_until;
	/* k: congestion indications since a gradient was last negative. */
	u32 indications;
	/* Findings of on_signals for on_ack of the same ACK. */
	bool may_grow;
	bool interval_closed;

	bool can_restore;
	struct reno before;
	segments shadow_before;

	u64 intervals;
	u64 backoffs;
	u64 losses_tolerated;
	u64 losses_congestion;
	u64 losses_full;
};

/* P = 1 - exp(-g/G) (5), for a gradient g > 0 in nanoseconds. */
inline_always real backoff_probability(u64 g)
{
	const u64 one = 1ull << 30;
	if (G == 0 || g / 16 >= G)
		return 1ull << 32; /* e^-16 is 2^-23 */
	/* y = (g/G)/ln 2, in units of 2^-24. Then exp(-g/G) = 2^-y, of which whole halvings are shifts. */
	u64 y = ((g << 24) / G * 1549082005) >> 30; /* 2^30/ln 2 */
	/* u = ln 2 times the rest, below ln 2, in units of 2^-30. Its power series to u^8, error below 2^-23. */
	u64 u = ((y & 0xffffff) * 744261118) >> 24; /* 2^30 ln 2 */
	u64 t = one;
#pragma unroll
	for (u64 k = 8; k > 0; k--)
		t = one - ((u * t) >> 30) / k;
	return (one - (t >> (y >> 24))) << 2;
}

/* Figure 1: a filling queue that meets its limit clips the maximum first, a draining one that is empty the minimum. */
inline_always u8 queue_after(u8 queue, s64 min, s64 max)
{
	if (min > 0 && max <= 0)
		return QUEUE_FULL;
	if (min >= 0 && max < 0)
		return QUEUE_EMPTY;
	if (min > 0 && max > 0)
		return QUEUE_RISING;
	if (min < 0 && max < 0)
		return QUEUE_FALLING;
	return queue;
}

/* (1) to (4): a gradient drives the oldest out. */
inline_always void push(struct average *average, u32 at, s64 raw)
{
	s64 *slot = &average->ring[at % CAPACITY];
	average->raw = raw;
	average->sum += raw - *slot;
	*slot = raw;
}

/* On an exact clock, a sum below FLAT is zero. */
inline_always s64 flattened(s64 sum, u32 length)
{
	s64 flat = (s64)(FLAT * length);
	return rtt_tick == 0 && sum < flat && -sum < flat ? 0 : sum;
}

/* The smoothed gradient if it is positive, otherwise 0. */
inline_always u64 smoothed(const struct average *average, u32 length)
{
	return average->sum > 0 && length ? (u64)average->sum / length : 0;
}

/* The gradient that decides on a back-off: of the minimum before the maximum, and in slow start the raw ones before the
 * smoothed (section 3.2, footnote 2). 0 if none is positive. */
inline_always u64 deciding_gradient(const struct controller *s)
{
	bool slow_start = in_slow_start(&s->reno);
	if (slow_start && s->min.raw > 0)
		return s->min.raw;
	if (s->min.sum > 0)
		return smoothed(&s->min, s->length);
	if (slow_start && s->max.raw > 0)
		return s->max.raw;
	return smoothed(&s->max, s->length);
}

inline_always void resync_shadow(struct controller *s, segments before)
{
	s->shadow = max_u64(s->shadow, shadow_resync == shadow_resync_before ? before : s->reno.window); /* (7), first case */
}

/* A delay back-off (6), first case. */
inline_always void back_off(struct sock *sk, struct controller *s)
{
	s->reno.threshold = max_u64(scaled(s->reno.window, beta_d), MINIMUM);
	s->reno.window = min_u64(s->reno.window, s->reno.threshold);
	s->relieved = true;
	s->relieved_until = tcp_sk(sk)->snd_nxt;
	s->backoffs += 1;
}

/* Answers a congestion indication: backs off, holds, or, while an earlier reaction lasts, does nothing. Returns
 * whether that forbids the window to grow. */
inline_always bool react(struct sock *sk, struct controller *s)
{
	if (s->indications < ~0u)
		s->indications += 1;
	if (ca_state(sk) == TCP_CA_Recovery || s->relieved)
		return true;
	segments before = s->reno.window;
	if (!use_ineffectual || b_prime == 0 || s->indications <= b) {
		back_off(sk, s);
	} else {
		if (s->indications >= b + b_prime)
			s->indications = 0;
		if (!hold_freezes_window)
			return false;
	}
	s->comparable = false;
	resync_shadow(s, before);
	return true;
}

/* The end of an interval that gave gradients: whether it indicates congestion. */
inline_always bool on_interval(struct controller *s)
{
	u64 g = deciding_gradient(s);
	bool congested = g > 0 && random_u32() < backoff_probability(g); /* (6): X < P[backoff] */
	if (s->queue == QUEUE_EMPTY)
		s->shadow = 0; /* (7), second case */
	if (s->min.sum < 0 || s->max.sum < 0)
		s->indications = 0; /* the back-offs had effect */
	return congested;
}

/* Ends the interval. False if there was none before it to compare with. */
inline_always bool close_interval(struct controller *s)
{
	struct extremes before = s->last;
	bool comparable = s->comparable && s->intervals > 0;
	s->last = s->open;
	s->open = (struct extremes){0, 0};
	s->overdue = false;
	s->comparable = true;
	s->intervals += 1;
	if (!comparable)
		return false;
	push(&s->min, s->oldest, (s64)(s->last.min - before.min)); /* (1) */
	push(&s->max, s->oldest, (s64)(s->last.max - before.max)); /* (2) */
	s->oldest = s->oldest + 1 < s->length ? s->oldest + 1 : 0;
	s->queue = queue_after(s->queue, flattened(s->min.sum, s->length), flattened(s->max.sum, s->length));
	return true;
}

/* A clock with a tick reads the whole ticks in an RTT plus one. */
inline_always span on_clock(span rtt)
{
	rtt = min_u64(rtt, LONGEST_RTT);
	return rtt_tick == 0 ? rtt : (rtt / rtt_tick + 1) * rtt_tick;
}

/* ---- events ---- */

inline_always void on_start(struct sock *sk, struct controller *s)
{
	s->length = a > 1 ? min_u64(a, CAPACITY) : 1;
	s->shadow = s->reno.window;
}

inline_always void on_signals(struct sock *sk, struct controller *s)
{
	if (s->relieved && !is_after(s->relieved_until, tcp_sk(sk)->snd_una))
		s->relieved = false;
	if (s->events.rtt) {
		span rtt = on_clock(s->events.rtt);
		s->open.min = s->open.max ? min_u64(s->open.min, rtt) : rtt;
		s->open.max = max_u64(s->open.max, rtt);
	}
	s->overdue |= s->events.round_start;
	s->interval_closed = s->overdue && s->open.max;
	s->may_grow = true;
	if (s->interval_closed && close_interval(s) && on_interval(s))
		s->may_grow = !react(sk, s);
}

inline_always void on_ack(struct sock *sk, struct controller *s, u32 delivered)
{
	if (!s->may_grow || !is_window_limited(sk))
		return;
	segments before = s->reno.window;
	if (in_slow_start(&s->reno))
		s->reno.window = min_u64(before + WHOLE(delivered), s->reno.threshold);
	else if (s->interval_closed)
		s->reno.window += SEGMENT; /* (6), second case */
	if (s->shadow)
		s->shadow += s->reno.window - before;
}

inline_always void remember(struct controller *s)
{
	s->can_restore = true;
	s->before = s->reno;
	s->shadow_before = s->shadow;
}

/* Keeps beta_l of `from`. The shadow window changes as NewReno's would. */
inline_always void reduce(struct controller *s, segments from)
{
	s->reno.threshold = max_u64(scaled(from, beta_l), MINIMUM);
	if (!loss_may_raise)
		s->reno.threshold = max_u64(min_u64(s->reno.threshold, s->reno.window), MINIMUM);
	s->reno.window = min_u64(s->reno.threshold, from);
	s->shadow /= 2;
}

/* True if a loss now is no sign of congestion (section 3.3). */
inline_always bool tolerates_loss(const struct controller *s)
{
	bool congested = s->queue == QUEUE_FULL || (s->queue == QUEUE_UNKNOWN && unknown_is_congestion);
	return loss_tolerance && (!congested || s->relieved);
}

inline_always void on_loss(struct sock *sk, struct controller *s)
{
	remember(s);
	s->losses_full += s->queue == QUEUE_FULL;
	if (tolerates_loss(s)) {
		/* (8), second case: retransmit, no more. As ssthresh it ends slow start. */
		s->reno.threshold = max_u64(s->reno.window, MINIMUM);
		s->losses_tolerated += 1;
	} else {
		reduce(s, use_shadow ? max_u64(s->shadow, s->reno.window) : s->reno.window); /* (8), first case */
		s->losses_congestion += 1;
	}
}

inline_always void on_mark(struct sock *sk, struct controller *s)
{
	s->can_restore = false;
	reduce(s, s->reno.window);
	s->relieved = true;
	s->relieved_until = tcp_sk(sk)->snd_nxt;
}

inline_always void on_recovered(struct sock *sk, struct controller *s) { s->relieved = false; }

inline_always void on_timeout(struct sock *sk, struct controller *s, bool again)
{
	if (!again) {
		remember(s);
		s->shadow /= 2;
		s->reno.threshold = max_u64(s->reno.window / 2, MINIMUM);
	}
	s->reno.window = SEGMENT;
	s->comparable = false;
	CLEAR(&s->min);
	CLEAR(&s->max);
	s->oldest = 0;
	s->queue = QUEUE_UNKNOWN;
	s->indications = 0;
	s->relieved = false;
}

inline_always void on_spurious(struct sock *sk, struct controller *s)
{
	if (!s->can_restore)
		return;
	s->can_restore = false;
	restore(&s->reno, &s->before);
	s->shadow = max_u64(s->shadow, s->shadow_before);
}

/* Other flows change the queue during an idle time: the next difference is no gradient of one round trip. */
inline_always void on_idle_restart(struct sock *sk, struct controller *s) { s->comparable = false; }

inline_always void on_moved(struct sock *sk, struct controller *s) {}

inline_always void show(struct sock *sk, struct controller *s)
{
	struct probe_record *out = probe_begin_at(sk, &s->events.probe_turn, s->events.acked_at);
	if (!out)
		return;
	u64 average = MILLISECOND * (s->length ? s->length : 1);
	probe(out, shadow_window, s->shadow, SEGMENT);
	probe(out, gradient_min_raw, s->min.raw, MILLISECOND);
	probe(out, gradient_max_raw, s->max.raw, MILLISECOND);
	probe(out, gradient_min, s->min.sum, average);
	probe(out, gradient_max, s->max.sum, average);
	probe(out, queue_state, s->queue, 1);
	probe(out, interval, s->intervals, 1);
	probe(out, interval_rtt_min_ms, s->last.min, MILLISECOND);
	probe(out, interval_rtt_max_ms, s->last.max, MILLISECOND);
	probe(out, indications, s->indications, 1);
	probe(out, backoffs, s->backoffs, 1);
	probe(out, losses_tolerated, s->losses_tolerated, 1);
	probe(out, losses_congestion, s->losses_congestion, 1);
	probe(out, losses_full, s->losses_full, 1);
	probe_end(out);
}

#include "callbacks.h"

EVENT_CONTROLLER("ack_cdg");
