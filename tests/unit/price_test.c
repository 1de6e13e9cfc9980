// SPDX-License-Identifier: MIT
// What a change at a place may save.
#include "merge/rules/price.h"

#include "base/error.h"
#include "tests/unit/finding_fixture.h"

#include <criterion/criterion.h>
#include <inttypes.h>

TestSuite(price, .init = begin, .fini = end);

// Adds MS of a run of which each sample is 1 ms.
static void run(enum metric metric, unsigned ms, const char *stack)
{
	if (metric != METRIC_ON_CPU)
		add(&f, 1, metric, ms, stack);
	for (unsigned i = 0; metric == METRIC_ON_CPU && i < ms; i++)
		add(&f, 1, METRIC_ON_CPU, 1, stack);
}

static struct price price_of(const struct price_place *place, uint64_t symptom_ms)
{
	struct price price = { 0 };
	struct error err = { 0 };

	cr_assert(price_find(f.profile, &(struct query){ 0 }, place, symptom_ms * MS, 0, &price,
	                     &err) == 0,
	          "%s", err.text);
	return price;
}

// From MS of the whole place on, for as much as samples leave open and runs differ.
static void expect_highest(const struct price *price, uint64_t ms)
{
	cr_expect(price->high_ns >= ms * MS && price->high_ns <= (ms + 55) * MS,
	          "%" PRIu64 ", not %" PRIu64, price->high_ns / MS, ms);
}

static void plant(void)
{
	run(METRIC_ON_CPU, 300, "main a.c:3 > save a.c:9 > memmove@libc");
	run(METRIC_ON_CPU, 150, "main a.c:3 > save a.c:11");
	run(METRIC_ON_CPU, 50, "main a.c:3 > save a.c:12 > format a.c:20");
	run(METRIC_ON_CPU, 80, "main a.c:4 > write@libc");
	run(METRIC_ON_CPU, 120, "main a.c:5 > work a.c:30");
	run(METRIC_OFF_FILE, 300, "main a.c:3 > save a.c:14 > fsync@libc");
	finish(1000, 2);
}

Test(price, a_finding_is_priced_from_its_symptom_to_its_whole_place)
{
	plant();
	cleanup(findings) struct findings *found = look(NULL);
	const struct finding *copies = finding_of(found, "MEM-COPY");

	cr_assert(copies != NULL);
	cr_expect_str_eq(copies->function, "save");
	cr_expect_eq(copies->saving_ns, 300 * MS);
	cr_expect(copies->saving_low_ns < 300 * MS && copies->saving_low_ns > 265 * MS, "%" PRIu64,
	          copies->saving_low_ns / MS);
	expect_highest(&(struct price){ .high_ns = copies->saving_high_ns }, 800);
	cr_expect_eq(copies->asked_ns, 1000 * MS);
}

Test(price, the_whole_place_has_all_that_it_calls)
{
	plant();
	const struct price_place save = { .function = "save", .line = 11 };
	struct price price = price_of(&save, 150);

	cr_expect_eq(price.low_ns, 150 * MS);
	expect_highest(&price, 800);
	const struct price_place leaf = { .function = "format", .line = 20 };
	price = price_of(&leaf, 50);
	expect_highest(&price, 50);
}

// That is called by nobody of the user's: all of it is all of the run.
Test(price, an_outermost_function_is_what_it_does_itself_and_calls_at_that_line)
{
	plant();
	const struct price_place by_itself = { .function = "main", .line = 4 };
	struct price price = price_of(&by_itself, 80);

	expect_highest(&price, 80);
	const struct price_place calls = { .function = "main", .line = 5 };
	price = price_of(&calls, 80);
	expect_highest(&price, 200);
}

Test(price, another_file_has_another_function_of_that_name)
{
	plant();
	const struct price_place other = { .function = "save", .file = "/src/b.c", .line = 11 };
	struct price price = price_of(&other, 150);

	cr_expect_lt(price.high_ns, 180 * MS);
}

// While it ran for longer than it had CPUs, less work would have waited less.
Test(price, waits_for_a_cpu_are_the_places_in_proportion_to_its_work)
{
	run(METRIC_ON_CPU, 300, "main a.c:3 > save a.c:9");
	run(METRIC_ON_CPU, 100, "main a.c:3 > work a.c:30");
	run(METRIC_OFF_RUNNABLE, 600, "main a.c:3 > work a.c:30");
	finish(1000, 2);
	const struct price_place save = { .function = "save", .line = 9 };
	struct price price = price_of(&save, 300);

	expect_highest(&price, 750);
}

Test(price, of_code_without_names_it_is_that_and_what_the_kernel_does_for_it)
{
	run(METRIC_ON_CPU, 400, "?@libc");
	run(METRIC_ON_CPU, 100, "?@libc > write@kernel");
	run(METRIC_ON_CPU, 500, "?@libc > work a.c:30");
	finish(1000, 2);
	const struct price_place nameless = { .function = "[libc.so.6]",
		                              .module = "/lib/libc.so.6" };
	struct price price = price_of(&nameless, 400);

	expect_highest(&price, 500);
	price = price_of(&(struct price_place){ .function = "libc.so.6" }, 400);
	expect_highest(&price, 500);
}

Test(price, of_a_process_or_a_program_it_is_all_that_they_do)
{
	add_process(&f, 2, 102, "cc1");
	add_thread(&f, 2, 2, 102, "cc1");
	for (unsigned i = 0; i < 400; i++)
		add(&f, 2, METRIC_ON_CPU, 1, "main b.c:3 > parse b.c:9");
	run(METRIC_ON_CPU, 600, "main a.c:3 > work a.c:30");
	finish(1000, 2);
	const struct price_place process = { .pid = 102 }, program = { .program = "cc1" };
	struct price price = price_of(&process, 100);

	expect_highest(&price, 400);
	price = price_of(&program, 100);
	expect_highest(&price, 400);
	price = price_of(&(struct price_place){ .program = "cc" }, 100);
	cr_expect_lt(price.high_ns, 150 * MS);
}

Test(price, none_is_less_than_the_symptom_or_more_than_the_run)
{
	plant();
	const struct price_place gone = { .function = "nobody" };
	struct price price = price_of(&gone, 400);

	cr_expect_eq(price.low_ns, 400 * MS);
	cr_expect(price.high_ns >= 400 * MS && price.high_ns < 420 * MS, "%" PRIu64,
	          price.high_ns / MS);
	price = price_of(&gone, 2000);
	cr_expect_eq(price.high_ns, 2000 * MS);
}

// What profiling itself took is not in a run without it.
Test(price, shares_are_those_of_a_run_without_the_profiler)
{
	plant();
	struct run run = *profile_run(f.profile);
	const struct price_place save = { .function = "save", .line = 11 };
	uint64_t before = price_of(&save, 150).high_ns;

	run.collector_cpu_ns = 200 * MS; // on one of two CPUs
	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	struct price price = price_of(&save, 150);
	cr_expect(price.high_ns > before + 50 * MS && price.high_ns <= 1000 * MS, "%" PRIu64,
	          price.high_ns / MS);
}

// Who has waited for the disk waits for a CPU behind that, where it is not known at which place.
Test(price, without_a_place_the_symptom_has_its_part_of_waits_for_a_cpu)
{
	run(METRIC_ON_CPU, 200, "main a.c:3 > work a.c:30");
	run(METRIC_OFF_FILE, 300, "main a.c:3 > save a.c:14 > fsync@libc");
	run(METRIC_OFF_RUNNABLE, 500, "main a.c:3 > work a.c:30");
	finish(1000, 2);
	struct price price = price_of(&(struct price_place){ 0 }, 300);

	cr_expect_eq(price.low_ns, 300 * MS);
	expect_highest(&price, 600);
}

// As what the holder of a lock waits for, which is charged to who ends that.
Test(price, a_symptom_of_other_places_has_its_part_of_waits_for_a_cpu)
{
	run(METRIC_ON_CPU, 200, "main a.c:3 > work a.c:30");
	run(METRIC_OFF_SLEEP, 280, "main a.c:3 > serve a.c:14 > usleep@libc");
	run(METRIC_OFF_NET, 20, "main a.c:3 > ask a.c:40 > read@libc");
	run(METRIC_OFF_RUNNABLE, 500, "main a.c:3 > work a.c:30");
	finish(1000, 2);
	struct price price = price_of(&(struct price_place){ .function = "ask" }, 300);

	cr_expect_eq(price.low_ns, 300 * MS);
	expect_highest(&price, 600);
}

Test(price, processes_that_a_place_has_started_are_part_of_it)
{
	add_process(&f, 2, 102, "grep");
	add_thread(&f, 2, 2, 102, "grep");
	for (unsigned i = 0; i < 400; i++)
		add(&f, 2, METRIC_ON_CPU, 1, "main b.c:3 > search b.c:9");
	run(METRIC_ON_CPU, 500, "main a.c:3 > work a.c:30");
	run(METRIC_ON_CPU, 100, "main a.c:3 > start a.c:40 > fork@libc");
	finish(1000, 2);
	struct price price =
		price_of(&(struct price_place){ .function = "start", .children = true }, 100);

	expect_highest(&price, 500);
	price = price_of(&(struct price_place){ .children = true }, 100);
	expect_highest(&price, 400);
}

// The lowest end has both: so has the highest.
Test(price, what_a_finding_has_at_other_places_is_part_of_its_price)
{
	run(METRIC_ON_CPU, 400, "main a.c:3 > save a.c:9 > memmove@libc");
	run(METRIC_ON_CPU, 100, "main a.c:3 > save a.c:11");
	run(METRIC_ON_CPU, 200, "main a.c:4 > load a.c:30 > memmove@libc");
	run(METRIC_ON_CPU, 300, "main a.c:5 > work a.c:40");
	finish(1000, 2);
	cleanup(findings) struct findings *found = look(NULL);
	const struct finding *copies = finding_of(found, "MEM-COPY");

	cr_assert(copies != NULL);
	cr_expect_str_eq(copies->function, "save");
	cr_expect_eq(copies->saving_ns, 600 * MS);
	expect_highest(&(struct price){ .high_ns = copies->saving_high_ns }, 700);
}
