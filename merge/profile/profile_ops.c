// SPDX-License-Identifier: MIT
// What a profile records of ops, of calls in Python and of memory.
#include "base/array.h"
#include "base/code.h"
#include "base/module.h"
#include "base/origin.h"
#include "base/record.h"
#include "merge/profile/profile_data.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void profile_set_codes(struct profile *p, const struct codes *codes)
{
	p->codes = codes;
}

void profile_set_ops(struct profile *p, const struct ops *ops)
{
	p->ops = ops;
}

static void lose(struct profile *p, uint64_t calls)
{
	p->op_table.lost += calls;
}

// Where there is no room for another row, a new caller would only be forgotten again.
static uint32_t caller_of(struct profile *p, const struct frame *caller)
{
	if (!caller->module)
		return 0;
	return op_table_is_full(&p->op_table) ? locations_find(&p->locations, *caller)
	                                      : locations_add(&p->locations, *caller);
}

static uint32_t *known_node(struct profile *p, uint32_t call)
{
	if (!array_reserve(&p->chain_nodes, &p->chain_node_capacity, call))
		return NULL;
	for (; p->chain_node_count < call; p->chain_node_count++)
		p->chain_nodes[p->chain_node_count] = 0;
	return &p->chain_nodes[call - 1];
}

// The node of CALL, added with its callers. 0: there is none, or no memory.
static uint32_t chain_of(struct profile *p, uint32_t call)
{
	const struct code_call *known = p->codes ? codes_get_call(p->codes, call) : NULL;
	uint32_t *node = known ? known_node(p, call) : NULL;

	if (!node)
		return 0;
	if (*node)
		return *node;
	uint32_t caller = known->caller ? chain_of(p, known->caller)
	                                : paths_child(&p->chains, 0, PROFILE_CHAIN_ROOT);
	uint32_t location = profile_add_location(p, known->frame);
	uint32_t added = caller && location ? paths_child(&p->chains, caller, location) : 0;
	p->chain_nodes[call - 1] = added;
	return added;
}

// As with callers.
static uint32_t known_chain_of(struct profile *p, uint32_t call)
{
	if (!call)
		return 0;
	if (!op_table_is_full(&p->op_table))
		return chain_of(p, call);
	return call <= p->chain_node_count ? p->chain_nodes[call - 1] : 0;
}

// Calls within calls of the same op take part of those; and where not all are recorded, what comes
// next is not known.
static bool is_whole_call(const struct op_call *call)
{
	return call->sums.calls == 1 && !call->sums.untimed && !call->sums.left_open &&
	       !call->within_itself && !call->window;
}

static void add_to_series(struct profile *p, struct op_entry *entry, const struct op_call *call)
{
	const struct op_key *key = &entry->key;
	uint32_t process = threads_get(&p->threads, key->thread)->process;

	if (!entry->series && process)
		entry->series = series_get(&p->series, key->op, key->shape, process);
	series_add(&p->series, entry->series, call->begin_ns, call->duration_ns);
}

static void add_call(struct profile *p, const struct op_call *call)
{
	profile_note_time(p, call->begin_ns);
	// Bins begin with the run.
	if (!p->op_table.origin_ns)
		p->op_table.origin_ns = p->cells.origin_ns;
	struct op_entry *entry = op_table_add(&p->op_table, call);
	if (entry && is_whole_call(call))
		add_to_series(p, entry, call);
}

static void add_slice(struct profile *p, const struct op_event *event, const struct op_call *call)
{
	const struct slice slice = {
		.kind = SLICE_OP,
		.begin_ns = event->begin_ns,
		.end_ns = event->begin_ns + call->duration_ns,
		.thread = call->key.thread,
		.what = event->op,
		.place = call->key.shape,
		.number = (event->mark ? SLICE_MARK : 0u) |
		          (event->flags & OP_LEFT_OPEN ? SLICE_LEFT_OPEN : 0u),
	};

	slices_add(&p->slices, &slice);
}

// What an allocator of GPU memory has told: "cuda:0", and where several processes do, whose.
static void draw_device(struct profile *p, const struct op *op, uint32_t slot,
                        const struct op_event *event)
{
	uint32_t process = threads_get(&p->threads, slot)->process;
	const struct process_info *info = threads_process(&p->threads, process);
	bool reserved = strcmp(op->name, OP_TORCH_RESERVED) == 0;
	char name[CURVE_NAME_BYTES];
	double value;

	if (!counters_value(event, &value) || value < 0 || value >= 0x1p63)
		return;
	if (process > 1 && info)
		snprintf(name, sizeof(name), "%s of %" PRIu32, op->domain, info->pid);
	else
		snprintf(name, sizeof(name), "%s", op->domain);
	struct memory_curve *curve = memory_curves_get(
		&p->allocations.curves, reserved ? CURVE_RESERVED : CURVE_DEVICE, name);
	if (curve)
		memory_curve_add(curve, profile_since_start(p, event->begin_ns), (uint64_t)value);
}

void profile_add_op(struct profile *p, const struct op_event *event)
{
	const struct op *op = profile_op(p, event->op);
	uint32_t slot = threads_slot(&p->threads, event->thread);

	if (!op || !slot) {
		lose(p, 1);
		return;
	}
	// The numbers of a counter are summed up; there may be another one at each change.
	bool counts = event->mark && op_is_counter(op);
	if (counts)
		counters_add(&p->counters, slot, event);
	if (counts && op->provider == OP_TORCH) { // an allocator's, for a table of their own
		draw_device(p, op, slot, event);
		profile_note_time(p, event->end_ns);
		return;
	}
	struct op_shape shape = { 0 };
	if (!counts)
		shape = op_shapes_of(&p->shapes, p->strings, op, event);
	struct op_call call = {
		.key = { .op = event->op,
		         .parent = profile_op(p, event->parent) ? event->parent : 0,
		         .shape = shape.text,
		         .caller = caller_of(p, &event->caller),
		         .thread = slot,
		         .chain = known_chain_of(p, event->chain),
		         .forward = known_chain_of(p, event->forward),
		         .within_domain = event->within_domain },
		.begin_ns = event->begin_ns,
		.duration_ns =
			event->end_ns > event->begin_ns ? event->end_ns - event->begin_ns : 0,
		.within_itself = event->within_itself,
		.weight = event->weight,
		.window = event->window,
		.stall_ns = event->stall_ns,
		.self_stall_ns = event->self_stall_ns,
		.unseen_within = event->unseen_within,
		.sums = { .calls = !event->mark,
		          .marks = event->mark,
		          .left_open = (event->flags & OP_LEFT_OPEN) != 0,
		          .self_ns = event->self_ns,
		          .self_allocated_bytes = event->self_allocated_bytes,
		          .self_freed_bytes = event->self_freed_bytes,
		          .devices = event->devices,
		          .flops = shape.flops,
		          .message_bytes = shape.message_bytes },
	};
	if (event->within_itself) {
		call.sums.devices.allocated_bytes = call.sums.devices.freed_bytes = 0;
	} else {
		call.sums.allocated_bytes = event->allocated_bytes;
		call.sums.freed_bytes = event->freed_bytes;
	}
	p->op_table.folded += shape.left_out;
	add_call(p, &call);
	if (!counts)
		add_slice(p, event, &call);
	profile_note_time(p, event->end_ns);
}

void profile_count_ops(const struct profile *p, enum op_provider provider, uint64_t *calls,
                       uint64_t *unseen)
{
	*calls = *unseen = 0;
	for (uint32_t i = 0; i < p->op_table.count; i++) {
		const struct op_entry *entry = &p->op_table.entries[i];
		const struct op *op = profile_op(p, entry->key.op);
		if (!op || op->provider != provider)
			continue;
		*calls += entry->sums.calls;
		*unseen += entry->sums.unseen;
	}
}

void profile_add_op_count(struct profile *p, const struct op_count_event *event)
{
	const struct op_counts *counts = &event->counts;
	uint32_t slot = threads_main(&p->threads, event->process);
	const struct op *op = profile_op(p, event->op);
	if (!op || !slot) {
		lose(p, counts->calls);
		return;
	}
	if (op_is_counter(op)) {
		counters_miss(&p->counters, slot, event->op, counts->calls + counts->marks);
		return;
	}
	struct op_call call = {
		.key = { .op = event->op, .thread = slot },
		.begin_ns = p->last_ns, // when they were is not known: by now
		.duration_ns = counts->total_ns,
		.sums = { .calls = counts->calls,
		          .untimed = counts->calls,
		          .timeless = counts->timeless,
		          .marks = counts->marks,
		          .total_ns = counts->total_ns,
		          .sum_ns = counts->sum_ns,
		          .self_ns = counts->self_ns },
	};
	add_call(p, &call);
}

// What a profile is told of Python beside its stacks.

void profile_add_python_name(struct profile *p, const struct python_name_event *event)
{
	const struct callable callable = {
		.offset = event->file_offset,
		.module = event->module,
		.name = *event->name ? strings_add(p->strings, event->name) : 0,
	};

	p->lost += (*event->name && !callable.name) || !callables_add(&p->callables, &callable);
}

static struct call_count count_of(struct profile *p, const struct python_function *function)
{
	const struct code *code = p->codes ? codes_get(p->codes, function->code) : NULL;

	if (function->name)
		return (struct call_count){ .function = strings_add(p->strings, function->name) };
	return (struct call_count){
		.function = strings_add(p->strings, code ? code->name : NULL),
		.file = strings_add(p->strings, code ? code->file : NULL),
		.line = code ? code->first_line : 0,
	};
}

static uint32_t add_count(struct call_counts *counts, const struct call_count *more)
{
	return more->function ? call_counts_add(counts, more) : 0;
}

void profile_add_python_calls(struct profile *p, const struct python_calls_event *event)
{
	struct call_counts *counts = &p->call_counts;
	bool done;

	p->call_counts.begun += event->first;
	p->call_counts.ended += event->last;
	if (!event->calls)
		return;
	struct call_count more = count_of(p, &event->function);
	if (event->has_caller) {
		const struct call_count caller = count_of(p, &event->caller);
		const struct call_edge edge = { add_count(counts, &caller),
			                        add_count(counts, &more), event->calls,
			                        event->recursive };
		done = edge.caller && edge.callee && call_counts_add_edge(counts, &edge);
	} else {
		more.calls = event->calls;
		more.recursive = event->recursive;
		done = add_count(counts, &more) != 0;
	}
	// A call that is missing makes the rest no better than a lower bound.
	p->call_counts.begun += !done;
}

void profile_add_python_await(struct profile *p, const struct python_await_event *event)
{
	struct await_place places[AWAIT_PLACES_MAX];
	const struct await_row more = {
		.kind = event->kind,
		.place_count = event->place_count,
		.count = event->count,
		.ns = event->ns,
		.longest_ns = event->longest_ns,
	};

	for (uint32_t i = 0; i < event->place_count; i++) {
		const struct await_told *told = &event->places[i];
		places[i] = (struct await_place){
			.function = *told->function ? strings_add(p->strings, told->function) : 0,
			.file = *told->file ? strings_add(p->strings, told->file) : 0,
			.line = told->line,
		};
	}
	awaits_add(&p->awaits, &more, places);
}

// What a profile is told of memory.

// The slot of a process that runs and is kept apart: only then is it one address space. Or 0.
static uint32_t slot_apart(const struct profile *p, uint32_t process)
{
	const struct process_info *info = threads_process(&p->threads, process);

	return info && process <= p->threads.limit && !info->end_ns ? process : 0;
}

// The curve of the Python package that has allocated: by the innermost library that is part of one,
// or else by the library that Python has called. What Python itself allocates is no package's.
static uint32_t package_of(struct profile *p, const struct alloc_event *event)
{
	char name[CURVE_NAME_BYTES];
	const struct module *called = NULL;
	uint32_t i = 0;

	for (; i < event->count && event->frames[i].kind != FRAME_PYTHON; i++) {
		const struct module *module = modules_get(p->modules, event->frames[i].module);
		if (!module || !module->path || module->kind != MODULE_ELF)
			continue;
		if (memory_curves_package(module->path, name))
			return allocations_package(&p->allocations, name);
		called = origin_is_python(module->path) ? called : module;
	}
	if (i == event->count || !called || !memory_curves_library(called->path, name))
		return 0;
	return allocations_package(&p->allocations, name);
}

void profile_add_alloc(struct profile *p, const struct alloc_event *event)
{
	uint32_t slot = threads_slot(&p->threads, event->thread);
	struct stack stack = {
		.thread = event->thread,
		.flags = event->flags,
		.count = event->count,
		.frames = event->frames,
	};
	uint32_t node = slot ? profile_add_path(p, slot, &stack) : 0;

	profile_note_time(p, event->time_ns);
	if (!node) {
		p->allocations.lost++;
		return;
	}
	allocations_add_at(&p->allocations, slot_apart(p, threads_get(&p->threads, slot)->process),
	                   node, package_of(p, event), profile_since_start(p, event->time_ns),
	                   event);
}

void profile_add_free(struct profile *p, const struct free_event *event)
{
	allocations_free_at(&p->allocations, slot_apart(p, event->process), event->address,
	                    profile_since_start(p, event->time_ns));
}

void profile_add_memory(struct profile *p, const struct memory_event *event)
{
	profile_note_time(p, event->time_ns);
	allocations_count(&p->allocations, slot_apart(p, event->process), event);
	allocations_draw(&p->allocations, profile_since_start(p, event->time_ns));
}

void profile_add_rss(struct profile *p, uint64_t time_ns, uint64_t bytes)
{
	struct memory_curve *curve = memory_curves_get(&p->allocations.curves, CURVE_RSS, "host");

	if (curve)
		memory_curve_add(curve, profile_since_start(p, time_ns), bytes);
}

const char *profile_tell_memory(struct profile *p, uint64_t end_ns)
{
	struct memory_curves *c = &p->allocations.curves;

	if (!p->curves_text)
		p->curves_text = malloc(CURVES_TEXT);
	if (!p->curves_text)
		return NULL;

	for (uint32_t i = 0; i < c->count; i++)
		memory_curve_end(&c->of[i], profile_since_start(p, end_ns));
	memory_curves_print(c, p->curves_text);
	return p->curves_text;
}
