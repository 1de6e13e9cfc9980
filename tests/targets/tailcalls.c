// SPDX-License-Identifier: MIT
// `jumper` ends in a jump to `landed`: while landed works, jumper is on no stack.
// `ender` ends in a call that never returns: its return address belongs to `after`.
#include "truth.h"

#include <setjmp.h>

static int at_jumper, at_landed, at_ender;
static uint64_t jumper_ns, landed_ns, ender_ns;
static jmp_buf way_out;

static NOINLINE uint64_t landed(uint64_t n)
{
	uint64_t x = n, start = truth_cpu();

	SPIN(x, n, at_landed);
	landed_ns += truth_cpu() - start;
	return x;
}

static NOINLINE uint64_t jumper(uint64_t n)
{
	uint64_t x = n, start = truth_cpu();

	SPIN(x, n, at_jumper);
	jumper_ns += truth_cpu() - start;
	return landed(n + (x == 42));
}

static NOINLINE __attribute__((noreturn)) void never_returns(uint64_t n)
{
	uint64_t x = n, start = truth_cpu();

	SPIN(x, n, at_ender);
	ender_ns += truth_cpu() - start;
	longjmp(way_out, 1);
}

static NOINLINE void ender(uint64_t n)
{
	never_returns(n + 1);
}

static NOINLINE uint64_t after(uint64_t n)
{
	return n * 3;
}

int main(void)
{
	uint64_t n = truth_steps(33);

	for (int round = truth_rounds(); round > 0; round--) {
		jumper(n);
		if (!setjmp(way_out))
			ender(n);
		after(n);
	}
	truth_add("self", "jumper", __FILE__, at_jumper, jumper_ns);
	truth_add("total", "jumper", 0, 0, jumper_ns);
	truth_add("self", "landed", __FILE__, at_landed, landed_ns);
	truth_add("path", "main;landed", 0, 0, landed_ns);
	truth_add("self", "never_returns", __FILE__, at_ender, ender_ns);
	truth_add("path", "main;ender;never_returns", 0, 0, ender_ns);
	truth_fact("most total", "after", 0.5);
	truth_print();
	return 0;
}
