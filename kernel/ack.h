/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The front door for a congestion controller in C. The same file runs in the Linux kernel, as BPF struct_ops, and
 * natively in the simulator. All that it needs of the kernel comes through here:
 *
 * - struct sock, tcp_sk(sk), inet_csk(sk)   the connection, with the kernel's names for its fields
 * - CALLBACK_n(...), CONTROLLER(...)         the callbacks of struct tcp_congestion_ops, and its name
 * - FUNCTION(...)                            a function of two numbers, too long to be put in wherever it is called
 * - PRIVATE_STATE(type), STORED_STATE(type)  state of a connection: state(sk)
 * - PARAMETER(...), CHOICE(...)              parameters: settable by name, before and while flows run
 * - PROBES(...), probe_begin, probe, probe_end   named internals for traces
 * - ca_state, is_reducing, is_window_limited, is_after, delivered_to, random_u32
 * - loop                                     a loop of many rounds
 * - rtt_sample, timestamp_rtt, timestamp_tick, smoothed_rtt   measurements
 * - real, span, segments and their arithmetic
 *
 * newreno.bpf.c is the example to copy. events.h is for controllers that are written in terms of events (loss, timeout,
 * mark), like the controllers of crates/control, rather than of the kernel's callbacks.
 */
#ifndef ACK_H
#define ACK_H

/* ENUMERATE(x_, a, b) is x_a, x_b, with a comma at the end. */
#define ACK_PARENTHESES ()
#define ACK_EXPAND(...) ACK_EXPAND_1(ACK_EXPAND_1(ACK_EXPAND_1(__VA_ARGS__)))
#define ACK_EXPAND_1(...) ACK_EXPAND_2(ACK_EXPAND_2(ACK_EXPAND_2(__VA_ARGS__)))
#define ACK_EXPAND_2(...) ACK_EXPAND_3(ACK_EXPAND_3(ACK_EXPAND_3(__VA_ARGS__)))
#define ACK_EXPAND_3(...) __VA_ARGS__
#define ACK_ENUMERATE(prefix, first, ...) prefix##first, __VA_OPT__(ACK_AGAIN ACK_PARENTHESES(prefix, __VA_ARGS__))
#define ACK_AGAIN() ACK_ENUMERATE
#define ENUMERATE(prefix, ...) ACK_EXPAND(ACK_ENUMERATE(prefix, __VA_ARGS__))

#ifdef __bpf__
#include "bpf.h"
#else
#include "shim/shim.h"
#endif

/* ---- the connection ---- */

/* The state of the connection: TCP_CA_Open and so on. */
inline_always u8 ca_state(const struct sock *sk) { return BITFIELD(inet_csk(sk), icsk_ca_state); }

/* In fast recovery, or reducing for a mark: the stack leads the window down to snd_ssthresh (proportional rate
 * reduction). */
inline_always bool is_reducing(const struct sock *sk)
{
	u8 now = ca_state(sk);
	return now == TCP_CA_CWR || now == TCP_CA_Recovery;
}

/* Segments in flight (pipe, RFC 6675). */
inline_always u32 in_flight(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	return tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
}

/* Sequence number a comes after b. */
inline_always bool is_after(u32 a, u32 b) { return (s32)(a - b) > 0; }

/* The window was filled, or in slow start at least half filled: without this it must not grow (RFC 7661). */
inline_always bool is_window_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	if (BITFIELD(tp, is_cwnd_limited))
		return true;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* The threshold of duplicate ACKs without reordering (net.ipv4.tcp_reordering). */
#define DEFAULT_REORDERING 3

/* The highest sequence number that is known to be delivered, cumulatively or by SACK. */
inline_always u32 delivered_to(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	return is_after(tp->rack.end_seq, tp->snd_una) ? tp->rack.end_seq : tp->snd_una;
}

/* Puts zeros into an object that consists of whole words. In the kernel there is no memset. */
#define CLEAR(object)                                                                                                  \
	do {                                                                                                                  \
		_Static_assert(sizeof(*(object)) % 8 == 0, "whole words");                                                     \
		for (u32 word_ = 0; word_ < sizeof(*(object)) / 8; word_++)                                                    \
			((volatile u64 *)(object))[word_] = 0;                                                                 \
	} while (0)

/* ---- numbers ---- */

/* A length of time in nanoseconds. */
typedef u64 span;
#define MICROSECOND 1000ull
#define MILLISECOND 1000000ull
#define SECOND 1000000000ull

/* A number of at least zero and below 2^32, in units of 2^-32. */
typedef u64 real;
#define REAL(x) ((real)((x) * 4294967296.0 + 0.5))

/* A window in units of 2^-16 segments, below 2^32 segments. */
typedef u64 segments;
#define SEGMENT 65536ull
#define WHOLE(n) ((segments)(n) << 16)
/* The slow-start threshold before the first congestion event, as the kernel writes it. */
#define INFINITE_SSTHRESH 0x7fffffffu

inline_always u64 min_u64(u64 a, u64 b) { return a < b ? a : b; }
inline_always u64 max_u64(u64 a, u64 b) { return a > b ? a : b; }

/* x * factor, rounded down, and otherwise exact as long as the product is below 2^64. */
inline_always u64 scaled_down(u64 x, real factor)
{
	u64 x1 = x >> 32, x0 = (u32)x, f1 = factor >> 32, f0 = (u32)factor;
	return ((x1 * f1) << 32) + x1 * f0 + x0 * f1 + ((x0 * f0) >> 32);
}

/* x * factor, rounded to the nearest, and otherwise exact as long as the product is below 2^64. */
inline_always u64 scaled(u64 x, real factor)
{
	u64 x1 = x >> 32, x0 = (u32)x, f1 = factor >> 32, f0 = (u32)factor;
	return ((x1 * f1) << 32) + x1 * f0 + x0 * f1 + ((x0 * f0 + (1ull << 31)) >> 32);
}

/* a/b for a <= b, as a real, with a relative error below 2^-31. 1 where b is 0. */
inline_always real fraction(u64 a, u64 b)
{
	/* Brings b below 2^32, so that a * 2^32 does not overflow. */
	u32 shift = 0;
#pragma unroll
	for (u32 step = 16; step > 0; step /= 2)
		if (b >> (32 + shift + step - 1))
			shift += step;
	if (b >> (32 + shift))
		shift += 1;
	a >>= shift;
	b >>= shift;
	if (b == 0 || a >= b)
		return 1ull << 32;
	return ((a << 32) + b / 2) / b;
}

#endif
