// SPDX-License-Identifier: MIT
// Instances of one template are functions of their own; so are lambdas and methods.
#include "truth.h"

#include <cstddef>

namespace shop
{

static int at_step[3], at_lambda, at_method;

template <int N> NOINLINE uint64_t step(uint64_t n)
{
	uint64_t x = n + N;

	SPIN(x, n, at_step[N]);
	return x;
}

template <typename T> struct counter {
	T total = 0;
	NOINLINE void count(uint64_t n)
	{
		uint64_t x = n;
		SPIN(x, n, at_method);
		total += static_cast<T>(x);
	}
};

template <typename F> NOINLINE uint64_t call(F f, uint64_t n)
{
	uint64_t x = f(n);

	NOT_LAST();
	return x;
}

} // namespace shop

int main()
{
	uint64_t n = truth_steps(10);
	shop::counter<long> counter;
	auto work = [](uint64_t steps) NOINLINE {
		uint64_t x = steps;
		SPIN(x, steps, shop::at_lambda);
		return x;
	};

	for (int round = truth_rounds(); round > 0; round--) {
		TRUTH("self", "shop::step<0>", shop::at_step[0], shop::step<0>(4 * n));
		TRUTH("self", "shop::step<1>", shop::at_step[1], shop::step<1>(2 * n));
		TRUTH("self", "shop::step<2>", shop::at_step[2], shop::step<2>(n));
		TRUTH("self", "shop::counter<long>::count", shop::at_method, counter.count(2 * n));
		TRUTH("total", "shop::call<main::{lambda}>", 0, shop::call(work, n));
	}
	truth_print();
	return counter.total == 1;
}
