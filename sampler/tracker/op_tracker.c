// SPDX-License-Identifier: MIT
/*
 * The life of an op, from top to bottom:
 *
 *	begin  op_tracker_begin()  pushes it on its thread's stack of open ops
 *	       op_tracker_mark()   reports an op without duration
 *	left   leave()             notes when a jump skipped its end, at the next call,
 *	       op_tracker_see()    or at the next sample; the op stays open
 *	end    end_op()            finds its parent, computes total and self time, reports and
 *	                           removes it:
 *	       op_tracker_end()    at its end record, after the ops in it whose ends were lost
 *	       op_tracker_close()  when its thread ends or calls exec
 *
 * sampler/op/op_stack.c stores the open ops and places them in the stacks of samples.
 */
#include "sampler/tracker/op_tracker.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/op.h"
#include "sampler/op/op_site.h"
#include "sampler/unwind/address_space.h"

#include <stdlib.h>
#include <string.h>

#define STALL_TIMES 32 // so many times what others took, beside OP_STALL_NS
#define STALL_CALLS 16 // of which so many are known

void op_tracker_fini(struct op_tracker *t)
{
	free(t->usual);
	t->usual = NULL;
}

static void give(struct op_tracker *t, const struct op_event *event)
{
	sampler_sink_take(t->sink, &(struct sampled){ .kind = SAMPLED_OP, .op = event });
}

// An op begins.

// The call at CALLER, a return address of PROCESS.
static struct frame frame_of(const struct process *process, uint64_t caller)
{
	const struct mapping *mapping = address_space_find(process->space, caller - 1);

	if (!mapping)
		return (struct frame){ 0 };
	return (struct frame){ caller - mapping->bias, mapping->module, FRAME_RETURN };
}

static struct open_op open_of(const struct thread *thread, const struct event *event)
{
	const struct event_op *op = &event->op;
	const struct op_site *site = op_sites_find(&thread->process->sites, op->caller);
	struct open_op open = {
		.op = op->op,
		.domain = op->domain,
		.range = (op->flags & OP_RANGE) != 0,
		.forwards = op->forwards && !(op->flags & OP_RANGE),
		.python = op->python,
		.begin_ns = event->time_ns,
		.address = op->stack,
		.call_stack = op->call ? op->stack : 0,
		.waits = op->waits,
		.told = op->told,
		.weight = op->weight,
		.window = op->window,
		.call_return = op->caller,
		.chain = python_chain_of(&thread->process->python, op->chain),
		.forward = python_chain_of(&thread->process->python, op->forward),
		.detail = op->detail,
		.detail_count = op->detail_count,
		.details = (uint64_t *)op->details, // copied, not changed
	};

	if (!site) {
		open.caller = frame_of(thread->process, op->caller);
		return open;
	}
	open.address += site->skip;
	open.frame_end = site->frame_end ? op->stack + site->frame_end : 0;
	open.caller = site->owner;
	return open;
}

// The engine's op around a derivative begins before that is known.
static bool is_engine(const struct op_tracker *t, const struct open_op *op)
{
	static const char beginning[] = "autograd::engine::evaluate_function";
	const struct op *known = t->ops ? ops_get(t->ops, op->op) : NULL;

	return known && strncmp(known->name, beginning, sizeof(beginning) - 1) == 0;
}

// An op that does not say who calls it has the callers of the one around it. What a derivative
// calls belongs to the same op of the forward pass, but for what Python of its own has called.
static void take_callers(const struct op_tracker *t, const struct op_stack *ops,
                         struct open_op *open)
{
	struct open_op *around = ops->count ? &ops->ops[ops->count - 1] : NULL;

	if (!around)
		return;
	if (!open->chain && !open->forwards)
		open->chain = around->chain;
	if (around->chain != open->chain)
		return;
	if (!open->forward)
		open->forward = around->forward;
	else if (!around->forward && is_engine(t, around))
		around->forward = open->forward;
}

// A longjmp() or an exception leaves calls without an end. At TIME_NS a function has been called
// whose frame ends at STACK: calls whose frames lie below are left.
static void leave(struct op_stack *ops, uint64_t stack, uint64_t time_ns)
{
	for (size_t i = ops->calls ? ops->count : 0; i > 0; i--) {
		struct open_op *op = &ops->ops[i - 1];
		if (op->call_stack && !op->told && !op->left_ns && stack >= op->call_stack &&
		    stack - op->call_stack <= OP_STACK_SIZE)
			op->left_ns = time_ns;
	}
}

void op_tracker_begin(struct op_tracker *t, struct thread *thread, const struct event *event)
{
	struct open_op open = open_of(thread, event);

	leave(&thread->ops, event->op.stack, event->time_ns);
	take_callers(t, &thread->ops, &open);
	if (!op_stack_push(&thread->ops, &open)) {
		t->unmatched++;
		return;
	}
	sampler_sink_take(t->sink,
	                  &(struct sampled){ .kind = SAMPLED_OP_BEGIN,
	                                     .at = { open.op, open.begin_ns, thread->number } });
}

void op_tracker_mark(struct op_tracker *t, struct thread *thread, const struct event *event)
{
	struct open_op open = open_of(thread, event);
	// It stands on top of all that is open.
	const struct op_stack *ops = &thread->ops;
	struct op_event mark = {
		.thread = thread->number,
		.op = open.op,
		.parent = ops->count ? ops->ops[ops->count - 1].op : 0,
		.mark = true,
		.begin_ns = event->time_ns,
		.end_ns = event->time_ns,
		.caller = open.caller,
		.chain = open.chain,
		.detail = open.detail,
		.detail_count = open.detail_count,
		.details = open.details,
	};

	give(t, &mark);
}

// A sample shows that an op was left.

static bool is_there(const struct open_op *op, const struct frame *at, const struct frame *frames,
                     const uint64_t *sps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sps[i] == op->call_stack && frames[i].kind == FRAME_RETURN &&
		    frames[i].address == at->address && frames[i].module == at->module)
			return true;
	return false;
}

static bool is_on_stack(const struct open_op *op, const uint64_t *sps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sps[i] >= op->call_stack && sps[i] - op->call_stack <= OP_STACK_SIZE)
			return true;
	return false;
}

void op_tracker_see(struct thread *thread, const struct frame *frames, const uint64_t *sps,
                    size_t count, uint64_t time_ns)
{
	struct op_stack *ops = &thread->ops;

	for (size_t i = ops->calls || ops->told ? ops->count : 0; i > 0; i--) {
		struct open_op *op = &ops->ops[i - 1];
		if (!op->call_stack)
			continue;
		struct frame at = frame_of(thread->process, op->call_return);
		bool there = is_there(op, &at, frames, sps, count);
		if (there)
			op->left_ns = 0;
		// Calls of "told" may be a thousand deep: the ones around it are on the stack, too.
		if (there && op->told && !ops->calls)
			break;
		if (there)
			continue;
		if (!op->left_ns && is_on_stack(op, sps, count))
			op->left_ns = time_ns;
	}
}

// An op ends.

static struct open_op *find(const struct op_stack *ops, uint64_t begin_ns)
{
	// What ends began last, nearly always.
	for (size_t i = ops->count; i > 0; i--)
		if (ops->ops[i - 1].begin_ns == begin_ns)
			return &ops->ops[i - 1];
	return NULL;
}

// The innermost op around OPEN that is no range, and not left; NULL: none, as around a range.
static struct open_op *find_around(const struct op_stack *ops, const struct open_op *open)
{
	for (size_t i = open->range ? 0 : (size_t)(open - ops->ops); i > 0; i--)
		if (!ops->ops[i - 1].range && !ops->ops[i - 1].left_ns)
			return &ops->ops[i - 1];
	return NULL;
}

static bool is_open_around(const struct op_stack *ops, const struct open_op *op)
{
	for (const struct open_op *around = ops->ops; around < op; around++)
		if (around->op == op->op && !around->left_ns)
			return true;
	return false;
}

// Mostly the innermost one is: that is where to look first.
static bool is_domain_around(const struct op_stack *ops, const struct open_op *op)
{
	for (const struct open_op *around = op; around > ops->ops; around--)
		if (around[-1].domain == op->domain && !around[-1].left_ns)
			return true;
	return false;
}

// What is known of OP since its begin. AROUND is its parent.
static void take_begin(struct op_event *op, const struct thread *thread, const struct open_op *open,
                       const struct open_op *around)
{
	op->thread = thread->number;
	op->op = open->op;
	op->parent = around ? around->op : 0;
	op->flags |= open->range ? OP_RANGE : 0;
	op->within_itself = !open->range && is_open_around(&thread->ops, open);
	op->within_domain = !open->range && is_domain_around(&thread->ops, open);
	op->begin_ns = open->begin_ns;
	op->caller = open->caller;
	op->chain = open->chain;
	op->forward = open->forward;
	op->detail = open->detail;
	op->detail_count = open->detail_count;
	op->details = open->details;
	op->weight = open->weight;
	op->window = open->window;
	op->unseen_within = open->unseen_ns;
}

static struct op_usual *usual_of(struct op_tracker *t, uint32_t op)
{
	if (!op || !array_reserve(&t->usual, &t->usual_capacity, op))
		return NULL;
	for (; t->usual_count < op; t->usual_count++)
		t->usual[t->usual_count] = (struct op_usual){ 0 };
	return &t->usual[op - 1];
}

// A call that stands for others is the only one of them that was held up so: to take each as long
// would make seconds of a moment in which the thread had no CPU. What is no stall is what most
// calls have, be it ever so long.
static void find_stall(struct op_tracker *t, struct op_event *op, uint64_t total)
{
	struct op_usual *usual = usual_of(t, op->op);
	uint64_t most = UINT64_MAX;

	if (!usual)
		return;
	if (op->weight > 1 && usual->calls >= STALL_CALLS)
		most = STALL_TIMES * (usual->ns / usual->calls);
	most = most < OP_STALL_NS ? OP_STALL_NS : most;
	op->stall_ns = total > most ? total - most : 0;
	op->self_stall_ns = op->self_ns > most ? op->self_ns - most : 0;
	usual->calls++;
	usual->ns += total - op->stall_ns;
}

// Total and self time. The end record carries the self time as the agent computed it, which did not
// know of jumps: an op that was left ended then, and takes no more from the op around it. The self
// time of either is its total time without the ops right below it.
static void settle_times(struct op_tracker *t, struct op_event *op, const struct open_op *open,
                         struct open_op *around)
{
	bool left = open->left_ns && open->left_ns < op->end_ns;

	if (left) {
		op->end_ns = open->left_ns;
		op->flags &= ~(uint32_t)OP_LEFT_OPEN;
	}
	uint64_t total = op->end_ns > op->begin_ns ? op->end_ns - op->begin_ns : 0;
	if (!open->range && (left || open->below_differs))
		op->self_ns = total > open->below_ns ? total - open->below_ns : 0;
	find_stall(t, op, total);
	if (!around)
		return;
	around->below_ns += total;
	around->below_differs |= left;
	// OPEN stands for others within ops like AROUND, which has taken its own time alone. What
	// is always recorded has as many like it in the ops that AROUND stands for.
	double unseen = open->weight - around->weight;
	if (open->window == OP_WINDOW_OF_ONE)
		unseen = (open->weight - 1) * around->weight;
	if (unseen > 0)
		around->unseen_ns += unseen * (double)(total - op->stall_ns);
}

static void give_twin(struct op_tracker *t, struct open_op *open)
{
	struct op_event *twin = open->twin;

	open->twin = NULL;
	if (!twin)
		return;
	give(t, twin);
	free((void *)twin->details);
	free(twin);
}

// What was the only op right within OPEN, and the same, is no call of its own.
static void take_twin(struct open_op *open, struct op_event *op)
{
	struct op_event *twin = open->twin;

	open->twin = NULL;
	if (!twin)
		return;
	op->self_ns += twin->self_ns;
	op->unseen_within += twin->unseen_within;
	op->self_stall_ns += twin->self_stall_ns;
	op->self_allocated_bytes += twin->self_allocated_bytes;
	op->self_freed_bytes += twin->self_freed_bytes;
	op->devices.self_allocated_bytes += twin->devices.self_allocated_bytes;
	op->devices.self_freed_bytes += twin->devices.self_freed_bytes;
	free((void *)twin->details);
	free(twin);
}

// OP keeps the details of OPEN. NULL if there is no memory.
static struct op_event *keep(struct open_op *open, const struct op_event *op)
{
	struct op_event *kept = malloc(sizeof(*kept));

	if (!kept)
		return NULL;
	*kept = *op;
	open->details = NULL;
	return kept;
}

// PyTorch's dispatcher calls one form of an op from another, and each is an op; its own profiler
// counts them as one if that is all that the outer one does. This is known when the outer one ends.
static void give_once(struct op_tracker *t, struct op_event *op, struct open_op *open,
                      struct open_op *around)
{
	take_twin(open, op);
	if (!open->forwards || !around || !around->forwards) {
		give(t, op);
		return;
	}
	give_twin(t, around);
	if (!around->within++ && around->op == open->op)
		around->twin = keep(open, op);
	if (!around->twin)
		give(t, op);
}

// OPEN ends. OP holds its end: time, flags, and what an end record carries.
static void end_op(struct op_tracker *t, struct thread *thread, struct open_op *open,
                   struct op_event *op)
{
	struct open_op *around = find_around(&thread->ops, open);

	take_begin(op, thread, open, around);
	settle_times(t, op, open, around);
	give_once(t, op, open, around);
	op_stack_remove(&thread->ops, open);
}

// What nests in the op at INDEX and has lost its own end has ended as well.
static void end_within(struct op_tracker *t, struct thread *thread, size_t index, uint64_t time_ns)
{
	for (size_t i = thread->ops.count; i > index + 1; i--) {
		struct open_op *within = &thread->ops.ops[i - 1];
		if (within->range || within->begin_ns < thread->ops.ops[index].begin_ns)
			continue;
		struct op_event op = { .flags = OP_LEFT_OPEN, .end_ns = time_ns };
		end_op(t, thread, within, &op);
	}
}

static struct op_event told_by(const struct event *event)
{
	const struct event_op_end *end = &event->op_end;

	return (struct op_event){
		.flags = end->flags & ~(uint32_t)(OP_RETURNED | OP_ON_DEVICES),
		.end_ns = event->time_ns,
		.self_ns = end->self_ns,
		.allocated_bytes = end->allocated_bytes,
		.freed_bytes = end->freed_bytes,
		.self_allocated_bytes = end->self_allocated_bytes,
		.self_freed_bytes = end->self_freed_bytes,
		.devices = end->devices,
	};
}

void op_tracker_end(struct op_tracker *t, struct thread *thread, const struct event *event)
{
	const struct event_op_end *end = &event->op_end;
	struct open_op *open = thread ? find(&thread->ops, end->begin_ns) : NULL;
	struct op_event op = told_by(event);

	if (!open) {
		t->unmatched++;
		return;
	}
	if (!(end->flags & (OP_UNORDERED | OP_RANGE)))
		end_within(t, thread, (size_t)(open - thread->ops.ops), event->time_ns);
	if (end->flags & OP_RETURNED)
		open->left_ns = 0;
	end_op(t, thread, open, &op);
}

void op_tracker_close(struct op_tracker *t, struct thread *thread, uint64_t time_ns)
{
	while (thread->ops.count) {
		struct open_op *open = &thread->ops.ops[thread->ops.count - 1];
		struct op_event op = { .flags = OP_LEFT_OPEN,
			               .end_ns = time_ns > open->begin_ns ? time_ns
			                                                  : open->begin_ns };
		open->below_differs = true; // nobody has told its own time
		end_op(t, thread, open, &op);
	}
}
