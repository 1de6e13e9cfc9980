// SPDX-License-Identifier: MIT
// The page as a text: tests/html/check.py looks at it in a browser.
#include "cli/html/html.h"

#include "base/error.h"
#include "cli/report/view.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <jansson.h>
#include <string.h>

#define HOSTILE "</script><b>"

static struct fixture f;
static char *page;
static json_t *data;

static void begin(void)
{
	fixture_init(&f, NULL);
}

static void end(void)
{
	json_decref(data);
	free(page);
	fixture_fini(&f);
}

TestSuite(html, .init = begin, .fini = end);

// Makes the page, and reads its data as a browser finds it: up to the next end of an element.
static void make(const struct view *view)
{
	const struct run run = { .command = "app " HOSTILE,
		                 .start_ns = 1000 * MS,
		                 .wall_ns = f.now_ns - 1000 * MS + 100 * MS,
		                 .complete = true,
		                 .exit_status = -1,
		                 .attached_pid = 4711,
		                 .attached_pids = "4711,4712",
		                 .cpus = 2 };
	struct error err = { .text = "" };
	json_error_t wrong;
	size_t size;

	cr_assert(profile_set_run(f.profile, &run, NULL) == 0);
	name_all(&f);
	json_decref(data); // of an earlier page
	free(page);
	page = NULL;
	FILE *out = open_memstream(&page, &size);
	int failed = html_write(f.profile, view, NULL, NULL, "", out, &err);
	fclose(out);
	cr_assert_eq(failed, 0, "%s", err.text);
	const char *start = strstr(page, "id=\"data\">");
	cr_assert(start != NULL);
	start += strlen("id=\"data\">");
	const char *stop = strstr(start, "</script");
	cr_assert(stop != NULL);
	data = json_loadb(start, (size_t)(stop - start), JSON_REJECT_DUPLICATES, &wrong);
	cr_assert(data != NULL, "%s at %d", wrong.text, wrong.position);
}

static size_t occurrences(const char *words)
{
	size_t count = 0;

	for (const char *at = page; (at = strstr(at, words)); at++)
		count++;
	return count;
}

static const json_t *phase(void)
{
	return json_array_get(json_object_get(data, "phases"), 0);
}

static const json_t *flame(const char *key)
{
	return json_object_get(json_object_get(phase(), "flames"), key);
}

static json_int_t first(const json_t *flame, const char *column)
{
	return json_integer_value(json_array_get(json_object_get(flame, column), 0));
}

static json_int_t sum_of(const json_t *array)
{
	json_int_t sum = 0;

	for (size_t i = 0; i < json_array_size(array); i++)
		sum += json_integer_value(json_array_get(array, i));
	return sum;
}

Test(html, names_end_no_element_and_begin_none)
{
	const struct view view = view_default();

	add_thread(&f, 2, 1, 101, HOSTILE);
	add(&f, 2, METRIC_ON_CPU, 30, "main a.c:3 > work" HOSTILE " a.c:9");
	make(&view);
	cr_expect_eq(occurrences("<script"), 2);
	cr_expect_eq(occurrences("</script"), 2);
	cr_expect_eq(occurrences("<b>"), 0);
	const char *command =
		json_string_value(json_object_get(json_object_get(data, "run"), "command"));
	cr_expect_str_eq(command, "app " HOSTILE);
}

Test(html, it_has_the_processes_that_were_attached_to)
{
	const struct view view = view_default();

	make(&view);
	const json_t *run = json_object_get(data, "run");
	cr_expect_eq(json_integer_value(json_object_get(run, "attached_pid")), 4711);
	cr_expect_str_eq(json_string_value(json_object_get(run, "attached_pids")), "4711,4712");
}

Test(html, nothing_is_left_of_what_is_put_together)
{
	const struct view view = view_default();

	make(&view);
	cr_expect_eq(occurrences("@SCRIPT"), 0);
	cr_expect_eq(occurrences("@STYLE"), 0);
	cr_expect_eq(occurrences("@DATA"), 0);
	cr_expect_eq(occurrences("default-src 'none'"), 1);
	cr_expect_eq(occurrences("http://") + occurrences("https://"), 0);
}

static const char *first_flame(void)
{
	// iterators do not change what they walk
	return json_object_iter_key(json_object_iter((json_t *)json_object_get(phase(), "flames")));
}

// Threads of a pool that wait for work would leave a sliver to the one that works.
Test(html, the_first_flame_graph_is_of_cpus_where_most_threads_wait)
{
	const struct view view = view_default();

	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:3 > work a.c:9");
	add(&f, 1, METRIC_OFF_LOCK, 100, "main a.c:3 > read@libc");
	make(&view);
	cr_expect_str_eq(first_flame(), "time");
	add(&f, 1, METRIC_OFF_LOCK, 500, "main a.c:3 > read@libc");
	make(&view);
	cr_expect_str_eq(first_flame(), "on");
}

Test(html, trees_sum_to_the_time_that_there_was)
{
	const struct view view = view_default();

	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:3 > work a.c:9");
	add(&f, 1, METRIC_ON_CPU, 10, "main a.c:3");
	add(&f, 1, METRIC_OFF_FILE, 5, "main a.c:3 > read@libc");
	make(&view);
	cr_expect_eq(first(flame("on"), "total"), (json_int_t)(40 * MS));
	cr_expect_eq(sum_of(json_object_get(flame("on"), "self")), (json_int_t)(40 * MS));
	cr_expect_eq(first(flame("off"), "total"), (json_int_t)(5 * MS));
	cr_expect_eq(first(flame("time"), "total"), (json_int_t)(45 * MS));
	cr_expect(flame("gpu") == NULL);
	size_t nodes = json_array_size(json_object_get(flame("on"), "depth"));
	cr_expect_eq(json_array_size(json_object_get(flame("on"), "frame")), nodes);
	cr_expect_eq(json_array_size(json_object_get(flame("on"), "total")), nodes);
}

Test(html, a_window_has_no_other_phases)
{
	struct view view = view_default();

	add(&f, 1, METRIC_ON_CPU, 30, "main a.c:3");
	view.to_ns = 50 * MS;
	make(&view);
	cr_expect_eq(json_array_size(json_object_get(data, "phases")), 1);
	cr_expect_eq(json_integer_value(json_object_get(phase(), "to_ns")), (json_int_t)(50 * MS));
}
