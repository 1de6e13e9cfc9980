// SPDX-License-Identifier: MIT
#include "merge/record/recorded.h"

#include "base/array.h"
#include "base/op.h"
#include "merge/profile/profile.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum known {
	UNKNOWN,
	MEANT,
	OTHER
};

void recorded_init(struct recorded *r, uint64_t delay_ns, uint64_t duration_ns, const char *range,
                   const struct ops *ops)
{
	*r = (struct recorded){ .range = range, .ops = ops };
	r->from_ns = delay_ns;
	r->to_ns = duration_ns ? delay_ns + duration_ns : 0;
}

void recorded_fini(struct recorded *r)
{
	free(r->known);
	free(r->cycles);
	free(r->cycles_text);
	r->known = NULL;
	r->cycles = NULL;
	r->cycles_text = NULL;
}

int recorded_schedule(struct recorded *r, const char *text, const char *steps, struct error *err)
{
	if (schedule_parse(&r->schedule, text, err) < 0)
		return -1;
	r->text = text;
	r->steps = steps;
	return 0;
}

static struct recorded_span *last_span(struct recorded *r)
{
	return &r->spans[(r->count - 1) % RECORDED_SPANS];
}

static bool is_going_on(const struct recorded *r)
{
	return r->count && r->spans[(r->count - 1) % RECORDED_SPANS].to_ns == UINT64_MAX;
}

static void begin_span(struct recorded *r, uint64_t time_ns)
{
	if (!r->count++)
		r->first_ns = time_ns;
	*last_span(r) = (struct recorded_span){ time_ns, UINT64_MAX };
}

static uint64_t limit(const struct recorded *r, uint64_t time_ns)
{
	time_ns = time_ns > r->from_ns ? time_ns : r->from_ns;
	return time_ns < r->to_ns ? time_ns : r->to_ns;
}

static void end_span(struct recorded *r, uint64_t time_ns)
{
	struct recorded_span *span = last_span(r);

	span->to_ns = time_ns;
	r->sum_ns += limit(r, time_ns) - limit(r, span->from_ns);
}

bool recorded_is_partial(const struct recorded *r)
{
	return r->from_ns || (r->to_ns && r->to_ns != UINT64_MAX) || r->range || r->steps ||
	       r->starts_stopped || r->gates;
}

void recorded_start_stopped(struct recorded *r)
{
	r->starts_stopped = r->stopped = true;
}

void recorded_start(struct recorded *r, uint64_t start_ns)
{
	r->start_ns = start_ns;
	if (!recorded_is_partial(r))
		return;
	r->from_ns += start_ns;
	r->to_ns = r->to_ns ? r->to_ns + start_ns : UINT64_MAX;
	if (!r->range && !r->steps && !r->stopped)
		begin_span(r, r->from_ns);
}

// Up to now all was recorded, which was one span without an end.
static void become_partial(struct recorded *r)
{
	r->from_ns = r->start_ns;
	r->to_ns = UINT64_MAX;
	begin_span(r, r->start_ns);
}

void recorded_gate(struct recorded *r, bool open, uint64_t time_ns)
{
	if (r->range || r->steps) {
		r->overruled++;
		return;
	}
	if (open == !r->stopped) {
		if (open && !r->gates && !r->open_again_ns && time_ns > r->start_ns)
			r->open_again_ns = time_ns - r->start_ns;
		return;
	}
	if (!recorded_is_partial(r))
		become_partial(r);
	// Of two threads' gates the later one may come with a time that is earlier.
	if (r->count) {
		const struct recorded_span *last = last_span(r);
		uint64_t least = is_going_on(r) ? last->from_ns : last->to_ns;
		time_ns = time_ns > least ? time_ns : least;
	}
	r->gates++;
	r->stopped = !open;
	if (open)
		begin_span(r, time_ns);
	else
		end_span(r, time_ns);
}

static bool is_meant(struct recorded *r, uint32_t op)
{
	const char *glob = r->range ? r->range : r->steps;
	size_t before = r->known_capacity;

	if (!glob || !op || !array_reserve(&r->known, &r->known_capacity, op))
		return false;
	if (r->known_capacity > before)
		memset(r->known + before, UNKNOWN, r->known_capacity - before);
	if (r->known[op - 1] == UNKNOWN) {
		const struct op *it = ops_get(r->ops, op);
		bool meant = it && it->provider != OP_PYTHON && fnmatch(glob, it->name, 0) == 0;
		r->known[op - 1] = meant ? MEANT : OTHER;
	}
	return r->known[op - 1] == MEANT;
}

bool recorded_is_step(struct recorded *r, uint32_t op)
{
	return r->steps && is_meant(r, op);
}

static void end_cycle(struct recorded *r, uint64_t time_ns)
{
	if (is_going_on(r))
		end_span(r, time_ns);
	if (r->cycle == r->cycle_count)
		r->cycles[r->cycle - 1].end_ns = time_ns;
}

// Cycles come one after the other. Those that find no room are recorded all the same.
static void begin_cycle(struct recorded *r, uint64_t time_ns)
{
	begin_span(r, time_ns);
	if (r->cycle != r->cycle_count + 1 || r->cycle > RECORDED_CYCLES ||
	    !array_reserve(&r->cycles, &r->cycle_capacity, r->cycle_count + 1))
		return;
	r->cycles[r->cycle_count++] =
		(struct schedule_cycle){ .first = r->step, .begin_ns = time_ns };
}

static void begin_step(struct recorded *r, uint64_t time_ns)
{
	uint64_t cycle = schedule_cycle_of(&r->schedule, ++r->step);

	if (r->step == 1)
		r->first_step_ns = time_ns;
	r->last_step_ns = time_ns;
	if (cycle != r->cycle) {
		if (r->cycle)
			end_cycle(r, time_ns);
		r->cycle = cycle;
		if (cycle)
			begin_cycle(r, time_ns);
	}
	if (cycle && cycle == r->cycle_count)
		r->cycles[cycle - 1].steps++;
}

static void end_step(struct recorded *r, uint64_t time_ns)
{
	r->steps_ns += time_ns > r->last_step_ns ? time_ns - r->last_step_ns : 0;
	r->last_end_ns = time_ns;
}

// Whether a call takes its step, so that the last one ends with it.
static bool steps_cover(const struct recorded *r)
{
	return r->step > 1 && (double)r->steps_ns >= RECORDED_COVERED * (double)(r->last_end_ns -
	                                                                         r->first_step_ns);
}

void recorded_op_begins(struct recorded *r, uint32_t op, uint32_t thread, uint64_t time_ns)
{
	if (!is_meant(r, op) || (r->steps && r->thread && thread != r->thread))
		return;
	r->thread = thread;
	if (r->open++)
		return;
	if (r->steps)
		begin_step(r, time_ns);
	else
		begin_span(r, time_ns);
}

void recorded_op_ends(struct recorded *r, uint32_t op, uint32_t thread, uint64_t time_ns)
{
	if (!is_meant(r, op) || (r->steps && thread != r->thread) || !r->open || --r->open)
		return;
	if (r->steps)
		end_step(r, time_ns);
	else if (is_going_on(r))
		end_span(r, time_ns);
}

bool recorded_has(const struct recorded *r, uint64_t time_ns)
{
	struct recorded_span part;
	uint64_t at = time_ns;

	if (!recorded_is_partial(r))
		return true;
	return recorded_next(r, &at, time_ns + 1, &part);
}

bool recorded_next(const struct recorded *r, uint64_t *at_ns, uint64_t end_ns,
                   struct recorded_span *part)
{
	size_t oldest = r->count > RECORDED_SPANS ? r->count - RECORDED_SPANS : 0;
	size_t i = r->count;

	if (!recorded_is_partial(r)) {
		*part = (struct recorded_span){ *at_ns, end_ns };
		*at_ns = end_ns;
		return part->from_ns < end_ns;
	}
	// Most questions are about the last one.
	while (i > oldest && r->spans[(i - 1) % RECORDED_SPANS].to_ns > *at_ns)
		i--;
	for (; i < r->count; i++) {
		const struct recorded_span *span = &r->spans[i % RECORDED_SPANS];
		uint64_t from = span->from_ns > *at_ns ? span->from_ns : *at_ns;
		uint64_t to = span->to_ns < end_ns ? span->to_ns : end_ns;
		from = from > r->from_ns ? from : r->from_ns;
		to = to < r->to_ns ? to : r->to_ns;
		if (from >= to)
			continue;
		*part = (struct recorded_span){ from, to };
		*at_ns = to;
		return true;
	}
	return false;
}

// NULL without cycles, or without memory.
static char *words_of_cycles(const struct recorded *r, uint64_t start_ns, uint64_t end_ns)
{
	char *words = NULL;
	size_t size;
	FILE *out = r->cycle_count ? open_memstream(&words, &size) : NULL;

	for (size_t i = 0; out && i < r->cycle_count; i++) {
		const struct schedule_cycle *c = &r->cycles[i];
		uint64_t to = limit(r, c->end_ns ? c->end_ns : end_ns);
		uint64_t from = limit(r, c->begin_ns);
		if (to > from)
			fprintf(out, "%s%lu %lu %lu %lu", words && *words ? ";" : "",
			        (unsigned long)c->first, (unsigned long)c->steps,
			        (unsigned long)(from - start_ns), (unsigned long)(to - start_ns));
		fflush(out);
	}
	if (!out || fclose(out) == 0)
		return words;
	free(words);
	return NULL;
}

void recorded_tell(struct recorded *r, struct run *run)
{
	uint64_t end = run->start_ns + run->wall_ns, last = end, first;

	if (!recorded_is_partial(r))
		return;
	run->recorded_range = r->range;
	run->recorded_gates = r->gates;
	if (r->steps) {
		if (!r->open && steps_cover(r) && r->last_end_ns < end)
			last = end = r->last_end_ns;
		free(r->cycles_text);
		r->cycles_text = words_of_cycles(r, run->start_ns, end);
		run->recorded_schedule = r->text;
		run->recorded_steps = r->steps;
		run->recorded_cycles = r->cycles_text;
	}
	run->recorded_to_ns = run->recorded_ns = run->recorded_from_ns = 0;
	if (!r->count)
		return;
	first = limit(r, r->first_ns);
	run->recorded_ns = r->sum_ns;
	if (is_going_on(r)) {
		uint64_t from = limit(r, r->spans[(r->count - 1) % RECORDED_SPANS].from_ns);
		run->recorded_ns += limit(r, end) > from ? limit(r, end) - from : 0;
	} else {
		last = r->spans[(r->count - 1) % RECORDED_SPANS].to_ns;
	}
	last = limit(r, last) < end ? limit(r, last) : end;
	if (first >= last) {
		run->recorded_ns = 0;
		return;
	}
	run->recorded_from_ns = first - run->start_ns;
	run->recorded_to_ns = last - run->start_ns;
}
