// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * YeAH-TCP (Baiocchi, Castellani and Vacirca, PFLDnet 2007, and Edwan 2010, section 7.3).
 *
 * | rule | here |
 * | --- | --- |
 * | Q and L, when the queue is long, what a loss takes | queue.h |
 * | fast mode: a segment for 100 or a window of them; slow mode: for a window | yeah_cong_avoid |
 * | decongestion, the virtual Reno window | decide |
 *
 * Differences from crates/control/src/controllers/yeah.rs (`Yeah::of_linux`): none.
 */
#include "queue.h"

/* In fast mode so many segments acknowledged add one, or a window of them if that is less (TCP_SCALABLE_AI_CNT). */
#define SCALABLE 100

PARAMETER(bool, slow_start, true);

PROBES(waiting, delay_ratio, virtual_window, slow_rounds, decongestions);

struct yeah {
	struct meter meter;
	u32 virtual_window;
	/* Round trips in slow mode in a row, and in fast mode. */
	u32 slow_rounds;
	u32 fast_rounds;
	u32 decongestions;
	u64 probe_turn;
};
PRIVATE_STATE(struct yeah);

/* A round trip ends. */
inline_always void decide(struct sock *sk, struct yeah *s)
{
	struct tcp_sock *tp = tcp_sk(sk);
	if (!is_queue_long(&s->meter)) {
		s->fast_rounds += 1;
		if (s->fast_rounds > zeta) {
			s->virtual_window = 2;
			s->fast_rounds = 0;
		}
		s->slow_rounds = 0;
		return;
	}
	if (s->meter.queue > q_max && tp->snd_cwnd > s->virtual_window) {
		tp->snd_cwnd = decongested(tp->snd_cwnd, s->meter.queue, s->virtual_window);
		tp->snd_ssthresh = tp->snd_cwnd;
		s->decongestions += 1;
	}
	s->virtual_window = next_virtual_window(s->virtual_window, tp->snd_cwnd);
	if (s->slow_rounds < ~0u)
		s->slow_rounds += 1;
}

CALLBACK_1(void, yeah_init, struct sock *, sk)
{
	struct yeah *s = state(sk);
	CLEAR(s);
	s->virtual_window = 2;
	forget_path(sk, &s->meter);
}

CALLBACK_2(void, yeah_pkts_acked, struct sock *, sk, const struct ack_sample *, sample)
{
	observe_rtt(&state(sk)->meter, sample);
}

CALLBACK_3(void, yeah_cong_avoid, struct sock *, sk, u32, ack, u32, acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah *s = state(sk);
	if (!is_window_limited(sk))
		return;
	if (slow_start && tp->snd_cwnd < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, s->slow_rounds ? tp->snd_cwnd : (u32)min_u64(tp->snd_cwnd, SCALABLE), acked);
	if (close_round(sk, &s->meter, ack))
		decide(sk, s);
	struct probe_record *out = probe_begin(sk, &s->probe_turn);
	if (!out)
		return;
	probe(out, waiting, s->meter.queue, 1);
	probe(out, delay_ratio, s->meter.delay, s->meter.base);
	probe(out, virtual_window, s->virtual_window, 1);
	probe(out, slow_rounds, s->slow_rounds, 1);
	probe(out, decongestions, s->decongestions, 1);
	probe_end(out);
}

CALLBACK_1(u32, yeah_ssthresh, struct sock *, sk)
{
	struct yeah *s = state(sk);
	s->fast_rounds = 0;
	s->virtual_window = max_u64(s->virtual_window / 2, 2);
	return threshold_after_loss(sk, &s->meter, s->slow_rounds);
}

CALLBACK_2(void, yeah_set_state, struct sock *, sk, u8, next)
{
	if (next == TCP_CA_Open || next == TCP_CA_Loss)
		restart_round(sk, &state(sk)->meter);
}

CALLBACK_2(void, yeah_cwnd_event, struct sock *, sk, u32, event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		forget_path(sk, &state(sk)->meter);
}

CALLBACK_1(u32, yeah_undo_cwnd, struct sock *, sk) { return tcp_reno_undo_cwnd(sk); }

CONTROLLER("ack_yeah", .init = yeah_init, .pkts_acked = yeah_pkts_acked, .cong_avoid = yeah_cong_avoid,
           .ssthresh = yeah_ssthresh, .set_state = yeah_set_state, .cwnd_event = yeah_cwnd_event,
           .undo_cwnd = yeah_undo_cwnd);
