// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/memory_poisson.h"

#include "base/hash.h"

#define LN2   0.693147180559945309417
#define SQRT2 1.41421356237309504880
#define LARGE 40.0 // exp(-40) is nothing to 1

// Not libm's: the agent must not bring a library into the target that it did not have.

// x in [2^-60, 1].
static double logarithm(double x)
{
	union {
		double value;
		uint64_t bits;
	} u = { x };
	int exponent = (int)(u.bits >> 52) - 1023;
	double sum = 0;

	u.bits = (u.bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
	if (u.value > SQRT2) {
		u.value /= 2;
		exponent++;
	}
	// ln m = 2 artanh((m - 1) / (m + 1)), a quick series for m near 1.
	double s = (u.value - 1) / (u.value + 1);
	for (int i = 19; i > 0; i -= 2)
		sum = sum * s * s + 2.0 / i;
	return sum * s + exponent * LN2;
}

// 1 - exp(-x) for x > 0, without the loss of digits for small x.
static double chance(double x)
{
	double sum = 0;
	int halvings = 0;

	if (x > LARGE)
		return 1;
	while (x > 0.5) {
		x /= 2;
		halvings++;
	}
	// 1 - exp(-x) = x - x^2/2! + x^3/3! …
	for (int i = 14; i > 0; i--)
		sum = (1 - sum) * x / i;
	// 1 - exp(-2x) = c (2 - c) where c = 1 - exp(-x).
	for (; halvings; halvings--)
		sum *= 2 - sum;
	return sum;
}

void poisson_start(struct poisson *p, uint64_t seed, uint64_t mean)
{
	p->state = hash_mix(seed) | 1;
	p->mean = mean;
}

// xorshift64*.
static uint64_t next_random(struct poisson *p)
{
	p->state ^= p->state >> 12;
	p->state ^= p->state << 25;
	p->state ^= p->state >> 27;
	return p->state * UINT64_C(0x2545f4914f6cdd1d);
}

uint64_t poisson_distance(struct poisson *p)
{
	double uniform = (double)((next_random(p) >> 11) + 1) * 0x1p-53; // in (0, 1]

	return (uint64_t)(-logarithm(uniform) * (double)p->mean) + 1;
}

double poisson_calls(const struct poisson *p, uint64_t bytes)
{
	return 1 / chance((double)bytes / (double)p->mean);
}

uint64_t poisson_weight(const struct poisson *p, uint64_t bytes)
{
	return (uint64_t)((double)bytes * poisson_calls(p, bytes) + 0.5);
}

bool poisson_takes(struct poisson *p, uint32_t shift)
{
	return !shift || next_random(p) >> (64 - shift) == 0;
}

// The mean doubles once, or as often as it takes to fit the budget.
static uint32_t raise_shift(uint32_t shift, uint64_t elapsed_ns, uint64_t window_ns)
{
	do
		shift++;
	while (shift < POISSON_SHIFT_MAX && (elapsed_ns = 2 * elapsed_ns + 1) <= window_ns / 2);
	return shift < POISSON_SHIFT_MAX ? shift : POISSON_SHIFT_MAX;
}

// The other way, if that fits as well.
static uint32_t lower_shift(uint32_t shift, uint64_t taken, uint64_t elapsed_ns, uint64_t window_ns)
{
	uint64_t rate = taken * window_ns / elapsed_ns;

	for (; shift && rate < POISSON_BUDGET * 2 / 5; rate = 2 * rate + 1)
		shift--;
	return shift;
}

static void next_window(struct poisson_budget *b, uint64_t now_ns, uint32_t taken)
{
	uint64_t began = __atomic_load_n(&b->window_ns, __ATOMIC_RELAXED);
	uint64_t elapsed = now_ns - began;
	uint32_t before = __atomic_load_n(&b->before, __ATOMIC_RELAXED);
	uint32_t shift = __atomic_load_n(&b->shift, __ATOMIC_RELAXED);
	uint64_t window = before < POISSON_BURST ? POISSON_WINDOW_NS : POISSON_CALM_NS;
	bool is_over = elapsed >= window;

	// One thread closes the window; the others go by what was.
	if ((!is_over && taken <= POISSON_BUDGET) ||
	    !__atomic_compare_exchange_n(&b->window_ns, &began, now_ns, false, __ATOMIC_RELAXED,
	                                 __ATOMIC_RELAXED))
		return;
	shift = is_over ? lower_shift(shift, taken, elapsed, window)
	                : raise_shift(shift, elapsed, window);
	if (before < POISSON_BURST)
		__atomic_store_n(&b->before, before + taken, __ATOMIC_RELAXED);
	__atomic_store_n(&b->taken, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&b->shift, shift, __ATOMIC_RELAXED);
}

void poisson_spend(struct poisson_budget *b, uint64_t now_ns)
{
	next_window(b, now_ns, __atomic_add_fetch(&b->taken, 1, __ATOMIC_RELAXED));
}

void poisson_rest(struct poisson_budget *b, uint64_t now_ns)
{
	next_window(b, now_ns, __atomic_load_n(&b->taken, __ATOMIC_RELAXED));
}
