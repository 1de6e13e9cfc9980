// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/python/await_steps.h"
#include "tracer/agent/python/await_sums.h"

#include <stdlib.h>

#define MS 1000000ull

static struct agent *agent;
static uint32_t coroutine, inner, line, wrapper; // places
static struct await_loop *loop;
static uint64_t now_ns; // when the test began

// A task is the address of its coroutine's place.
static uint32_t coroutine_of(py_object task)
{
	return *(uint32_t *)(void *)task;
}

static uint32_t inner_of(py_object task)
{
	(void)task;
	return inner;
}

static uint32_t chain_of(py_object task, uint16_t *places)
{
	(void)task;
	places[0] = (uint16_t)line;
	return 1;
}

static const struct await_library library = {
	.name = "ours",
	.number = 5,
	.coroutine_of = coroutine_of,
	.inner_of = inner_of,
	.chain_of = chain_of,
};

static void begin(void)
{
	agent = calloc(1, sizeof(*agent));
	cr_assert(agent && await_steps_start(agent));
	coroutine = await_sums_add_place(1, 10, true, "App.fetch", "/w/app.py");
	inner = await_sums_add_place(2, 20, true, "poll", "/w/app.py");
	line = await_sums_add_place(1, 12, false, "App.fetch", "/w/app.py");
	wrapper = await_sums_add_place(3, 30, true, "Handle._run", "/lib/anyio/_core/_tasks.py");
	loop = await_steps_loop();
	cr_assert(loop != NULL);
	now_ns = clock_now_ns();
}

static void end(void)
{
	free(agent);
}

TestSuite(agent_await_steps, .init = begin, .fini = end);

static py_object of(uint32_t *place)
{
	return (py_object)(void *)place;
}

static void step(py_object task, uint64_t from_ns, uint64_t to_ns, bool ended)
{
	struct await_step s = { .library = &library, .begin_ns = from_ns, .object = task };

	await_steps_begin(loop, &s);
	await_steps_end(loop, &s, ended, to_ns);
}

static const struct sums_row *row_of(uint32_t place, enum await_kind kind)
{
	return &await_sums->rows[await_sums_row_of((uint16_t)place, kind) - 1];
}

static const struct sums_row *row_with(enum await_kind kind, uint32_t first, uint32_t second)
{
	const uint16_t places[] = { (uint16_t)first, (uint16_t)second };

	return &await_sums->rows[await_sums_row(kind, places, 2) - 1];
}

Test(agent_await_steps, a_task_waits_from_its_step_until_it_is_ready)
{
	py_object task = of(&coroutine);
	uint64_t t = now_ns + 1000 * MS;

	step(task, t, t + 5 * MS, false);
	cr_expect(not(await_steps_has_due(task)));
	await_steps_scheduled(&library, task, t + 25 * MS, false);
	await_steps_scheduled(&library, task, t + 15 * MS, false); // the earlier one counts
	await_steps_scheduled(&library, task, t + 20 * MS, false);
	cr_expect(await_steps_has_due(task));
	step(task, t + 18 * MS, t + 19 * MS, true);
	cr_expect(eq(u64, row_of(coroutine, AWAIT_TASK)->count, 1));
	cr_expect(eq(u64, row_of(coroutine, AWAIT_TASK)->ns, 19 * MS));
	cr_expect(eq(u64, row_of(coroutine, AWAIT_RUN)->ns, 6 * MS));
	cr_expect(eq(u64, row_of(coroutine, AWAIT_READY)->ns, 3 * MS));
	cr_expect(eq(u64, row_with(AWAIT_WAIT, coroutine, line)->ns, 10 * MS));
	// It is over: the next one at its address is another one.
	cr_expect(await_steps_scheduled(&library, task, 0, true));
}

Test(agent_await_steps, one_that_is_ready_later_than_it_is_resumed_was_not_ready)
{
	py_object task = of(&coroutine);
	uint64_t t = now_ns + 1000 * MS;

	step(task, t, t + 1 * MS, false);
	await_steps_scheduled(&library, task, t + 1000 * MS, false); // a timeout that does not come
	step(task, t + 11 * MS, t + 12 * MS, false);
	cr_expect(eq(u64, row_of(coroutine, AWAIT_READY)->ns, 0));
	cr_expect(eq(u64, row_with(AWAIT_WAIT, coroutine, line)->ns, 10 * MS));
}

Test(agent_await_steps, a_long_step_delays_those_that_are_ready)
{
	uint32_t other = inner;
	py_object blocker = of(&coroutine), victim = of(&other);
	uint64_t t = now_ns + 1000 * MS;

	step(victim, t, t + MS, false);
	await_steps_scheduled(&library, victim, t + 20 * MS, false);
	step(blocker, t + 10 * MS, t + 60 * MS, false);
	step(victim, t + 60 * MS, t + 61 * MS, false);
	cr_expect(eq(u64, row_with(AWAIT_DELAY, coroutine, inner)->ns, 40 * MS));
	cr_expect(eq(u64, row_of(inner, AWAIT_READY)->ns, 40 * MS));
}

Test(agent_await_steps, a_task_that_wraps_another_counts_for_that_one)
{
	py_object task = of(&wrapper);
	uint64_t t = now_ns + 1000 * MS;

	cr_expect(await_steps_scheduled(&library, task, 0, true));
	await_steps_name(task, "app.poll"); // that of the inner function
	step(task, t, t + 2 * MS, false);
	cr_expect(eq(u64, row_of(inner, AWAIT_TASK)->count, 1));
	cr_expect(eq(u64, row_of(inner, AWAIT_RUN)->ns, 2 * MS));
	cr_expect(eq(u64, row_of(inner, AWAIT_READY)->count, 1));
	cr_expect(eq(u64, row_of(inner, AWAIT_READY)->ns + 2 * MS, row_of(inner, AWAIT_TASK)->ns));
	cr_expect(eq(u64, row_of(wrapper, AWAIT_TASK)->count, 0));
	uint32_t name = await_sums_find((uintptr_t)&library, 0, false);
	cr_assert(name);
	cr_expect(eq(u64, row_with(AWAIT_LIBRARY, inner, name)->count, 1));
	for (uint32_t i = 0; i < await_sums->row_count; i++)
		cr_expect(ne(int, await_sums->rows[i].kind, AWAIT_NAME));
	// One that ends in its first step has awaited nothing.
	step(task, t + 3 * MS, t + 4 * MS, true);
	step(task, t + 5 * MS, t + 6 * MS, true);
	cr_expect(eq(u64, row_of(wrapper, AWAIT_TASK)->count, 1));
}

Test(agent_await_steps, a_name_is_the_programs_if_it_is_not_the_functions)
{
	static const struct {
		const char *name;
		bool counts;
	} table[] = {
		{ "App.fetch", false }, { "__main__.App.fetch", false }, { NULL, false },
		{ "", false },          { "myApp.fetch", true },         { "feed", true },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		uint32_t place = coroutine;
		uint32_t before = await_sums->row_count;
		await_steps_scheduled(&library, of(&place), 0, true);
		await_steps_name(of(&place), table[i].name);
		bool counts = false;
		for (uint32_t row = before; row < await_sums->row_count; row++)
			counts |= await_sums->rows[row].kind == AWAIT_NAME;
		cr_expect_eq(counts, table[i].counts, "%s", table[i].name ? table[i].name : "-");
		await_steps_fork();
	}
}

Test(agent_await_steps, what_still_waits_at_the_end_has_waited_until_then)
{
	uint32_t other = coroutine;
	uint64_t t = now_ns + 1000 * MS;

	step(of(&coroutine), t, t + 1 * MS, false);
	step(of(&coroutine), t + 4 * MS, t + 5 * MS, false);
	step(of(&other), t, t + 1 * MS, true);
	await_steps_leave_rest(&library, t + 25 * MS);
	cr_expect(eq(u64, row_of(coroutine, AWAIT_TASK)->ns, 26 * MS));
	cr_expect(eq(u64, row_with(AWAIT_WAIT, coroutine, line)->ns, 23 * MS));
	await_steps_leave_rest(&library, t + 50 * MS); // and is gone
	cr_expect(eq(u64, row_of(coroutine, AWAIT_TASK)->ns, 26 * MS));
}
