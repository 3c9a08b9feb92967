/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The names that a controller finds when it is compiled for the kernel: parts of the kernel's types, helpers, and the
 * sections that the loader reads. shim/shim.h gives the same names to a native build.
 *
 * The types name only the fields that are used. libbpf finds them in the running kernel (CO-RE), so no vmlinux.h is
 * needed.
 */
#ifndef ACK_BPF_H
#define ACK_BPF_H

#define SEC(name) __attribute__((section(name), used))
#define KERNEL_TYPE __attribute__((preserve_access_index))
#define inline_always static inline __attribute__((always_inline))

#include "tcp.h"

/* ---- types of the kernel ---- */

struct net {
	u64 net_cookie;
} KERNEL_TYPE;

typedef struct {
	struct net *net;
} KERNEL_TYPE possible_net_t;

struct sock_common {
	be16 skc_dport;
	u16 skc_num;
	possible_net_t skc_net;
} KERNEL_TYPE;

struct sock {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
} KERNEL_TYPE;

struct inet_connection_sock {
	u8 icsk_ca_state : 5;
	u64 icsk_ca_priv[13];
} KERNEL_TYPE;

struct tcp_options_received {
	u32 rcv_tsecr;
	u16 saw_tstamp : 1;
} KERNEL_TYPE;

struct tcp_rack {
	u32 rtt_us;
	u32 end_seq;
} KERNEL_TYPE;

struct tcp_sock {
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_ssthresh;
	u32 snd_cwnd_clamp; /* the largest window; all ones without a limit */
	u32 snd_una;
	u32 snd_nxt;
	u32 srtt_us; /* eight times the smoothed RTT, in microseconds */
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 reordering; /* segments by which the network is known to reorder */
	u32 undo_marker;
	u32 delivered;
	u32 delivered_ce; /* of these, reported as marked: with accurate ECN */
	u32 lost;
	u32 app_limited; /* 0, or what delivered is when the sample of an idle application is over */
	u32 mss_cache;
	u8 is_cwnd_limited : 1;
	u8 tcp_usec_ts : 1; /* timestamps in microseconds (Linux since 6.7, where the route asks for them) */
	u64 tcp_mstamp; /* microseconds, CLOCK_MONOTONIC */
	u64 delivered_mstamp; /* when delivered last grew, microseconds */
	struct tcp_options_received rx_opt;
	struct tcp_rack rack;
} KERNEL_TYPE;

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
} KERNEL_TYPE;

struct rate_sample {
	u32 prior_delivered; /* delivered when the segment of the sample left */
	u32 prior_delivered_ce;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	bool is_app_limited;
	bool is_retrans;
} KERNEL_TYPE;

/* ---- reaching into a socket ---- */

inline_always struct tcp_sock *tcp_sk(const struct sock *sk) { return (struct tcp_sock *)sk; }

inline_always struct inet_connection_sock *inet_csk(const struct sock *sk) { return (struct inet_connection_sock *)sk; }

/* A bit-field of a kernel type, at its place in the running kernel. The numbers are LLVM's relocations. */
#define BITFIELD(from, field)                                                                                          \
	({                                                                                                                    \
		const u8 *at_ = (const u8 *)(from) + __builtin_preserve_field_info((from)->field, 0);                          \
		u64 bits_ = 0;                                                                                                 \
		switch (__builtin_preserve_field_info((from)->field, 1)) {                                                     \
		case 1:                                                                                                        \
			bits_ = *at_;                                                                                          \
			break;                                                                                                 \
		case 2:                                                                                                        \
			bits_ = *(const u16 *)at_;                                                                             \
			break;                                                                                                 \
		case 4:                                                                                                        \
			bits_ = *(const u32 *)at_;                                                                             \
			break;                                                                                                 \
		case 8:                                                                                                        \
			bits_ = *(const u64 *)at_;                                                                             \
			break;                                                                                                 \
		}                                                                                                              \
		bits_ <<= __builtin_preserve_field_info((from)->field, 4);                                                     \
		bits_ >> __builtin_preserve_field_info((from)->field, 5);                                                      \
	})

/* ---- helpers of the kernel, by their numbers (include/uapi/linux/bpf.h) ---- */

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
static struct tcp_sock *(*const bpf_skc_to_tcp_sock)(void *sk) = (void *)137;

static long (*const bpf_loop)(u32 times, void *step, void *context, u64 flags) = (void *)181;

/* Calls `step` up to `times` times, as long as it returns 0: for loops that are too much for the verifier to follow. */
typedef long loop_step(u32 index, void *context);
inline_always void loop(u32 times, loop_step *step, void *context) { bpf_loop(times, step, context, 0); }

/* Uniform over 32 bits. */
inline_always u32 random_u32(void) { return bpf_get_prandom_u32(); }

/* Functions of the kernel that programs may call. */
#define KFUNC __attribute__((section(".ksyms")))
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) KFUNC;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) KFUNC;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) KFUNC;

/* The kernel divides by `w`, and a zero would bring the machine down. */
inline_always void ack_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked) { tcp_cong_avoid_ai(tp, w ? w : 1, acked); }
#define tcp_cong_avoid_ai ack_cong_avoid_ai

/* ---- measurements ---- */

/* The state of rtt_sample: it detects a receiver that delays ACKs. */
struct rtt_sampler {
	u8 delays;
};

/* True if timestamps are in microseconds. A kernel without that field has milliseconds. */
inline_always bool has_fine_timestamps(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	return __builtin_preserve_field_info(tp->tcp_usec_ts, 2) && BITFIELD(tp, tcp_usec_ts);
}

/* The tick of the clock of the timestamp option, in nanoseconds. */
inline_always u64 timestamp_tick(const struct sock *sk) { return has_fine_timestamps(sk) ? 1000 : 1000000; }

/* The RTT by the timestamp option (RFC 7323, section 4.1), in nanoseconds on that clock, -1 without timestamps. */
inline_always s64 timestamp_rtt(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	if (!BITFIELD(tp, rx_opt.saw_tstamp) || !tp->rx_opt.rcv_tsecr)
		return -1;
	u64 ticks = has_fine_timestamps(sk) ? tp->tcp_mstamp : tp->tcp_mstamp / 1000;
	return (u64)((u32)ticks - tp->rx_opt.rcv_tsecr) * timestamp_tick(sk);
}

/*
 * The RTT sample of an ACK in nanoseconds: from the last transmission of the newest segment that it covers. 0 if there
 * is none that can be trusted. An ACK for one segment is not trusted if its receiver otherwise acknowledges several at
 * once: the sample may contain the delayed-ACK timer. The counter from 0 to 5 is as in FreeBSD's h_ertt, from which CDG
 * has its RTTs there. The kernel falls back on timestamps if segments were sent twice: the sample is then a whole
 * number of their ticks, and not of one transmission.
 */
inline_always u64 rtt_sample(struct rtt_sampler *sampler, const struct sock *sk, const struct ack_sample *ack)
{
	bool delayed = false;
	if (ack->pkts_acked == 1) {
		delayed = sampler->delays > 0;
		if (delayed)
			sampler->delays -= 1;
	} else if (ack->pkts_acked > 1 && sampler->delays < 5) {
		sampler->delays += 1;
	}
	s32 rtt_us = ack->rtt_us;
	bool by_timestamp = has_fine_timestamps(sk) ? (u64)(u32)rtt_us * 1000 == timestamp_rtt(sk) : (u32)rtt_us % 1000 == 0;
	bool ambiguous = BITFIELD(inet_csk(sk), icsk_ca_state) >= TCP_CA_Recovery && by_timestamp;
	return rtt_us > 0 && !delayed && !ambiguous ? (u64)(u32)rtt_us * 1000 : 0;
}

/* The smoothed RTT (RFC 6298) in nanoseconds, 0 before the first sample. */
inline_always u64 smoothed_rtt(const struct sock *sk) { return (u64)(tcp_sk(sk)->srtt_us >> 3) * 1000; }

/* ---- functions ---- */

/* FUNCTION(type, name, type of argument, argument, ...) { body } of two numbers, which the verifier looks at once, not
 * at each call. */
#define FUNCTION(result, name, t0, a0, t1, a1) __attribute__((noinline)) result name(t0 a0, t1 a1)

/* ---- callbacks ---- */

/* CALLBACK_n(type, name, type of argument, argument, ...) { body } */
#define CALLBACK_1(result, name, t0, a0)                                                                               \
	inline_always result name##_body(t0 a0);                                                                              \
	SEC("struct_ops") result name(u64 *arguments) { return name##_body((t0)arguments[0]); }                               \
	inline_always result name##_body(t0 a0)
#define CALLBACK_2(result, name, t0, a0, t1, a1)                                                                       \
	inline_always result name##_body(t0 a0, t1 a1);                                                                       \
	SEC("struct_ops") result name(u64 *arguments) { return name##_body((t0)arguments[0], (t1)arguments[1]); }             \
	inline_always result name##_body(t0 a0, t1 a1)
#define CALLBACK_3(result, name, t0, a0, t1, a1, t2, a2)                                                               \
	inline_always result name##_body(t0 a0, t1 a1, t2 a2);                                                                \
	SEC("struct_ops") result name(u64 *arguments)                                                                         \
	{                                                                                                                     \
		return name##_body((t0)arguments[0], (t1)arguments[1], (t2)arguments[2]);                                      \
	}                                                                                                                     \
	inline_always result name##_body(t0 a0, t1 a1, t2 a2)
#define CALLBACK_4(result, name, t0, a0, t1, a1, t2, a2, t3, a3)                                                       \
	inline_always result name##_body(t0 a0, t1 a1, t2 a2, t3 a3);                                                         \
	SEC("struct_ops") result name(u64 *arguments)                                                                         \
	{                                                                                                                     \
		return name##_body((t0)arguments[0], (t1)arguments[1], (t2)arguments[2], (t3)arguments[3]);                    \
	}                                                                                                                     \
	inline_always result name##_body(t0 a0, t1 a1, t2 a2, t3 a3)

/* CONTROLLER("ack_name", .init = ..., .ssthresh = ..., ...); at most 15 characters, one in a file. */
#define CONTROLLER(called, ...)                                                                                        \
	char LICENSE[] SEC("license") = "Dual BSD/GPL";                                                                       \
	SEC(".struct_ops.link") struct tcp_congestion_ops controller = {__VA_ARGS__, .name = called}

/* ---- state of a connection ---- */

/* Up to 104 bytes inside the socket, zero at the start. state(sk) is never NULL. */
#define PRIVATE_STATE(type)                                                                                            \
	_Static_assert(sizeof(type) <= 104, "state of more than 104 bytes: use STORED_STATE");                                \
	inline_always type *state(struct sock *sk) { return (type *)inet_csk(sk)->icsk_ca_priv; }

/* Any size, zero at the start, freed with the socket. state(sk) is NULL if there is no memory. */
#define STORED_STATE(type_)                                                                                            \
	struct {                                                                                                              \
		u32 (*type)[24];     /* BPF_MAP_TYPE_SK_STORAGE */                                                             \
		u32 (*map_flags)[1]; /* BPF_F_NO_PREALLOC */                                                                   \
		s32 *key;                                                                                                      \
		type_ *value;                                                                                                  \
	} states SEC(".maps");                                                                                                \
	inline_always type_ *state(struct sock *sk) { return bpf_sk_storage_get(&states, sk, 0, 1); }

/* ---- parameters ---- */

/* The loader sets them by name, before it loads and while flows run. It finds their types in the object. */
#define PARAMETER(type, name, value) type name SEC(".data") = value
#define CHOICE(name, value, ...)                                                                                       \
	enum name { ENUMERATE(name##_, __VA_ARGS__) };                                                                        \
	enum name name SEC(".data") = name##_##value

/* ---- probes ---- */

/* A record of the ring buffer `probes`: the values in the order of PROBES. */
struct probe_value {
	s64 value;
	u64 divisor;
};

/* Settings that the loader writes, and the count that it reads. */
struct probe_control {
	/* Shortest time between two records of a flow, in nanoseconds. Off at the start. */
	u64 interval;
	/* A record at every n-th ACK of a flow instead, from the first on. 0 for none. */
	u64 acks;
	/* Records that found no room. */
	u64 missed;
} probe_control SEC(".data.probe") = {.interval = ~0ull};

/* The kernel does not say when an ACK is over. Its effects are reported at the next callback. */
#define PROBES_AT_ONCE false

/* True if a record of a flow is due at `now`, in microseconds. `turn` is the time of its last record, or the number of
 * its ACKs. */
inline_always bool probe_due(u64 *turn, u64 now)
{
	if (probe_control.acks)
		return (*turn)++ % probe_control.acks == 0;
	if (probe_control.interval == ~0ull || (now - *turn) * 1000 < probe_control.interval)
		return false;
	*turn = now;
	return true;
}

#define PROBES(...)                                                                                                    \
	enum probe_name { ENUMERATE(PROBE_, __VA_ARGS__) PROBE_COUNT };                                                       \
	struct probe_record {                                                                                                 \
		u64 time_us;                                                                                                   \
		u64 net_cookie;                                                                                                \
		u16 local_port;                                                                                                \
		u16 remote_port;                                                                                               \
		u32 count;                                                                                                     \
		struct probe_value values[PROBE_COUNT];                                                                        \
	};                                                                                                                    \
	/* Keeps the names where the loader finds them. */                                                                    \
	enum probe_name probe_names SEC(".data.probe") = PROBE_COUNT;                                                         \
	struct {                                                                                                              \
		u32 (*type)[27];                /* BPF_MAP_TYPE_RINGBUF */                                                     \
		u32 (*max_entries)[1 << 22];                                                                                   \
	} probes SEC(".maps");                                                                                                \
	inline_always struct probe_record *probe_begin_at(struct sock *sk, u64 *turn, u64 at)                                 \
	{                                                                                                                     \
		if (!probe_due(turn, at))                                                                                      \
			return 0;                                                                                              \
		struct probe_record *record = bpf_ringbuf_reserve(&probes, sizeof(struct probe_record), 0);                    \
		if (!record) {                                                                                                 \
			__sync_fetch_and_add(&probe_control.missed, 1);                                                        \
			return 0;                                                                                              \
		}                                                                                                              \
		record->time_us = at;                                                                                          \
		record->net_cookie = sk->__sk_common.skc_net.net->net_cookie;                                                  \
		record->local_port = sk->__sk_common.skc_num;                                                                  \
		record->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);                                            \
		record->count = PROBE_COUNT;                                                                                   \
		return record;                                                                                                 \
	}
#define probe_begin(sk, turn) probe_begin_at(sk, turn, tcp_sk(sk)->tcp_mstamp)
#define probe(record, name, shown, per)                                                                                \
	((record)->values[PROBE_##name] = (struct probe_value){.value = (s64)(shown), .divisor = (per)})
inline_always void probe_end(void *record) { bpf_ringbuf_submit(record, 0); }

#endif
