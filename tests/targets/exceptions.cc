// SPDX-License-Identifier: MIT
// Throws through 20 frames: the time of unwinding belongs to those who threw.
#include "truth.h"

#include <stdexcept>

static int at_work;
static volatile int deep = 20;

static NOINLINE int thrower(int depth)
{
	if (depth == 0)
		throw std::runtime_error("bottom");
	int result = thrower(depth - 1);

	NOT_LAST();
	return result;
}

static NOINLINE void throw_many(int count)
{
	for (int i = 0; i < count; i++) {
		try {
			thrower(deep);
		} catch (const std::runtime_error &) {
		}
	}
}

static NOINLINE uint64_t work(uint64_t n)
{
	uint64_t x = n;

	SPIN(x, n, at_work);
	return x;
}

int main()
{
	uint64_t n = truth_steps(50);

	for (int round = truth_rounds(); round > 0; round--) {
		TRUTH("total", "throw_many", 0, throw_many(4000));
		TRUTH("self", "work", at_work, work(n));
	}
	truth_fact("most total", "thrower", 100);
	truth_fact("most total", "throw_many", 100);
	truth_print();
	return 0;
}
