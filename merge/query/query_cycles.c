// SPDX-License-Identifier: MIT
#include "merge/query/query_cycles.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OUT_OF_MEMORY "could not find the cycles of the schedule"

void cycles_free(struct cycles *c)
{
	if (c)
		free(c->rows);
	free(c);
}

static struct cycle_row *add(struct cycles *c, size_t *capacity)
{
	if (!array_reserve(&c->rows, capacity, c->count + 1))
		return NULL;
	struct cycle_row *row = &c->rows[c->count++];
	*row = (struct cycle_row){ .number = c->count };
	return row;
}

static bool take_recorded(struct cycles *c, const char *text, const struct schedule *schedule)
{
	struct schedule_cycle it;
	size_t capacity = 0;

	while (text && schedule_next_cycle(&text, &it)) {
		struct cycle_row *row = add(c, &capacity);
		if (!row)
			return false;
		row->first = it.first;
		row->steps = it.steps;
		row->begin_ns = it.begin_ns;
		row->end_ns = it.end_ns;
		row->complete = it.steps == schedule->active;
	}
	return true;
}

// A cycle's window goes on until the step begins that follows its last one.
static bool find(struct cycles *c, const struct steps *s, const struct schedule *schedule)
{
	size_t capacity = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct run_step *step = &s->steps[i];
		uint64_t cycle = schedule_cycle_of(schedule, step->first);
		if (step->calls != 1) {
			c->cut = true;
			break;
		}
		if (!cycle)
			continue;
		struct cycle_row *row = c->count ? &c->rows[c->count - 1] : NULL;
		if (!row || cycle != c->count) {
			row = add(c, &capacity);
			if (!row)
				return false;
			row->first = step->first;
			row->begin_ns = step->begin_ns;
		}
		row->steps++;
		row->end_ns = i + 1 < s->count ? step[1].begin_ns : step->end_ns;
		row->complete = row->steps == schedule->active;
	}
	return true;
}

static void measure(struct cycle_row *row, const struct steps *s, const struct step_parts *parts)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct run_step *step = &s->steps[i];
		if (step->calls != 1 || step->first < row->first ||
		    step->first >= row->first + row->steps)
			continue;
		row->known++;
		row->steps_ns += step->ns;
		row->parts_known += parts[i].known;
		row->parts.known |= parts[i].known;
		for (int part = 0; part < STEP_PARTS; part++)
			row->parts.ns[part] += parts[i].ns[part];
	}
}

struct cycles *query_cycles(const struct profile *p, const char *schedule, const char *steps,
                            struct error *err)
{
	cleanup(cycles) struct cycles *c = calloc(1, sizeof(*c));
	const struct run *run = profile_run(p);
	const char *recorded = run->recorded_schedule;
	const char *text = schedule ? schedule : recorded;
	const struct steps_query query = { .name = steps ? steps : run->recorded_steps };
	struct schedule wanted;

	if (!c) {
		error_set(err, ENOMEM, OUT_OF_MEMORY);
		return NULL;
	}
	if (!text)
		return steal(c);
	if (schedule_parse(&wanted, text, err) < 0)
		return NULL;
	cleanup(steps) struct steps *s = query_steps(p, &query, err);
	cleanup_free struct step_parts *parts = s ? query_step_parts(p, s, err) : NULL;
	if (!parts)
		return NULL;
	bool as_recorded = recorded && strcmp(text, recorded) == 0;
	if (as_recorded ? !take_recorded(c, run->recorded_cycles, &wanted) : !find(c, s, &wanted)) {
		error_set(err, ENOMEM, OUT_OF_MEMORY);
		return NULL;
	}
	c->name = s->name;
	for (size_t i = 0; i < c->count; i++)
		measure(&c->rows[i], s, parts);
	return steal(c);
}
