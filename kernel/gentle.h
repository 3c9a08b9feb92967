/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TCP-Gentle (Edwan, thesis, Loughborough 2010, chapter 7) in version VERSION, 1 or 2, as the including file defines.
 *
 * | rule | here |
 * | --- | --- |
 * | Q and L, when the queue is long, what a loss takes | queue.h |
 * | thrust, damping | thrust, damp |
 * | decongestion, resets, AG and NP | decongest, count_epoch |
 * | growth by alpha segments a round trip (listing 7.1) | gentle_cong_avoid |
 *
 * Differences from crates/control/src/controllers/linux/gentle_1.rs: none.
 */
#include "queue.h"

PARAMETER(u32, tpq, 0);
PARAMETER(real, alpha_gh, REAL(2));
PARAMETER(real, alpha_gl, REAL(0.1));
PARAMETER(bool, alpha_floor, false);
PARAMETER(real, alpha_rocket, REAL(2));
PARAMETER(real, alpha_max, REAL(20));
PARAMETER(u32, np_min, 1);
PARAMETER(u32, np_max, 7);
PARAMETER(u32, ag_min, 1);
PARAMETER(u32, ag_max, 8);
PARAMETER(u32, v, 2);
PARAMETER(bool, ag_reset_on_np, false);
PARAMETER(u32, reset_threshold, 3);
PARAMETER(bool, slow_start, false);

PROBES(alpha, waiting, delay_ratio, np, ag, virtual_window, reno_rounds, decongestions);

struct gentle {
	struct meter meter;
	/* Segments a round trip, in units of 2^-16. */
	u64 alpha;
	u32 np;
	u32 ag;
	/* Round trips of thrust in a row. */
	u32 fuel;
	u32 virtual_window;
	u32 reno_rounds;
	u32 gentle_rounds;
	/* Decongestions in a row. */
	u32 resets;
	u32 largest_window;
	u32 decongestions;
	u64 probe_turn;
};
PRIVATE_STATE(struct gentle);

/* Nothing is known of the queue: no damping yet. */
inline_always void begin_anew(struct gentle *s)
{
	s->np = np_min;
	s->ag = ag_min;
	s->alpha = (VERSION == 2 ? alpha_rocket : alpha_gh) >> 16;
	if (VERSION == 2) {
		s->fuel = 0;
		s->largest_window = 2;
	}
}

inline_always void count_epoch(struct gentle *s)
{
	if (s->ag < ag_max) {
		s->ag += 1;
	} else if (s->np < np_max) {
		s->np += 1;
		if (ag_reset_on_np)
			s->ag = ag_min;
	} else {
		s->ag = ag_min;
	}
}

/* The window gives up its part of the queue. */
inline_always void decongest(struct sock *sk, struct gentle *s)
{
	struct tcp_sock *tp = tcp_sk(sk);
	tp->snd_cwnd = decongested(tp->snd_cwnd, s->meter.queue, s->virtual_window);
	tp->snd_ssthresh = tp->snd_cwnd;
	s->decongestions += 1;
	s->fuel = 0;
	bool again;
	if (VERSION == 2) {
		again = 2 * tp->snd_cwnd < s->largest_window;
	} else {
		s->resets += 1;
		again = s->resets > reset_threshold;
	}
	if (again)
		begin_anew(s);
	count_epoch(s);
}

inline_always void thrust(struct gentle *s)
{
	if (s->fuel < 1u << 20)
		s->fuel += 1;
	s->alpha = min_u64(s->fuel * (alpha_rocket >> 16), alpha_max >> 16);
}

/* The increase with a queue up to Q_max. A longer one leaves it. */
inline_always void damp(struct gentle *s)
{
	if (s->meter.queue <= q_max) {
		u64 damped = s->meter.queue;
		for (u32 power = 0; power < 4; power++)
			if (power < v)
				damped *= s->np;
		s->alpha = min_u64((alpha_gh >> 16) * q_max / max_u64(damped, 1), alpha_gh >> 16);
		if (alpha_floor)
			s->alpha = max_u64(s->alpha, alpha_gl >> 16);
		s->fuel = 0;
	} else if (VERSION == 1) {
		s->fuel = 0;
	}
}

/* A round trip ends: the mode, and the increase for the next one. */
inline_always void decide(struct sock *sk, struct gentle *s)
{
	struct tcp_sock *tp = tcp_sk(sk);
	s->largest_window = max_u64(s->largest_window, tp->snd_cwnd);
	if (is_queue_long(&s->meter)) {
		if (s->meter.queue > q_max && tp->snd_cwnd > s->virtual_window)
			decongest(sk, s);
		s->virtual_window = next_virtual_window(s->virtual_window, tp->snd_cwnd);
		if ((VERSION == 1 || tp->snd_cwnd <= s->virtual_window) && s->reno_rounds < ~0u)
			s->reno_rounds += 1;
	} else {
		s->resets = 0;
		s->reno_rounds = 0;
		s->gentle_rounds += 1;
		if (s->gentle_rounds > zeta) {
			s->virtual_window = 2;
			s->gentle_rounds = 0;
		}
	}
	if (s->reno_rounds) {
		s->alpha = SEGMENT;
	} else if (VERSION == 2) {
		thrust(s);
		if (s->meter.queue && s->np > np_min)
			damp(s);
	} else if (s->meter.queue > tpq) {
		damp(s);
	} else {
		thrust(s);
	}
}

CALLBACK_1(void, gentle_init, struct sock *, sk)
{
	struct gentle *s = state(sk);
	CLEAR(s);
	s->virtual_window = s->largest_window = 2;
	begin_anew(s);
	forget_path(sk, &s->meter);
}

CALLBACK_2(void, gentle_pkts_acked, struct sock *, sk, const struct ack_sample *, sample)
{
	observe_rtt(&state(sk)->meter, sample);
}

CALLBACK_3(void, gentle_cong_avoid, struct sock *, sk, u32, ack, u32, acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct gentle *s = state(sk);
	if (!is_window_limited(sk))
		return;
	if (slow_start && tp->snd_cwnd < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	if (acked) {
		tp->snd_cwnd_cnt += acked;
		u64 grown = (tp->snd_cwnd_cnt * s->alpha) >> 16;
		if (grown >= tp->snd_cwnd) {
			tp->snd_cwnd += (u32)(grown / max_u64(tp->snd_cwnd, 1));
			tp->snd_cwnd_cnt = 0;
		}
	}
	if (close_round(sk, &s->meter, ack))
		decide(sk, s);
	struct probe_record *out = probe_begin(sk, &s->probe_turn);
	if (!out)
		return;
	probe(out, alpha, s->alpha, SEGMENT);
	probe(out, waiting, s->meter.queue, 1);
	probe(out, delay_ratio, s->meter.delay, s->meter.base);
	probe(out, np, s->np, 1);
	probe(out, ag, s->ag, 1);
	probe(out, virtual_window, s->virtual_window, 1);
	probe(out, reno_rounds, s->reno_rounds, 1);
	probe(out, decongestions, s->decongestions, 1);
	probe_end(out);
}

CALLBACK_1(u32, gentle_ssthresh, struct sock *, sk)
{
	struct gentle *s = state(sk);
	s->gentle_rounds = 0;
	s->virtual_window = max_u64(s->virtual_window / 2, 2);
	begin_anew(s);
	return threshold_after_loss(sk, &s->meter, s->reno_rounds);
}

CALLBACK_2(void, gentle_set_state, struct sock *, sk, u8, next)
{
	if (next == TCP_CA_Loss)
		state(sk)->fuel = 0;
	if (next == TCP_CA_Open || next == TCP_CA_Loss)
		restart_round(sk, &state(sk)->meter);
}

CALLBACK_2(void, gentle_cwnd_event, struct sock *, sk, u32, event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		forget_path(sk, &state(sk)->meter);
}

CALLBACK_1(u32, gentle_undo_cwnd, struct sock *, sk) { return tcp_reno_undo_cwnd(sk); }

#define GENTLE(called)                                                                                                 \
	CONTROLLER(called, .init = gentle_init, .pkts_acked = gentle_pkts_acked, .cong_avoid = gentle_cong_avoid,             \
		   .ssthresh = gentle_ssthresh, .set_state = gentle_set_state, .cwnd_event = gentle_cwnd_event,                \
		   .undo_cwnd = gentle_undo_cwnd)
