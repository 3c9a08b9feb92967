/* Template: a segment more a round trip, and a share of the window less for a loss, for the kernel and the simulator.
 *
 * Try it: `ackclock compare newreno ./template.bpf.c`, and on this machine's kernel `ackclock kernel load
 * ./template.bpf.c`. docs/kernel-controllers.md describes controllers in C.
 */
#include "ack.h"

PARAMETER(real, beta, REAL(0.7)); /* share of the window kept on a loss */

/* A loss, a mark or a timeout: the reduced window. */
CALLBACK_1(u32, template_ssthresh, struct sock *, sk)
{
	return max_u64(scaled_down(tcp_sk(sk)->snd_cwnd, beta), 2);
}

/* An ACK of `acked` segments, on which the window may grow. */
CALLBACK_3(void, template_cong_avoid, struct sock *, sk, u32, ack, u32, acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	if (!is_window_limited(sk))
		return;
	if (tp->snd_cwnd < tp->snd_ssthresh)
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

/* The last reduction was spurious. */
CALLBACK_1(u32, template_undo_cwnd, struct sock *, sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CONTROLLER("template", .ssthresh = template_ssthresh, .cong_avoid = template_cong_avoid,
	   .undo_cwnd = template_undo_cwnd);
