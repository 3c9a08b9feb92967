/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The kernel's types in a native build, and the table that crates/shim finds in an object.
 * crates/shim/src/connection.rs has the same structures.
 */
#ifndef ACK_SHIM_TYPES_H
#define ACK_SHIM_TYPES_H

#ifndef inline_always
#define inline_always static inline __attribute__((always_inline, unused))
#endif

#include "../tcp.h"

/* ---- types of the kernel ---- */

struct net {
	u64 net_cookie;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	be16 skc_dport;
	u16 skc_num;
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate; /* bytes a second; all ones: unlimited */
	unsigned long sk_max_pacing_rate;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state;
	/* For a receiver, which no controller of the simulator is. */
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[13];
};

struct tcp_options_received {
	u32 rcv_tsecr;
	u16 saw_tstamp;
};

struct tcp_rack {
	u32 rtt_us;
	u32 end_seq;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_cwnd_cnt;
	u32 snd_ssthresh;
	u32 snd_cwnd_clamp; /* the largest window; all ones without a limit */
	u32 prior_cwnd;
	u32 snd_una;
	u32 snd_nxt;
	u32 srtt_us; /* eight times the smoothed RTT, in microseconds */
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u32 reordering;
	u32 delivered;
	u32 delivered_ce; /* of these, reported as marked: with accurate ECN */
	u32 lost;
	u32 app_limited; /* 0, or what delivered is when the sample of an idle application is over */
	u32 mss_cache;
	u8 is_cwnd_limited;
	u64 tcp_mstamp; /* microseconds */
	u64 delivered_mstamp; /* when delivered last grew, microseconds */
	struct tcp_options_received rx_opt;
	struct tcp_rack rack;
	u32 lsndtime; /* the last segment that left before the present ones, in ticks */
	/* For a receiver. */
	u32 rcv_nxt;
	u8 ecn_flags;
};

/* A connection as crates/shim keeps it. Spans are in nanoseconds. */
struct connection {
	struct tcp_sock tp;
	u64 now;
	/* The present ACK: its RTT sample, 0 without one that can be trusted. The RTT by timestamps, -1 without. */
	u64 rtt;
	s64 timestamp_rtt;
	u64 timestamp_tick;
	u64 smoothed_rtt;
	/* STORED_STATE, and the last record of the probes. */
	void *stored;
	void *record;
	u32 (*random)(void *source);
	void *source;
};

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
};

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
};

/* The connection of the callback that runs on this thread, for functions that are not handed the connection. */
static _Thread_local struct connection *ack_present __attribute__((unused));

inline_always u64 bpf_ktime_get_ns(void) { return ack_present->now; }

inline_always u32 bpf_get_prandom_u32(void) { return ack_present->random(ack_present->source); }

/* ---- what crates/shim finds ---- */

struct ack_parameter {
	const char *name;
	const char *type;
	/* The names of a choice, with commas between. */
	const char *choices;
	void *at;
	u64 size;
	struct ack_parameter *next;
};

struct ack_module {
	/* Differs where crates/shim was built with another layout. */
	u64 connection_size;
	const struct tcp_congestion_ops *ops;
	struct ack_parameter *const *parameters;
	const u64 *state_size;
	/* Names with commas between. NULL without probes. */
	const char *const *probes;
	/* A change of compiler is a change of this file. */
	const char *compiler;
};

static struct ack_parameter *ack_parameters __attribute__((unused));
static u64 ack_state_size __attribute__((unused));
static const char *ack_probe_names __attribute__((unused));

#endif
