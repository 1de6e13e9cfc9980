// SPDX-License-Identifier: MIT
/*
 * Callgrind's format: the cost of each line of each function, and of the calls from there.
 *
 * Some readers take what a function costs with all that it calls to be its own cost and that of its
 * calls, others what the calls to it cost. For both to be right a stack must have each function
 * once. Where functions call each other in turns, so much of the stack is left out: of the
 * innermost function all but the innermost call, of others all but the outermost.
 *
 *	main > a > b > a > c    main > a > b > c
 *	main > a > b > a        main > b > a
 */
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/strings.h"
#include "cli/export/exporter.h"
#include "cli/export/label.h"
#include "cli/report/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct cost {
	uint64_t on_cpu_ns, off_cpu_ns;
	uint64_t samples;
};

// From a line of one function to another function, at its line; CALLEE 0: its own cost.
struct call {
	uint32_t frame, callee; // indices of frames + 1: the line; the first frame of a function
	struct cost cost;
};

struct callgrind {
	const struct exporting *e;
	const struct stacks *stacks;
	struct call *calls; // [id - 1]
	uint32_t count;
	size_t capacity;
	struct hash index;
	uint32_t *first;                         // [function - 1]: its first frame + 1
	size_t *seen;                            // [function - 1]: the last stack that it was in
	size_t stack;                            // number of this one
	uint32_t *path;                          // [depth]: frame
	uint32_t *simple;                        // the same, each function once
	const char *file;                        // that costs are of, as far as the reader knows
	struct strings *files, *objects, *names; // ids are those of the format's own compression
};

static void callgrind_at_scope_end(struct callgrind *c)
{
	free(c->calls);
	hash_fini(&c->index);
	free(c->first);
	free(c->seen);
	free(c->simple);
	free(c->path);
	strings_free(c->files);
	strings_free(c->objects);
	strings_free(c->names);
}

// NULL if there is no memory.
static struct call *find_call(struct callgrind *c, uint32_t frame, uint32_t callee)
{
	if (!hash_make_room(&c->index))
		return NULL;
	uint32_t at = hash_start(&c->index, hash_pair(frame, callee));
	for (; c->index.slots[at]; at = hash_next(&c->index, at)) {
		struct call *known = &c->calls[c->index.slots[at] - 1];
		if (known->frame == frame && known->callee == callee)
			return known;
	}
	if (!array_reserve(&c->calls, &c->capacity, (size_t)c->count + 1))
		return NULL;
	c->calls[c->count++] = (struct call){ .frame = frame, .callee = callee };
	hash_insert(&c->index, at, hash_pair(frame, callee), c->count);
	return &c->calls[c->count - 1];
}

static bool add_cost(struct callgrind *c, uint32_t frame, uint32_t callee, const struct cost *cost)
{
	struct call *call = find_call(c, frame, callee);

	if (!call)
		return false;
	call->cost.on_cpu_ns += cost->on_cpu_ns;
	call->cost.off_cpu_ns += cost->off_cpu_ns;
	call->cost.samples += cost->samples;
	return true;
}

// Leaves of the stack in c->path, of DEPTH frames from 1, each function once. Returns how many.
static uint32_t unwind_cycles(struct callgrind *c, uint32_t depth)
{
	const struct stack_frame *frames = c->stacks->frames;
	uint32_t innermost = frames[c->path[depth]].function, count = 0;

	c->stack++;
	for (uint32_t at = 1; at <= depth; at++) {
		uint32_t function = frames[c->path[at]].function;
		if (c->seen[function - 1] == c->stack || (function == innermost && at < depth))
			continue;
		c->seen[function - 1] = c->stack;
		c->simple[count++] = c->path[at];
	}
	return count;
}

static bool add_stack(struct callgrind *c, uint32_t depth, const struct cost *cost)
{
	uint32_t count = unwind_cycles(c, depth);
	uint32_t caller = (uint32_t)c->stacks->frame_count + 1; // the threads
	bool ok = add_cost(c, c->path[depth] + 1, 0, cost);

	for (uint32_t at = 0; ok && at < count; at++) {
		uint32_t callee = c->stacks->frames[c->simple[at]].function;
		ok = add_cost(c, caller, c->first[callee - 1], cost);
		caller = c->simple[at] + 1;
	}
	return ok;
}

static bool add_stacks(struct callgrind *c)
{
	const struct stacks *stacks = c->stacks;

	for (size_t i = 0; i < stacks->count; i++) {
		const struct stack_node *node = &stacks->nodes[i];
		struct cost cost = { stack_weight_on_cpu(&node->self),
			             stack_weight_off_cpu(&node->self),
			             stack_weight_samples(&node->self) };
		if (node->caller == STACK_NO_CALLER)
			continue;
		c->path[node->depth] = node->frame;
		if ((cost.on_cpu_ns || cost.off_cpu_ns) && !add_stack(c, node->depth, &cost))
			return false;
	}
	return true;
}

// "(3) name" the first time, "(3)" then.
static void put_name(struct callgrind *c, const char *key, struct strings *table, const char *text)
{
	uint32_t count = strings_count(table);
	cleanup_free char *clean = label_text(text, "");
	uint32_t id = clean ? strings_add(table, clean) : 0;

	fprintf(c->e->out, id > count ? "%s=(%u) %s\n" : "%s=(%u)\n", key, id, clean);
}

// What calls the outermost functions: a function that is not called anywhere, and one that is
// called elsewhere, would else have sums of two kinds.
static const struct stack_frame threads = { .name = "[all threads]" };

static const struct stack_frame *frame_of(const struct callgrind *c, uint32_t id)
{
	return id <= c->stacks->frame_count ? &c->stacks->frames[id - 1] : &threads;
}

static const char *file_of(const struct stack_frame *frame)
{
	return frame->declared ? frame->declared : frame->file ? frame->file : "???";
}

// Functions of one name in several files are told apart by those.
static void put_function(struct callgrind *c, const struct stack_frame *frame, bool called)
{
	const char *key = called ? "cfn" : "fn";

	put_name(c, called ? "cob" : "ob", c->objects, frame->module ? frame->module : "???");
	put_name(c, called ? "cfi" : "fl", c->files, file_of(frame));
	if (!frame->op) {
		put_name(c, key, c->names, frame->name);
		return;
	}
	cleanup_free char *op = label_frame(frame, "");
	put_name(c, key, c->names, op ? op : frame->name);
}

static void put_cost(struct callgrind *c, int line, const struct cost *cost)
{
	fprintf(c->e->out, "%d %" PRIu64 " %" PRIu64 "\n", line > 0 ? line : 0, cost->on_cpu_ns,
	        cost->off_cpu_ns);
}

// Lines of an inlined function may be in another file than that.
static void put_line_file(struct callgrind *c, const struct stack_frame *frame)
{
	const char *own = file_of(frame), *file = frame->file ? frame->file : own;

	if (strcmp(file, c->file) != 0)
		put_name(c, strcmp(file, own) == 0 ? "fe" : "fi", c->files, file);
	c->file = file;
}

static void put_call(struct callgrind *c, const struct call *call)
{
	const struct stack_frame *frame = frame_of(c, call->frame);

	put_line_file(c, frame);
	if (call->callee) {
		const struct stack_frame *callee = frame_of(c, call->callee);
		put_function(c, callee, true);
		fprintf(c->e->out, "calls=%" PRIu64 " %d\n",
		        call->cost.samples ? call->cost.samples : 1,
		        callee->line > 0 ? callee->line : 0);
	}
	put_cost(c, frame->line, &call->cost);
}

// What stands for the order of a file: function, line, own cost before calls.
struct place {
	uint32_t function, id;
	int line;
	uint32_t callee;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	if (left->line != right->line)
		return left->line < right->line ? -1 : 1;
	if (left->callee != right->callee)
		return left->callee < right->callee ? -1 : 1;
	return (left->id > right->id) - (left->id < right->id);
}

static int put_calls(struct callgrind *c, struct error *err)
{
	cleanup_free struct place *places = calloc((size_t)c->count + 1, sizeof(*places));

	if (!places)
		return error_set(err, ENOMEM, "could not sort the calls");
	for (uint32_t i = 0; i < c->count; i++) {
		const struct stack_frame *frame = frame_of(c, c->calls[i].frame);
		places[i] = (struct place){ frame->function, i, frame->line, c->calls[i].callee };
	}
	qsort(places, c->count, sizeof(*places), compare_places);
	for (uint32_t i = 0; i < c->count; i++) {
		const struct call *call = &c->calls[places[i].id];
		if (!i || places[i].function != places[i - 1].function) {
			fputc('\n', c->e->out);
			put_function(c, frame_of(c, call->frame), false);
			c->file = file_of(frame_of(c, call->frame));
		}
		put_call(c, call);
	}
	return 0;
}

static int put_head(const struct exporting *e, const struct stacks *stacks, struct error *err)
{
	const struct run *run = e->facts.run;
	cleanup_free char *command = label_text(run->command ? run->command : "?", "");
	cleanup_free char *cut = label_text(*e->cut ? e->cut : "all of the run", "");

	if (!command || !cut)
		return error_set(err, ENOMEM, "could not name the command");
	fprintf(e->out,
	        "# callgrind format\nversion: 1\ncreator: bottleneck-" BOTTLENECK_VERSION
	        "\ncmd: %s\ndesc: Trigger: %s\ndesc: Calls: samples\npositions: line\n"
	        "event: On_CPU : on a CPU (ns)\nevent: Waiting : waiting (ns)\n"
	        "events: On_CPU Waiting\nsummary: %" PRIu64 " %" PRIu64 "\n",
	        command, cut, stack_weight_on_cpu(&stacks->all),
	        stack_weight_off_cpu(&stacks->all));
	return 0;
}

static bool callgrind_init(struct callgrind *c)
{
	const struct stacks *stacks = c->stacks;

	c->first = calloc((size_t)stacks->function_count + 1, sizeof(*c->first));
	c->seen = calloc((size_t)stacks->function_count + 1, sizeof(*c->seen));
	c->simple = calloc((size_t)stacks->depth + 2, sizeof(*c->simple));
	c->path = calloc((size_t)stacks->depth + 2, sizeof(*c->path));
	c->files = strings_new();
	c->objects = strings_new();
	c->names = strings_new();
	if (!c->first || !c->seen || !c->simple || !c->path || !c->files || !c->objects ||
	    !c->names || !hash_init(&c->index, 1024))
		return false;
	for (size_t i = stacks->frame_count; i > 0; i--)
		c->first[stacks->frames[i - 1].function - 1] = (uint32_t)i;
	return true;
}

static int write_callgrind(const struct exporting *e, struct error *err)
{
	cleanup(stacks) struct stacks *stacks =
		answer_stacks(e->profile, e->view, STACKS_BY_LINE, err);
	cleanup(callgrind) struct callgrind c = { .e = e, .stacks = stacks };

	if (!stacks)
		return -1;
	if (!callgrind_init(&c) || !add_stacks(&c))
		return error_set(err, ENOMEM, "could not sum the calls");
	return put_head(e, stacks, err) < 0 ? -1 : put_calls(&c, err);
}

const struct exporter exporter_callgrind = { .name = "callgrind", .write = write_callgrind };
