/* Compares kernel/binary64.h with the floating point of this machine, in pairs of numbers of many sizes, and prints
 * where they differ. */
#include "binary64.h"

extern int printf(const char *form, ...);

static u64 state = 88172645463325252ull;

static u64 next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double number(u64 bits)
{
	double x;
	__builtin_memcpy(&x, &bits, sizeof x);
	return x;
}

static u64 bits(double x)
{
	u64 result;
	__builtin_memcpy(&result, &x, sizeof result);
	return result;
}

/* 0 at times, else between 2^-40 and 2^52, often with few bits, as these make ties. */
static binary64 draw(void)
{
	u64 kind = next() % 8, mantissa = next() & ((1ull << 52) - 1);
	if (kind == 0 && next() % 8 == 0)
		return 0;
	if (kind < 4)
		mantissa &= ~0ull << (next() % 53);
	return (1023 - 40 + next() % 92) << 52 | mantissa;
}

static int check(const char *what, u64 a, u64 b, u64 found, u64 right)
{
	if (found != right)
		printf("%s(%a, %a) is %a, not %a\n", what, number(a), number(b), number(found), number(right));
	return found != right;
}

int main(void)
{
	int wrong = 0;
	for (u32 round = 0; round < 2000000 && wrong == 0; round++) {
		u64 a = draw(), b = draw();
		if (a && round % 4 == 0) /* close by: what is left of a difference is small */
			b = a + next() % 1024;
		double x = number(a), y = number(b);
		wrong += check("plus", a, b, plus(a, b), bits(x + y));
		wrong += check("minus", a, b, minus(a, b), bits(x > y ? x - y : 0));
		wrong += check("times", a, b, times(a, b), bits(x * y));
		if (b)
			wrong += check("over", a, b, over(a, b), bits(x / y));
		wrong += check("floor_of", a, 0, floor_of(a), (u64)x);
		u64 whole = next() >> next() % 64;
		wrong += check("from_whole", whole, 0, from_whole(whole), bits((double)whole));
	}
	return wrong != 0;
}
