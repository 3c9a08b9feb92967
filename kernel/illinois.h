/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * TCP-Illinois (Liu, Basar and Srikant 2008) of any order (Edwan, thesis, Loughborough 2010, chapter 6): with order 2
 * TCP-Q, 3 TCP-C, with the form fq TCP-Fq, fs TCP-Fs. The including file defines ORDER and FORM.
 *
 * | rule | here |
 * | --- | --- |
 * | alpha = alpha_max up to d_1, then falling with the n-th power of the delay (6.3) | alpha_at, next_alpha |
 * | beta = beta_min up to d_2, beta_max from d_3, rising between (6.4); TCP-Fs | next_beta |
 * | alpha_max again only after theta round trips with a short queue | next_alpha |
 *
 * Differences from crates/control/src/controllers/linux/illinois.rs: none.
 */
#include "ack.h"

PARAMETER(real, alpha_min, REAL(0.3));
PARAMETER(real, alpha_max, REAL(10));
PARAMETER(real, beta_min, REAL(0.125));
PARAMETER(real, beta_max, REAL(0.5));
PARAMETER(real, eta_1, REAL(0.01));
PARAMETER(real, eta_2, REAL(0.1));
PARAMETER(real, eta_3, REAL(0.8));
PARAMETER(u32, window_threshold, 15);
PARAMETER(u32, theta, 5);
/* As Linux and the thesis count theta. */
PARAMETER(bool, theta_in_a_row, false);
PARAMETER(u32, order, ORDER);
/* Expands FORM before CHOICE joins it to a name. */
#define CHOICE_OF_FORMS(value) CHOICE(form, value, power, fq, fs)
CHOICE_OF_FORMS(FORM);
CHOICE(extrema, sample, sample, window_average);
PARAMETER(bool, legacy_beta_bug, false);

PROBES(alpha, beta, delay_ms, delay_max_ms);

/* alpha is in 128ths, beta in 64ths, shares of a delay in 10000ths. */
#define ALPHA_SCALE 128
#define BETA_SCALE 64
#define SHARES 10000
#define ALPHA_BASE ALPHA_SCALE
#define BETA_BASE (BETA_SCALE / 2)
/* Samples above this count as this. */
#define LONGEST_RTT (~0u / (10 * ALPHA_SCALE))
/* The power of a delay, times an increase of 11 bits, has at most 64. */
#define BITS (64 - 11)
#define LARGEST_ORDER 8
#define NO_RTT (~0u)

struct illinois {
	u64 sum;
	u32 count;
	u32 alpha;
	u32 beta;
	/* Least and largest RTT, d_a and d_m, microseconds. */
	u32 base;
	u32 largest;
	u32 delay;
	u32 delay_max;
	/* The round trip ends with an ACK beyond this sequence number. */
	u32 end;
	/* Segments that the present ACK covers. */
	u32 covered;
	/* Round trips with a short queue since there was a longer one. */
	u32 low;
	bool above;
	u64 probe_turn;
};
PRIVATE_STATE(struct illinois);

/* x in units of 1/scale, at least one of them. */
inline_always u32 in_parts(real x, u32 scale) { return max_u64((x * scale) >> 32, 1); }

/* The share eta of a delay. */
inline_always u64 share(real eta, u64 delay) { return ((eta * SHARES + (1ull << 31)) >> 32) * delay / SHARES; }

/* By how many bits delays up to dm are shortened for their n-th power. */
inline_always u32 excess_bits(u32 dm, u32 n)
{
	u32 length = 0;
	for (u32 bit = 0; bit < 32; bit++)
		if (dm >> bit)
			length = bit + 1;
	u32 most = BITS / max_u64(n, 1);
	return length > most ? length - most : 0;
}

inline_always u64 power(u64 d, u32 n)
{
	u64 product = d;
	for (u32 i = 1; i < LARGEST_ORDER; i++)
		if (i < n)
			product *= d;
	return product;
}

/* The increase at a delay above d_1. */
inline_always u32 alpha_at(const struct illinois *s)
{
	u32 n = form == form_power ? order : 1, shift = excess_bits(s->delay_max, n) & 31;
	u64 da = s->delay >> shift, dm = s->delay_max >> shift;
	u64 least = in_parts(alpha_min, ALPHA_SCALE), most = in_parts(alpha_max, ALPHA_SCALE);
	u64 d1 = power(share(eta_1, dm), n), at = power(da, n), end = power(dm, n);
	u64 above = at > d1 ? at - d1 : 0, range = max_u64(end - d1, 1);
	return range * most / max_u64(range + above * (most - least) / least, 1);
}

inline_always u32 next_alpha(struct illinois *s)
{
	if (s->delay > share(eta_1, s->delay_max)) {
		s->above = true;
		if (theta_in_a_row)
			s->low = 0;
		return alpha_at(s);
	}
	if (s->above) {
		s->low += 1;
		if (s->low < theta)
			return s->alpha;
		s->low = 0;
		s->above = false;
	}
	return in_parts(alpha_max, ALPHA_SCALE);
}

inline_always u32 next_beta(const struct illinois *s)
{
	u32 least = in_parts(beta_min, BETA_SCALE), most = in_parts(beta_max, BETA_SCALE);
	u64 range = most - least, delay = s->delay;
	u64 d2 = share(eta_2, s->delay_max), d3 = share(eta_3, s->delay_max), d5 = (d2 + d3) / 2, d4 = (d2 + d5) / 2;
	if (delay <= (form == form_fs ? d4 : d2))
		return least;
	if (delay >= d3 || d3 <= d2)
		return most;
	if (form == form_fs && delay < d5)
		return least + range * (delay - d4) / max_u64(2 * (d5 - d4), 1);
	u32 n = form == form_power ? order : form == form_fq ? 2 : 1, shift = excess_bits(s->delay_max, n) & 31;
	u64 da = s->delay >> shift, dm = s->delay_max >> shift;
	u64 low = power(share(eta_2, dm), n), high = power(share(eta_3, dm), n), at = power(da, n);
	u64 beyond = at > low ? at - low : 0;
	return least + min_u64(range * beyond / max_u64(high - low, 1), range);
}

inline_always void restart_round(const struct sock *sk, struct illinois *s)
{
	s->end = tcp_sk(sk)->snd_nxt;
	s->count = 0;
	s->sum = 0;
}

inline_always void widen(struct illinois *s, u32 rtt)
{
	s->base = min_u64(s->base, rtt);
	s->largest = max_u64(s->largest, rtt);
}

/* A round trip ends. */
inline_always void decide(const struct sock *sk, struct illinois *s)
{
	if (s->count && extrema == extrema_window_average)
		widen(s, s->sum / s->count);
	if (tcp_sk(sk)->snd_cwnd < window_threshold) {
		s->alpha = ALPHA_BASE;
		s->beta = BETA_BASE;
	} else if (s->count) {
		s->delay = s->sum / s->count - s->base;
		s->delay_max = s->largest - s->base;
		s->alpha = next_alpha(s);
		s->beta = next_beta(s);
	}
}

CALLBACK_1(void, illinois_init, struct sock *, sk)
{
	struct illinois *s = state(sk);
	CLEAR(s);
	s->alpha = in_parts(alpha_max, ALPHA_SCALE);
	s->beta = BETA_BASE;
	s->base = NO_RTT;
	restart_round(sk, s);
}

CALLBACK_2(void, illinois_pkts_acked, struct sock *, sk, const struct ack_sample *, sample)
{
	struct illinois *s = state(sk);
	s32 rtt = sample->rtt_us;
	s->covered = sample->pkts_acked;
	if (rtt < 0)
		return;
	rtt = min_u64(rtt, LONGEST_RTT);
	if (extrema == extrema_sample)
		widen(s, rtt);
	s->count += 1;
	s->sum += rtt;
}

CALLBACK_3(void, illinois_cong_avoid, struct sock *, sk, u32, ack, u32, acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct illinois *s = state(sk);
	if (is_after(ack, s->end)) {
		decide(sk, s);
		restart_round(sk, s);
	}
	if (is_window_limited(sk)) {
		if (tp->snd_cwnd < tp->snd_ssthresh) {
			tcp_slow_start(tp, acked);
		} else {
			tp->snd_cwnd_cnt += s->covered;
			u64 grown = (u64)tp->snd_cwnd_cnt * s->alpha / ALPHA_SCALE;
			if (grown >= tp->snd_cwnd) {
				tp->snd_cwnd += (u32)(grown / max_u64(tp->snd_cwnd, 1));
				tp->snd_cwnd_cnt = 0;
			}
		}
	}
	struct probe_record *out = probe_begin(sk, &s->probe_turn);
	if (!out)
		return;
	probe(out, alpha, s->alpha, ALPHA_SCALE);
	probe(out, beta, s->beta, BETA_SCALE);
	probe(out, delay_ms, s->delay, 1000);
	probe(out, delay_max_ms, s->delay_max, 1000);
	probe_end(out);
}

CALLBACK_1(u32, illinois_ssthresh, struct sock *, sk)
{
	u32 window = tcp_sk(sk)->snd_cwnd, given_up = (u64)window * state(sk)->beta / BETA_SCALE;
	return max_u64(legacy_beta_bug ? given_up : window - given_up, 2);
}

CALLBACK_2(void, illinois_set_state, struct sock *, sk, u8, next)
{
	struct illinois *s = state(sk);
	if (next != TCP_CA_Loss)
		return;
	s->alpha = ALPHA_BASE;
	s->beta = BETA_BASE;
	s->low = 0;
	s->above = false;
	restart_round(sk, s);
}

CALLBACK_1(u32, illinois_undo_cwnd, struct sock *, sk) { return tcp_reno_undo_cwnd(sk); }

#define ILLINOIS(name)                                                                                                 \
	CONTROLLER(name, .init = illinois_init, .pkts_acked = illinois_pkts_acked, .cong_avoid = illinois_cong_avoid,      \
	           .ssthresh = illinois_ssthresh, .set_state = illinois_set_state, .undo_cwnd = illinois_undo_cwnd)
