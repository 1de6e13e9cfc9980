// SPDX-License-Identifier: MIT
#include "cli/export/firefox.h"

#include "base/array.h"
#include "base/error.h"
#include "cli/export/label.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NO_STACK UINT32_MAX

// The samples of a thread are the parts of its time, each at a moment: within the bin that it was
// in, one after the other, in the order of the stacks. Where threads are told as one, the bin has
// room for each in proportion. What goes on through many bins is one sample.
struct firefox_sample {
	uint64_t begin_ns, ns;
	size_t node;
	enum metric metric;
};

struct firefox_samples {
	struct firefox_sample *samples; // in order of their begin
	size_t count, capacity;
};

static void firefox_samples_at_scope_end(struct firefox_samples *s)
{
	free(s->samples);
}

static bool put_sample(struct firefox_samples *s, const struct stack_part *part, uint64_t begin_ns)
{
	struct firefox_sample *last = s->count ? &s->samples[s->count - 1] : NULL;

	// One wait through many bins is one sample.
	if (last && last->node == part->node && last->metric == part->metric &&
	    last->begin_ns + last->ns >= begin_ns) {
		last->ns += part->ns;
		return true;
	}
	if (!array_reserve(&s->samples, &s->capacity, s->count + 1))
		return false;
	s->samples[s->count++] = (struct firefox_sample){
		.begin_ns = begin_ns, .ns = part->ns, .node = part->node, .metric = part->metric
	};
	return true;
}

// Where a bin begins; the first one of a thread may have begun before that did.
static uint64_t begin_of_bin(const struct stack_times *times, const struct stack_thread *thread,
                             uint32_t bin)
{
	int64_t begin_ns = times->origin_ns + (int64_t)(bin * times->bin_ns);
	int64_t thread_ns = (int64_t)thread->begin_ns;
	bool within = thread_ns > begin_ns && thread_ns < begin_ns + (int64_t)times->bin_ns;

	begin_ns = within ? thread_ns : begin_ns;
	return begin_ns > 0 ? (uint64_t)begin_ns : 0;
}

static bool place_bin(struct firefox_samples *s, const struct stack_times *times,
                      const struct stack_thread *thread, const struct stack_part *parts,
                      size_t count)
{
	uint64_t begin_ns = begin_of_bin(times, thread, parts[0].bin), sum = 0, before = 0;
	int64_t end_ns = times->origin_ns + (int64_t)((parts[0].bin + 1) * times->bin_ns);
	uint64_t room_ns = end_ns > (int64_t)begin_ns ? (uint64_t)end_ns - begin_ns : 0;

	for (size_t i = 0; i < count; i++)
		sum += parts[i].ns;
	for (size_t i = 0; i < count; i++) {
		uint64_t at = sum <= room_ns
		                      ? before
		                      : (uint64_t)((double)before / (double)sum * (double)room_ns);
		if (!put_sample(s, &parts[i], begin_ns + at))
			return false;
		before += parts[i].ns;
	}
	return true;
}

// False if there is no memory. S is empty before.
static bool place_samples(struct firefox_samples *s, const struct firefox *f,
                          const struct stack_thread *thread)
{
	const struct stack_times *times = f->times;
	uint32_t number = (uint32_t)(thread - f->stacks->threads);
	size_t first = array_search(times->count, i, times->parts[i].thread < number);

	while (first < times->count && times->parts[first].thread == number) {
		size_t end = first + 1;
		while (end < times->count && times->parts[end].thread == number &&
		       times->parts[end].bin == times->parts[first].bin)
			end++;
		if (!place_bin(s, times, thread, &times->parts[first], end - first))
			return false;
		first = end;
	}
	return true;
}

// Tables of one thread; numbers in them begin with 0.
struct tables {
	struct firefox *f;
	const struct stack_thread *thread;
	// Of what is in stacks, by its number: the own number here + 1.
	uint32_t *frame_of, *function_of, *module_of;
	uint32_t waits[METRIC_COUNT]; // frames
	uint32_t *frames;             // [own]: that of stacks; of waits: behind those
	size_t frame_count;
	uint32_t *functions; // [own]: a frame here
	size_t function_count;
	uint32_t *modules; // [own]: of the list of modules
	size_t module_count;
	uint32_t *first_wait; // [node - first]: the stack of its first cause of waiting
	size_t stack_count;
};

static void tables_at_scope_end(struct tables *t)
{
	free(t->frame_of);
	free(t->function_of);
	free(t->module_of);
	free(t->frames);
	free(t->functions);
	free(t->modules);
	free(t->first_wait);
}

static bool tables_init(struct tables *t)
{
	const struct stacks *stacks = t->f->stacks;
	size_t frames = stacks->frame_count + METRIC_COUNT;
	size_t nodes = t->thread->end - t->thread->first;

	t->frame_of = calloc(frames, sizeof(*t->frame_of));
	t->function_of = calloc((size_t)stacks->function_count + 1, sizeof(*t->function_of));
	t->module_of = calloc(strings_count(t->f->modules) + 1, sizeof(*t->module_of));
	t->frames = calloc(frames, sizeof(*t->frames));
	t->functions = calloc(frames, sizeof(*t->functions));
	t->modules = calloc(strings_count(t->f->modules) + 1, sizeof(*t->modules));
	t->first_wait = calloc(nodes + 1, sizeof(*t->first_wait));
	return t->frame_of && t->function_of && t->module_of && t->frames && t->functions &&
	       t->modules && t->first_wait;
}

static bool is_wait(const struct tables *t, uint32_t frame)
{
	return frame >= t->f->stacks->frame_count;
}

static const struct stack_frame *frame_at(const struct tables *t, uint32_t frame)
{
	return &t->f->stacks->frames[frame];
}

static void add_function(struct tables *t, uint32_t frame, uint32_t own)
{
	uint32_t *function =
		is_wait(t, frame) ? NULL : &t->function_of[frame_at(t, frame)->function];

	if (function && *function)
		return;
	t->functions[t->function_count++] = own;
	if (function)
		*function = (uint32_t)t->function_count;
	else
		t->waits[frame - t->f->stacks->frame_count] = (uint32_t)t->function_count;
}

static void add_module(struct tables *t, uint32_t frame)
{
	uint32_t module = is_wait(t, frame) || !frame_at(t, frame)->module
	                          ? 0
	                          : strings_find(t->f->modules, frame_at(t, frame)->module);

	if (!module || t->module_of[module])
		return;
	t->modules[t->module_count++] = module;
	t->module_of[module] = (uint32_t)t->module_count;
}

static void add_frame(struct tables *t, uint32_t frame)
{
	if (t->frame_of[frame])
		return;
	t->frames[t->frame_count++] = frame;
	t->frame_of[frame] = (uint32_t)t->frame_count;
	add_function(t, frame, (uint32_t)t->frame_count - 1);
	add_module(t, frame);
}

// Stacks are the nodes of the thread but for its root, in their order, and behind them those that
// wait.
static void fill(struct tables *t)
{
	size_t first = t->thread->first, end = t->thread->end;

	t->stack_count = end - first - 1;
	for (size_t i = first; i < end; i++) {
		const struct stack_node *node = &t->f->stacks->nodes[i];
		if (i > first)
			add_frame(t, node->frame);
		t->first_wait[i - first] = (uint32_t)t->stack_count;
		for (uint32_t m = 0; m < METRIC_COUNT; m++) {
			if (!metric_is_off_cpu((enum metric)m) || !node->self.ns[m])
				continue;
			add_frame(t, (uint32_t)t->f->stacks->frame_count + m);
			t->stack_count++;
		}
	}
}

static uint32_t stack_of_node(const struct tables *t, size_t node)
{
	return node > t->thread->first ? (uint32_t)(node - t->thread->first - 1) : NO_STACK;
}

static uint32_t stack_of(const struct tables *t, size_t node, enum metric metric)
{
	const struct stack_weight *self = &t->f->stacks->nodes[node].self;
	uint32_t stack = t->first_wait[node - t->thread->first];

	if (!metric_is_off_cpu(metric))
		return stack_of_node(t, node);
	for (int m = 0; m < (int)metric; m++)
		stack += metric_is_off_cpu((enum metric)m) && self->ns[m];
	return stack;
}

static void put_stack_or_null(struct json *j, uint32_t stack)
{
	if (stack == NO_STACK)
		json_put_null(j, NULL);
	else
		json_put_count(j, NULL, stack);
}

static void put_stack_table(const struct tables *t)
{
	const struct stacks *stacks = t->f->stacks;
	size_t first = t->thread->first;
	struct json *j = t->f->j;

	json_open(j, "stackTable", '{');
	json_open(j, "frame", '[');
	for (size_t i = first + 1; i < t->thread->end; i++)
		json_put_count(j, NULL, t->frame_of[stacks->nodes[i].frame] - 1);
	for (size_t i = first; i < t->thread->end; i++)
		for (size_t m = 0; m < METRIC_COUNT; m++)
			if (metric_is_off_cpu((enum metric)m) && stacks->nodes[i].self.ns[m])
				json_put_count(j, NULL, t->frame_of[stacks->frame_count + m] - 1);
	json_close(j);
	json_open(j, "prefix", '[');
	for (size_t i = first + 1; i < t->thread->end; i++)
		put_stack_or_null(j, stack_of_node(t, stacks->nodes[i].caller));
	for (size_t i = first; i < t->thread->end; i++)
		for (int m = 0; m < METRIC_COUNT; m++)
			if (metric_is_off_cpu((enum metric)m) && stacks->nodes[i].self.ns[m])
				put_stack_or_null(j, stack_of_node(t, i));
	json_close(j);
	json_put_count(j, "length", t->stack_count);
	json_close(j);
}

static enum firefox_category category_of(const struct tables *t, uint32_t frame)
{
	const struct stack_frame *of = is_wait(t, frame) ? NULL : frame_at(t, frame);

	return !of || of->gil                         ? FIREFOX_WAITING
	       : of->op                               ? FIREFOX_OP
	       : of->python && !of->called            ? FIREFOX_PYTHON
	       : of->kernel                           ? FIREFOX_KERNEL
	       : of->called || of->module || of->file ? FIREFOX_NATIVE
	                                              : FIREFOX_OTHER;
}

// Of waiting the cause, in the order of enum metric, behind "Other"; of native code see
// exporter_firefox.c.
static uint32_t subcategory_of(const struct tables *t, uint32_t frame)
{
	if (is_wait(t, frame))
		return frame - (uint32_t)t->f->stacks->frame_count;
	const struct stack_frame *of = frame_at(t, frame);
	if (category_of(t, frame) != FIREFOX_NATIVE)
		return 0;
	return of->called ? 1 : of->inlined ? 2 : 0;
}

// The file of a function is one; lines of others that are inlined in it would be wrong there.
static const char *file_of(const struct stack_frame *frame)
{
	return frame->declared ? frame->declared : frame->file;
}

static int line_of(const struct tables *t, uint32_t frame)
{
	const struct stack_frame *of = is_wait(t, frame) ? NULL : frame_at(t, frame);

	return of && of->file && strcmp(of->file, file_of(of)) == 0 ? of->line : 0;
}

static uint32_t function_of(const struct tables *t, uint32_t frame)
{
	return is_wait(t, frame) ? t->waits[frame - t->f->stacks->frame_count] - 1
	                         : t->function_of[frame_at(t, frame)->function] - 1;
}

static void put_line(struct json *j, int line)
{
	if (line > 0)
		json_put_integer(j, NULL, line);
	else
		json_put_null(j, NULL);
}

static void put_frame_table(const struct tables *t)
{
	struct json *j = t->f->j;

	json_open(j, "frameTable", '{');
	firefox_put_same(j, "address", t->frame_count, FIREFOX_MINUS_ONE);
	firefox_put_same(j, "inlineDepth", t->frame_count, FIREFOX_ZERO);
	json_open(j, "category", '[');
	for (size_t i = 0; i < t->frame_count; i++)
		json_put_count(j, NULL, category_of(t, t->frames[i]));
	json_close(j);
	json_open(j, "subcategory", '[');
	for (size_t i = 0; i < t->frame_count; i++)
		json_put_count(j, NULL, subcategory_of(t, t->frames[i]));
	json_close(j);
	json_open(j, "func", '[');
	for (size_t i = 0; i < t->frame_count; i++)
		json_put_count(j, NULL, function_of(t, t->frames[i]));
	json_close(j);
	firefox_put_same(j, "nativeSymbol", t->frame_count, FIREFOX_NULL);
	firefox_put_same(j, "innerWindowID", t->frame_count, FIREFOX_ZERO);
	json_open(j, "line", '[');
	for (size_t i = 0; i < t->frame_count; i++)
		put_line(j, line_of(t, t->frames[i]));
	json_close(j);
	firefox_put_same(j, "column", t->frame_count, FIREFOX_NULL);
	json_put_count(j, "length", t->frame_count);
	json_close(j);
}

static void put_name(const struct tables *t, uint32_t frame)
{
	const char *name = NULL;
	struct label_wait wait;

	if (is_wait(t, frame)) {
		wait = label_wait((enum metric)(frame - t->f->stacks->frame_count));
		name = wait.text;
	} else {
		name = frame_at(t, frame)->name;
	}
	json_put_count(t->f->j, NULL, firefox_text(t->f, name));
}

static void put_resource(const struct tables *t, uint32_t frame)
{
	const char *module = is_wait(t, frame) ? NULL : frame_at(t, frame)->module;
	uint32_t number = module ? strings_find(t->f->modules, module) : 0;

	json_put_integer(t->f->j, NULL, number ? (int64_t)t->module_of[number] - 1 : -1);
}

static void put_source(const struct tables *t, uint32_t frame)
{
	const char *file = is_wait(t, frame) ? NULL : file_of(frame_at(t, frame));
	uint32_t number = strings_add(t->f->files, file);

	if (number)
		json_put_count(t->f->j, NULL, number - 1);
	else
		json_put_null(t->f->j, NULL);
	t->f->failed |= file && !number;
}

static void put_function_table(const struct tables *t)
{
	size_t count = t->function_count;
	struct json *j = t->f->j;

	json_open(j, "funcTable", '{');
	json_open(j, "name", '[');
	for (size_t i = 0; i < count; i++)
		put_name(t, t->frames[t->functions[i]]);
	json_close(j);
	firefox_put_same(j, "isJS", count, FIREFOX_FALSE);
	firefox_put_same(j, "relevantForJS", count, FIREFOX_FALSE);
	json_open(j, "resource", '[');
	for (size_t i = 0; i < count; i++)
		put_resource(t, t->frames[t->functions[i]]);
	json_close(j);
	json_open(j, "source", '[');
	for (size_t i = 0; i < count; i++)
		put_source(t, t->frames[t->functions[i]]);
	json_close(j);
	firefox_put_same(j, "lineNumber", count, FIREFOX_NULL);
	firefox_put_same(j, "columnNumber", count, FIREFOX_NULL);
	json_put_count(j, "length", count);
	json_close(j);
}

#define RESOURCE_LIBRARY 1

static void put_resource_table(struct firefox *f, const uint32_t *modules, size_t count)
{
	struct json *j = f->j;

	json_open(j, "resourceTable", '{');
	json_put_count(j, "length", count);
	json_open(j, "lib", '[');
	for (size_t i = 0; i < count; i++)
		json_put_count(j, NULL, modules[i] - 1);
	json_close(j);
	json_open(j, "name", '[');
	for (size_t i = 0; i < count; i++)
		json_put_count(j, NULL, firefox_text(f, strings_get(f->modules, modules[i])));
	json_close(j);
	firefox_put_same(j, "host", count, FIREFOX_NULL);
	json_open(j, "type", '[');
	for (size_t i = 0; i < count; i++)
		json_put_count(j, NULL, RESOURCE_LIBRARY);
	json_close(j);
	json_close(j);
	json_open(j, "nativeSymbols", '{');
	for (size_t i = 0; i < 4; i++)
		firefox_put_same(
			j, (const char *[]){ "libIndex", "address", "name", "functionSize" }[i], 0,
			FIREFOX_NULL);
	json_put_count(j, "length", 0);
	json_close(j);
}

// Each CPU delta is of the time since the sample before; one more sample, of nothing, closes the
// last one.
static void put_samples(const struct tables *t, const struct firefox_samples *s)
{
	struct json *j = t->f->j;
	const struct firefox_sample *last = s->count ? &s->samples[s->count - 1] : NULL;

	json_open(j, "samples", '{');
	json_open(j, "stack", '[');
	for (size_t i = 0; i < s->count; i++)
		put_stack_or_null(j, stack_of(t, s->samples[i].node, s->samples[i].metric));
	json_put_null(j, NULL);
	json_close(j);
	json_open(j, "time", '[');
	for (size_t i = 0; i < s->count; i++)
		json_put_milliseconds(j, NULL, s->samples[i].begin_ns);
	json_put_milliseconds(j, NULL, last ? last->begin_ns + last->ns : t->thread->end_ns);
	json_close(j);
	json_open(j, "weight", '[');
	for (size_t i = 0; i < s->count; i++)
		json_put_milliseconds(j, NULL, s->samples[i].ns);
	json_put_count(j, NULL, 0);
	json_close(j);
	json_put_text(j, "weightType", "tracing-ms");
	json_open(j, "threadCPUDelta", '[');
	json_put_count(j, NULL, 0);
	for (size_t i = 0; i < s->count; i++)
		json_put_count(j, NULL,
		               metric_is_off_cpu(s->samples[i].metric) ? 0 : s->samples[i].ns);
	json_close(j);
	json_put_count(j, "length", s->count + 1);
	json_close(j);
}

// When something was allocated is not kept: all of it is told as of the thread's begin.
static void put_allocations(const struct tables *t)
{
	const struct stack_node *nodes = t->f->stacks->nodes;
	size_t first = t->thread->first, end = t->thread->end, count = 0;
	struct json *j = t->f->j;

	for (size_t i = first; i < end; i++)
		count += nodes[i].self.allocated_bytes > 0;
	if (!count)
		return;
	json_open(j, "nativeAllocations", '{');
	json_open(j, "time", '[');
	for (size_t i = 0; i < count; i++)
		json_put_milliseconds(j, NULL, t->thread->begin_ns);
	json_close(j);
	json_open(j, "weight", '[');
	for (size_t i = first; i < end; i++)
		if (nodes[i].self.allocated_bytes)
			json_put_count(j, NULL, nodes[i].self.allocated_bytes);
	json_close(j);
	json_put_text(j, "weightType", "bytes");
	json_open(j, "stack", '[');
	for (size_t i = first; i < end; i++)
		if (nodes[i].self.allocated_bytes)
			put_stack_or_null(j, stack_of_node(t, i));
	json_close(j);
	json_put_count(j, "length", count);
	json_close(j);
}

int firefox_put_stacks(struct firefox *f, const struct stack_thread *thread, struct error *err)
{
	cleanup(tables) struct tables t = { .f = f, .thread = thread };
	cleanup(firefox_samples) struct firefox_samples s = { 0 };

	if (!tables_init(&t))
		return error_set(err, ENOMEM, "could not write the stacks of a thread");
	fill(&t);
	if (!place_samples(&s, f, thread))
		return error_set(err, ENOMEM, "could not write the samples of a thread");
	put_samples(&t, &s);
	put_allocations(&t);
	put_stack_table(&t);
	put_frame_table(&t);
	put_function_table(&t);
	put_resource_table(f, t.modules, t.module_count);
	return 0;
}

// Viewers want a begin and an end.
static void put_two_samples(struct json *j, uint64_t begin_ns, uint64_t end_ns)
{
	json_open(j, "samples", '{');
	firefox_put_same(j, "stack", 2, FIREFOX_NULL);
	json_open(j, "time", '[');
	json_put_milliseconds(j, NULL, begin_ns);
	json_put_milliseconds(j, NULL, end_ns);
	json_close(j);
	firefox_put_same(j, "weight", 2, FIREFOX_ZERO);
	json_put_text(j, "weightType", "tracing-ms");
	firefox_put_same(j, "threadCPUDelta", 2, FIREFOX_ZERO);
	json_put_count(j, "length", 2);
	json_close(j);
}

void firefox_put_no_stacks(struct firefox *f, uint64_t begin_ns, uint64_t end_ns)
{
	const struct tables none = { .f = f };

	put_two_samples(f->j, begin_ns, end_ns);
	json_open(f->j, "stackTable", '{');
	firefox_put_same(f->j, "frame", 0, FIREFOX_NULL);
	firefox_put_same(f->j, "prefix", 0, FIREFOX_NULL);
	json_put_count(f->j, "length", 0);
	json_close(f->j);
	put_frame_table(&none);
	put_function_table(&none);
	put_resource_table(f, NULL, 0);
}
