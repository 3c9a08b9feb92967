// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * SIAD, "Scalable Increase Adaptive Decrease" (Kuehlewind, "TCP SIAD: Congestion Control supporting High Speed and Low Latency",
 * ETH TIK technical report 367, 2016).
 *
 * | equation (section III.A) | here |
 * | --- | --- |
 * | (1), (6): increase per ACK, Fast Increase | grow |
 * | (3): Scalable Increase | scalable_increase |
 * | (4), (5): trend | deviation, regular_decrease |
 * | (7) to (9): Adaptive Decrease | without_backlog, regular_decrease |
 * | (10) to (14): window at the loss | window_at_loss |
 * | (15) to (19): Additional Decrease | additional_decrease |
 * | section III.B, base RTT | observe, guard_against_creeping |
 *
 * Notable differences from the paper: those of crates/control/src/siad.rs.
 * Notable differences from crates/control/src/siad.rs:
 * - alpha, targets, windows at the loss and `margin` are in units of 2^-32 segments, and what an increase costs in units of 2^-24;
 *   products and quotients round to the nearest. What is smaller by the rounding of a 64-bit float there is a whole number here.
 * - The random number of `trend = random` has 32 bits.
 *
 * Ranges: RTTs are below an hour, windows and targets below 2^31 segments. (7) is exact but for its rounding for RTTs below 4 s, and
 * has a relative error below 2^-30 beyond; the cost of an increase has one below 2^-38 where alpha exceeds 256 segments.
 */
#include "events.h"

PARAMETER(u32, num_rtt, 20);
PARAMETER(span, num_ms, 0);
PARAMETER(real, margin, REAL(1));
PARAMETER(u32, min_cwnd, 2);
PARAMETER(bool, clamp_after_ad, false);
PARAMETER(bool, min_guard, false);
CHOICE(trend, paper, paper, none, random);
CHOICE(rtt_source, timestamp, timestamp, smoothed);

PROBES(alpha, incthresh, cmax, num_rtt, rtt_min_ms, rtt_curr_ms, cnt_dec, drained, region, event_case, overestimate, trend,
       ssthresh_at_event, events, additional_decreases);

/* RTTs closer than this are the same. */
#define TOLERANCE 999
/* No epoch is shorter, in RTTs. */
#define MIN_RTTS 2
/* In units of 2^-32 segments; below 2^31 segments. */
typedef u64 fine;
#define FINE(n) ((fine)(n) << 32)
/* Segments acknowledged, in units of 2^-24. */
typedef u64 credit;
#define CREDIT(n) ((credit)(n) << 24)

/* A span that is not known yet. */
#define UNKNOWN (~0ull)
#define LONGEST_RTT (3600 * SECOND)
#define BURST 65536
#define RISES 3

enum region { SLOW_START = 1, LINEAR_INCREMENT, FAST_INCREASE };

/* What belongs to the running congestion epoch, and what a spurious loss gives back. */
struct epoch {
	/* The target: below it Linear Increment, from it on Fast Increase. */
	fine incthresh;
	/* Segments per RTT. */
	fine alpha;
	/* cwnd_max: the window at the last congestion event. */
	fine cmax;
	/* Num_RTT. */
	u32 rtts;
	/* Additional Decreases so far. */
	u32 cnt_dec;
	/* No Additional Decrease any more: the queue was empty once, or there is nothing more to give. */
	bool drained;
	/* The window has grown since the last regular decrease was complete. */
	bool grew;
};

struct controller {
	struct events events;
	/* cwnd, a whole number, and ssthresh. */
	struct reno reno;
	struct epoch epoch;

	/* RTT_min: the RTT of the path while its queue is empty. No minimum over the connection: it also rises. */
	span minimum;
	/* RTT_epoch: the smallest sample since the last regular decrease. */
	span of_epoch;
	/* RTT_curr: the smaller one of the last two samples. */
	span current;
	span previous;
	/* The base RTTs of successive congestion events, as long as they rise. */
	span risen[RISES + 1];
	u32 rises;

	/* Segments acknowledged that have not yet grown the window. */
	credit credit;

	/* Before the last loss event. */
	bool can_restore;
	struct reno reno_before;
	struct epoch epoch_before;
	span of_epoch_before;

	/* The last regular decrease, for probes. */
	u32 event_case;
	fine overestimate;
	s64 deviation;
	segments ssthresh_at_event;
	u64 decreases;
	u64 additional_decreases;
};

/* A window as fine, and back, rounded down. */
inline_always fine refined(segments w) { return w << 16; }
inline_always segments whole_down(fine w) { return WHOLE(w >> 32); }

/* x/n, rounded to the nearest. */
inline_always fine share(fine x, u32 n) { return n ? (x + n / 2) / n : x; }

/* Whether a <= b on the clock. */
inline_always bool at_most(span a, span b) { return a <= b || a - b <= TOLERANCE; }

/* The RTT sample of an ACK; at least a tick, as a shorter one would be no time at all. 0 if there is none. */
inline_always span rtt_now(const struct sock *sk)
{
	u64 tick = most(timestamp_tick(sk), 1);
	s64 by_timestamp = rtt_source == rtt_source_timestamp ? timestamp_rtt(sk) : -1;
	if (by_timestamp >= 0)
		return most(least(by_timestamp, LONGEST_RTT), tick);
	u64 smoothed = least(smoothed_rtt(sk), LONGEST_RTT);
	return smoothed ? most(smoothed / tick * tick, tick) : 0;
}

/* Takes a sample; `grown` says that the window has grown for about one RTT since it was reduced. Returns whether the sample shows
 * that the queue has been empty (section III.B). */
inline_always bool observe(struct controller *s, span sample, bool grown)
{
	s->current = least(sample, s->previous);
	s->previous = sample;
	if (at_most(sample, s->minimum)) {
		s->minimum = least(sample, s->minimum);
		s->of_epoch = s->minimum;
		return true;
	}
	if (at_most(sample, s->of_epoch)) {
		s->of_epoch = least(sample, s->of_epoch);
		if (grown) {
			s->minimum = s->of_epoch;
			return true;
		}
	}
	return false;
}

/* A congestion event: a base RTT that rose over four events in a row goes back to where it rose from. */
inline_always void guard_against_creeping(struct controller *s)
{
	if (s->rises > RISES)
		s->rises = RISES;
	span last = s->rises ? s->risen[(s->rises - 1) % (RISES + 1)] : 0;
	if (s->rises && s->minimum == last)
		return;
	if (s->rises == RISES && s->minimum > last) {
		s->rises = 1;
		s->minimum = s->risen[0];
		return;
	}
	if (s->rises && s->minimum < last)
		s->rises = 0;
	s->risen[s->rises % (RISES + 1)] = s->minimum;
	s->rises += 1;
}

/* What of `window` the path itself holds: (7), window * RTT_min/RTT_curr, not rounded down. Not without a sample. */
inline_always fine without_backlog(const struct controller *s, fine window)
{
	return proportional(window, s->minimum, s->current);
}

/* (target - from)/round_trips, at least one segment. */
inline_always fine climb(fine target, fine from, u32 round_trips)
{
	return target > from ? most(share(target - from, round_trips), FINE(1)) : FINE(1);
}

/* (3): from ssthresh to the target in Num_RTT round trips, at least one segment in each and at most as in slow start. */
inline_always fine scalable_increase(const struct controller *s)
{
	fine threshold = refined(s->reno.threshold);
	return least(climb(s->epoch.incthresh, threshold, s->epoch.rtts), most(threshold, FINE(1)));
}

/* In slow start alpha is the window. */
inline_always void double_in_slow_start(struct controller *s)
{
	if (in_slow_start(&s->reno))
		s->epoch.alpha = refined(s->reno.window);
}

/* Puts window and threshold where a reduction leaves them, with the alpha that goes with that. */
inline_always void set_window(struct controller *s, segments window, segments threshold)
{
	s->reno.window = window;
	s->reno.threshold = threshold;
	s->epoch.alpha = scalable_increase(s);
	double_in_slow_start(s);
}

/* What one segment more costs: window/alpha, rounded to the nearest, but a segment at least. */
inline_always credit cost(fine window, fine alpha)
{
	if (alpha >= window || alpha == 0)
		return CREDIT(1);
	credit whole = CREDIT(window / alpha);
	fine rest = window % alpha;
	/* Brings alpha below 2^40, so that rest * 2^24 does not overflow. */
	if (alpha >> 48) {
		alpha >>= 16;
		rest >>= 16;
	}
	if (alpha >> 40) {
		alpha >>= 8;
		rest >>= 8;
	}
	return whole + ((rest << 24) + alpha / 2) / alpha;
}

struct growth {
	struct controller *s;
};

/* One segment more, if there is credit for it; returns whether there is not. */
static long grow_by_one(u32 index, void *context)
{
	struct controller *s = ((struct growth *)context)->s;
	struct epoch *e = &s->epoch;
	fine old = refined(s->reno.window), threshold = refined(s->reno.threshold), window = old + FINE(1);
	credit price = cost(old, e->alpha);
	if (s->credit < price)
		return 1;
	s->credit -= price;
	s->reno.window += SEGMENT;
	e->grew = true;
	if (window < threshold)
		e->alpha = window; /* slow start: doubles in a round trip */
	else if (old < threshold)
		e->alpha = e->incthresh > threshold ? scalable_increase(s) : FINE(1);
	else if (old < e->incthresh && window >= e->incthresh)
		e->alpha = FINE(1); /* Fast Increase begins */
	else if (window > e->incthresh)
		e->alpha = least(e->alpha + FINE(1), most(window / 2, FINE(1))); /* (6) */
	return 0;
}

/* `delivered` segments more: the window grows by alpha a round trip (1), at most by one for each of them. */
inline_always void grow(struct controller *s, u32 delivered)
{
	struct growth growth = {s};
	s->credit += CREDIT(delivered);
	loop(BURST, grow_by_one, &growth);
}

/* (10) to (14): cwnd_max, the window about one RTT ago, when the loss happened. */
inline_always fine window_at_loss(struct controller *s)
{
	const struct epoch *e = &s->epoch;
	fine window = refined(s->reno.window), threshold = refined(s->reno.threshold), grown;
	if (!e->grew) {
		s->event_case = 0;
		grown = 0;
	} else if (window <= threshold || e->alpha >= window) {
		s->event_case = 5;
		grown = window / 2;
	} else if (window > e->incthresh && e->alpha >= refined(whole_down(window / 2))) {
		s->event_case = 4;
		grown = share(window, 3);
	} else if (window >= e->incthresh && e->incthresh > threshold && e->alpha == FINE(1)) {
		s->event_case = 3;
		grown = climb(e->incthresh, threshold, e->rtts);
	} else if (window > e->incthresh) {
		s->event_case = 2;
		grown = e->alpha / 2;
	} else {
		s->event_case = 1;
		grown = e->alpha;
	}
	return most(window > grown ? window - grown : 0, FINE(min_cwnd));
}

/* What is added to cwnd_max, now `cmax`, to give the next target, after a decrease to `threshold`: (5), or what stands in for it. */
inline_always s64 deviation(const struct controller *s, fine cmax, fine threshold)
{
	if (trend == trend_none)
		return 0;
	if (trend == trend_paper)
		return (s64)cmax - (s64)s->epoch.cmax;
	fine range = cmax > threshold ? cmax - threshold : 0;
	return (s64)scaled(range, random_u32()) - (s64)(range / 2);
}

/* A regular decrease: threshold and window, target, and the increase that leads there. */
inline_always void regular_decrease(struct controller *s)
{
	struct epoch *e = &s->epoch;
	s->can_restore = true;
	s->reno_before = s->reno;
	s->epoch_before = s->epoch;
	s->of_epoch_before = s->of_epoch;
	s->credit = 0;
	if (min_guard)
		guard_against_creeping(s);
	fine cmax = window_at_loss(s);
	fine reduced = cmax / 2;
	if (s->current != UNKNOWN) {
		fine left = refined(whole_down(without_backlog(s, cmax)));
		reduced = left > margin ? left - margin : 0; /* (8) */
	}
	segments threshold = most(whole_down(reduced), WHOLE(min_cwnd));
	if (num_ms == 0) {
		e->rtts = most(num_rtt, MIN_RTTS);
	} else if (s->current != UNKNOWN) {
		span mean = (s->minimum + s->current) / 2;
		e->rtts = most(least(num_ms / most(mean, 1), ~0u), MIN_RTTS);
	}
	fine base = refined(threshold), window = refined(s->reno.window);
	s64 rise = deviation(s, cmax, base);
	s->overestimate = window > cmax ? window - cmax : 0;
	s->deviation = rise;
	s->ssthresh_at_event = threshold;
	s->decreases += 1;
	s64 target = (s64)cmax + rise; /* (4) */
	e->incthresh = target > (s64)base ? (fine)target : base;
	e->cmax = cmax;
	set_window(s, least(s->reno.window, threshold), threshold);
}

/* The window is down and a new epoch begins: Additional Decreases are due if `drained` is false. */
inline_always void begin_epoch(struct controller *s, bool drained)
{
	s->of_epoch = UNKNOWN;
	s->epoch.cnt_dec = 0;
	s->epoch.drained = drained;
	s->epoch.grew = false;
}

/* Whether the queue has not been empty in the round trip since the last decrease. */
inline_always bool calls_for_additional_decrease(const struct controller *s)
{
	const struct epoch *e = &s->epoch;
	bool late = refined(s->reno.window) > refined(s->reno.threshold) + e->alpha + FINE(2);
	return late && !e->drained && e->cnt_dec + 1 < e->rtts && s->reno.window > WHOLE(min_cwnd);
}

/* Additional Decrease, by which the window loses its backlog and so much more that it can grow for a round trip with an empty
 * queue. `left` is what the path itself holds of the window about one RTT ago. */
inline_always void additional_decrease(struct controller *s, fine left)
{
	struct epoch *e = &s->epoch;
	fine floor = FINE(min_cwnd), window, alpha;
	s->credit = 0;
	s->additional_decreases += 1;
	e->cnt_dec += 1;
	u32 remaining = e->rtts > e->cnt_dec ? e->rtts - e->cnt_dec : 1; /* round trips to the target */
	if (left <= floor + margin) {
		window = floor;
		alpha = climb(e->incthresh, floor, remaining);
	} else {
		fine lower = left - margin;                                                      /* (15) */
		fine red = share(lower, remaining);                                              /* (17) */
		fine alpha_new = climb(e->incthresh, lower, most(remaining - 1, 1));             /* (18) */
		fine off = most(red, alpha_new);
		window = most(refined(whole_down(lower > off ? lower - off : 0)), floor);        /* (16) */
		alpha = alpha_new > red ? alpha_new : climb(e->incthresh, window, remaining);    /* (19) */
	}
	e->drained = window == floor || alpha > window;
	e->alpha = clamp_after_ad && alpha > window ? window : alpha;
	s->reno.window = whole_down(window);
	s->reno.threshold = s->reno.window - SEGMENT;
}

/* ---- events ---- */

inline_always void on_start(struct sock *sk, struct controller *s)
{
	/* All at the initial window: the first phase is a slow start. */
	s->epoch.incthresh = s->epoch.alpha = s->epoch.cmax = refined(s->reno.window);
	s->epoch.rtts = most(num_rtt, MIN_RTTS);
	s->epoch.drained = true;
	s->minimum = s->of_epoch = s->current = s->previous = UNKNOWN;
}

inline_always void on_signals(struct sock *sk, struct controller *s) {}

inline_always void on_ack(struct sock *sk, struct controller *s, u32 delivered)
{
	struct epoch *e = &s->epoch;
	span sample = rtt_now(sk);
	if (sample) {
		bool grown = refined(s->reno.window) > refined(s->reno.threshold) + e->alpha + FINE(1);
		if (observe(s, sample, grown))
			e->drained = true;
	}
	if (in_slow_start(&s->reno) || refined(s->reno.window) > e->incthresh)
		e->drained = true;
	if (!is_window_limited(sk))
		return;
	if (calls_for_additional_decrease(s) && s->current != UNKNOWN)
		additional_decrease(s, without_backlog(s, refined(s->reno.threshold)));
	else
		grow(s, delivered);
}

inline_always void on_loss(struct sock *sk, struct controller *s) { regular_decrease(s); }

inline_always void on_mark(struct sock *sk, struct controller *s) { regular_decrease(s); }

inline_always void on_recovered(struct sock *sk, struct controller *s) { begin_epoch(s, false); }

inline_always void on_timeout(struct sock *sk, struct controller *s, bool again)
{
	if (!again)
		regular_decrease(s);
	s->credit = 0;
	set_window(s, SEGMENT, s->reno.threshold);
	begin_epoch(s, true);
}

inline_always void on_spurious(struct sock *sk, struct controller *s)
{
	if (!s->can_restore)
		return;
	s->can_restore = false;
	s->reno.window = most(s->reno.window, s->reno_before.window);
	s->reno.threshold = s->reno_before.threshold;
	s->epoch = s->epoch_before;
	s->of_epoch = s->of_epoch_before;
	double_in_slow_start(s);
}

inline_always void on_idle_restart(struct sock *sk, struct controller *s) {}

inline_always void on_moved(struct sock *sk, struct controller *s) { double_in_slow_start(s); }

inline_always void show(struct sock *sk, struct controller *s)
{
	struct probe_record *out = probe_begin(sk, &s->events.probed_at);
	if (!out)
		return;
	const struct epoch *e = &s->epoch;
	u32 region = in_slow_start(&s->reno)             ? SLOW_START
		     : refined(s->reno.window) < e->incthresh ? LINEAR_INCREMENT
						     : FAST_INCREASE;
	probe(out, alpha, e->alpha, FINE(1));
	probe(out, incthresh, e->incthresh, FINE(1));
	probe(out, cmax, e->cmax, FINE(1));
	probe(out, num_rtt, e->rtts, 1);
	probe(out, rtt_min_ms, s->minimum == UNKNOWN ? 0 : s->minimum, MILLISECOND);
	probe(out, rtt_curr_ms, s->current == UNKNOWN ? 0 : s->current, MILLISECOND);
	probe(out, cnt_dec, e->cnt_dec, 1);
	probe(out, drained, e->drained, 1);
	probe(out, region, region, 1);
	probe(out, event_case, s->event_case, 1);
	probe(out, overestimate, s->overestimate, FINE(1));
	probe(out, trend, s->deviation, FINE(1));
	probe(out, ssthresh_at_event, s->ssthresh_at_event, SEGMENT);
	probe(out, events, s->decreases, 1);
	probe(out, additional_decreases, s->additional_decreases, 1);
	probe_end(out);
}

#include "callbacks.h"

EVENT_CONTROLLER("ack_siad");
