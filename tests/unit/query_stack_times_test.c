// SPDX-License-Identifier: MIT
#include "merge/query/query_stack_times.h"

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

TestSuite(query_stack_times, .init = begin, .fini = end);

static struct stacks *stacks_of(const struct query *query)
{
	struct error err = { 0 };
	struct stacks *stacks = query_stacks(f.profile, query, STACKS_BY_LINE, &err);

	cr_assert(stacks != NULL, "%s", err.text);
	return stacks;
}

static struct stack_times *times_of(const struct query *query, const struct stacks *stacks,
                                    size_t parts_max)
{
	struct error err = { 0 };
	struct stack_times *times = query_stack_times(f.profile, query, stacks, parts_max, &err);

	cr_assert(times != NULL, "%s", err.text);
	return times;
}

// "main leaf 3+2, …": thread, innermost function, the first bin since the start and ms, in a static
// buffer. What goes on from bin to bin is one.
static const char *times_text(const struct stacks *stacks, const struct stack_times *times)
{
	static char text[4096];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < times->count;) {
		const struct stack_part *part = &times->parts[i];
		const struct stack_node *node = &stacks->nodes[part->node];
		uint64_t ns = 0;
		uint32_t bin = part->bin;
		for (; i < times->count && times->parts[i].node == part->node &&
		       times->parts[i].bin <= bin + 1;
		     i++) {
			ns += times->parts[i].ns;
			bin = times->parts[i].bin;
		}
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s %s %lld+%lu", used ? ", " : "",
			stacks->threads[part->thread].name, stacks->frames[node->frame].name,
			(long long)((times->origin_ns + (int64_t)(part->bin * times->bin_ns)) /
		                    (int64_t)MS),
			(unsigned long)(ns / MS));
	}
	return text;
}

static void expect_sums(const struct stacks *stacks, const struct stack_times *times)
{
	for (size_t n = 0; n < stacks->count; n++) {
		uint64_t ns[METRIC_COUNT] = { 0 };
		for (size_t i = 0; i < times->count; i++)
			if (times->parts[i].node == n)
				ns[times->parts[i].metric] += times->parts[i].ns;
		for (int m = 0; m < METRIC_COUNT; m++)
			cr_expect(eq(u64, ns[m], stacks->nodes[n].self.ns[m]),
			          "node %zu, metric %d", n, m);
	}
}

static void add_some(void)
{
	uint64_t start_ns = f.now_ns;

	add_thread(&f, 2, 1, 101, "other");
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:5");
	f.now_ns = start_ns + 10 * MS;
	add(&f, 2, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:5");
	f.now_ns = start_ns + 20 * MS;
	add(&f, 1, METRIC_OFF_LOCK, 30, "main a.c:2 > lock@libc");
	f.now_ns = start_ns + 60 * MS;
	add(&f, 1, METRIC_ON_CPU, 1, "main a.c:1 > work a.c:5");
	name_all(&f);
}

Test(query_stack_times, stacks_are_where_they_were)
{
	const struct query query = { 0 };

	add_some();
	cleanup(stacks) struct stacks *stacks = stacks_of(&query);
	cleanup(stack_times) struct stack_times *times = times_of(&query, stacks, 1000);
	const char *text = times_text(stacks, times);
	const char *first = strstr(text, "main work 0+1"), *waits = strstr(text, "main lock 20+30"),
		   *last = strstr(text, "main work 60+1"), *other = strstr(text, "other work 10+1");
	cr_expect(first && waits && last && other && first < waits && waits < last, "%s", text);
	expect_sums(stacks, times);
}

Test(query_stack_times, sums_stay_where_bins_become_one)
{
	const struct query query = { 0 };

	add_some();
	cleanup(stacks) struct stacks *stacks = stacks_of(&query);
	cleanup(stack_times) struct stack_times *fine = times_of(&query, stacks, 1000);
	cleanup(stack_times) struct stack_times *coarse = times_of(&query, stacks, 8);
	cr_expect(coarse->count <= 8);
	cr_expect(gt(u64, coarse->bin_ns, fine->bin_ns));
	expect_sums(stacks, coarse);
	cleanup(stack_times) struct stack_times *one = times_of(&query, stacks, 1);
	expect_sums(stacks, one);
}

Test(query_stack_times, a_window_has_what_is_in_it)
{
	const struct query query = { .from_ns = 30 * MS, .to_ns = 40 * MS };

	add_some();
	cleanup(stacks) struct stacks *stacks = stacks_of(&query);
	cleanup(stack_times) struct stack_times *times = times_of(&query, stacks, 1000);
	expect_sums(stacks, times);
	cr_expect(gt(sz, times->count, 0));
	for (size_t i = 0; i < times->count; i++)
		cr_expect(times->parts[i].metric == METRIC_OFF_LOCK);
}

Test(query_stack_times, hidden_frames_give_their_time_to_their_callers)
{
	const struct query query = { .hide = "work" };

	add_some();
	cleanup(stacks) struct stacks *stacks = stacks_of(&query);
	cleanup(stack_times) struct stack_times *times = times_of(&query, stacks, 1000);
	expect_sums(stacks, times);
	cr_expect(strstr(times_text(stacks, times), "main main 0+1") != NULL);
}
