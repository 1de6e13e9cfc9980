// SPDX-License-Identifier: MIT
#include "base/schedule.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX UINT64_C(1000000000)

static uint64_t *field_of(struct schedule *s, const char *key, size_t length)
{
	const struct {
		const char *key;
		uint64_t *field;
	} fields[] = {
		{ "skip_first", &s->skip_first }, { "wait", &s->wait },
		{ "warmup", &s->warmup },         { "active", &s->active },
		{ "repeat", &s->repeat },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strlen(fields[i].key) == length && strncmp(fields[i].key, key, length) == 0)
			return fields[i].field;
	return NULL;
}

// Digits alone, and not too many. *END is behind them.
static bool parse_number(const char *text, uint64_t max, char **end, uint64_t *number)
{
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, end, 10);
	return !errno && *number <= max;
}

int schedule_parse(struct schedule *schedule, const char *text, struct error *err)
{
	struct schedule made = { 0 };

	for (const char *at = text;; at++) {
		size_t length = strcspn(at, "=,");
		uint64_t *field = field_of(&made, at, length);
		char *end;
		if (!field) {
			error_set(err, 0, "\"%s\": \"%.*s\" is no part of a schedule", text,
			          (int)length, at);
			return error_hint(err, "It has active=N, and may have wait, warmup, repeat "
			                       "and skip_first.");
		}
		if (at[length] != '=' || !parse_number(at + length + 1, STEPS_MAX, &end, field) ||
		    (*end && *end != ','))
			return error_set(err, 0, "\"%s\": %.*s needs a number up to %lu", text,
			                 (int)length, at, (unsigned long)STEPS_MAX);
		at = end;
		if (!*at)
			break;
	}
	if (!made.active)
		return error_set(err, 0, "\"%s\": active=N is missing, or 0: no step is active",
		                 text);
	*schedule = made;
	return 0;
}

uint64_t schedule_cycle_of(const struct schedule *s, uint64_t step)
{
	uint64_t length = s->wait + s->warmup + s->active;

	if (step <= s->skip_first)
		return 0;
	step -= s->skip_first + 1;
	if ((s->repeat && step / length >= s->repeat) || step % length < s->wait + s->warmup)
		return 0;
	return step / length + 1;
}

bool schedule_next_cycle(const char **text, struct schedule_cycle *cycle)
{
	struct schedule_cycle it;
	uint64_t *const fields[] = { &it.first, &it.steps, &it.begin_ns, &it.end_ns };
	const char *at = *text;
	char *end = NULL;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!parse_number(at, INT64_MAX, &end, fields[i]) || (i < 3 && *end != ' '))
			return false;
		at = end + (*end != '\0');
	}
	if ((*end && *end != ';') || !it.first || !it.steps ||
	    (it.end_ns && it.end_ns < it.begin_ns))
		return false;
	*text = at;
	*cycle = it;
	return true;
}
