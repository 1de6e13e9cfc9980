// SPDX-License-Identifier: MIT
/*
 * warmup_verdict: reads a series a line, {"id": "…", "ns": […], "sizes": […]} (sizes may be
 * absent), and prints "ID VERDICT M EXCESS" for each: the verdict's name, how many first calls are
 * slow, and the share of all time that they took beyond the steady level. A line that is no such
 * series gets one line on stderr, and the next is read; the status is 1 then.
 */
#include "merge/warmup/warmup.h"

#include "base/cleanup.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1e18 // ns that a call can take

static bool refuse(const char *what, size_t line)
{
	fprintf(stderr, "warmup_verdict: line %zu: %s\n", line, what);
	return false;
}

// NULL if one is no number, or out of range; the reason is in *WHY.
static uint64_t *numbers(const json_t *array, size_t count, const char **why)
{
	cleanup_free uint64_t *values = calloc(count + 1, sizeof(*values));

	*why = values ? "a number is missing, below 0 or too large" : "no memory";
	for (size_t i = 0; values && i < count; i++) {
		const json_t *value = json_array_get(array, i);
		double number = json_number_value(value);
		if (!json_is_number(value) || !(number >= 0 && number <= MOST))
			return NULL;
		values[i] = json_is_integer(value) ? (uint64_t)json_integer_value(value)
		                                   : (uint64_t)number;
	}
	return steal(values);
}

static bool judge_series(const json_t *series, size_t line)
{
	const json_t *ns = json_object_get(series, "ns");
	const json_t *sizes = json_object_get(series, "sizes");
	const char *id = json_string_value(json_object_get(series, "id"));
	const char *why;
	struct warmup w;

	if (!id || !json_is_array(ns))
		return refuse("there is no \"id\", or no array \"ns\"", line);
	size_t count = json_array_size(ns);
	if (sizes && !json_is_null(sizes) &&
	    (!json_is_array(sizes) || json_array_size(sizes) != count))
		return refuse("\"sizes\" is no array as long as \"ns\"", line);
	cleanup_free uint64_t *durations = numbers(ns, count, &why);
	if (!durations)
		return refuse(why, line);
	cleanup_free uint64_t *work = json_is_array(sizes) ? numbers(sizes, count, &why) : NULL;
	if (json_is_array(sizes) && !work)
		return refuse(why, line);
	if (!warmup_judge(&w, durations, work, count))
		return refuse("no memory", line);
	printf("%s %s %zu %.6f\n", id, warmup_verdict_name(w.verdict), w.calls, w.excess);
	return true;
}

static bool judge(const char *text, size_t length, size_t line)
{
	json_error_t error;
	json_t *series = json_loadb(text, length, 0, &error);
	bool ok = series ? judge_series(series, line) : refuse(error.text, line);

	json_decref(series);
	return ok;
}

int main(void)
{
	char *text = NULL;
	size_t capacity = 0, line = 0;
	ssize_t length;
	bool ok = true;

	while ((length = getline(&text, &capacity, stdin)) > 0)
		if (line++, text[strspn(text, " \t\r\n")])
			ok &= judge(text, (size_t)length, line);
	free(text);
	return ok ? 0 : 1;
}
