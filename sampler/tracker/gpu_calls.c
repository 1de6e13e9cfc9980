// SPDX-License-Identifier: MIT
#include "sampler/tracker/gpu_calls.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/code.h"
#include "base/gpu_event.h"
#include "base/hash.h"
#include "sampler/tracker/correlations.h"

#include <stdlib.h>
#include <string.h>

#define SITES_MAX   (1u << 14)
#define STACKS_MAX  4096
#define WAITING_MAX 4096
#define WAIT_NS     NS_PER_SEC
#define RECORD_MAX  128  // bytes of a record that waits
#define PYTHON_MAX  256  // frames of a chain
#define LATEST      4096 // a power of two

// The stack where a call was made, from the caller of CUDA's function on. One place may be reached
// in several ways: LOOK is a hash of the frames, and the latest one of a place holds until the
// next.
struct stack_copy {
	uint64_t caller, stack, look;
	struct frame *frames;
	uint64_t *sps;
	uint32_t process;
	uint32_t count, flags;
};

struct site {
	uint64_t caller, stack, ops; // OPS: a hash of those that are open
	uint64_t look;               // of the stack; 0: it was not copied
	uint32_t thread, chain;
};

struct waiting {
	uint64_t since_ns;
	uint32_t process, op;
	union {
		struct record head;
		uint8_t bytes[RECORD_MAX];
	} record;
};

// What is crowded out by another place has no look.
struct latest {
	uint64_t place, look;
};

struct gpu_calls {
	const struct sampler_sink *sink;
	struct correlations calls;
	struct site *sites; // [number - 1]
	uint32_t site_count;
	size_t site_capacity;
	struct hash site_index;
	struct stack_copy *stacks;
	size_t stack_count, stack_capacity;
	struct latest *latest;   // [LATEST] by place, hashed; NULL: there was no site yet
	struct waiting *waiting; // a ring of WAITING_MAX; NULL: nothing has waited yet
	uint32_t first_waiting, waiting_count;
	struct frame frames[STACK_MAX_FRAMES];
	uint64_t sps[STACK_MAX_FRAMES];
};

struct gpu_calls *gpu_calls_new(const struct sampler_sink *sink)
{
	cleanup(gpu_calls) struct gpu_calls *c = calloc(1, sizeof(*c));

	if (!c || !correlations_init(&c->calls) || !hash_init(&c->site_index, 64))
		return NULL;
	c->sink = sink;
	return steal(c);
}

void gpu_calls_free(struct gpu_calls *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->stack_count; i++) {
		free(c->stacks[i].frames);
		free(c->stacks[i].sps);
	}
	free(c->stacks);
	free(c->sites);
	free(c->latest);
	free(c->waiting);
	correlations_fini(&c->calls);
	hash_fini(&c->site_index);
	free(c);
}

// Stacks.

static void free_oldest_stacks(struct gpu_calls *c)
{
	size_t kept = STACKS_MAX / 2;

	for (size_t i = 0; i < c->stack_count - kept; i++) {
		free(c->stacks[i].frames);
		free(c->stacks[i].sps);
	}
	memmove(c->stacks, c->stacks + c->stack_count - kept, kept * sizeof(*c->stacks));
	c->stack_count = kept;
}

static void *copy(const void *from, size_t size)
{
	void *to = malloc(size ? size : 1);

	return to ? memcpy(to, from, size) : NULL;
}

static uint64_t place_of(uint32_t process, uint64_t caller, uint64_t stack)
{
	return hash_pair(hash_pair(caller, stack), process) | 1;
}

static uint64_t look_of(const struct frame *frames, size_t count)
{
	uint64_t look = count;

	for (size_t i = 0; i < count; i++)
		look = hash_pair(look ^ frames[i].module, frames[i].address);
	return look | 1;
}

// Whether a stack of that look is there already; it is the newest then.
static bool renew_stack(struct gpu_calls *c, const struct stack_copy *wanted)
{
	for (size_t i = c->stack_count; i > 0; i--) {
		struct stack_copy known = c->stacks[i - 1];
		if (known.stack != wanted->stack || known.caller != wanted->caller ||
		    known.look != wanted->look || known.process != wanted->process)
			continue;
		memmove(&c->stacks[i - 1], &c->stacks[i],
		        (c->stack_count - i) * sizeof(*c->stacks));
		c->stacks[c->stack_count - 1] = known;
		return true;
	}
	return false;
}

void gpu_calls_site(struct gpu_calls *c, const struct process *process,
                    const struct event_op_site *site, const struct frame *frames,
                    const uint64_t *sps, size_t count, uint32_t flags)
{
	size_t first = 0;

	while (first < count && sps[first] != site->stack)
		first++;
	if (first == count)
		return;
	struct stack_copy made = {
		.caller = site->caller,
		.stack = site->stack,
		.look = look_of(frames + first, count - first),
		.process = process->number,
	};
	uint64_t place = place_of(made.process, made.caller, made.stack);
	if (!c->latest)
		c->latest = calloc(LATEST, sizeof(*c->latest));
	if (c->latest)
		c->latest[place >> 8 & (LATEST - 1)] = (struct latest){ place, made.look };
	if (renew_stack(c, &made))
		return;
	if (c->stack_count == STACKS_MAX)
		free_oldest_stacks(c);
	if (!array_reserve(&c->stacks, &c->stack_capacity, c->stack_count + 1))
		return;
	made = (struct stack_copy){
		.caller = site->caller,
		.stack = site->stack,
		.look = made.look,
		.frames = copy(frames + first, (count - first) * sizeof(*frames)),
		.sps = copy(sps + first, (count - first) * sizeof(*sps)),
		.process = process->number,
		.count = (uint32_t)(count - first),
		.flags = flags,
	};
	if (made.frames && made.sps) {
		c->stacks[c->stack_count++] = made;
		return;
	}
	free(made.frames);
	free(made.sps);
}

static const struct stack_copy *find_stack(const struct gpu_calls *c, uint32_t process,
                                           const struct event_op *op)
{
	for (size_t i = c->stack_count; i > 0; i--) {
		const struct stack_copy *stack = &c->stacks[i - 1];
		if (stack->stack == op->stack && stack->caller == op->caller &&
		    stack->process == process)
			return stack;
	}
	return NULL;
}

// Sites.

static uint32_t put(struct gpu_calls *c, uint32_t count, struct frame frame)
{
	if (count == STACK_MAX_FRAMES)
		return count;
	c->frames[count] = frame;
	return count + 1;
}

static struct frame frame_of_op(uint32_t op)
{
	return (struct frame){ .address = op, .kind = FRAME_OP };
}

// Modules are no callers of their own: the frames of their forward() are there.
static uint32_t put_chain(struct gpu_calls *c, const struct codes *codes, uint32_t chain,
                          uint32_t count)
{
	const struct code_call *call = codes_get_call(codes, chain);

	for (uint32_t i = 0; call && i < PYTHON_MAX; i++) {
		if (call->frame.kind == FRAME_PYTHON)
			count = put(c, count, call->frame);
		call = call->caller ? codes_get_call(codes, call->caller) : NULL;
	}
	return count;
}

// Python knows its callers; of native code there is the place of the call.
static uint32_t list_known(struct gpu_calls *c, const struct thread *thread,
                           const struct codes *codes, uint32_t chain)
{
	const struct op_stack *ops = &thread->ops;
	const struct open_op *call = &ops->ops[ops->count - 1];
	uint32_t count = put(c, 0, frame_of_op(call->op));

	if (call->caller.module)
		count = put(c, count, call->caller);
	for (size_t i = ops->count - 1; i > 0; i--)
		if (!ops->ops[i - 1].left_ns)
			count = put(c, count, frame_of_op(ops->ops[i - 1].op));
	return codes && chain ? put_chain(c, codes, chain, count) : count;
}

static uint32_t list_stack(struct gpu_calls *c, const struct thread *thread,
                           const struct stack_copy *stack)
{
	uint32_t op = thread->ops.ops[thread->ops.count - 1].op;
	uint32_t first = 0,
		 most = stack->count < STACK_MAX_FRAMES ? stack->count : STACK_MAX_FRAMES;

	memcpy(c->frames, stack->frames, most * sizeof(*c->frames));
	uint32_t count = (uint32_t)op_stack_place(&thread->ops, c->frames, stack->sps, most,
	                                          STACK_MAX_FRAMES);
	// What stands above the call is its caller once more.
	while (first < count &&
	       !(c->frames[first].kind == FRAME_OP && c->frames[first].address == op))
		first++;
	if (first == count)
		return 0;
	memmove(c->frames, c->frames + first, (count - first) * sizeof(*c->frames));
	return count - first;
}

static void tell_site(struct gpu_calls *c, const struct thread *thread, const struct codes *codes,
                      const struct event *event, const struct site *site)
{
	const struct stack_copy *stack =
		site->chain ? NULL : find_stack(c, thread->process->number, &event->op);
	struct gpu_site_event told = {
		.site = c->site_count,
		.thread = thread->number,
		.time_ns = event->time_ns,
		.count = stack ? list_stack(c, thread, stack) : 0,
		.frames = c->frames,
	};

	if (told.count)
		told.flags = stack->flags;
	else
		told.count = list_known(c, thread, codes, site->chain);
	sampler_sink_take(c->sink,
	                  &(struct sampled){ .kind = SAMPLED_GPU_SITE, .gpu_site = &told });
}

static uint64_t hash_of_site(const struct site *site)
{
	return hash_pair(
		hash_pair(site->caller, site->stack),
		hash_pair(site->ops ^ site->look, (uint64_t)site->thread << 32 | site->chain));
}

static bool same_site(const struct site *a, const struct site *b)
{
	return a->caller == b->caller && a->stack == b->stack && a->ops == b->ops &&
	       a->look == b->look && a->thread == b->thread && a->chain == b->chain;
}

static uint32_t slot_of_site(const struct gpu_calls *c, const struct site *site)
{
	uint32_t at = hash_start(&c->site_index, hash_of_site(site));

	while (c->site_index.slots[at] && !same_site(&c->sites[c->site_index.slots[at] - 1], site))
		at = hash_next(&c->site_index, at);
	return at;
}

static uint64_t latest_look(const struct gpu_calls *c, uint32_t process, const struct event_op *op)
{
	uint64_t place = place_of(process, op->caller, op->stack);
	const struct latest *latest = c->latest ? &c->latest[place >> 8 & (LATEST - 1)] : NULL;

	return latest && latest->place == place ? latest->look : 0;
}

// The number of the site, told if it is new. 0: there is no room.
static uint32_t site_of(struct gpu_calls *c, const struct thread *thread, const struct codes *codes,
                        const struct event *event)
{
	const struct op_stack *ops = &thread->ops;
	struct site site = {
		.caller = event->op.caller,
		.stack = event->op.stack,
		.ops = op_stack_key(ops),
		.look = latest_look(c, thread->process->number, &event->op),
		.thread = thread->number,
		.chain = ops->ops[ops->count - 1].chain,
	};
	uint32_t at = slot_of_site(c, &site);

	if (c->site_index.slots[at])
		return c->site_index.slots[at];
	if (c->site_count == SITES_MAX || !hash_make_room(&c->site_index) ||
	    !array_reserve(&c->sites, &c->site_capacity, (size_t)c->site_count + 1))
		return 0;
	c->sites[c->site_count++] = site;
	hash_insert(&c->site_index, slot_of_site(c, &site), hash_of_site(&site), c->site_count);
	tell_site(c, thread, codes, event, &site);
	return c->site_count;
}

void gpu_calls_begin(struct gpu_calls *c, struct thread *thread, const struct codes *codes,
                     const struct event *event)
{
	if (!event->op.correlation || !thread->ops.count)
		return;
	struct correlated_call call = {
		.begin_ns = event->time_ns,
		.process = thread->process->number,
		.correlation = event->op.correlation,
		.site = site_of(c, thread, codes, event),
		.op = event->op.op,
	};
	correlations_put(&c->calls, &call);
}

// Activities.

static void give(struct gpu_calls *c, uint32_t process, uint32_t op, const struct record *record)
{
	const struct correlated_call *call =
		correlations_find(&c->calls, process, gpu_record_correlation(record));
	struct gpu_event event = { .process = process, .op = op, .record = record };

	if (call)
		event.call = (struct gpu_call){ call->site, call->op, call->begin_ns };
	sampler_sink_take(c->sink, &(struct sampled){ .kind = SAMPLED_GPU, .gpu = &event });
}

static void give_first(struct gpu_calls *c)
{
	const struct waiting *first = &c->waiting[c->first_waiting];

	c->first_waiting = (c->first_waiting + 1) % WAITING_MAX;
	c->waiting_count--;
	give(c, first->process, first->op, &first->record.head);
}

// False if it cannot wait.
static bool wait(struct gpu_calls *c, uint32_t process, const struct event *event)
{
	const struct record *record = event->gpu.record;

	if (!c->waiting && !(c->waiting = calloc(WAITING_MAX, sizeof(*c->waiting))))
		return false;
	if (record->size > RECORD_MAX)
		return false;
	if (c->waiting_count == WAITING_MAX)
		give_first(c);
	struct waiting *last = &c->waiting[(c->first_waiting + c->waiting_count++) % WAITING_MAX];
	last->since_ns = event->time_ns;
	last->process = process;
	last->op = event->gpu.op;
	memcpy(last->record.bytes, record, record->size);
	return true;
}

void gpu_calls_take(struct gpu_calls *c, uint32_t process, const struct event *event)
{
	uint32_t correlation = gpu_record_correlation(event->gpu.record);

	if (correlation && !correlations_find(&c->calls, process, correlation) &&
	    wait(c, process, event))
		return;
	give(c, process, event->gpu.op, event->gpu.record);
}

void gpu_calls_flush(struct gpu_calls *c, uint64_t now_ns)
{
	while (c->waiting_count) {
		const struct waiting *first = &c->waiting[c->first_waiting];
		if (now_ns < first->since_ns + WAIT_NS &&
		    !correlations_find(&c->calls, first->process,
		                       gpu_record_correlation(&first->record.head)))
			break;
		give_first(c);
	}
}
