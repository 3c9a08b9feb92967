/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Turns the kernel's callbacks into the events of crates/control, so that a controller reads like its file there. The
 * kernel asks for a threshold (ssthresh) before it gives the cause. The callback that follows at once shows the cause,
 * and reports the event:
 *
 * | kernel | event |
 * | --- | --- |
 * | pkts_acked | on_signals: every ACK |
 * | cong_avoid | on_ack: the only event on which the window may grow |
 * | ssthresh, set_state(Recovery) | on_loss |
 * | ssthresh, set_state(CWR) without an echoed mark | on_loss: a tail loss probe repaired a loss |
 * | ssthresh, set_state(CWR) after an ACK with ECE | on_mark |
 * | set_state(Open) after Recovery or CWR | on_recovered |
 * | ssthresh, cwnd_event(LOSS) | on_timeout, the first of a row |
 * | set_state(Loss) without these | on_timeout again, or in a window of data that was already reduced |
 * | set_state(Loss) of path-MTU discovery | none: it resends and leaves the window alone |
 * | undo_cwnd | on_spurious |
 * | cwnd_event(CWND_RESTART) | on_idle_restart |
 *
 * After on_loss and on_mark the stack reduces to the controller's window. Differences from the transport of the
 * simulator: the ACK that ends recovery may grow the window. After a timeout the window is the kernel's, one more than
 * is in flight. After idle time it is halved for each timeout that passed.
 *
 * The controller defines these as functions of (struct sock *sk, struct controller *s): on_start, on_signals,
 * on_ack(..., u32 delivered), on_loss, on_mark, on_recovered, on_timeout(..., bool again), on_spurious,
 * on_idle_restart, on_moved (the stack changed the window), show (probes).
 */
#ifndef ACK_CALLBACKS_H
#define ACK_CALLBACKS_H

#include "events.h"

STORED_STATE(struct controller);

inline_always u32 whole(segments w) { return (u32)max_u64(1, w >> 16); }

/* The state of a connection that was started. While it is established, the kernel calls already. */
inline_always struct controller *started(struct sock *sk)
{
	struct controller *s = state(sk);
	return s && s->events.started ? s : 0;
}

inline_always void publish_threshold(struct sock *sk, struct controller *s)
{
	s->events.threshold = whole(max_u64(s->reno.threshold, MINIMUM));
	tcp_sk(sk)->snd_ssthresh = s->events.threshold;
}

/* Window and threshold to the kernel. Not to be called while the stack reduces. No window is above snd_cwnd_clamp,
 * which a route may set. */
inline_always void publish(struct sock *sk, struct controller *s)
{
	s->reno.window = min_u64(s->reno.window, WHOLE(max_u64(tcp_sk(sk)->snd_cwnd_clamp, 1)));
	s->events.window = whole(s->reno.window);
	tcp_sk(sk)->snd_cwnd = s->events.window;
	publish_threshold(sk, s);
}

/* The stack now reduces to the controller's window. */
inline_always void publish_target(struct sock *sk, struct controller *s)
{
	tcp_sk(sk)->snd_ssthresh = whole(min_u64(s->reno.window, s->reno.threshold));
}

/* Adopts the window and the threshold that the stack changed since the last ACK. */
inline_always void adopt(struct sock *sk, struct controller *s)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool moved = false;
	if (tp->snd_cwnd != s->events.window) {
		s->reno.window = WHOLE(tp->snd_cwnd);
		s->events.window = tp->snd_cwnd;
		moved = true;
	}
	if (tp->snd_ssthresh != s->events.threshold) {
		s->reno.threshold = WHOLE(tp->snd_ssthresh);
		s->events.threshold = tp->snd_ssthresh;
		moved = true;
	}
	if (moved)
		on_moved(sk, s);
}

/* Before an event outside of a reduction: the values that the stack changed hold. After an undo it raised the threshold
 * to three quarters of the window. The controller restores its own. */
inline_always void take_over(struct sock *sk, struct controller *s)
{
	if (is_reducing(sk))
		return;
	if (s->events.undone)
		publish_threshold(sk, s);
	s->events.undone = false;
	adopt(sk, s);
}

/* Probes: the state after the present ACK so far. */
inline_always void tell(struct sock *sk, struct controller *s)
{
	if (PROBES_AT_ONCE)
		show(sk, s);
}

/* The present ACK is over. A build without a callback at the end of an ACK shows its probes at the next event, before
 * that event changes them. */
inline_always void settle(struct sock *sk, struct controller *s)
{
	if (PROBES_AT_ONCE || !s->events.owing)
		return;
	s->events.owing = false;
	show(sk, s);
}

inline_always void start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct controller *s = state(sk);
	if (!s)
		return;
	/* A connection may come from another controller, and come back. */
	CLEAR(s);
	s->reno.window = WHOLE(tp->snd_cwnd);
	s->reno.threshold = WHOLE(tp->snd_ssthresh);
	s->events.round_end = tp->snd_nxt;
	s->events.started = true;
	on_start(sk, s);
	publish(sk, s);
}

CALLBACK_1(void, ack_init, struct sock *, sk) { start(sk); }

CALLBACK_2(void, ack_pkts_acked, struct sock *, sk, const struct ack_sample *, sample)
{
	struct controller *s = started(sk);
	if (!s)
		return;
	settle(sk, s);
	s->events.acked_at = tcp_sk(sk)->tcp_mstamp;
	s->events.owing = true;
	bool reducing = is_reducing(sk);
	take_over(sk, s);
	s->events.rtt = rtt_sample(&s->events.sampler, sk, sample);
	s->events.round_start = is_after(delivered_to(sk), s->events.round_end);
	if (s->events.round_start)
		s->events.round_end = tcp_sk(sk)->snd_nxt;
	on_signals(sk, s);
	if (reducing)
		publish_target(sk, s);
	else
		publish(sk, s);
	tell(sk, s);
}

CALLBACK_2(void, ack_in_ack_event, struct sock *, sk, u32, flags)
{
	struct controller *s = started(sk);
	if (s)
		s->events.echo = flags & CA_ACK_ECE;
}

/* There was no memory for the state: NewReno until there is. */
inline_always void grow_without_state(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	start(sk);
	if (started(sk) || !is_window_limited(sk))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

CALLBACK_3(void, ack_cong_avoid, struct sock *, sk, u32, ack, u32, acked)
{
	struct controller *s = started(sk);
	if (!s) {
		grow_without_state(sk, acked);
		return;
	}
	adopt(sk, s);
	on_ack(sk, s, acked);
	publish(sk, s);
	tell(sk, s);
	settle(sk, s);
}

CALLBACK_1(u32, ack_ssthresh, struct sock *, sk)
{
	struct controller *s = started(sk);
	if (s) {
		/* Idle time may have cut the window since the last ACK. */
		take_over(sk, s);
		s->events.pending = true;
	}
	return max_u64(tcp_sk(sk)->snd_cwnd / 2, 2);
}

CALLBACK_2(void, ack_set_state, struct sock *, sk, u8, next)
{
	struct controller *s = started(sk);
	if (!s)
		return;
	struct events *events = &s->events;
	bool pending = events->pending;
	events->pending = false;
	if (next == TCP_CA_Loss) {
		/* Path-MTU discovery resends in this state, too, and leaves the window alone. It enters the state but once,
		 * and where nothing was reduced, a timeout would have asked for a threshold. During a reduction a timeout
		 * leaves one segment more than is in flight. */
		bool repeated = ca_state(sk) == TCP_CA_Loss ||
				(is_reducing(sk) && tcp_sk(sk)->snd_cwnd == in_flight(sk) + 1);
		if (!events->timed_out && repeated) {
			on_timeout(sk, s, true);
			events->window = whole(s->reno.window);
			publish_threshold(sk, s);
		}
		events->timed_out = false;
	} else if (next == TCP_CA_CWR || next == TCP_CA_Recovery) {
		if (!pending)
			return;
		events->undone = false;
		if (next == TCP_CA_CWR && events->echo)
			on_mark(sk, s);
		else
			on_loss(sk, s);
		publish_target(sk, s);
	} else if (is_reducing(sk) && !events->undone) {
		on_recovered(sk, s);
	}
	tell(sk, s);
}

CALLBACK_2(void, ack_cwnd_event, struct sock *, sk, u32, event)
{
	struct controller *s = started(sk);
	if (!s)
		return;
	if (event == CA_EVENT_LOSS && s->events.pending) {
		settle(sk, s);
		s->events.pending = false;
		s->events.undone = false;
		s->events.timed_out = true;
		on_timeout(sk, s, false);
		publish(sk, s);
	} else if (event == CA_EVENT_COMPLETE_CWR) {
		publish(sk, s);
	} else if (event == CA_EVENT_CWND_RESTART) {
		on_idle_restart(sk, s);
	}
}

CALLBACK_1(u32, ack_undo_cwnd, struct sock *, sk)
{
	struct controller *s = started(sk);
	if (!s)
		return tcp_reno_undo_cwnd(sk);
	on_spurious(sk, s);
	s->events.pending = false;
	s->events.undone = true;
	publish(sk, s);
	return s->events.window;
}

#define EVENT_CONTROLLER(called)                                                                                       \
	CONTROLLER(called, .init = ack_init, .pkts_acked = ack_pkts_acked, .in_ack_event = ack_in_ack_event,                  \
		   .cong_avoid = ack_cong_avoid, .ssthresh = ack_ssthresh, .set_state = ack_set_state,                         \
		   .cwnd_event = ack_cwnd_event, .undo_cwnd = ack_undo_cwnd)

#endif
