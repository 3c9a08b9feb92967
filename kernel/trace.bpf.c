// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A record of every change of state, of every retransmission, of every reduction that is undone and, where they are
 * asked for, of every segment that arrives, of the chosen connections: whatever their congestion control is. Windows
 * and RTTs are those before the segment is processed.
 */
#include "ack.h"

/* Network namespaces by their cookies. With none of them, all. */
u64 namespaces[4] SEC(".data") = {0, 0, 0, 0};
u32 namespace_count SEC(".data") = 0;
/* Local ports. */
u16 first_port SEC(".data") = 0;
u16 last_port SEC(".data") = 65535;
/* Records every segment that arrives. */
u8 segments_too SEC(".data") = 1;
/* Records that found no room. */
u64 missed SEC(".data") = 0;

struct seen {
	/* A reduction could be undone when the last segment arrived. */
	u8 undoable;
};
/* One for each connection, as the connections of a server share their port. */
STORED_STATE(struct seen);

enum kind { ARRIVED, RETRANSMITTED, STATE, UNDONE };

struct record {
	u64 time_ns;
	u64 net_cookie;
	u16 local_port;
	u16 remote_port;
	u8 kind;
	u8 state;
	u16 unused;
	u32 data; /* bytes that the segment carries */
	u32 snd_cwnd;
	u32 ssthresh;
	u32 srtt_us;
	u32 rtt_us; /* of the last segment that was acknowledged */
	u32 in_flight;
	u32 snd_una;
	u32 snd_nxt;
	u32 delivered;
	u32 lost;
};

struct {
	u32 (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	u32 (*max_entries)[1 << 24];
} records SEC(".maps");

struct sk_buff {
	unsigned int len;
	unsigned char *data;
} KERNEL_TYPE;

/* Nobody waits for records: they are fetched from time to time. */
#define NO_WAKEUP 1 /* BPF_RB_NO_WAKEUP */

static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;

inline_always bool is_chosen(u64 cookie, u16 port)
{
	if (port < first_port || port > last_port)
		return false;
	if (namespace_count == 0)
		return true;
	for (u32 i = 0; i < 4; i++)
		if (i < namespace_count && namespaces[i] == cookie)
			return true;
	return false;
}

/* `next` is the state that a change leads to. */
inline_always void note(struct sock *sk, u8 kind, u8 next, u32 data)
{
	u64 cookie = sk->__sk_common.skc_net.net->net_cookie;
	u16 port = sk->__sk_common.skc_num;
	if (!is_chosen(cookie, port))
		return;
	const struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	struct record *r = bpf_ringbuf_reserve(&records, sizeof(*r), 0);
	if (!r) {
		__sync_fetch_and_add(&missed, 1);
		return;
	}
	r->time_ns = bpf_ktime_get_ns();
	r->net_cookie = cookie;
	r->local_port = port;
	r->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	r->kind = kind;
	r->state = kind == STATE ? next : ca_state((const struct sock *)tp);
	r->unused = 0;
	r->data = data;
	r->snd_cwnd = tp->snd_cwnd;
	r->ssthresh = tp->snd_ssthresh;
	r->srtt_us = tp->srtt_us >> 3;
	r->rtt_us = tp->rack.rtt_us;
	r->in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	r->snd_una = tp->snd_una;
	r->snd_nxt = tp->snd_nxt;
	r->delivered = tp->delivered;
	r->lost = tp->lost;
	bpf_ringbuf_submit(r, NO_WAKEUP);
}

/* TCP forgets where a reduction began when it undoes it, and when a mark makes it reduce for another reason. */
inline_always void look_for_undo(struct sock *sk)
{
	u16 port = sk->__sk_common.skc_num;
	if (!is_chosen(sk->__sk_common.skc_net.net->net_cookie, port))
		return;
	const struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	struct seen *seen = state(sk);
	if (!seen)
		return;
	u8 now = tp->undo_marker != 0;
	if (seen->undoable && !now && ca_state((const struct sock *)tp) != TCP_CA_CWR)
		note(sk, UNDONE, 0, 0);
	seen->undoable = now;
}

/* The length of the TCP header is in the upper half of its thirteenth byte (RFC 9293, section 3.1). */
SEC("tp_btf/tcp_probe") int arrived(u64 *arguments)
{
	struct sock *sk = (struct sock *)arguments[0];
	const struct sk_buff *skb = (const struct sk_buff *)arguments[1];
	look_for_undo(sk);
	if (!segments_too)
		return 0;
	u8 offset = 0;
	bpf_probe_read_kernel(&offset, 1, skb->data + 12);
	u32 header = (u32)(offset >> 4) * 4;
	note(sk, ARRIVED, 0, skb->len > header ? skb->len - header : 0);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb") int retransmitted(u64 *arguments)
{
	struct sock *sk = (struct sock *)arguments[0];
	const struct sk_buff *skb = (const struct sk_buff *)arguments[1];
	note(sk, RETRANSMITTED, 0, skb->len);
	return 0;
}

SEC("tp_btf/tcp_cong_state_set") int state_set(u64 *arguments)
{
	note((struct sock *)arguments[0], STATE, (u8)arguments[1], 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
