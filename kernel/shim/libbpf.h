/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The names that a struct_ops file in the style of libbpf finds in a native build, in place of vmlinux.h and the
 * headers of libbpf. crates/shim includes it before the file, under all their names (src/style.rs), and shows the
 * `struct tcp_congestion_ops` of the file to the simulator.
 *
 * Fields of the kernel that are not here are not simulated, so a file that reads one does not compile.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include "shim/types.h"

typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef __INT8_TYPE__ s8, __s8;
typedef __INT16_TYPE__ s16, __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u8 uint8_t;
typedef u16 uint16_t;
typedef u32 uint32_t;
typedef __UINT64_TYPE__ uint64_t;
typedef __INT64_TYPE__ int64_t;
typedef s32 int32_t;
typedef __SIZE_TYPE__ size_t;

#ifndef NULL
#define NULL ((void *)0)
#endif

enum sk_pacing { SK_PACING_NONE, SK_PACING_NEEDED, SK_PACING_FQ };
enum inet_csk_ack_state_t { ICSK_ACK_SCHED = 1, ICSK_ACK_TIMER = 2, ICSK_ACK_NOW = 16 };
enum { IPPROTO_TCP = 6 };

/* Programs of other kinds in the same file compile, and never run. */
struct bpf_sock;
struct bpf_sockopt {
	struct bpf_sock *sk;
	void *optval, *optval_end;
	s32 level, optname, optlen, retval;
};

/* ---- sections ---- */

#define SEC(name) __attribute__((used))
#define __ksym
#define __kconfig
#define __hidden
#define __weak __attribute__((weak))
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))

#define LINUX_VERSION_CODE KERNEL_VERSION(6, 12, 0)
#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + (c))

/* ---- programs ---- */

#define ACK_NTH(_0, _1, _2, _3, _4, _5, n, ...) n
#define ACK_COUNT(...) ACK_NTH(_0, ##__VA_ARGS__, 5, 4, 3, 2, 1, 0)
#define ACK_WORDS_0(ctx) ctx
#define ACK_WORDS_1(ctx) ACK_WORDS_0(ctx), ctx[0]
#define ACK_WORDS_2(ctx) ACK_WORDS_1(ctx), ctx[1]
#define ACK_WORDS_3(ctx) ACK_WORDS_2(ctx), ctx[2]
#define ACK_WORDS_4(ctx) ACK_WORDS_3(ctx), ctx[3]
#define ACK_WORDS_5(ctx) ACK_WORDS_4(ctx), ctx[4]
#define ACK_JOIN_(a, b) a##b
#define ACK_JOIN(a, b) ACK_JOIN_(a, b)
#define ACK_WORDS(ctx, ...) ACK_JOIN(ACK_WORDS_, ACK_COUNT(__VA_ARGS__))(ctx)

/* A program of libbpf has its arguments in an array of words, which become those that it declares: pointers, too. */
#define BPF_PROG(name, ...)                                                                                            \
	name(u64 *ctx);                                                                                                       \
	static inline __typeof__(name(0)) ack_body_##name(u64 *ctx, ##__VA_ARGS__);                                           \
	__typeof__(name(0)) name(u64 *ctx)                                                                                    \
	{                                                                                                                     \
		_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wint-conversion\"")                           \
		ack_present = (struct connection *)ctx[0];                                                                     \
		return ack_body_##name(ACK_WORDS(ctx, ##__VA_ARGS__));                                                         \
		_Pragma("GCC diagnostic pop")                                                                                  \
	}                                                                                                                     \
	static inline __typeof__(name(0)) ack_body_##name(u64 *ctx, ##__VA_ARGS__)

/* ---- reading ---- */

#define BPF_CORE_READ_BITFIELD(from, field) ((u64)(from)->field)
#define BPF_CORE_READ_BITFIELD_PROBED(from, field) ((u64)(from)->field)
#define ACK_READ_1(from, a) (from)->a
#define ACK_READ_2(from, a, b) (from)->a->b
#define ACK_READ_3(from, a, b, c) (from)->a->b->c
#define BPF_CORE_READ(from, ...) ACK_JOIN(ACK_READ_, ACK_COUNT(__VA_ARGS__))(from, __VA_ARGS__)
#define bpf_core_read(to, size, from) (__builtin_memcpy(to, from, size), 0)
#define bpf_probe_read_kernel bpf_core_read
#define bpf_core_field_exists(...) 1
#define bpf_core_type_exists(...) 1
#define bpf_ksym_exists(...) 1
#define bpf_printk(...) ((void)0)
#define barrier() __asm__ volatile("" ::: "memory")
#define barrier_var(var) __asm__ volatile("" : "+r"(var))
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
#ifndef container_of
#define container_of(at, type, member) ((type *)((char *)(at)-offsetof(type, member)))
#endif

/* ---- time ---- */

/* The ticks of Debian's kernels. crates/shim/src/tcp.rs counts lsndtime in them. */
#define ACK_HZ 250
#define ACK_FIRST_TICK 100000

inline_always u64 bpf_jiffies64(void) { return bpf_ktime_get_ns() / (1000000000 / ACK_HZ) + ACK_FIRST_TICK; }

/* ---- storage of a socket ---- */

#define __uint(name, value) int(*name)[value]
#define __type(name, of) __typeof__(of) *name
#define __array(name, of) __typeof__(of) *name[]

enum { BPF_MAP_TYPE_SK_STORAGE = 24, BPF_F_NO_PREALLOC = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#define ACK_STORAGES 4
#define ACK_STORAGE_WORDS 32
struct ack_storage {
	const void *map;
	u64 words[ACK_STORAGE_WORDS];
};

/* The value of `map` for the connection of the callback, which begins as zeros or `first` where it is made. */
static __attribute__((unused)) void *ack_storage(const void *map, u64 size, const void *first, u64 flags)
{
	struct ack_storage *all = ack_present->stored;
	for (int i = 0; i < ACK_STORAGES; i++) {
		if (all[i].map == map)
			return all[i].words;
		if (all[i].map || !(flags & BPF_LOCAL_STORAGE_GET_F_CREATE))
			continue;
		all[i].map = map;
		for (int word = 0; word < ACK_STORAGE_WORDS; word++)
			all[i].words[word] = 0;
		if (first)
			__builtin_memcpy(all[i].words, first, size);
		return all[i].words;
	}
	return 0;
}

#define bpf_sk_storage_get(map, sk, first, flags)                                                                      \
	({                                                                                                                    \
		_Static_assert(sizeof(*(map)->value) <= 8 * ACK_STORAGE_WORDS, "at most 256 bytes of storage");                \
		(void)(sk);                                                                                                    \
		ack_storage(map, sizeof(*(map)->value), first, flags);                                                         \
	})
#define bpf_sk_storage_delete(map, sk) ((void)(map), (void)(sk), 0)

/* For a receiver: nothing calls it. */
inline_always int bpf_tcp_send_ack(void *tp, u32 rcv_nxt) { return 0; }

/* There are no options of sockets. */
inline_always int bpf_setsockopt(void *sk, int level, int name, const void *value, int size) { return -1; }
inline_always int bpf_getsockopt(void *sk, int level, int name, void *value, int size) { return -1; }

static u64 ack_state_size = ACK_STORAGES * sizeof(struct ack_storage);
static const char ack_compiler[] __attribute__((unused)) = __VERSION__;

#endif
