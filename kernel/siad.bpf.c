// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * SIAD, "Scalable Increase Adaptive Decrease" (Kuehlewind, "TCP SIAD: Congestion Control supporting High Speed and Low
 * Latency", ETH TIK technical report 367, 2016).
 *
 * | equation (section III.A) | here |
 * | --- | --- |
 * | (1), (6): increase per ACK, Fast Increase | grow |
 * | (3): Scalable Increase | scalable_increase |
 * | (4), (5): target and trend | target_after |
 * | (7) to (9): Adaptive Decrease | without_backlog, regular_decrease |
 * | (10) to (14): window at the loss | window_at_loss |
 * | (15) to (19): Additional Decrease | additional_decrease |
 * | section III.B, base RTT | observe, guard_against_creeping |
 *
 * Notable differences from the paper: as in crates/control/src/controllers/siad.rs.
 * Notable differences from crates/control/src/controllers/siad.rs:
 * - `margin` is in units of 2^-32 segments, and the random number of `trend = random` has 32 bits. All else is computed
 *   as there, in the order given there: windows and thresholds meet alpha, targets and sums of both exactly, where the
 *   last bit decides.
 *
 * Ranges: RTTs are below an hour, windows below 2^31 segments.
 */
#include "binary64.h"
#include "events.h"

PARAMETER(u32, num_rtt, 20);
PARAMETER(span, num_ms, 0);
PARAMETER(real, margin, REAL(1));
PARAMETER(u32, min_cwnd, 2);
PARAMETER(bool, clamp_after_ad, false);
PARAMETER(bool, min_guard, false);
CHOICE(trend, paper, paper, none, random);
CHOICE(rtt_source, timestamp, timestamp, smoothed);

PROBES(alpha, incthresh, cmax, num_rtt, rtt_min_ms, rtt_curr_ms, cnt_dec, drained, region, event_case,
       overestimate, trend,
       ssthresh_at_event, events, additional_decreases);

/* RTTs closer than this are the same. */
#define TOLERANCE 999
/* No epoch is shorter, in RTTs. */
#define MIN_RTTS 2
/* A span that is not known yet. */
#define UNKNOWN (~0ull)
#define LONGEST_RTT (3600 * SECOND)
#define BURST 65536
#define RISES 3

enum region { SLOW_START = 1, LINEAR_INCREMENT, FAST_INCREASE };

/* State of the current congestion epoch, restored after a spurious loss. */
struct epoch {
	/* The target: below it Linear Increment, from it on Fast Increase. */
	binary64 incthresh;
	/* Segments per RTT. */
	binary64 alpha;
	/* cwnd_max: the window at the last congestion event. */
	binary64 cmax;
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
	binary64 credit;

	/* Before the last loss event. */
	bool can_restore;
	struct reno reno_before;
	struct epoch epoch_before;
	span of_epoch_before;
	span minimum_before;
	span risen_before[RISES + 1];
	u32 rises_before;

	/* The last regular decrease, for probes. */
	u32 event_case;
	binary64 overestimate;
	s64 trend;
	segments ssthresh_at_event;
	u64 decreases;
	u64 additional_decreases;
};

/* A window or threshold, which are whole numbers, as such a number, and back, rounded down. */
inline_always binary64 exact(segments w) { return from_whole(w >> 16); }
inline_always segments whole_down(binary64 w) { return WHOLE(floor_of(w)); }

/* For probes: in units of 2^-16. */
inline_always segments in_segments(binary64 w) { return floor_of(times(w, POWER(16))); }

/* a <= b, with the tolerance of the clock. */
inline_always bool at_most(span a, span b) { return a <= b || a - b <= TOLERANCE; }

/* Parts of a tick that a smoothed RTT has at least. */
#define LEAST_PARTS 32

/* The RTT rounded down to ticks, or to halves of halves of them. */
inline_always span in_parts(span rtt, u64 tick)
{
	u64 part = tick;
	for (u32 i = 0; i < 32 && part > 1 && LEAST_PARTS * part > rtt; i++)
		part /= 2;
	return rtt / part * part;
}

/* The RTT sample of an ACK, 0 if there is none. A sample by timestamps is at least a tick, as a shorter one would be no
 * time at all. The smoothed RTT is rounded down to whole ticks, too, so that an empty queue always has the same RTT.
 * On a short path it is rounded to parts of a tick. */
inline_always span rtt_now(const struct sock *sk)
{
	s64 by_timestamp = rtt_source == rtt_source_timestamp ? timestamp_rtt(sk) : -1;
	u64 tick = max_u64(timestamp_tick(sk), 1);
	if (by_timestamp >= 0)
		return max_u64(min_u64(by_timestamp, LONGEST_RTT), tick);
	return in_parts(min_u64(smoothed_rtt(sk), LONGEST_RTT), tick);
}

/* The window exceeds the threshold by more than alpha and `more`: by about one RTT of growth since it was reduced. */
inline_always bool has_grown(const struct controller *s, binary64 more)
{
	return exact(s->reno.window) > plus(plus(exact(s->reno.threshold), s->epoch.alpha), more);
}

/* Takes a sample. Returns whether it shows that the queue has been empty (section III.B). */
inline_always bool observe(struct controller *s, span sample)
{
	s->current = min_u64(sample, s->previous);
	s->previous = sample;
	if (at_most(sample, s->minimum)) {
		s->minimum = min_u64(sample, s->minimum);
		s->of_epoch = s->minimum;
		return true;
	}
	if (at_most(sample, s->of_epoch)) {
		s->of_epoch = min_u64(sample, s->of_epoch);
		if (has_grown(s, ONE)) {
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

/* The last congestion event was spurious: only later measurements stay. */
inline_always void take_event_back(struct controller *s)
{
	u32 count = min_u64(s->rises, RISES + 1);
	if (count && s->risen[(count - 1) % (RISES + 1)] == s->minimum)
		s->minimum = s->minimum_before;
	s->rises = s->rises_before;
	for (u32 i = 0; i < RISES + 1; i++)
		s->risen[i] = s->risen_before[i];
	s->of_epoch = s->of_epoch_before;
}

/* The part of `window` that the path itself holds: (7), window * RTT_min/RTT_curr, not rounded down. Needs a sample. */
inline_always binary64 without_backlog(const struct controller *s, binary64 window)
{
	return min_u64(over(times(window, from_whole(s->minimum)), from_whole(s->current)), window);
}

/* (target - from)/round_trips, at least one segment. */
inline_always binary64 climb(binary64 target, binary64 from, u32 round_trips)
{
	return max_u64(over(minus(target, from), from_whole(round_trips)), ONE);
}

/* (3): from ssthresh to the target in Num_RTT round trips, at least a segment in each and at most as in slow start. */
inline_always binary64 scalable_increase(const struct controller *s)
{
	binary64 threshold = exact(s->reno.threshold);
	return min_u64(climb(s->epoch.incthresh, threshold, s->epoch.rtts), max_u64(threshold, ONE));
}

/* In slow start alpha is the window. */
inline_always void double_in_slow_start(struct controller *s)
{
	if (in_slow_start(&s->reno))
		s->epoch.alpha = exact(s->reno.window);
}

/* Puts window and threshold where a reduction leaves them, with the alpha that goes with that. */
inline_always void set_window(struct controller *s, segments window, segments threshold)
{
	s->reno.window = window;
	s->reno.threshold = threshold;
	s->epoch.alpha = scalable_increase(s);
	double_in_slow_start(s);
}

struct growth {
	struct controller *s;
};

/* One segment more, if there is credit for it. True if there is none. */
static long grow_by_one(u32 index, void *context)
{
	struct controller *s = ((struct growth *)context)->s;
	struct epoch *e = &s->epoch;
	binary64 old = exact(s->reno.window), threshold = exact(s->reno.threshold), window = plus(old, ONE);
	binary64 step = e->alpha < old ? over(old, e->alpha) : ONE;
	if (s->credit < step)
		return 1;
	s->credit = minus(s->credit, step);
	s->reno.window += SEGMENT;
	e->grew = true;
	if (window < threshold)
		e->alpha = window; /* slow start: doubles in a round trip */
	else if (old < threshold)
		e->alpha = e->incthresh > threshold ? scalable_increase(s) : ONE;
	else if (old < e->incthresh && window >= e->incthresh)
		e->alpha = ONE; /* Fast Increase begins */
	else if (window > e->incthresh)
		e->alpha = min_u64(plus(e->alpha, ONE), max_u64(over(window, TWO), ONE)); /* (6) */
	return 0;
}

/* `delivered` segments more: the window grows by alpha a round trip (1), at most by one for each of them. */
inline_always void grow(struct controller *s, u32 delivered)
{
	struct growth growth = {s};
	s->credit = plus(s->credit, from_whole(delivered));
	/* Mostly it is by far not enough. Only within some units of the last place does the quotient decide. */
	if (times(s->credit, s->epoch.alpha) + 8 >= exact(s->reno.window))
		loop(BURST, grow_by_one, &growth);
}

/* (10) to (14): cwnd_max, the window about one RTT ago, when the loss happened. */
inline_always binary64 window_at_loss(struct controller *s)
{
	const struct epoch *e = &s->epoch;
	binary64 window = exact(s->reno.window), threshold = exact(s->reno.threshold), grown;
	if (!e->grew) {
		s->event_case = 0;
		grown = 0;
	} else if (window <= threshold || e->alpha >= window) {
		s->event_case = 5;
		grown = over(window, TWO);
	} else if (window > e->incthresh && e->alpha >= from_whole(floor_of(over(window, TWO)))) {
		s->event_case = 4;
		grown = over(window, from_whole(3));
	} else if (window >= e->incthresh && e->incthresh > threshold && e->alpha == ONE) {
		s->event_case = 3;
		grown = climb(e->incthresh, threshold, e->rtts);
	} else if (window > e->incthresh) {
		s->event_case = 2;
		grown = over(e->alpha, TWO);
	} else {
		s->event_case = 1;
		grown = e->alpha;
	}
	return max_u64(minus(window, grown), from_whole(min_cwnd));
}

/* (4): the next target, after a decrease to `threshold`: cwnd_max, now `cmax`, and (5), or its substitute. */
inline_always binary64 target_after(struct controller *s, binary64 cmax, binary64 threshold)
{
	binary64 up = 0, down = 0;
	if (trend == trend_paper) {
		up = minus(cmax, s->epoch.cmax);
		down = minus(s->epoch.cmax, cmax);
	} else if (trend == trend_random) {
		binary64 range = minus(cmax, threshold), random = rounded(random_u32(), -32);
		up = times(minus(random, POWER(-1)), range);
		down = times(minus(POWER(-1), random), range);
	}
	s->trend = (s64)in_segments(up) - (s64)in_segments(down);
	return max_u64(minus(plus(cmax, up), down), threshold);
}

/* A regular decrease: threshold and window, target, and the increase that leads there. */
inline_always void regular_decrease(struct controller *s)
{
	struct epoch *e = &s->epoch;
	s->can_restore = true;
	s->reno_before = s->reno;
	s->epoch_before = s->epoch;
	s->of_epoch_before = s->of_epoch;
	s->minimum_before = s->minimum;
	s->rises_before = s->rises;
	for (u32 i = 0; i < RISES + 1; i++)
		s->risen_before[i] = s->risen[i];
	s->credit = 0;
	if (min_guard)
		guard_against_creeping(s);
	binary64 cmax = window_at_loss(s), left = over(cmax, TWO);
	if (s->current != UNKNOWN)
		left = minus(from_whole(floor_of(without_backlog(s, cmax))), rounded(margin, -32)); /* (8) */
	segments threshold = max_u64(whole_down(left), WHOLE(min_cwnd));
	if (num_ms == 0) {
		e->rtts = max_u64(num_rtt, MIN_RTTS);
	} else if (s->current != UNKNOWN) {
		span mean = (s->minimum + s->current) / 2;
		e->rtts = max_u64(min_u64(num_ms / max_u64(mean, 1), ~0u), MIN_RTTS);
	}
	s->overestimate = minus(exact(s->reno.window), cmax);
	s->ssthresh_at_event = threshold;
	s->decreases += 1;
	e->incthresh = target_after(s, cmax, exact(threshold));
	e->cmax = cmax;
	set_window(s, min_u64(s->reno.window, threshold), threshold);
}

/* The window is down and a new epoch begins: Additional Decreases are due if `drained` is false. */
inline_always void begin_epoch(struct controller *s, bool drained)
{
	s->of_epoch = UNKNOWN;
	s->epoch.cnt_dec = 0;
	s->epoch.drained = drained;
	s->epoch.grew = false;
}

/* True if the queue has not been empty in the round trip since the last decrease. */
inline_always bool calls_for_additional_decrease(const struct controller *s)
{
	const struct epoch *e = &s->epoch;
	return !e->drained && has_grown(s, TWO) && e->cnt_dec + 1 < e->rtts && s->reno.window > WHOLE(min_cwnd);
}

/* Additional Decrease, by which the window loses its backlog and so much more that it can grow for a round trip with an
 * empty queue. `left` is the part of the window that the path itself held about one RTT ago. */
inline_always void additional_decrease(struct controller *s, binary64 left)
{
	struct epoch *e = &s->epoch;
	s->credit = 0;
	s->additional_decreases += 1;
	e->cnt_dec += 1;
	u32 remaining = e->rtts > e->cnt_dec ? e->rtts - e->cnt_dec : 1; /* round trips to the target */
	binary64 floor = from_whole(min_cwnd), lower = minus(left, rounded(margin, -32)), window, alpha; /* (15) */
	if (lower <= floor) {
		window = floor;
		alpha = climb(e->incthresh, floor, remaining);
	} else {
		binary64 red = over(lower, from_whole(remaining));                               /* (17) */
		binary64 alpha_new = climb(e->incthresh, lower, max_u64(remaining - 1, 1));         /* (18) */
		window = max_u64(from_whole(floor_of(minus(lower, max_u64(red, alpha_new)))), floor);  /* (16) */
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
	s->epoch.incthresh = s->epoch.alpha = s->epoch.cmax = exact(s->reno.window);
	s->epoch.rtts = max_u64(num_rtt, MIN_RTTS);
	s->epoch.drained = true;
	s->minimum = s->of_epoch = s->current = s->previous = UNKNOWN;
}

inline_always void on_signals(struct sock *sk, struct controller *s) {}

inline_always void on_ack(struct sock *sk, struct controller *s, u32 delivered)
{
	struct epoch *e = &s->epoch;
	span sample = rtt_now(sk);
	if (sample && observe(s, sample))
		e->drained = true;
	if (in_slow_start(&s->reno) || exact(s->reno.window) > e->incthresh)
		e->drained = true;
	if (!is_window_limited(sk))
		return;
	if (calls_for_additional_decrease(s) && s->current != UNKNOWN)
		additional_decrease(s, without_backlog(s, exact(s->reno.threshold)));
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
	s->reno.window = max_u64(s->reno.window, s->reno_before.window);
	s->reno.threshold = s->reno_before.threshold;
	s->epoch = s->epoch_before;
	take_event_back(s);
	double_in_slow_start(s);
}

inline_always void on_idle_restart(struct sock *sk, struct controller *s) {}

inline_always void on_moved(struct sock *sk, struct controller *s) { double_in_slow_start(s); }

inline_always void show(struct sock *sk, struct controller *s)
{
	struct probe_record *out = probe_begin_at(sk, &s->events.probe_turn, s->events.acked_at);
	if (!out)
		return;
	const struct epoch *e = &s->epoch;
	u32 region = in_slow_start(&s->reno)                    ? SLOW_START
		     : exact(s->reno.window) < e->incthresh ? LINEAR_INCREMENT
							    : FAST_INCREASE;
	probe(out, alpha, in_segments(e->alpha), SEGMENT);
	probe(out, incthresh, in_segments(e->incthresh), SEGMENT);
	probe(out, cmax, in_segments(e->cmax), SEGMENT);
	probe(out, num_rtt, e->rtts, 1);
	probe(out, rtt_min_ms, s->minimum == UNKNOWN ? 0 : s->minimum, MILLISECOND);
	probe(out, rtt_curr_ms, s->current == UNKNOWN ? 0 : s->current, MILLISECOND);
	probe(out, cnt_dec, e->cnt_dec, 1);
	probe(out, drained, e->drained, 1);
	probe(out, region, region, 1);
	probe(out, event_case, s->event_case, 1);
	probe(out, overestimate, in_segments(s->overestimate), SEGMENT);
	probe(out, trend, s->trend, SEGMENT);
	probe(out, ssthresh_at_event, s->ssthresh_at_event, SEGMENT);
	probe(out, events, s->decreases, 1);
	probe(out, additional_decreases, s->additional_decreases, 1);
	probe_end(out);
}

#include "callbacks.h"

EVENT_CONTROLLER("ack_siad");
