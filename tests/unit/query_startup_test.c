// SPDX-License-Identifier: MIT
#include "merge/query/query_startup.h"

#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

static struct fixture f;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	fixture_fini(&f);
}

TestSuite(query_startup, .init = begin, .fini = end);

// MS samples of a millisecond, one after the other.
static void spend(uint32_t thread, uint64_t ms, const char *stack)
{
	for (; ms > 0; ms--, f.now_ns += MS)
		add(&f, thread, METRIC_ON_CPU, 1, stack);
}

static void wait(enum metric metric, uint64_t ms, const char *stack)
{
	add(&f, 1, metric, ms, stack);
	f.now_ns += ms * MS;
}

static struct startup startup_of(uint64_t limit_ms)
{
	const struct run run = { .start_ns = 1000 * MS, .wall_ns = f.now_ns - 1000 * MS };
	struct startup startup;

	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	name_all(&f);
	cr_assert(query_startup(f.profile, limit_ms * MS, &startup, NULL) == 0);
	return startup;
}

#define IMPORT                                                                                     \
	"main a.c:3 > {<module> train.py:1} > {_find_and_load <frozen importlib._bootstrap>:9}"

Test(query_startup, linking_and_imports)
{
	spend(1, 20, "_dl_start rtld.c:5@ld");
	spend(1, 60, IMPORT " > {<module> numpy.py:1}");
	wait(METRIC_OFF_FILE, 15, IMPORT);
	spend(1, 200, "main a.c:3 > {<module> train.py:1} > {step train.py:9}");
	struct startup startup = startup_of(0);
	cr_expect(eq(u64, startup.ns, 95 * MS));
	cr_expect(eq(u64, startup.causes[CAUSE_LINKING], 20 * MS));
	cr_expect(eq(u64, startup.causes[CAUSE_IMPORTS], 75 * MS));
	cr_expect(eq(u64, startup.causes[CAUSE_NONE], 0));
}

Test(query_startup, a_little_other_work_between_is_part_of_it)
{
	spend(1, 30, IMPORT);
	spend(1, 10, "main a.c:3 > {setup train.py:9}");
	spend(1, 40, IMPORT);
	spend(1, 200, "main a.c:3 > {step train.py:19}");
	struct startup startup = startup_of(0);
	cr_expect(eq(u64, startup.ns, 80 * MS));
	cr_expect(eq(u64, startup.causes[CAUSE_IMPORTS], 70 * MS));
	cr_expect(eq(u64, startup.causes[CAUSE_NONE], 10 * MS));
}

Test(query_startup, an_import_late_in_the_work_is_not)
{
	spend(1, 30, IMPORT);
	spend(1, 100, "main a.c:3 > {step train.py:19}");
	spend(1, 60, IMPORT);
	spend(1, 100, "main a.c:3 > {step train.py:19}");
	cr_expect(eq(u64, startup_of(0).ns, 30 * MS));
}

// Even if it takes longer than all work before it.
Test(query_startup, it_ends_where_steps_begin)
{
	spend(1, 30, IMPORT);
	spend(1, 10, "main a.c:3 > {step train.py:19}");
	spend(1, 60, IMPORT);
	spend(1, 100, "main a.c:3 > {step train.py:19}");
	cr_expect(eq(u64, startup_of(0).ns, 100 * MS));
	cr_expect(eq(u64, startup_of(30).ns, 30 * MS));
}

Test(query_startup, other_threads_do_not_count)
{
	add_thread(&f, 2, 1, 101, "worker");
	spend(2, 50, IMPORT);
	spend(1, 100, "main a.c:3 > work a.c:9");
	cr_expect(eq(u64, startup_of(0).ns, 0));
}

Test(query_startup, none_was_seen)
{
	cr_expect(eq(u64, startup_of(0).ns, 0));
	spend(1, 100, "main a.c:3 > work a.c:9");
	cr_expect(eq(u64, startup_of(0).ns, 0));
}
