// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Reno with loss differentiation by packet inter-arrival times (Edwan, "Improved Algorithms for TCP Congestion
 * Control", thesis, Loughborough 2010, chapter 8).
 *
 * | rule, with S the gaps between duplicate ACKs | here |
 * | --- | --- |
 * | section 8.2: gaps from the ACK before the first duplicate to the last duplicate | collect |
 * | section 8.3: all differences, K times, those below T taken out; rho counts these | cancel, subtract |
 * | N_s = 2/(1 + exp(-a rho)) - 1, S_p = 1 - S_min/S_max | share_of_decrease |
 * | mu = min(1, 1 - S_p + N_s), beta' = mu/2 | share_of_decrease, left_of |
 * | the ACK that ends recovery: w = ssthresh = (1 - beta') w at the loss | pit_cwnd_event |
 *
 * Differences from crates/control/src/controllers/linux/pit.rs: none on the same events. The kernel lacks two parts
 * of these events:
 * - When an ACK came: the stack gives the time at which it handles the ACK. An interface that hands over its packets
 *   together makes gaps of next to nothing, and noise.
 * - A window update: it counts as a duplicate ACK.
 */
#include "ack.h"

PARAMETER(real, a, REAL(1));
PARAMETER(u32, K, 1);
CHOICE(definition, count, count, sum, share);
CHOICE(combine, sum, sum, product);
PARAMETER(bool, include_first_gap, true);
PARAMETER(span, packet_time, 0); /* 0: to be measured */

PROBES(packet_time_ms, rho, noise, span, mu, window_at_loss);

/* Gaps of an event that count: their 4950 differences are the most that an iteration does. */
#define CAPACITY 100
#define DIFFERENCES (CAPACITY * (CAPACITY - 1) / 2)
/* The room of a set. An index into all sets is cut to nine bits, so that the kernel sees that it is inside. */
#define ROOM 128
#define INSIDE(index) ((index) & (4 * ROOM - 1))
/* Differences closer than one part of so many of T to 0, or to it from below, are rounding. */
#define GUARD 1000
/* With fewer duplicate ACKs nothing is decided. */
#define ENOUGH 3
/* Gaps between new ACKs of which the median is taken. */
#define RECENT 32
/* One, as a share. */
#define WHOLE_SHARE (1ull << 32)

/* An iteration: differences of the `count` values from `from` on in `sets`. Differences that stay go to `to`. */
struct pass {
	u32 from;
	u32 count;
	u32 to;
	u32 first;
	u32 second;
	/* The differences below T of all iterations: their number, and their sum in nanoseconds. */
	u32 below;
	u64 sum;
	/* Differences of this iteration that were not, of which the first CAPACITY are there. */
	u32 stay;
};

struct pit {
	bool started;
	/* The capture has had no ACK of new data yet. */
	bool open;
	/* Gaps in sets[0], and duplicate ACKs. */
	u32 gaps;
	u32 duplicates;
	/* The window at the loss, from its detection to the end of recovery, 0 otherwise. */
	u32 window_at_loss;
	u32 last_loss;
	/* The window for which ssthresh was asked, 0 once the state shows the cause. */
	u32 asked;
	/* When the last ACK came, new or duplicate, nanoseconds, and the gap before it. 0 before the first. */
	u64 last_ack;
	u64 last_gap;
	/* Segments that the present ACK covers, and whether it came in recovery. */
	u32 covered;
	bool repairing;
	/* The last gaps between new ACKs per segment, nanoseconds, and how many there were. */
	u32 seen;
	u64 recent[RECENT];
	/* T, nanoseconds; 0 while unknown. */
	u64 unit;
	/* Results of the last loss event. */
	u64 rho;
	real noise;
	real span;
	real mu;
	u64 probe_turn;
	/* How many of the recent gaps are not above `limit`. */
	u64 limit;
	u32 reached;
	/* The smallest and the largest gap of the capture. */
	u32 least;
	u32 most;
	struct pass pass;
	/* The gaps, nanoseconds, and two sets of differences in turn. */
	u32 sets[4 * ROOM];
};
STORED_STATE(struct pit);

/* The context of loops. Their counters are fields behind a pointer: the kernel's verifier assumes nothing of these
 * numbers, but follows numbers on the stack through every round. */
struct work {
	struct pit *s;
};

/* The state of a connection that was started. */
inline_always struct pit *started(struct sock *sk)
{
	struct pit *s = state(sk);
	return s && s->started ? s : 0;
}

inline_always void start(struct sock *sk)
{
	struct pit *s = state(sk);
	if (!s)
		return;
	CLEAR(s);
	s->unit = packet_time;
	s->started = true;
}

/* ---- T ---- */

/* Counts a recent gap that is not above the limit. */
static long reach(u32 index, void *context)
{
	struct pit *s = ((struct work *)context)->s;
	if (s->recent[index % RECENT] <= s->limit)
		s->reached += 1;
	return 0;
}

/* A new ACK outside recovery: T is the smallest gap that is not below half of the median. */
inline_always void measure(struct pit *s)
{
	if (packet_time || !s->last_gap)
		return;
	u64 gap = (s->last_gap - 1) / s->covered;
	s->recent[s->seen % RECENT] = gap;
	s->seen += 1;
	if (gap == 0 || (s->unit && gap >= s->unit))
		return;
	/* Twice the gap reaches the median if more than half of the gaps are not above it. */
	u32 count = min_u64(s->seen, RECENT);
	struct work work = {s};
	s->limit = 2 * gap;
	s->reached = 0;
	loop(count, reach, &work);
	if (s->reached > count / 2)
		s->unit = gap;
}

/* ---- the capture ---- */

/* A duplicate ACK. */
inline_always void collect(struct pit *s)
{
	if (!s->last_gap)
		return;
	if (!s->open) {
		s->open = true;
		s->gaps = 0;
		s->duplicates = 0;
	}
	s->duplicates += 1;
	u32 at = s->gaps;
	if (at >= CAPACITY || (s->duplicates == 1 && !include_first_gap))
		return;
	s->sets[INSIDE(at)] = min_u64(s->last_gap - 1, ~0u);
	s->gaps = at + 1;
}

/* ---- the canceller ---- */

/* One pair. The next has the following value. */
static long subtract(u32 index, void *context)
{
	struct pit *s = ((struct work *)context)->s;
	struct pass *pass = &s->pass;
	if (pass->second >= pass->count)
		return 1;
	u64 x = s->sets[INSIDE(pass->from + pass->first)], y = s->sets[INSIDE(pass->from + pass->second)];
	u64 difference = x > y ? x - y : y - x, scaled = difference * GUARD;
	if (scaled >= s->unit * (GUARD - 1)) {
		if (pass->stay < CAPACITY)
			s->sets[INSIDE(pass->to + pass->stay)] = difference;
		pass->stay += 1;
	} else if (scaled > s->unit) {
		pass->below += 1;
		pass->sum += difference;
	}
	pass->second += 1;
	if (pass->second == pass->count) {
		pass->first += 1;
		pass->second = pass->first + 1;
	}
	return 0;
}

/* K iterations, as long as there are few enough values. */
inline_always void cancel(struct pit *s)
{
	struct work work = {s};
	struct pass *pass = &s->pass;
	u32 count = s->gaps, from = 0;
	pass->below = 0;
	pass->sum = 0;
	for (u32 iteration = 0; iteration < 3; iteration++) {
		if (iteration >= K || count > CAPACITY)
			break;
		pass->from = from;
		pass->count = count;
		pass->to = from == ROOM ? 2 * ROOM : ROOM;
		pass->first = 0;
		pass->second = 1;
		pass->stay = 0;
		loop(DIFFERENCES, subtract, &work);
		from = pass->to;
		count = pass->stay;
	}
}

/* ---- the decrease ---- */

/* exp(-x) for a real x, with an error below 2^-20, 0 from 32 on. */
inline_always real exponential(real x)
{
	const u64 one = 1ull << 30;
	if (x >= 32 * WHOLE_SHARE)
		return 0;
	/* x/ln 2 in units of 2^-24: exp(-x) is two to the power of minus that, of which whole halvings are shifts. */
	u64 halvings = ((x >> 8) * 1549082005) >> 30;
	/* ln 2 times the rest, below ln 2, in units of 2^-30. Its power series to the eighth power. */
	u64 rest = ((halvings & 0xffffff) * 744261118) >> 24, series = one;
#pragma unroll
	for (u64 k = 8; k > 0; k--)
		series = one - ((rest * series) >> 30) / k;
	return (series >> (halvings >> 24)) << 2;
}

/* The residual noise by the differences below T, in units of 2^-32. */
inline_always u64 residual_noise(const struct pit *s)
{
	if (definition == definition_count)
		return (u64)s->pass.below << 32;
	if (definition == definition_sum)
		return (s->pass.sum << 16) / (s->unit ? s->unit : 1) << 16;
	u64 first = (u64)s->gaps * (s->gaps - 1) / 2;
	return ((u64)s->pass.below << 32) / (first ? first : 1);
}

/* mu. */
inline_always void share_of_decrease(struct pit *s)
{
	s->rho = residual_noise(s);
	real rest = exponential(scaled_down(s->rho, a));
	s->noise = ((WHOLE_SHARE - rest) << 31) / ((WHOLE_SHARE + rest) / 2);
	s->span = WHOLE_SHARE - ((u64)s->least << 32) / (s->most ? s->most : 1);
	if (combine == combine_sum)
		s->mu = min_u64(WHOLE_SHARE - s->span + s->noise, WHOLE_SHARE);
	else
		s->mu = WHOLE_SHARE - scaled_down(s->span, WHOLE_SHARE - s->noise);
}

/* Takes in a gap. */
static long extend(u32 index, void *context)
{
	struct pit *s = ((struct work *)context)->s;
	u32 gap = s->sets[INSIDE(index)];
	s->least = min_u64(s->least, gap);
	s->most = max_u64(s->most, gap);
	return 0;
}

/* The window that the captured loss event leaves, of the window at the loss. */
inline_always u32 left_of(struct pit *s, u32 window)
{
	struct work work = {s};
	s->least = ~0u;
	s->most = 0;
	loop(s->gaps, extend, &work);
	if (!s->unit || s->duplicates < ENOUGH || !s->most)
		return window / 2;
	cancel(s);
	share_of_decrease(s);
	return (u64)window * (2 * WHOLE_SHARE - s->mu) >> 33;
}

/* ---- callbacks ---- */

CALLBACK_1(void, pit_init, struct sock *, sk) { start(sk); }

CALLBACK_2(void, pit_pkts_acked, struct sock *, sk, const struct ack_sample *, sample)
{
	struct pit *s = started(sk);
	if (!s)
		return;
	u64 now = bpf_ktime_get_ns();
	/* One more than measured: 0 is none. */
	s->last_gap = s->last_ack ? now - s->last_ack + 1 : 0;
	s->last_ack = now;
	s->covered = sample->pkts_acked;
	/* The one that ends recovery covers what duplicate ACKs announced: its gap is none of new ACKs. */
	s->repairing = ca_state(sk) == TCP_CA_Recovery;
	if (s->covered > 0)
		s->open = false;
	else if (s->open || !s->window_at_loss)
		collect(s);
}

CALLBACK_3(void, pit_cong_avoid, struct sock *, sk, u32, ack, u32, acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pit *s = started(sk);
	if (!s)
		start(sk);
	else if (s->covered > 0 && !s->repairing)
		measure(s);
	if (is_window_limited(sk)) {
		if (tp->snd_cwnd < tp->snd_ssthresh)
			acked = tcp_slow_start(tp, acked);
		if (acked)
			tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
	}
	if (!s)
		return;
	struct probe_record *out = probe_begin(sk, &s->probe_turn);
	if (!out)
		return;
	probe(out, packet_time_ms, s->unit, MILLISECOND);
	probe(out, rho, s->rho, WHOLE_SHARE);
	probe(out, noise, s->noise, WHOLE_SHARE);
	probe(out, span, s->span, WHOLE_SHARE);
	probe(out, mu, s->mu, WHOLE_SHARE);
	probe(out, window_at_loss, s->last_loss, 1);
	probe_end(out);
}

CALLBACK_1(u32, pit_ssthresh, struct sock *, sk)
{
	struct pit *s = started(sk);
	u32 window = tcp_sk(sk)->snd_cwnd;
	if (s)
		s->asked = window;
	return max_u64(window / 2, 2);
}

CALLBACK_2(void, pit_set_state, struct sock *, sk, u8, next)
{
	struct pit *s = started(sk);
	if (!s)
		return;
	if (next == TCP_CA_Recovery && s->asked) {
		s->last_loss = s->asked;
		s->window_at_loss = s->open ? s->last_loss : 0;
	} else if (next == TCP_CA_CWR || next == TCP_CA_Loss) {
		s->window_at_loss = 0;
	}
	s->asked = 0;
}

CALLBACK_2(void, pit_cwnd_event, struct sock *, sk, u32, event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct pit *s = started(sk);
	if (!s || event != CA_EVENT_COMPLETE_CWR || !s->window_at_loss)
		return;
	u32 window = s->window_at_loss;
	tp->snd_cwnd = min_u64(max_u64(left_of(s, window), 2), window);
	tp->snd_ssthresh = max_u64(tp->snd_cwnd, 2);
	s->window_at_loss = 0;
}

CALLBACK_1(u32, pit_undo_cwnd, struct sock *, sk)
{
	struct pit *s = started(sk);
	if (s)
		s->window_at_loss = 0;
	return tcp_reno_undo_cwnd(sk);
}

CONTROLLER("ack_pit", .init = pit_init, .pkts_acked = pit_pkts_acked, .cong_avoid = pit_cong_avoid,
           .ssthresh = pit_ssthresh, .set_state = pit_set_state, .cwnd_event = pit_cwnd_event,
           .undo_cwnd = pit_undo_cwnd);
