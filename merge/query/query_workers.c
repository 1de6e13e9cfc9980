// SPDX-License-Identifier: MIT
#include "merge/query/query_workers.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/answer.h"
#include "merge/query/query_slices.h"
#include "merge/query/spans.h"
#include "merge/table/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OUT_OF_MEMORY "could not look for processes that communicate"

enum doing {
	COMPUTES,
	COMMUNICATES,
	DOINGS
};

struct asking {
	const struct profile *profile;
	uint64_t from_ns, to_ns;            // the profile's own times
	struct spans (*of_threads)[DOINGS]; // [slot - 1]
	struct spans (*of_gpus)[DOINGS];    // [process slot - 1]
	uint64_t *calls;                    // [process slot - 1]: that communicate
};

static void asking_at_scope_end(struct asking *a)
{
	const struct threads *t = profile_threads(a->profile);

	for (size_t i = 0; a->of_threads && i < t->thread_count; i++)
		for (int d = 0; d < DOINGS; d++)
			free(a->of_threads[i][d].spans);
	for (size_t i = 0; a->of_gpus && i < t->process_count; i++)
		for (int d = 0; d < DOINGS; d++)
			free(a->of_gpus[i][d].spans);
	free(a->of_threads);
	free(a->of_gpus);
	free(a->calls);
}

void workers_free(struct workers *w)
{
	if (!w)
		return;
	free(w->rows);
	free(w);
}

static bool take_work(struct asking *a, const struct slice *slice, uint64_t from, uint64_t to)
{
	const struct gpu_work *work = &profile_gpu(a->profile)->works.works[slice->what - 1];
	const struct gpu_stream *stream = &profile_gpu(a->profile)->streams[slice->place - 1];
	const struct op *op = profile_op(a->profile, work->key.op);
	bool talks = op && strncasecmp(op->name, "nccl", strlen("nccl")) == 0;

	if (!stream->process || work->key.kind == GPU_WORK_COPY || work->key.kind == GPU_WORK_SET)
		return true;
	return spans_add(&a->of_gpus[stream->process - 1][talks ? COMMUNICATES : COMPUTES], from,
	                 to);
}

static bool take_op(struct asking *a, const struct slice *slice, uint64_t from, uint64_t to)
{
	const struct op *op = profile_op(a->profile, slice->what);
	const struct thread_info *thread = profile_thread(a->profile, slice->thread);
	bool talks = op && op_communicates(op);

	if (!op || !thread || slice->number & (SLICE_MARK | SLICE_LEFT_OPEN))
		return true;
	if (talks && thread->process)
		a->calls[thread->process - 1]++;
	if (!talks && (op_is_label(op) || op->provider == OP_PYTHON))
		return true;
	return spans_add(&a->of_threads[slice->thread - 1][talks ? COMMUNICATES : COMPUTES], from,
	                 to);
}

static int collect(struct asking *a, struct error *err)
{
	const struct slice_query query = {
		.from_ns = a->from_ns - profile_start_ns(a->profile),
		.to_ns = a->to_ns - profile_start_ns(a->profile),
		.kinds = 1u << SLICE_OP | 1u << SLICE_GPU,
	};
	cleanup(slice_reader) struct slice_reader *reader =
		slice_reader_new(a->profile, &query, err);
	struct slice slice;
	int more = -1;

	while (reader && (more = slice_reader_next_slice(reader, &slice, err)) > 0) {
		uint64_t from = slice.begin_ns > a->from_ns ? slice.begin_ns : a->from_ns;
		uint64_t to = slice.end_ns < a->to_ns ? slice.end_ns : a->to_ns;
		bool ok = slice.kind == SLICE_GPU ? take_work(a, &slice, from, to)
		                                  : take_op(a, &slice, from, to);
		if (!ok)
			return error_set(err, ENOMEM, OUT_OF_MEMORY);
	}
	return more;
}

// Both are ordered: what of FROM is in none of LESS goes to TO.
static bool subtract(struct spans *to, const struct spans *from, const struct spans *less)
{
	size_t at = 0;

	for (size_t i = 0; i < from->count; i++) {
		uint64_t begin = from->spans[i].begin_ns, end = from->spans[i].end_ns;
		while (at < less->count && less->spans[at].end_ns <= begin)
			at++;
		for (size_t k = at; k < less->count && less->spans[k].begin_ns < end; k++) {
			if (less->spans[k].begin_ns > begin &&
			    !spans_add(to, begin, less->spans[k].begin_ns))
				return false;
			begin = less->spans[k].end_ns;
		}
		if (!spans_add(to, begin, end))
			return false;
	}
	return true;
}

static bool append(struct spans *to, const struct spans *from)
{
	if (!array_reserve(&to->spans, &to->capacity, to->count + from->count))
		return false;
	if (from->count)
		memcpy(to->spans + to->count, from->spans, from->count * sizeof(*from->spans));
	to->count += from->count;
	return true;
}

static int compare_spans(const void *a, const void *b)
{
	const struct span *left = a, *right = b;

	return (left->begin_ns > right->begin_ns) - (left->begin_ns < right->begin_ns);
}

// Those of several threads: ordered, and each time once.
static void join(struct spans *s)
{
	size_t kept = 0;

	if (s->count)
		qsort(s->spans, s->count, sizeof(*s->spans), compare_spans);
	for (size_t i = 0; i < s->count; i++) {
		struct span *last = kept ? &s->spans[kept - 1] : NULL;
		if (!last || s->spans[i].begin_ns > last->end_ns)
			s->spans[kept++] = s->spans[i];
		else if (s->spans[i].end_ns > last->end_ns)
			last->end_ns = s->spans[i].end_ns;
	}
	s->count = kept;
}

static uint64_t sum(const struct spans *s)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < s->count; i++)
		ns += s->spans[i].end_ns - s->spans[i].begin_ns;
	return ns;
}

// All that the process in SLOT did, of each kind.
static bool gather(const struct asking *a, uint32_t slot, struct spans all[DOINGS])
{
	const struct threads *t = profile_threads(a->profile);
	bool on_gpu = a->of_gpus[slot - 1][COMPUTES].count != 0;
	bool ok = true;

	for (size_t i = 0; ok && i < t->thread_count; i++) {
		const struct spans *own = a->of_threads[i];
		struct spans computes = { 0 };
		if (t->threads[i].process != slot)
			continue;
		ok = append(&all[COMMUNICATES], &own[COMMUNICATES]) &&
		     (on_gpu || (subtract(&computes, &own[COMPUTES], &own[COMMUNICATES]) &&
		                 append(&all[COMPUTES], &computes)));
		free(computes.spans);
	}
	for (int d = 0; d < DOINGS; d++) {
		ok = ok && append(&all[d], &a->of_gpus[slot - 1][d]);
		join(&all[d]);
	}
	return ok;
}

static bool fill_row(const struct asking *a, uint32_t slot, struct worker_row *row)
{
	const struct process_info *info = threads_process(profile_threads(a->profile), slot);
	const char *command = profile_string(a->profile, info->command);
	uint64_t from = info->start_ns > a->from_ns ? info->start_ns : a->from_ns;
	uint64_t to = info->end_ns && info->end_ns < a->to_ns ? info->end_ns : a->to_ns;
	struct spans all[DOINGS] = { { 0 } }, alone = { 0 };
	bool ok = gather(a, slot, all) && subtract(&alone, &all[COMPUTES], &all[COMMUNICATES]);

	*row = (struct worker_row){ .process = command ? command : "?",
		                    .pid = info->pid,
		                    .lifetime_ns = to > from ? to - from : 0,
		                    .computing_ns = sum(&alone),
		                    .calls = a->calls[slot - 1] };
	row->overlapping_ns = sum(&all[COMPUTES]) - row->computing_ns;
	row->communicating_ns = sum(&all[COMMUNICATES]) - row->overlapping_ns;
	uint64_t busy = row->computing_ns + row->overlapping_ns + row->communicating_ns;
	if (busy > row->lifetime_ns)
		row->lifetime_ns = busy;
	row->other_ns = row->lifetime_ns - busy;
	for (int d = 0; d < DOINGS; d++)
		free(all[d].spans);
	free(alone.spans);
	return ok;
}

static int compare_rows(const void *a, const void *b)
{
	const struct worker_row *left = a, *right = b;
	uint64_t left_ns = left->communicating_ns + left->overlapping_ns;
	uint64_t right_ns = right->communicating_ns + right->overlapping_ns;

	if (left_ns != right_ns)
		return left_ns < right_ns ? 1 : -1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

static bool fill_rows(const struct asking *a, struct workers *w)
{
	size_t processes = profile_threads(a->profile)->process_count;

	w->rows = calloc(processes + 1, sizeof(*w->rows));
	if (!w->rows)
		return false;
	for (uint32_t slot = 1; slot <= processes; slot++)
		if ((a->calls[slot - 1] || a->of_gpus[slot - 1][COMMUNICATES].count) &&
		    !fill_row(a, slot, &w->rows[w->count++]))
			return false;
	if (w->count < 2)
		w->count = 0;
	qsort(w->rows, w->count, sizeof(*w->rows), compare_rows);
	return true;
}

struct workers *query_workers(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                              struct error *err)
{
	const struct threads *t = profile_threads(p);
	uint64_t start = profile_start_ns(p), end = start + profile_run_ns(p);
	uint64_t cut = profile_slices(p)->cut_ns;
	cleanup(workers) struct workers *w = calloc(1, sizeof(*w));
	cleanup(asking) struct asking a = {
		.profile = p,
		.from_ns = start + from_ns,
		.to_ns = to_ns && start + to_ns < end ? start + to_ns : end,
		.of_threads = calloc(t->thread_count + 1, sizeof(*a.of_threads)),
		.of_gpus = calloc(t->process_count + 1, sizeof(*a.of_gpus)),
		.calls = calloc(t->process_count + 1, sizeof(*a.calls)),
	};

	if (!w || !a.of_threads || !a.of_gpus || !a.calls) {
		error_set(err, ENOMEM, OUT_OF_MEMORY);
		return NULL;
	}
	if (cut && cut < a.to_ns) {
		a.to_ns = cut;
		w->until_ns = cut > start ? cut - start : 0;
	}
	if (a.from_ns >= a.to_ns)
		return steal(w);
	if (collect(&a, err) < 0)
		return NULL;
	if (fill_rows(&a, w))
		return steal(w);
	error_set(err, ENOMEM, OUT_OF_MEMORY);
	return NULL;
}
