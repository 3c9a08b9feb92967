/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Functions of the kernel that a struct_ops file may declare as `__ksym`, and its configuration. A function of the file
 * with such a name is taken instead.
 */
#include "shim/types.h"

#define KFUNC __attribute__((weak, visibility("hidden")))

KFUNC unsigned long CONFIG_HZ = 250;

/* Slow start (RFC 5681): a segment for each acknowledged, not beyond the threshold. Returns how many are left. */
KFUNC u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 room = tp->snd_ssthresh > tp->snd_cwnd ? tp->snd_ssthresh - tp->snd_cwnd : 0;
	u32 step = acked < room ? acked : room;
	tp->snd_cwnd += step;
	return acked - step;
}

/* A segment more for every `w` acknowledged, counted in snd_cwnd_cnt. A count against a larger `w` gives one. */
KFUNC void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	if (w == 0)
		w = 1;
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd += 1;
	}
	tp->snd_cwnd_cnt += acked;
	tp->snd_cwnd += tp->snd_cwnd_cnt / w;
	tp->snd_cwnd_cnt %= w;
}

KFUNC u32 tcp_reno_ssthresh(struct sock *sk)
{
	u32 half = ((struct tcp_sock *)sk)->snd_cwnd / 2;
	return half > 2 ? half : 2;
}

KFUNC u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = (struct tcp_sock *)sk;
	return tp->snd_cwnd > tp->prior_cwnd ? tp->snd_cwnd : tp->prior_cwnd;
}

KFUNC void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	bool starts = tp->snd_cwnd < tp->snd_ssthresh;
	if (!(starts ? tp->snd_cwnd < 2 * tp->max_packets_out : tp->is_cwnd_limited))
		return;
	if (starts)
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}
