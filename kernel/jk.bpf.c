// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * JK: the slow start of 4.3BSD-Tahoe (Jacobson 1988, appendix B, and Dabbous 1992, section 2). Every loss leaves a
 * window of one segment, and slow start up to half the old window.
 *
 * | rule | here |
 * | --- | --- |
 * | W + 1 for each segment acknowledged up to the threshold, then W + 1/W | jk_cong_control |
 * | a loss, found by timer or duplicate ACKs: ssthresh = max(W/2, 2), W = 1 | jk_ssthresh, jk_set_state |
 *
 * Proportional rate reduction would bring the window to the threshold, so this is cong_control, which governs recovery.
 * A lost segment that was not sent again may leave beside the window: Tahoe sends it at once.
 *
 * Differences from crates/control/src/controllers/jk.rs: windows are whole segments, as in newreno.bpf.c.
 */
#include "ack.h"

PARAMETER(u32, max_window, 1000000);
PARAMETER(u32, initial_threshold, 1000000);

struct jk {
	u32 window;
	/* Everything below was acknowledged at the last ACK. */
	u32 acknowledged_to;
	/* The stack has been given a window that lets a lost segment leave. */
	bool raised;
	/* A threshold was asked for. */
	bool reduces;
};
PRIVATE_STATE(struct jk);

/* The window, which the stack may have changed (idle time, undo). */
inline_always void adopt(struct sock *sk, struct jk *s)
{
	if (!s->raised)
		s->window = tcp_sk(sk)->snd_cwnd;
}

inline_always u32 half(u32 window) { return max_u64(window / 2, 2); }

inline_always void slow_start_anew(struct sock *sk, struct jk *s)
{
	s->window = 1;
	s->raised = false;
	s->reduces = false;
	tcp_sk(sk)->snd_cwnd = 1;
	tcp_sk(sk)->snd_cwnd_cnt = 0;
}

/* As without cong_control (tcp_may_raise_cwnd), but also while a loss is repaired. After a mark the window stays until
 * all that was outstanding is acknowledged. */
inline_always bool may_grow(const struct sock *sk, const struct jk *s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	return ca_state(sk) != TCP_CA_CWR &&
	       (is_after(tp->snd_una, s->acknowledged_to) || tp->reordering > DEFAULT_REORDERING);
}

CALLBACK_1(void, jk_init, struct sock *, sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct jk *s = state(sk);
	tp->snd_cwnd = min_u64(tp->snd_cwnd, max_u64(max_window, 1));
	if (initial_threshold < 1000000)
		tp->snd_ssthresh = max_u64(initial_threshold, 2);
	s->window = tp->snd_cwnd;
	s->acknowledged_to = tp->snd_una;
	s->raised = false;
	s->reduces = false;
}

CALLBACK_1(u32, jk_ssthresh, struct sock *, sk)
{
	struct jk *s = state(sk);
	adopt(sk, s);
	s->reduces = true;
	return half(s->window);
}

CALLBACK_2(void, jk_set_state, struct sock *, sk, u8, next)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct jk *s = state(sk);
	if (next == TCP_CA_Loss && !s->reduces) {
		/* The timer of a window that was reduced already, which halves anew. Path-MTU discovery, too, enters this state
		 * without a threshold, and leaves the window alone. */
		if (ca_state(sk) != TCP_CA_Loss && !(is_reducing(sk) && tp->snd_cwnd == in_flight(sk) + 1))
			return;
		tp->snd_ssthresh = half(s->window);
	}
	if (next == TCP_CA_Loss || next == TCP_CA_Recovery || next == TCP_CA_CWR)
		slow_start_anew(sk, s);
}

CALLBACK_4(void, jk_cong_control, struct sock *, sk, u32, ack, int, flag, const struct rate_sample *, sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct jk *s = state(sk);
	adopt(sk, s);
	tp->snd_cwnd = s->window;
	if (may_grow(sk, s) && is_window_limited(sk)) {
		u32 acked = sample->acked_sacked;
		if (tp->snd_cwnd < tp->snd_ssthresh)
			acked = tcp_slow_start(tp, acked);
		if (acked)
			tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
	}
	s->acknowledged_to = tp->snd_una;
	s->window = min_u64(tp->snd_cwnd, max_u64(max_window, 1));
	s->raised = tp->lost_out && !tp->retrans_out && s->window <= in_flight(sk);
	tp->snd_cwnd = s->raised ? in_flight(sk) + 1 : s->window;
}

CALLBACK_1(u32, jk_undo_cwnd, struct sock *, sk)
{
	struct jk *s = state(sk);
	s->raised = false;
	return tcp_reno_undo_cwnd(sk);
}

CONTROLLER("ack_jk", .init = jk_init, .ssthresh = jk_ssthresh, .set_state = jk_set_state,
           .cong_control = jk_cong_control, .undo_cwnd = jk_undo_cwnd);
