// SPDX-License-Identifier: MIT
#include "merge/query/query_slices.h"

#include "base/array.h"
#include "base/error.h"
#include "base/stack.h"
#include "merge/gpu/gpu.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/scope.h"
#include "merge/table/slices.h"

#include <errno.h>
#include <stdlib.h>

// A block that is open.
struct opened {
	struct slice *slices; // owned; by begin
	uint32_t count, at;
};

struct slice_reader {
	const struct profile *profile;
	struct slice_query query;
	uint64_t start_ns;                            // of the run
	uint64_t from_ns, to_ns;                      // CLOCK_MONOTONIC
	bool *threads;                                // [slot - 1]: asked for
	struct slice_block fillings[2 * SLICE_KINDS]; // owned
	const struct slice_block **blocks;            // by begin
	size_t count, next;
	struct columns columns[SLICE_KINDS];
	struct opened *heap; // the one that comes next is first
	size_t open, capacity;
};

void slice_reader_free(struct slice_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->open; i++)
		free(r->heap[i].slices);
	for (int kind = 0; kind < SLICE_KINDS; kind++)
		columns_fini(&r->columns[kind]);
	for (int i = 0; i < 2 * SLICE_KINDS; i++)
		free(r->fillings[i].bytes);
	free(r->heap);
	free(r->blocks);
	free(r->threads);
	free(r);
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not read the timeline");
}

static bool is_in_window(const struct slice_reader *r, uint64_t begin_ns, uint64_t end_ns)
{
	return begin_ns < r->to_ns && (end_ns > r->from_ns || begin_ns >= r->from_ns);
}

static void take_block(struct slice_reader *r, const struct slice_block *block)
{
	bool wanted = !r->query.kinds || (r->query.kinds >> block->kind & 1);

	if (wanted && block->rows && block->begin_ns < r->to_ns && block->end_ns >= r->from_ns)
		r->blocks[r->count++] = block;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct slice_block *left = *(const struct slice_block *const *)a;
	const struct slice_block *right = *(const struct slice_block *const *)b;

	return left->begin_ns < right->begin_ns ? -1 : left->begin_ns > right->begin_ns;
}

static bool list_blocks(struct slice_reader *r)
{
	const struct slices *s = profile_slices(r->profile);

	r->blocks = calloc((size_t)s->count + (size_t)2 * SLICE_KINDS,
	                   sizeof(const struct slice_block *));
	if (!r->blocks)
		return false;
	for (uint32_t i = 0; i < s->count; i++)
		take_block(r, &s->blocks[i]);
	for (uint32_t i = 0; i < 2 * SLICE_KINDS; i++) {
		if (!slices_close(&s->filling[i / 2][i % 2], i / 2, &r->fillings[i]))
			return false;
		take_block(r, &r->fillings[i]);
	}
	qsort(r->blocks, r->count, sizeof(const struct slice_block *), compare_blocks);
	return true;
}

struct slice_reader *slice_reader_new(const struct profile *p, const struct slice_query *query,
                                      struct error *err)
{
	cleanup(slice_reader) struct slice_reader *r = calloc(1, sizeof(*r));
	const struct query whose = { .thread = query->thread, .process = query->process };

	if (!r) {
		no_memory(err);
		return NULL;
	}
	r->profile = p;
	r->query = *query;
	r->start_ns = profile_start_ns(p);
	r->from_ns = r->start_ns + query->from_ns;
	r->to_ns = query->to_ns ? r->start_ns + query->to_ns : UINT64_MAX;
	if (!query->from_ns) // clocks of GPUs may be a little off
		r->from_ns = 0;
	r->threads = scope_choose_threads(p, &whose, err);
	if (!r->threads)
		return NULL;
	if (!list_blocks(r)) {
		no_memory(err);
		return NULL;
	}
	return steal(r);
}

static bool op_can_be(const struct profile *p, const struct slice *slice)
{
	return slice->thread && slice->number <= (SLICE_MARK | SLICE_LEFT_OPEN) &&
	       profile_op(p, slice->what) && slice->place <= strings_count(profile_strings(p));
}

static bool wait_can_be(const struct profile *p, const struct slice *slice)
{
	return slice->thread && slice->what < METRIC_COUNT && metric_is_off_cpu(slice->what) &&
	       slice->place <= profile_paths(p)->count;
}

static bool work_can_be(const struct profile *p, const struct slice *slice)
{
	return slice->what && slice->what <= profile_gpu(p)->works.count && slice->place &&
	       slice->place <= profile_gpu(p)->stream_count;
}

// A block of a file may hold anything.
static bool slice_can_be(const struct profile *p, const struct slice_block *block,
                         const struct slice *slice)
{
	if (slice->begin_ns > slice->end_ns || slice->begin_ns < block->begin_ns ||
	    slice->end_ns > block->end_ns || slice->thread > profile_threads(p)->thread_count)
		return false;
	return slice->kind == SLICE_OP     ? op_can_be(p, slice)
	       : slice->kind == SLICE_WAIT ? wait_can_be(p, slice)
	                                   : work_can_be(p, slice);
}

static bool is_asked_for(const struct slice_reader *r, const struct slice *slice)
{
	if (!is_in_window(r, slice->begin_ns, slice->end_ns))
		return false;
	if (slice->thread)
		return r->threads[slice->thread - 1];
	return !r->query.thread && !r->query.process;
}

static int compare_slices(const void *a, const void *b)
{
	const struct slice *left = a, *right = b;

	if (left->begin_ns != right->begin_ns)
		return left->begin_ns < right->begin_ns ? -1 : 1;
	// Calls come before what is called.
	if (left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns ? -1 : 1;
	return 0;
}

static bool comes_first(const struct opened *a, const struct opened *b)
{
	return compare_slices(&a->slices[a->at], &b->slices[b->at]) < 0;
}

static void sift_down(struct slice_reader *r, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < r->open; at = child) {
		if (child + 1 < r->open && comes_first(&r->heap[child + 1], &r->heap[child]))
			child++;
		if (!comes_first(&r->heap[child], &r->heap[at]))
			return;
		struct opened swapped = r->heap[at];
		r->heap[at] = r->heap[child];
		r->heap[child] = swapped;
	}
}

static void push(struct slice_reader *r, struct opened opened)
{
	size_t at = r->open++;

	for (; at && comes_first(&opened, &r->heap[(at - 1) / 2]); at = (at - 1) / 2)
		r->heap[at] = r->heap[(at - 1) / 2];
	r->heap[at] = opened;
}

// The slices of BLOCK that are asked for, by begin. -1 on error.
static int unpack(struct slice_reader *r, const struct slice_block *block, struct opened *opened,
                  struct error *err)
{
	struct columns *c = &r->columns[block->kind];

	if (!c->width && !slices_columns(c, block->kind))
		return no_memory(err);
	if (!slices_unpack(block, c))
		return error_set(err, 0, "a block of the timeline is damaged");
	for (uint32_t row = 0; row < block->rows; row++) {
		struct slice slice = slices_row(c, block->kind, row);
		if (!slice_can_be(r->profile, block, &slice))
			return error_set(err, 0, "a block of the timeline is damaged");
		if (is_asked_for(r, &slice))
			opened->slices[opened->count++] = slice;
	}
	qsort(opened->slices, opened->count, sizeof(*opened->slices), compare_slices);
	return 0;
}

static int open_block(struct slice_reader *r, const struct slice_block *block, struct error *err)
{
	struct opened opened = { .slices = calloc(block->rows, sizeof(struct slice)) };
	int failed = opened.slices && array_reserve(&r->heap, &r->capacity, r->open + 1)
	                     ? unpack(r, block, &opened, err)
	                     : no_memory(err);

	if (failed || !opened.count)
		free(opened.slices);
	else
		push(r, opened);
	return failed;
}

// What begins next is in an open block then.
static int open_blocks(struct slice_reader *r, struct error *err)
{
	while (r->next < r->count) {
		const struct slice_block *block = r->blocks[r->next];
		if (r->open && block->begin_ns > r->heap->slices[r->heap->at].begin_ns)
			return 0;
		r->next++;
		if (open_block(r, block, err) < 0)
			return -1;
	}
	return 0;
}

static void advance(struct slice_reader *r)
{
	struct opened *first = r->heap;

	if (++first->at == first->count) {
		free(first->slices);
		*first = r->heap[--r->open];
	}
	sift_down(r, 0);
}

// The innermost place of a wait that has a line and is no kernel's.
static void find_place(const struct profile *p, uint32_t node, struct slice_row *row)
{
	for (; node; node = profile_node(p, node)->parent) {
		const struct path_node *at = profile_node(p, node);
		if (!at->parent)
			return;
		const struct location *location = profile_location(p, at->location);
		if (profile_is_kernel(p, location))
			continue;
		const struct place *places = profile_places(p, location);
		for (uint32_t i = 0; i < location->place_count; i++) {
			if (!places[i].line || !places[i].function)
				continue;
			row->function = profile_string(p, places[i].function);
			row->file = profile_string(p, places[i].file);
			row->line = (int)places[i].line;
			return;
		}
	}
}

static uint64_t since_start(const struct slice_reader *r, uint64_t ns)
{
	return ns > r->start_ns ? ns - r->start_ns : 0;
}

static void describe_op(const struct profile *p, const struct slice *slice, struct slice_row *row)
{
	const struct op *op = profile_op(p, slice->what);
	const char *shape = profile_string(p, slice->place);

	row->op = op->id;
	row->name = op->name;
	row->provider = op_provider_name(op->provider);
	row->domain = op->domain;
	row->shape = shape ? shape : "";
	row->mark = slice->number & SLICE_MARK;
	row->left_open = slice->number & SLICE_LEFT_OPEN;
	row->labelled = op_is_label(op);
}

static void describe_work(const struct slice_reader *r, const struct slice *slice,
                          struct slice_row *row)
{
	const struct profile *p = r->profile;
	const struct gpu_work *work = &profile_gpu(p)->works.works[slice->what - 1];
	const struct op *op = profile_op(p, work->key.op);

	row->name = op ? op->name : "?";
	row->op = work->key.op;
	row->stream = slice->place;
	row->work = &work->key;
	row->bytes = slice->number;
	row->called = slice->call_ns && slice->thread;
	row->call_ns = row->called ? since_start(r, slice->call_ns) : 0;
}

static void describe(const struct slice_reader *r, const struct slice *slice, struct slice_row *row)
{
	*row = (struct slice_row){
		.kind = (enum slice_kind)slice->kind,
		.begin_ns = since_start(r, slice->begin_ns),
		.end_ns = since_start(r, slice->end_ns),
		.thread = slice->thread,
		.shape = "",
		.domain = "",
	};
	switch (slice->kind) {
	case SLICE_OP:
		describe_op(r->profile, slice, row);
		break;
	case SLICE_WAIT:
		row->metric = (enum metric)slice->what;
		row->name = metric_name(row->metric);
		row->node = slice->place;
		find_place(r->profile, slice->place, row);
		break;
	default:
		describe_work(r, slice, row);
		break;
	}
}

int slice_reader_next_slice(struct slice_reader *r, struct slice *slice, struct error *err)
{
	if (open_blocks(r, err) < 0)
		return -1;
	if (!r->open)
		return 0;
	*slice = r->heap->slices[r->heap->at];
	advance(r);
	return 1;
}

int slice_reader_next(struct slice_reader *r, struct slice_row *row, struct error *err)
{
	struct slice slice;
	int more = slice_reader_next_slice(r, &slice, err);

	if (more > 0)
		describe(r, &slice, row);
	return more;
}

uint32_t slice_reader_threads(const struct slice_reader *r)
{
	return (uint32_t)profile_threads(r->profile)->thread_count;
}

static const char *text_of(const struct profile *p, uint32_t string)
{
	const char *text = profile_string(p, string);

	return text ? text : "";
}

static bool is_first(const struct threads *t, uint32_t slot)
{
	for (uint32_t other = 1; other < slot; other++)
		if (threads_get(t, other)->process == threads_get(t, slot)->process)
			return false;
	return true;
}

bool slice_reader_thread(const struct slice_reader *r, uint32_t thread, struct slice_thread *out)
{
	const struct profile *p = r->profile;

	if (!thread || thread > profile_threads(p)->thread_count || !r->threads[thread - 1])
		return false;
	const struct thread_info *info = profile_thread(p, thread);
	const struct process_info *process = profile_process(p, info->process);
	*out = (struct slice_thread){
		.name = text_of(p, info->name),
		.process = process ? text_of(p, process->command) : "",
		.tid = info->tid,
		.pid = process ? process->pid : 0,
		.process_slot = process ? info->process : 0,
		.apart = thread_is_apart(info),
		.is_main = is_first(profile_threads(p), thread),
	};
	return true;
}

uint32_t slice_reader_streams(const struct slice_reader *r)
{
	return profile_gpu(r->profile)->stream_count;
}

bool slice_reader_stream(const struct slice_reader *r, uint32_t stream, struct slice_stream *out)
{
	const struct gpu *g = profile_gpu(r->profile);

	if (!stream || stream > g->stream_count)
		return false;
	const struct gpu_stream *from = &g->streams[stream - 1];
	const struct gpu_device *device = from->device && from->device <= g->device_count
	                                          ? &g->devices[from->device - 1]
	                                          : NULL;
	const struct process_info *process = profile_process(r->profile, from->process);
	*out = (struct slice_stream){
		.device = device ? text_of(r->profile, device->name) : "",
		.process = profile_owner(r->profile, from->process),
		.device_id = device ? from->device : 0,
		.device_number = device ? device->number : 0,
		.context = from->context,
		.number = from->number,
		.pid = process ? process->pid : 0,
		.process_slot = process ? from->process : 0,
	};
	return true;
}
