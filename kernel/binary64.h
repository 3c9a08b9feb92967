/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Floating-point numbers, which the kernel does not have, for controllers whose windows depend on the last bit, as
 * their sums often meet a threshold exactly. Results are as of a double (IEEE 754, binary64), rounded to the nearest,
 * ties to even, and so the same as in the simulator, bit by bit.
 *
 * Only numbers of at least zero, and of an ordinary size: no infinity, nothing so small or large that its exponent
 * would not fit. They are ordered as their bits are: <, ==, least and most hold.
 */
#ifndef ACK_BINARY64_H
#define ACK_BINARY64_H

#include "ack.h"

typedef u64 binary64;

/* A power of two, 2^n. */
#define POWER(n) ((binary64)(1023 + (n)) << 52)
#define ONE POWER(0)
#define TWO POWER(1)

/* x is mantissa(x) * 2^exponent(x). */
inline_always u64 mantissa(binary64 x) { return x ? (x & ((1ull << 52) - 1)) | 1ull << 52 : 0; }
inline_always s32 exponent(binary64 x) { return (s32)(x >> 52) - 1075; }

/* m * 2^e rounded to 53 bits. The lowest bit of an m of more than 54 may represent any rest below it. */
FUNCTION(binary64, rounded, u64, m, s64, e)
{
	if (m == 0)
		return 0;
#pragma unroll
	for (u32 step = 32; step > 0; step /= 2)
		if (m >> (64 - step) == 0) {
			m <<= step;
			e -= step;
		}
	u64 kept = m >> 11, rest = m & 0x7ff;
	kept += rest > 0x400 || (rest == 0x400 && (kept & 1));
	return kept + ((u64)(e + 11 + 1074) << 52); /* the top bit of `kept` adds one to the exponent */
}

/* A whole number. */
inline_always binary64 from_whole(u64 n) { return rounded(n, 0); }

/* x rounded down, for x below 2^53. */
inline_always u64 floor_of(binary64 x)
{
	s32 drop = -exponent(x);
	return drop < 0 || drop > 52 ? 0 : mantissa(x) >> drop;
}

/* The mantissa of b, ten bits longer, as it adds to the mantissa of a. Its lowest bit represents the bits that are
 * lost. */
inline_always u64 aligned(binary64 a, binary64 b)
{
	u64 m = mantissa(b) << 10;
	u32 shift = exponent(a) - exponent(b);
	if (shift > 63)
		return m != 0;
	return m >> shift | ((m & ((1ull << shift) - 1)) != 0);
}

/* a + b */
FUNCTION(binary64, plus, binary64, a, binary64, b)
{
	binary64 larger = max_u64(a, b), smaller = min_u64(a, b);
	return rounded((mantissa(larger) << 10) + aligned(larger, smaller), exponent(larger) - 10);
}

/* a - b, or 0 where b is larger */
FUNCTION(binary64, minus, binary64, a, binary64, b)
{
	return a > b ? rounded((mantissa(a) << 10) - aligned(a, b), exponent(a) - 10) : 0;
}

/* a * b */
FUNCTION(binary64, times, binary64, a, binary64, b)
{
	u64 x = mantissa(a) << 11, y = mantissa(b) << 11;
	u64 x1 = x >> 32, x0 = (u32)x, y1 = y >> 32, y0 = (u32)y;
	u64 middle = x1 * y0 + (x0 * y0 >> 32);
	u64 carry = x0 * y1 + (u32)middle;
	u64 high = x1 * y1 + (middle >> 32) + (carry >> 32);
	bool rest = (u32)carry | (u32)(x0 * y0);
	return rounded(high | rest, exponent(a) + exponent(b) + 42);
}

/* a / b for b above 0, and a where b is 0 */
FUNCTION(binary64, over, binary64, a, binary64, b)
{
	u64 divisor = mantissa(b);
	if (divisor == 0)
		return a;
	u64 quotient = mantissa(a) / divisor, rest = mantissa(a) - quotient * divisor;
#pragma unroll
	for (u32 digit = 0; digit < 5; digit++) {
		rest <<= 11;
		u64 eleven_bits = rest / divisor;
		rest -= eleven_bits * divisor;
		quotient = quotient << 11 | eleven_bits;
	}
	return rounded(quotient | (rest != 0), exponent(a) - exponent(b) - 55);
}

#endif
