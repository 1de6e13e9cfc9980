// SPDX-License-Identifier: MIT
#include "merge/record/binding.h"

#include "tests/support/expect.h"

#include <stdio.h>

static cpu_set_t first_cpus(int count)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (int i = 0; i < count; i++)
		CPU_SET(i, &cpus);
	return cpus;
}

static void add_ready(struct binding *b, const char *list)
{
	char text[256];

	snprintf(text, sizeof(text),
	         "Name:\twork\nUmask:\t0022\nState:\tR (running)\nCpus_allowed:\t3\n"
	         "Cpus_allowed_list:\t%s\nMems_allowed:\t1\n",
	         list);
	binding_add(b, text);
}

Test(binding, two_threads_on_one_of_two_cpus)
{
	cpu_set_t cpus = first_cpus(2);
	struct binding b = { 0 };

	add_ready(&b, "0");
	cr_expect(!binding_is_narrow(&b, &cpus), "one thread needs no more");
	add_ready(&b, "0");
	cr_expect(binding_is_narrow(&b, &cpus));
	cr_expect(eq(u32, b.threads, 2));
	add_ready(&b, "1");
	cr_expect(!binding_is_narrow(&b, &cpus), "they have all CPUs together");
}

// Nor are there more of them than they have CPUs.
Test(binding, each_on_a_cpu_of_its_own)
{
	cpu_set_t cpus = first_cpus(8);
	struct binding b = { 0 };

	add_ready(&b, "0");
	add_ready(&b, "2-3");
	add_ready(&b, "5,7");
	cr_expect(!binding_is_narrow(&b, &cpus));
	cr_expect(eq(int, CPU_COUNT(&b.cpus), 5));
}

// What bottleneck itself is bound to is all that there is.
Test(binding, to_all_cpus_that_the_program_may_use)
{
	cpu_set_t cpus = first_cpus(1);
	struct binding b = { 0 };

	add_ready(&b, "0");
	add_ready(&b, "0");
	cr_expect(!binding_is_narrow(&b, &cpus));
}

Test(binding, who_waits_is_not_ready)
{
	cpu_set_t cpus = first_cpus(2);
	struct binding b = { 0 };

	add_ready(&b, "0");
	binding_add(&b, "Name:\ta\nState:\tS (sleeping)\nCpus_allowed_list:\t0\n");
	binding_add(&b, "Name:\ta\nState:\tR (running)\n");
	binding_add(&b, "Name:\ta\nState:\tR");
	binding_add(&b, "");
	cr_expect(eq(u32, b.threads, 1));
	cr_expect(!binding_is_narrow(&b, &cpus));
}
