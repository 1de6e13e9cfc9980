// SPDX-License-Identifier: MIT
#include "merge/query/query_step_parts.h"

#include "base/error.h"
#include "base/schedule.h"
#include "merge/gpu/gpu.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_slices.h"
#include "merge/query/spans.h"
#include "merge/scope/window.h"
#include "merge/table/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OUT_OF_MEMORY "could not divide the steps into parts"
#define NEVER         UINT64_MAX

struct asking {
	const struct profile *profile;
	const struct steps *steps;
	uint32_t process;               // of the steps' thread
	struct spans parts[STEP_OTHER]; // when it had something to do, on the profile's clock
	size_t at[STEP_OTHER];          // the first that does not end before the step
	uint8_t *of_ops; // [op id]: its part, + 1; STEP_PARTS + 1: none; 0: not yet known
};

static void asking_at_scope_end(struct asking *a)
{
	for (int part = 0; part < STEP_OTHER; part++)
		free(a->parts[part].spans);
	free(a->of_ops);
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

// STEP_PARTS: none.
static enum step_part part_of_op(const struct op *op)
{
	if (op_communicates(op))
		return STEP_COMMUNICATION;
	if (op->provider == OP_TORCH && begins(op->name, "enumerate(DataLoader)"))
		return STEP_LOADER;
	// A garbage collection is Python's.
	return op_is_label(op) || op->provider == OP_PYTHON ? STEP_PARTS : STEP_OPS;
}

static enum step_part part_of_work(const struct asking *a, const struct slice *slice)
{
	const struct gpu_work *work = &profile_gpu(a->profile)->works.works[slice->what - 1];
	const struct op *op = profile_op(a->profile, work->key.op);

	if (work->key.kind == GPU_WORK_COPY || work->key.kind == GPU_WORK_SET)
		return STEP_COPIES;
	return op && strncasecmp(op->name, "nccl", strlen("nccl")) == 0 ? STEP_COMMUNICATION
	                                                                : STEP_KERNELS;
}

static enum step_part part_of(struct asking *a, const struct slice *slice)
{
	if (slice->kind == SLICE_GPU) {
		const struct gpu_stream *stream =
			&profile_gpu(a->profile)->streams[slice->place - 1];
		return stream->process == a->process ? part_of_work(a, slice) : STEP_PARTS;
	}
	if (slice->thread != a->steps->slot)
		return STEP_PARTS;
	if (slice->kind == SLICE_WAIT)
		return STEP_IDLE;
	uint8_t *part = &a->of_ops[slice->what];
	if (!*part)
		*part = (uint8_t)part_of_op(profile_op(a->profile, slice->what)) + 1;
	return (enum step_part)(*part - 1);
}

static int collect(struct asking *a, struct error *err)
{
	const struct steps *s = a->steps;
	const struct slice_query query = {
		.from_ns = s->steps[0].begin_ns,
		.to_ns = s->steps[s->count - 1].end_ns,
	};
	cleanup(slice_reader) struct slice_reader *reader =
		slice_reader_new(a->profile, &query, err);
	struct slice slice;
	int more = -1;

	if (!reader)
		return -1;
	while ((more = slice_reader_next_slice(reader, &slice, err)) > 0) {
		enum step_part part = part_of(a, &slice);
		if (part < STEP_OTHER && !spans_add(&a->parts[part], slice.begin_ns, slice.end_ns))
			return error_set(err, ENOMEM, OUT_OF_MEMORY);
	}
	return more;
}

// The part that AT_NS is of, and in *UNTIL_NS when that may change.
static enum step_part look(struct asking *a, size_t at[STEP_OTHER], uint64_t at_ns,
                           uint64_t *until_ns)
{
	for (int part = 0; part < STEP_OTHER; part++) {
		const struct spans *s = &a->parts[part];
		while (at[part] < s->count && s->spans[at[part]].end_ns <= at_ns)
			at[part]++;
		const struct span *next = at[part] < s->count ? &s->spans[at[part]] : NULL;
		uint64_t begin_ns = next ? next->begin_ns : NEVER;
		if (next && begin_ns <= at_ns) {
			*until_ns = next->end_ns < *until_ns ? next->end_ns : *until_ns;
			return (enum step_part)part;
		}
		*until_ns = begin_ns < *until_ns ? begin_ns : *until_ns;
	}
	return STEP_OTHER;
}

static void divide(struct asking *a, uint64_t begin_ns, uint64_t end_ns, struct step_parts *parts)
{
	size_t at[STEP_OTHER];

	for (int part = 0; part < STEP_OTHER; part++) {
		const struct spans *s = &a->parts[part];
		while (a->at[part] < s->count && s->spans[a->at[part]].end_ns <= begin_ns)
			a->at[part]++;
		at[part] = a->at[part];
	}
	while (begin_ns < end_ns) {
		uint64_t until_ns = end_ns;
		enum step_part part = look(a, at, begin_ns, &until_ns);
		parts->ns[part] += until_ns - begin_ns;
		begin_ns = until_ns;
	}
	parts->known = true;
}

// By a schedule only the steps of its cycles are.
static bool is_recorded(const struct run *run, const struct run_step *step)
{
	const char *text = run->recorded_cycles;
	struct schedule_cycle cycle;

	if (!run->recorded_schedule)
		return step->begin_ns >= run->recorded_from_ns &&
		       (!run->recorded_to_ns || step->end_ns <= run->recorded_to_ns);
	while (text && schedule_next_cycle(&text, &cycle))
		if (step->begin_ns >= cycle.begin_ns && step->end_ns <= cycle.end_ns)
			return true;
	return false;
}

// Whether all that the step did is there to be looked at.
static bool is_kept(const struct profile *p, const struct run_step *step)
{
	const struct slices *slices = profile_slices(p);
	uint64_t kept_ns = slices->cut_ns ? profile_since_start(p, slices->cut_ns) : NEVER;
	uint64_t whole_ns = profile_op_table(p)->whole_ns; // later on not all ops are there

	if (whole_ns && step->end_ns > profile_since_start(p, whole_ns))
		return false;
	return step->calls == 1 && slices->kept && step->end_ns <= kept_ns &&
	       is_recorded(profile_run(p), step);
}

// [node - 1]: whether it is of the thread in SLOT. NULL if there is no memory.
static bool *nodes_of(const struct profile *p, uint32_t slot)
{
	bool *own = calloc((size_t)profile_paths(p)->count + 1, sizeof(*own));

	for (uint32_t id = 1; own && id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		own[id - 1] = node->parent ? own[node->parent - 1] : node->location == slot;
	}
	return own;
}

// Waits of the steps' thread that were kept one by one, as far as they are in the steps.
static uint64_t placed_waits(const struct profile *p, const struct steps *s)
{
	uint64_t from = s->steps[0].begin_ns, to = s->steps[s->count - 1].end_ns, sum = 0;
	const struct slice_query query = { .from_ns = from,
		                           .to_ns = to,
		                           .kinds = 1u << SLICE_WAIT };
	uint64_t start = profile_start_ns(p);
	struct error err;
	cleanup(slice_reader) struct slice_reader *reader = slice_reader_new(p, &query, &err);
	struct slice slice;

	while (reader && slice_reader_next_slice(reader, &slice, &err) > 0) {
		uint64_t begin = slice.begin_ns > start + from ? slice.begin_ns : start + from;
		uint64_t end = slice.end_ns < start + to ? slice.end_ns : start + to;
		if (slice.thread == s->slot && end > begin)
			sum += end - begin;
	}
	return sum;
}

uint64_t query_unplaced_waits(const struct profile *p, const struct steps *s)
{
	const struct cells *cells = profile_cells(p);
	cleanup_free bool *own = s->count && s->slot ? nodes_of(p, s->slot) : NULL;
	uint64_t waited = 0, placed;

	if (!own)
		return 0;
	const struct window w = window_of(p, s->steps[0].begin_ns, s->steps[s->count - 1].end_ns);
	for (uint32_t i = 0; i < cells->count; i++)
		if (cells->cells[i].metric != METRIC_ON_CPU && own[cells->cells[i].node - 1])
			waited += cells_between(cells, &cells->cells[i], w.first_bin, w.end_bin);
	placed = placed_waits(p, s);
	return waited > placed ? waited - placed : 0;
}

struct step_parts *query_step_parts(const struct profile *p, const struct steps *s,
                                    struct error *err)
{
	cleanup_free struct step_parts *parts = calloc(s->count + 1, sizeof(*parts));
	size_t ops = profile_ops(p) ? ops_count(profile_ops(p)) : 0;
	cleanup(asking) struct asking a = {
		.profile = p,
		.steps = s,
		.of_ops = calloc(ops + 1, sizeof(*a.of_ops)),
	};

	if (!parts || !a.of_ops) {
		error_set(err, ENOMEM, OUT_OF_MEMORY);
		return NULL;
	}
	if (!s->count || !s->slot)
		return steal(parts);
	a.process = profile_thread(p, s->slot)->process;
	if (collect(&a, err) < 0)
		return NULL;
	for (size_t i = 0; i < s->count; i++)
		if (is_kept(p, &s->steps[i]))
			divide(&a, profile_start_ns(p) + s->steps[i].begin_ns,
			       profile_start_ns(p) + s->steps[i].end_ns, &parts[i]);
	return steal(parts);
}
