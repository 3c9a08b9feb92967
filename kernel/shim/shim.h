/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The names that a controller finds when it is compiled natively: the names of bpf.h, as plain C. crates/shim compiles
 * the file into a shared object, loads it, and plays the part of the kernel's TCP: it fills in `struct connection` and
 * calls the callbacks.
 *
 * A loaded object serves any number of connections on any number of threads: whatever belongs to a connection is in its
 * `struct connection`, and parameters are written once, before the first.
 */
#ifndef ACK_SHIM_H
#define ACK_SHIM_H

#define inline_always static inline __attribute__((always_inline, unused))

#include "types.h"

/* ---- reaching into a socket ---- */

inline_always struct connection *ack_connection(const struct sock *sk) { return (struct connection *)sk; }

inline_always struct tcp_sock *tcp_sk(const struct sock *sk) { return &ack_connection(sk)->tp; }

inline_always struct inet_connection_sock *inet_csk(const struct sock *sk) { return &tcp_sk(sk)->inet_conn; }

#define BITFIELD(from, field) ((u64)(from)->field)

/* ---- helpers ---- */

/* Uniform over 32 bits, from the random stream of the flow. */
inline_always u32 random_u32(void) { return bpf_get_prandom_u32(); }

/* Calls `step` up to `times` times, as long as it returns 0. */
typedef long loop_step(u32 index, void *context);
inline_always void loop(u32 times, loop_step *step, void *context)
{
	for (u32 i = 0; i < times && step(i, context) == 0; i++)
		;
}

/* The functions of the kernel are in kfuncs.c. */
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
u32 tcp_reno_undo_cwnd(struct sock *sk);

/* ---- measurements ---- */

struct rtt_sampler {
	u8 delays;
};

/* The RTT sample of an ACK in nanoseconds, 0 if there is none that can be trusted. The simulator's transport judges
 * that, by the same rule as in the kernel. */
inline_always u64 rtt_sample(struct rtt_sampler *sampler, const struct sock *sk, const struct ack_sample *ack)
{
	return ack_connection(sk)->rtt;
}

inline_always u64 timestamp_tick(const struct sock *sk) { return ack_connection(sk)->timestamp_tick; }

inline_always s64 timestamp_rtt(const struct sock *sk) { return ack_connection(sk)->timestamp_rtt; }

inline_always u64 smoothed_rtt(const struct sock *sk) { return ack_connection(sk)->smoothed_rtt; }

/* ---- functions ---- */

#define FUNCTION(result, name, t0, a0, t1, a1) __attribute__((unused)) static result name(t0 a0, t1 a1)

/* ---- callbacks ---- */

#define CALLBACK_1(result, name, t0, a0)                                                                               \
	inline_always result name##_body(t0 a0);                                                                              \
	static result name(u64 *arguments)                                                                                    \
	{                                                                                                                     \
		ack_present = (struct connection *)arguments[0];                                                               \
		return name##_body((t0)arguments[0]);                                                                          \
	}                                                                                                                     \
	inline_always result name##_body(t0 a0)
#define CALLBACK_2(result, name, t0, a0, t1, a1)                                                                       \
	inline_always result name##_body(t0 a0, t1 a1);                                                                       \
	static result name(u64 *arguments)                                                                                    \
	{                                                                                                                     \
		ack_present = (struct connection *)arguments[0];                                                               \
		return name##_body((t0)arguments[0], (t1)arguments[1]);                                                        \
	}                                                                                                                     \
	inline_always result name##_body(t0 a0, t1 a1)
#define CALLBACK_3(result, name, t0, a0, t1, a1, t2, a2)                                                               \
	inline_always result name##_body(t0 a0, t1 a1, t2 a2);                                                                \
	static result name(u64 *arguments)                                                                                    \
	{                                                                                                                     \
		ack_present = (struct connection *)arguments[0];                                                               \
		return name##_body((t0)arguments[0], (t1)arguments[1], (t2)arguments[2]);                                      \
	}                                                                                                                     \
	inline_always result name##_body(t0 a0, t1 a1, t2 a2)
#define CALLBACK_4(result, name, t0, a0, t1, a1, t2, a2, t3, a3)                                                       \
	inline_always result name##_body(t0 a0, t1 a1, t2 a2, t3 a3);                                                         \
	static result name(u64 *arguments)                                                                                    \
	{                                                                                                                     \
		ack_present = (struct connection *)arguments[0];                                                               \
		return name##_body((t0)arguments[0], (t1)arguments[1], (t2)arguments[2], (t3)arguments[3]);                    \
	}                                                                                                                     \
	inline_always result name##_body(t0 a0, t1 a1, t2 a2, t3 a3)

/* ---- the controller ---- */

#define CONTROLLER(called, ...)                                                                                        \
	static const struct tcp_congestion_ops ack_ops = {__VA_ARGS__, .name = called};                                       \
	__attribute__((visibility("default"), used)) const struct ack_module ack_module = {                                   \
	    sizeof(struct connection), &ack_ops, &ack_parameters, &ack_state_size, &ack_probe_names, __VERSION__}

/* ---- state of a connection ---- */

#define PRIVATE_STATE(type)                                                                                            \
	_Static_assert(sizeof(type) <= 104, "state of more than 104 bytes: use STORED_STATE");                                \
	inline_always type *state(struct sock *sk) { return (type *)inet_csk(sk)->icsk_ca_priv; }

#define STORED_STATE(type_)                                                                                            \
	static u64 ack_state_size = sizeof(type_);                                                                            \
	inline_always type_ *state(struct sock *sk) { return (type_ *)ack_connection(sk)->stored; }

/* ---- parameters ---- */

#define ACK_REGISTER(name_, type_, choices_)                                                                           \
	static struct ack_parameter ack_parameter_##name_ = {#name_, type_, choices_, &name_, sizeof(name_), 0};              \
	__attribute__((constructor)) static void ack_register_##name_(void)                                                   \
	{                                                                                                                     \
		ack_parameter_##name_.next = ack_parameters;                                                                   \
		ack_parameters = &ack_parameter_##name_;                                                                       \
	}
#define PARAMETER(type, name, value)                                                                                   \
	type name = value;                                                                                                    \
	ACK_REGISTER(name, #type, 0)                                                                                          \
	_Static_assert(1, "")
#define CHOICE(name, value, ...)                                                                                       \
	enum name { ENUMERATE(name##_, __VA_ARGS__) };                                                                        \
	enum name name = name##_##value;                                                                                      \
	ACK_REGISTER(name, "choice", #__VA_ARGS__)                                                                            \
	_Static_assert(1, "")

/* ---- probes ---- */

struct probe_value {
	s64 value;
	u64 divisor;
};

/* The simulator asks after each ACK for the values that the controller showed last. */
#define PROBES_AT_ONCE true

#define PROBES(...)                                                                                                    \
	enum probe_name { ENUMERATE(PROBE_, __VA_ARGS__) PROBE_COUNT };                                                       \
	struct probe_record {                                                                                                 \
		struct probe_value values[PROBE_COUNT];                                                                        \
	};                                                                                                                    \
	static const char *ack_probe_names = #__VA_ARGS__;                                                                    \
	inline_always struct probe_record *probe_begin_at(struct sock *sk, u64 *turn, u64 at)                                 \
	{                                                                                                                     \
		return ack_connection(sk)->record;                                                                             \
	}                                                                                                                     \
	_Static_assert(1, "")
#define probe_begin(sk, turn) probe_begin_at(sk, turn, 0)
#define probe(record, name, shown, per)                                                                                \
	((record)->values[PROBE_##name] = (struct probe_value){.value = (s64)(shown), .divisor = (per)})
inline_always void probe_end(void *record) {}

#endif
