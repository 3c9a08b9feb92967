// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * DA, the Delay Algorithm (Dabbous, "Analysis of a delay based congestion avoidance algorithm", 1992).
 *
 * | equation | here |
 * | --- | --- |
 * | NDG = (dD/dW)/(D/W): end of slow start (section 3) | gradient_ends_slow_start |
 * | (D1): W = W * D_t/D_a, the window without queue (section 3) | decrease |
 * | (D2): D_t = min(D_t, D_a), the reference (section 3) | observe |
 * | (D3): decrease, hold or increase (section 3) | next_window |
 * | MAX-REDUCE: the reference is replaced (section 5.1) | decrease |
 * | minimal buffering, optimistic increase (section 5.2) | min_buffer, optimistic |
 *
 * Notable differences from the paper: as in crates/control/src/controllers/da.rs.
 * Notable differences from crates/control/src/controllers/da.rs:
 * - Windows are in units of 2^-16 segments, parameters in units of 2^-32. (D1) rounds to the nearest, with a relative
 *   error below 2^-31. The kernel is given whole segments, rounded down.
 * - NDG is compared in units of 2^-32, with an error below 2^-16.
 * - Delays come from the kernel in whole microseconds.
 * - A change of `last_m` or `reference` holds for connections that start after it.
 *
 * Ranges: delays are below an hour, windows at most max_window segments, that below 2^31.
 */
#include "events.h"

PARAMETER(real, K, REAL(1.25));
PARAMETER(real, ndg_threshold, REAL(0.5));
CHOICE(ndg_sign, above, above, below);
CHOICE(update_epochs, 2, 1, 2, interleaved);
PARAMETER(real, empty_queue, REAL(0.5));
PARAMETER(real, min_buffer, REAL(0));
PARAMETER(u32, max_reduce, 0);
PARAMETER(bool, optimistic, false);
PARAMETER(u32, max_window, 1000000);
CHOICE(reference, min, min, last);
PARAMETER(u32, last_m, 8);

PROBES(reference_delay_ms, delay_ms, ndg, phase, epoch, reductions, reductions_total, decreases, reference_renewals);

/* The longest memory. */
#define CAPACITY 64
#define LONGEST_DELAY (3600 * SECOND)

enum phase { SLOW_START = 1, AVOIDANCE = 2 };

struct controller {
	struct events events;
	/* W, and the threshold that a loss leaves. */
	struct reno reno;
	/* The window of the epoch before (W^i, while W is W^{i+1}). */
	segments previous_window;

	/* D_t; 0 before the first measurement. */
	span reference_delay;
	/* The last delays, for a reference that forgets (section 5.1). 0 is none. */
	span ring[CAPACITY];
	/* How many of them count. 0 if the reference never forgets. */
	u32 memory;
	u32 next;

	/* X: the head of window whose ACK ends the epoch. */
	u32 head;
	bool has_head;
	/* This epoch's head left before the last decision took effect. */
	bool settling;
	u8 phase;
	/* The delay of the ACK before, in slow start. 0 is none. */
	span last_delay;
	/* Decreases in a row. */
	u32 reductions;

	bool can_restore;
	u8 phase_before;
	struct reno before;

	span delay;
	s64 ndg;
	u64 epochs;
	u64 decreases;
	u64 losses;
	u64 renewals;
};

/* Takes a measurement into account (D2), and returns the reference. */
inline_always span observe(struct controller *s, span measured)
{
	span smallest = measured;
	if (s->memory == 0) {
		if (s->reference_delay)
			smallest = min_u64(smallest, s->reference_delay);
	} else {
		s->ring[s->next % CAPACITY] = measured;
		s->next = s->next + 1 < s->memory ? s->next + 1 : 0;
		for (u32 i = 0; i < CAPACITY; i++)
			if (s->ring[i])
				smallest = min_u64(smallest, s->ring[i]);
	}
	s->reference_delay = smallest;
	return smallest;
}

/* The path is another: earlier measurements no longer count (section 5.1). */
inline_always void replace_reference(struct controller *s, span measured)
{
	CLEAR(&s->ring);
	s->next = 0;
	s->reference_delay = 0;
	observe(s, measured);
}

/* NDG = (dD/dW)/(D/W), with the window before this ACK's `increase`, against its threshold. */
inline_always bool gradient_ends_slow_start(struct controller *s, span delay, u32 increase)
{
	if (increase == 0)
		return false;
	bool grows = delay > s->last_delay;
	span difference = grows ? delay - s->last_delay : s->last_delay - delay;
	u64 size;
	if (difference <= delay)
		size = scaled(s->reno.window, fraction(difference, delay));
	else
		size = s->reno.window * min_u64(difference / delay, CAPACITY); /* far below zero: how far does not matter */
	size = (size << 16) / increase;
	s->ndg = grows ? (s64)size : -(s64)size;
	return ndg_sign == ndg_sign_above ? s->ndg > (s64)ndg_threshold : s->ndg < (s64)ndg_threshold;
}

/* The next new packet is the first head of window. */
inline_always void begin_epochs(struct sock *sk, struct controller *s)
{
	s->previous_window = s->reno.window;
	s->head = tcp_sk(sk)->snd_nxt;
	s->has_head = true;
	s->settling = true;
}

inline_always void enter_avoidance(struct sock *sk, struct controller *s)
{
	s->phase = AVOIDANCE;
	begin_epochs(sk, s);
}

inline_always void enter_slow_start(struct controller *s)
{
	s->phase = SLOW_START;
	s->has_head = false;
	s->last_delay = 0;
	s->reductions = 0;
}

/* One segment an ACK, until the delay grows with the window. */
inline_always void slow_start(struct sock *sk, struct controller *s, span delay, u32 increase)
{
	if (delay) {
		s->delay = delay;
		observe(s, delay);
		if (s->last_delay && gradient_ends_slow_start(s, delay, increase)) {
			enter_avoidance(sk, s);
			return;
		}
	}
	s->last_delay = delay;
	s->reno.window = min_u64(s->reno.window + WHOLE(increase), WHOLE(max_window));
	if (s->reno.window >= min_u64(WHOLE(max_window), s->reno.threshold))
		enter_avoidance(sk, s);
}

/* (D1) and section 5.2: the window that leaves no queue, or a minimal one. */
inline_always segments decrease(struct controller *s, segments window, span smallest, span delay)
{
	s->decreases += 1;
	s->reductions += 1;
	if (s->reductions == max_reduce) {
		replace_reference(s, delay);
		s->renewals += 1;
		s->reductions = 0;
	}
	return scaled(window, fraction(smallest, delay)) + (min_buffer >> 16);
}

/* Packets in the queue: what the window has beyond that of (D1). */
inline_always segments queue(segments window, span reference, span delay)
{
	return delay > reference ? scaled(window, fraction(delay - reference, delay)) : 0;
}

/* (D3). */
inline_always segments next_window(struct controller *s, span delay)
{
	segments window = update_epochs == update_epochs_interleaved ? s->previous_window : s->reno.window;
	span old = s->reference_delay ? s->reference_delay : delay; /* D_t^i */
	span smallest = observe(s, delay);                          /* D_t^{i+1} */
	if (delay > scaled_down(old, K))
		return decrease(s, window, smallest, delay);
	s->reductions = 0;
	bool stable = queue(window, old, delay) > empty_queue >> 16;
	return stable && !optimistic ? window : window + SEGMENT;
}

/* The head of window took `delay`: the next new packet is the next head. */
inline_always void end_of_epoch(struct sock *sk, struct controller *s, span delay)
{
	s->head = tcp_sk(sk)->snd_nxt;
	s->epochs += 1;
	s->delay = delay;
	bool settling = s->settling;
	s->settling = !settling;
	if (settling && update_epochs == update_epochs_2) {
		observe(s, delay);
		return;
	}
	segments window = s->reno.window;
	segments next = min_u64(max_u64(next_window(s, delay), SEGMENT), WHOLE(max_window));
	s->reno.window = is_window_limited(sk) ? next : min_u64(next, window);
	s->previous_window = window;
}

inline_always void lose(struct controller *s)
{
	s->losses += 1;
	/* Half the window in whole segments, and slow start anew (Jacobson 1988, appendix B). */
	s->reno.threshold = max_u64(WHOLE(s->reno.window >> 17), MINIMUM);
	s->reno.window = SEGMENT;
	enter_slow_start(s);
}

inline_always void remember(struct controller *s)
{
	s->can_restore = true;
	s->before = s->reno;
	s->phase_before = s->phase;
}

/* ---- events ---- */

inline_always void on_start(struct sock *sk, struct controller *s)
{
	s->memory = reference == reference_last ? max_u64(min_u64(last_m, CAPACITY), 1) : 0;
	s->phase = SLOW_START;
	s->reno.window = min_u64(s->reno.window, WHOLE(max_window));
	s->previous_window = SEGMENT;
}

inline_always void on_signals(struct sock *sk, struct controller *s) {}

inline_always void on_ack(struct sock *sk, struct controller *s, u32 delivered)
{
	span delay = min_u64(s->events.rtt, LONGEST_DELAY);
	if (s->phase == SLOW_START)
		slow_start(sk, s, delay, is_window_limited(sk) ? delivered : 0);
	else if (!s->has_head)
		begin_epochs(sk, s);
	/* A head without a usable delay is replaced by the next packet that has one. */
	else if (delay && is_after(tcp_sk(sk)->snd_una, s->head))
		end_of_epoch(sk, s, delay);
}

inline_always void on_loss(struct sock *sk, struct controller *s)
{
	remember(s);
	lose(s);
}

inline_always void on_mark(struct sock *sk, struct controller *s) { on_loss(sk, s); }

inline_always void on_recovered(struct sock *sk, struct controller *s) {}

inline_always void on_timeout(struct sock *sk, struct controller *s, bool again)
{
	if (!again)
		remember(s);
	lose(s);
}

inline_always void on_spurious(struct sock *sk, struct controller *s)
{
	if (!s->can_restore)
		return;
	s->can_restore = false;
	restore(&s->reno, &s->before);
	s->phase = s->phase_before;
	s->has_head = false;
}

inline_always void on_idle_restart(struct sock *sk, struct controller *s) { enter_slow_start(s); }

inline_always void on_moved(struct sock *sk, struct controller *s) {}

inline_always void show(struct sock *sk, struct controller *s)
{
	struct probe_record *out = probe_begin_at(sk, &s->events.probe_turn, s->events.acked_at);
	if (!out)
		return;
	probe(out, reference_delay_ms, s->reference_delay, MILLISECOND);
	probe(out, delay_ms, s->delay, MILLISECOND);
	probe(out, ndg, s->ndg, 1ull << 32);
	probe(out, phase, s->phase, 1);
	probe(out, epoch, s->epochs, 1);
	probe(out, reductions, s->reductions, 1);
	probe(out, reductions_total, s->decreases + s->losses, 1);
	probe(out, decreases, s->decreases, 1);
	probe(out, reference_renewals, s->renewals, 1);
	probe_end(out);
}

#include "callbacks.h"

EVENT_CONTROLLER("ack_da");
