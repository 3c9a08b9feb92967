/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The helpers that the kernel's selftests keep in bpf_tracing_net.h, and before Linux 6.10 in bpf_tcp_helpers.h: a file
 * that includes either, and has none beside it, gets this one.
 */
#ifndef __BPF_TRACING_NET_H__
#define __BPF_TRACING_NET_H__
#define __BPF_TCP_HELPERS_H

#include "shim/libbpf.h"

#define TCP_CA_NAME_MAX 16
#define TCP_CONG_NEEDS_ECN 2
#define TCP_ECN_OK 1
#define TCP_ECN_QUEUE_CWR 2
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_SEEN 8
#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define SOL_TCP 6
#define TCP_CONGESTION 13

#define BPF_STRUCT_OPS(name, ...) SEC("struct_ops") BPF_PROG(name, ##__VA_ARGS__)
#define ACK_TCP_OPS(name, result, ...) result BPF_PROG(name, __VA_ARGS__)
#define BPF_TCP_OPS_1(name, result, t0, a0) ACK_TCP_OPS(name, result, t0 a0)
#define BPF_TCP_OPS_2(name, result, t0, a0, t1, a1) ACK_TCP_OPS(name, result, t0 a0, t1 a1)
#define BPF_TCP_OPS_3(name, result, t0, a0, t1, a1, t2, a2) ACK_TCP_OPS(name, result, t0 a0, t1 a1, t2 a2)

#ifndef tcp_jiffies32
#define tcp_jiffies32 ((u32)bpf_jiffies64())
#endif

#ifndef min
#define min(a, b) ((a) < (b) ? (a) : (b))
#endif
#ifndef max
#define max(a, b) ((a) > (b) ? (a) : (b))
#endif
#ifndef min_not_zero
#define min_not_zero(a, b) ((a) == 0 ? (b) : (b) == 0 ? (a) : min(a, b))
#endif
#define do_div(number, by)                                                                                             \
	({                                                                                                                    \
		u32 rest_ = (number) % (by);                                                                                   \
		(number) /= (by);                                                                                              \
		rest_;                                                                                                         \
	})

inline_always struct inet_connection_sock *inet_csk(const struct sock *sk) { return (struct inet_connection_sock *)sk; }
inline_always void *inet_csk_ca(const struct sock *sk) { return inet_csk(sk)->icsk_ca_priv; }
inline_always struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)sk; }
inline_always bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }
#define after(a, b) before(b, a)
inline_always bool tcp_in_slow_start(const struct tcp_sock *tp) { return tp->snd_cwnd < tp->snd_ssthresh; }

inline_always bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	return tcp_in_slow_start(tp) ? tp->snd_cwnd < 2 * tp->max_packets_out : tp->is_cwnd_limited;
}

inline_always u32 tcp_snd_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd; }
inline_always void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 window) { tp->snd_cwnd = window; }

inline_always u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u8 state = inet_csk(sk)->icsk_ca_state;
	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, tp->snd_cwnd / 2 + tp->snd_cwnd / 4);
}

extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);

#endif
