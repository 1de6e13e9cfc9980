// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/python/python_tally.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct sums {
	uint32_t caller, callee;
	uint64_t calls, recursive;
	unsigned found;
};

static bool visit(void *context, struct tally *t)
{
	struct sums *sums = context;

	if (t->caller != sums->caller || t->callee != sums->callee)
		return true;
	sums->calls += t->calls;
	sums->recursive += t->recursive;
	sums->found++;
	return true;
}

static struct sums sums_of(uint32_t caller, uint32_t callee)
{
	struct sums sums = { .caller = caller, .callee = callee };

	tally_each(visit, &sums);
	return sums;
}

static void expect(uint32_t caller, uint32_t callee, uint64_t calls, uint64_t recursive)
{
	struct sums sums = sums_of(caller, callee);

	cr_expect(eq(u64, sums.calls, calls), "calls of %u by %u", callee, caller);
	cr_expect(eq(u64, sums.recursive, recursive), "recursive calls of %u by %u", callee,
	          caller);
}

// Where functions are their own keys.
static void begin(uint32_t function)
{
	tally_begin(function, function);
}

Test(python_tally, calls_count_in_all_and_by_caller)
{
	begin(1);
	for (int i = 0; i < 3; i++) {
		begin(2);
		tally_end(2);
	}
	tally_end(1);
	expect(TALLY_ALL, 1, 1, 0);
	expect(TALLY_ALL, 2, 3, 0);
	expect(1, 2, 3, 0);
	cr_expect(eq(uint, sums_of(2, 1).found, 0));
}

Test(python_tally, recursion_is_of_a_function_and_of_a_pair)
{
	// 1 > 2 > 1 > 2 > 2
	begin(1), begin(2), begin(1), begin(2), begin(2);
	tally_end(2), tally_end(2), tally_end(1), tally_end(2), tally_end(1);
	begin(2), tally_end(2);
	expect(TALLY_ALL, 1, 2, 1);
	expect(TALLY_ALL, 2, 4, 2);
	expect(1, 2, 2, 1);
	expect(2, 2, 1, 0);
	expect(2, 1, 1, 0);
}

Test(python_tally, an_end_that_does_not_fit_ends_what_is_above_or_nothing)
{
	tally_end(9);
	begin(1), begin(2), begin(3);
	tally_end(9); // begun before counting
	begin(4);
	tally_end(2); // 3 and 4 were left without a word
	begin(5);
	expect(1, 5, 1, 0);
	expect(3, 4, 1, 0);
	expect(TALLY_ALL, 3, 1, 0);
}

Test(python_tally, deep_recursion_is_counted)
{
	for (int i = 0; i < 100000; i++)
		begin(1);
	for (int i = 0; i < 100000; i++)
		tally_end(1);
	begin(1);
	expect(TALLY_ALL, 1, 100001, 99999);
	expect(1, 1, 99999, 99998);
	cr_expect(eq(int, tally_is_lacking(), false));
}

Test(python_tally, many_functions_find_room)
{
	begin(1);
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 2; i < 50000; i++)
			begin(i), tally_end(i);
	expect(1, 2, 2, 0);
	expect(1, 49999, 2, 0);
	expect(TALLY_ALL, 30000, 2, 0);
	cr_expect(eq(int, tally_is_lacking(), false));
}

static void *call(void *unused)
{
	begin(1), begin(2); // and the thread ends
	return unused;
}

Test(python_tally, threads_have_stacks_of_their_own_and_leave_their_calls)
{
	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		cr_assert(pthread_create(&thread, NULL, call, NULL) == 0);
		pthread_join(thread, NULL);
	}
	expect(TALLY_ALL, 2, 50, 0);
	expect(1, 2, 50, 0);
	// One after the other, they share a table.
	cr_expect(le(uint, sums_of(1, 2).found, 2));
}

static bool tell(void *context, struct tally *t)
{
	*(uint64_t *)context += t->calls - t->told_calls;
	return true;
}

Test(python_tally, a_child_has_nothing_of_its_parents_to_tell)
{
	uint64_t untold = 0;

	begin(1), begin(2);
	tally_fork();
	tally_each(tell, &untold);
	cr_expect(eq(u64, untold, 0));
	begin(2);
	tally_each(tell, &untold);
	cr_expect(eq(u64, untold, 2)); // of all, and by itself
}
