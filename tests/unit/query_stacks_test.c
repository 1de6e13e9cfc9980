// SPDX-License-Identifier: MIT
#include "merge/query/query_stacks.h"

#include "base/error.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>
#include <string.h>

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_stacks, .init = begin, .fini = end);

static size_t put_frames(char *text, size_t size, const struct stacks *stacks, size_t node)
{
	const struct stack_node *at = &stacks->nodes[node];
	size_t used = 0;

	if (at->caller == STACK_NO_CALLER)
		return (size_t)snprintf(text, size, "%s", stacks->threads[at->frame].name);
	used = put_frames(text, size, stacks, at->caller);
	const struct stack_frame *frame = &stacks->frames[at->frame];
	used += (size_t)snprintf(text + used, size - used, frame->op ? ";<%s>" : ";%s",
	                         frame->name);
	if (frame->line)
		used += (size_t)snprintf(text + used, size - used, ":%d", frame->line);
	return used;
}

// "main;work:3;leaf:9 30, …": ms, in a static buffer.
static const char *stacks_text(const struct stacks *stacks)
{
	static char text[65536];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < stacks->count; i++) {
		const struct stack_weight *self = &stacks->nodes[i].self;
		uint64_t ms = (stack_weight_on_cpu(self) + stack_weight_off_cpu(self)) / MS;
		if (!ms)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", used ? ", " : "");
		used += put_frames(text + used, sizeof(text) - used, stacks, i);
		used += (size_t)snprintf(text + used, sizeof(text) - used, " %lu",
		                         (unsigned long)ms);
	}
	return text;
}

static const char *ask_stacks(const struct query *query, enum stacks_by by)
{
	struct error err = { 0 };
	cleanup(stacks) struct stacks *stacks = query_stacks(f.profile, query, by, &err);

	cr_assert(stacks != NULL, "%s", err.text);
	return stacks_text(stacks);
}

Test(query_stacks, each_path_has_its_own_time)
{
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:1 > work a.c:5 > leaf a.c:9");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > work a.c:6");
	add(&f, 1, METRIC_OFF_FILE, 5, "main a.c:2 > read@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask_stacks(&(struct query){ 0 }, STACKS_BY_LINE),
	             "main;main:1;work:5;leaf:9 30, main;main:1;work:6 10, main;main:2;read 5"));
}

Test(query_stacks, a_functions_line_is_where_most_of_its_time_was)
{
	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:1 > work a.c:5 > leaf a.c:9");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > work a.c:6");
	add(&f, 1, METRIC_OFF_FILE, 5, "main a.c:2 > read@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask_stacks(&(struct query){ 0 }, STACKS_BY_FUNCTION),
	             "main;main:1;work:6 10, main;main:1;work:6;leaf:9 30, main;main:1;read 5"));
}

Test(query_stacks, what_is_below_a_node_follows_it)
{
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > b a.c:5 > c a.c:9");
	add(&f, 1, METRIC_ON_CPU, 2, "main a.c:1 > d a.c:7");
	add(&f, 1, METRIC_ON_CPU, 4, "main a.c:1 > b a.c:6 > e a.c:8");
	name_all(&f);
	cleanup(stacks) struct stacks *stacks =
		query_stacks(f.profile, &(struct query){ 0 }, STACKS_BY_FUNCTION, NULL);
	cr_assert(stacks != NULL);
	cr_expect(eq(str, (char *)stacks_text(stacks),
	             "main;main:1;b:6;c:9 1, main;main:1;b:6;e:8 4, main;main:1;d:7 2"));
	for (size_t i = 1; i < stacks->count; i++) {
		size_t caller = stacks->nodes[i].caller, before = i - 1;
		while (before != caller && before != STACK_NO_CALLER)
			before = stacks->nodes[before].caller;
		cr_expect(eq(sz, before, caller), "node %zu", i);
		cr_expect(eq(u32, stacks->nodes[i].depth, stacks->nodes[caller].depth + 1));
	}
}

Test(query_stacks, threads_stand_one_after_the_other)
{
	add_process(&f, 2, 200, "child");
	add_thread(&f, 2, 2, 201, "worker");
	add(&f, 2, METRIC_ON_CPU, 2, "start a.c:3");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1");
	add(&f, 2, METRIC_ON_CPU, 4, "start a.c:3 > x a.c:4");
	name_all(&f);
	cleanup(stacks) struct stacks *stacks =
		query_stacks(f.profile, &(struct query){ 0 }, STACKS_BY_LINE, NULL);
	cr_assert(stacks != NULL);
	cr_expect(eq(sz, stacks->thread_count, 2));
	for (size_t i = 0; i < stacks->thread_count; i++) {
		const struct stack_thread *thread = &stacks->threads[i];
		bool child = thread->tid == 201;
		cr_expect(eq(str, (char *)thread->process, child ? "child" : "app"));
		cr_expect(eq(u32, thread->pid, child ? 200 : 100));
		cr_expect(eq(int, thread->is_main, !child));
		cr_expect(eq(sz, thread->end - thread->first, child ? 3 : 2));
		cr_expect(eq(sz, stacks->nodes[thread->first].caller, STACK_NO_CALLER));
	}
}

// What the report would rank, and what the stacks hold.
static void compare_sums(const struct query *query)
{
	struct error err = { 0 };

	cleanup(rows) struct rows *rows = query_run(f.profile, query, &err);
	cr_assert(rows != NULL, "%s", err.text);
	for (int by = STACKS_BY_FUNCTION; by <= STACKS_BY_LINE; by++) {
		cleanup(stacks) struct stacks *stacks =
			query_stacks(f.profile, query, (enum stacks_by)by, &err);
		cr_assert(stacks != NULL, "%s", err.text);
		uint64_t sum = 0;
		for (size_t i = 0; i < stacks->count; i++)
			sum += stack_weight_on_cpu(&stacks->nodes[i].self) +
			       stack_weight_off_cpu(&stacks->nodes[i].self);
		cr_expect(eq(u64, sum, rows->all));
		cr_expect(eq(u64, stack_weight_samples(&stacks->all), rows->all_samples));
	}
}

Test(query_stacks, sums_are_those_of_the_ranked_rows)
{
	add_thread(&f, 2, 1, 101, "other");
	add(&f, 1, METRIC_ON_CPU, 7, "main a.c:1 > inl h.h:2|outer a.c:9 > leaf a.c:9");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > <forward> > gemm@libc");
	add(&f, 1, METRIC_ON_CPU, 3, "{step t.py:8} > ~eval@libc > [kernel]");
	add(&f, 1, METRIC_OFF_RUNNABLE, 9, "?");
	add(&f, 2, METRIC_OFF_LOCK, 50, "main a.c:1 > main a.c:1 > wait@libc");
	f.now_ns += 100 * MS;
	add(&f, 2, METRIC_ON_CPU, 11, "main a.c:1 > [cut] > x a.c:4");
	name_all(&f);
	const struct query queries[] = {
		{ 0 },
		{ .on_cpu = true },
		{ .off_cpu = true },
		{ .thread = "other" },
		{ .hide = "libc*" },
		{ .user_code = "a.c" },
		{ .user_code = "nothing" },
		{ .interpreter = true },
		{ .from_ns = 50 * MS },
		{ .to_ns = 20 * MS },
		{ .without_others = true },
	};
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		compare_sums(&queries[i]);
}

Test(query_stacks, ops_stand_between_who_began_them_and_what_they_ran)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > step a.c:3 > <forward> > gemm a.c:5");
	add(&f, 1, METRIC_ON_CPU, 4, "main a.c:1 > step a.c:3 > <forward>");
	name_all(&f);
	cr_expect(eq(str, (char *)ask_stacks(&(struct query){ 0 }, STACKS_BY_LINE),
	             "main;main:1;step:3;<forward> 4, main;main:1;step:3;<forward>;gemm:5 10"));
}

Test(query_stacks, hidden_functions_give_their_time_to_their_callers)
{
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:1 > memcpy@libc > more@libc");
	add(&f, 1, METRIC_ON_CPU, 2, "?@libc");
	name_all(&f);
	cr_expect(eq(str, (char *)ask_stacks(&(struct query){ .hide = "libc.so*" }, STACKS_BY_LINE),
	             "main;main:1 10, main;[hidden] 2"));
}

Test(query_stacks, a_profile_without_stacks_has_none)
{
	name_all(&f);
	cleanup(stacks) struct stacks *stacks =
		query_stacks(f.profile, &(struct query){ 0 }, STACKS_BY_FUNCTION, NULL);
	cr_assert(stacks != NULL);
	cr_expect(eq(sz, stacks->count, 0));
	cr_expect(eq(sz, stacks->thread_count, 0));
}

Test(query_stacks, a_thread_that_is_not_there_is_an_error)
{
	struct error err = { 0 };

	name_all(&f);
	cr_expect(query_stacks(f.profile, &(struct query){ .thread = "nobody" }, STACKS_BY_FUNCTION,
	                       &err) == NULL);
	cr_expect(strstr(err.text, "nobody") != NULL);
}
