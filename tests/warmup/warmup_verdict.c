// SPDX-License-Identifier: MIT
/*
 * warmup_verdict: reads a series a line, {"id": "…", "ns": […], "sizes": […]} (sizes may be
 * absent), and prints "ID VERDICT M EXCESS" for each: the verdict's name, how many first calls are
 * slow, and the share of all time that they took beyond the steady level.
 */
#include "merge/warmup/warmup.h"

#include "base/cleanup.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static void die(const char *what, size_t line)
{
	fprintf(stderr, "warmup_verdict: line %zu: %s\n", line, what);
	exit(1);
}

static uint64_t *numbers(const json_t *array, size_t count, size_t line)
{
	uint64_t *values = calloc(count + 1, sizeof(*values));

	if (!values)
		die("no memory", line);
	for (size_t i = 0; i < count; i++) {
		const json_t *value = json_array_get(array, i);
		if (!json_is_number(value) || json_number_value(value) < 0)
			die("a number is missing, or below 0", line);
		values[i] = json_is_integer(value) ? (uint64_t)json_integer_value(value)
		                                   : (uint64_t)json_real_value(value);
	}
	return values;
}

static void judge(const char *text, size_t line)
{
	json_error_t error;
	json_t *series = json_loads(text, 0, &error);
	const json_t *ns = json_object_get(series, "ns");
	const json_t *sizes = json_object_get(series, "sizes");
	const char *id = json_string_value(json_object_get(series, "id"));
	struct warmup w;

	if (!series)
		die(error.text, line);
	if (!id || !json_is_array(ns))
		die("there is no \"id\", or no array \"ns\"", line);
	size_t count = json_array_size(ns);
	if (json_is_array(sizes) && json_array_size(sizes) != count)
		die("\"sizes\" is not as long as \"ns\"", line);
	cleanup_free uint64_t *durations = numbers(ns, count, line);
	cleanup_free uint64_t *work = json_is_array(sizes) ? numbers(sizes, count, line) : NULL;
	if (!warmup_judge(&w, durations, work, count))
		die("no memory", line);
	printf("%s %s %zu %.6f\n", id, warmup_verdict_name(w.verdict), w.calls, w.excess);
	json_decref(series);
}

int main(void)
{
	char *text = NULL;
	size_t capacity = 0, line = 0;

	while (getline(&text, &capacity, stdin) > 0)
		if (line++, text[strspn(text, " \t\r\n")])
			judge(text, line);
	free(text);
	return 0;
}
