// SPDX-License-Identifier: MIT
#include "tracer/agent/op/thin.h"

#include "base/clock.h"

#include <errno.h>
#include <time.h>

#define LOOK_CALLS   256 // from one look at the clock to the next
#define PERIOD_CALLS 4096
#define PERIOD_NS    (5 * NS_PER_MS)
#define ALL_SHARE    0.7 // where so many could be recorded, all are
#define MEAN_MAX     4096

// From 0 to LIMIT - 1: xorshift64*.
static uint32_t draw(struct op_thin *h, uint32_t limit)
{
	h->random ^= h->random >> 12;
	h->random ^= h->random << 25;
	h->random ^= h->random >> 27;
	return (uint32_t)((h->random * UINT64_C(0x2545f4914f6cdd1d) >> 32) * limit >> 32);
}

static uint64_t thread_ns(void)
{
	struct timespec t = { 0, 0 };
	int error = errno;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	errno = error;
	return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

static uint32_t mean_for(double share)
{
	if (share >= ALL_SHARE)
		return 1;
	return share * MEAN_MAX <= 1 ? MEAN_MAX : (uint32_t)(1 / share + 0.5);
}

static __attribute__((noinline)) void judge(struct op_thin *h, uint32_t allowed)
{
	uint64_t calls = h->calls - h->judged_calls;
	uint64_t now = thread_ns(), ns = now - h->judged_ns;
	uint32_t before = h->mean;

	if (h->calls >= OP_THIN_FIRST && (calls < PERIOD_CALLS || ns < PERIOD_NS))
		return;
	h->judged_calls = h->calls;
	h->judged_ns = now;
	if (h->calls < OP_THIN_FIRST)
		return;
	h->mean = mean_for((double)allowed / 1e6 * (double)ns / ((double)calls * OP_THIN_NS));
	if (before > 1 || h->mean <= 1)
		return;
	// The first one may be as near as if this had begun long before.
	h->random = h->random ? h->random : now | 1;
	h->weight = h->mean;
	h->left = draw(h, h->mean) + 1;
}

uint32_t op_thin(struct op_thin *h, uint32_t allowed)
{
	uint32_t weight = 1;

	h->calls++;
	if (!allowed)
		return 1;
	if (h->mean > 1) {
		if (--h->left)
			return 0;
		weight = h->weight;
		h->weight = h->mean;
		h->left = draw(h, 2 * h->mean - 1) + 1;
		if (h->calls - h->judged_calls >= PERIOD_CALLS)
			judge(h, allowed);
		return weight;
	}
	if (__builtin_expect(h->calls % LOOK_CALLS == 0, 0))
		judge(h, allowed);
	return 1;
}
