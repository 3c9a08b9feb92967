// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * NewReno: additive increase, multiplicative decrease (RFC 5681, RFC 6582). The smallest complete controller.
 *
 * Differences from the RFCs: halving starts from the window, not from FlightSize, as Linux does.
 * Differences from crates/control/src/controllers/newreno.rs: windows are whole segments. A window that is halved is
 * rounded down, and congestion avoidance counts acknowledged segments until they make a window, so that it adds the
 * segment at the end of the round trip and not in shares.
 *
 * | equation | here |
 * | --- | --- |
 * | RFC 5681 (2), slow start | tcp_slow_start, of the kernel |
 * | RFC 5681 (3), cwnd += SMSS*SMSS/cwnd | tcp_cong_avoid_ai, of the kernel |
 * | RFC 5681 (4), ssthresh = max(FlightSize/2, 2*SMSS) | newreno_ssthresh |
 */
#include "ack.h"

/* Called when a loss, a mark or a timeout asks for a smaller window: the target of the stack's reduction. */
CALLBACK_1(u32, newreno_ssthresh, struct sock *, sk)
{
	return max_u64(tcp_sk(sk)->snd_cwnd / 2, 2);
}

/* Called for each ACK on which the window may grow. `acked` segments were delivered by it. */
CALLBACK_3(void, newreno_cong_avoid, struct sock *, sk, u32, ack, u32, acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	if (!is_window_limited(sk))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* Called when the last reduction turns out to be needless: the window to go on with. */
CALLBACK_1(u32, newreno_undo_cwnd, struct sock *, sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CONTROLLER("ack_newreno", .ssthresh = newreno_ssthresh, .cong_avoid = newreno_cong_avoid,
           .undo_cwnd = newreno_undo_cwnd);
