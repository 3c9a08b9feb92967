/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The part of the kernel's TCP that is the same for a controller in the kernel (bpf.h) and in a native build
 * (shim/shim.h): types of numbers, states, events, flags, and the table of callbacks.
 */
#ifndef ACK_TCP_H
#define ACK_TCP_H

typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef unsigned long long u64;
typedef __INT32_TYPE__ s32;
typedef long long s64;
typedef u16 be16;
typedef _Bool bool;
#define true 1
#define false 0

enum tcp_ca_state { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

enum tcp_ca_event {
	CA_EVENT_TX_START,
	CA_EVENT_CWND_RESTART,
	CA_EVENT_COMPLETE_CWR,
	CA_EVENT_LOSS,
	CA_EVENT_ECN_NO_CE,
	CA_EVENT_ECN_IS_CE,
};

enum tcp_ca_ack_event_flags { CA_ACK_SLOWPATH = 1, CA_ACK_WIN_UPDATE = 2, CA_ACK_ECE = 4 };

/* The callbacks, as the loader and the shim see them: programs that find their arguments in an array. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(u64 *);
	void (*cong_avoid)(u64 *);
	void (*set_state)(u64 *);
	void (*cwnd_event)(u64 *);
	void (*in_ack_event)(u64 *);
	void (*pkts_acked)(u64 *);
	u32 (*min_tso_segs)(u64 *);
	void (*cong_control)(u64 *);
	u32 (*undo_cwnd)(u64 *);
	u32 (*sndbuf_expand)(u64 *);
	u32 flags;
	char name[16];
	void (*init)(u64 *);
	void (*release)(u64 *);
};

#endif
