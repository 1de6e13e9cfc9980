// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/trace_calls.h"

#include "tracer/agent/agent.h"
#include "tracer/agent/main_stack.h"
#include "tracer/agent/maps.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/detour.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/table.h"
#include "tracer/agent/trace/shadow_stack.h"
#include "tracer/agent/trace/trace_slots.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __x86_64__

#include <cpuid.h>

#define LEFT_MAX   16 // slots that wait until no unwinder can be reading them any more
#define STACK_SIZE (UINT64_C(8) << 20) // what is farther apart is on different stacks
#define HIDDEN     __attribute__((visibility("hidden")))
#define OWN        static __thread __attribute__((tls_model("initial-exec")))

// State components of XCR0 (Intel SDM, volume 1, 13.1): SSE, AVX, and AVX-512's three.
#define STATE_ALL 0xe6u
#define STATE_SSE 0x02u

// Of the ABI of unwinders: https://itanium-cxx-abi.github.io/cxx-abi/abi-eh.html
#define UNWIND_CLEANUP  2
#define UNWIND_CONTINUE 8

struct own {
	uint32_t top;        // the open call that began last; 0: none
	uint32_t left_count; // slots that an unwinder may be reading, the last one at the end
	uint32_t left[LEFT_MAX];
	bool has_bounds;
	uint64_t stack_low, stack_high; // of the thread's own stack
};

struct trace_frame {
	uint64_t rbp;
	uint64_t word; // the function's number; then where to go on
	uint64_t return_address;
};

AGENT_TABLE struct trace_function trace_functions[TRACE_FUNCTIONS + 1];

static uint32_t state; // what trace_keeping_all() keeps; 0: nothing
static void (*loaded)(void);
OWN struct own own;

// NOLINTNEXTLINE(bugprone-reserved-identifier): the names are the linker's
extern const char __ehdr_start[] HIDDEN, _end[] HIDDEN;
HIDDEN void trace_keeping_all(void (*function)(void *), void *argument, uint32_t components);
HIDDEN void trace_begin(struct trace_frame *frame);
HIDDEN void trace_end(struct trace_frame *frame);
HIDDEN int trace_personality(int version, int actions, uint64_t class, void *exception,
                             void *context);

static void keeping_all(void (*function)(void *), void *argument)
{
	int error = errno;

	if (state)
		trace_keeping_all(function, argument, state);
	else
		function(argument);
	errno = error;
}

static bool is_main(void)
{
	return syscall(SYS_gettid) == getpid();
}

// glibc has the thread's block on top of its stack.
static void find_bounds(void *context, const struct map *map)
{
	uint64_t self = (uint64_t)pthread_self();

	(void)context;
	if (self < map->start || self >= map->end)
		return;
	own.stack_low = map->start;
	own.stack_high = self;
}

static bool on_own_stack(uint64_t a, uint64_t b)
{
	if (!own.has_bounds && is_main())
		main_stack_find(&own.stack_low, &own.stack_high);
	else if (!own.has_bounds)
		maps_each(find_bounds, NULL);
	own.has_bounds = true;
	return a >= own.stack_low && a < own.stack_high && b >= own.stack_low && b < own.stack_high;
}

// Whether its slot still stands where it returns from; the stack may be unmapped by now.
static bool is_in_place(const struct call *call, uint32_t slot)
{
	uint64_t word = 0;
	struct iovec local = { &word, sizeof(word) };
	struct iovec remote = { (void *)(call->stack - 8), sizeof(word) };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == sizeof(word) &&
	       word == trace_slot_address(slot);
}

// Whether a call that is open cannot be so any more, as the frame of another ends at STACK. One of
// a coroutine may be, though it lies below.
static bool is_left(uint32_t slot, uint64_t stack)
{
	const struct call *call = &trace_calls[slot];

	if (call->stack > stack || stack - call->stack > STACK_SIZE)
		return false;
	return call->stack == stack || on_own_stack(call->stack, stack) || !is_in_place(call, slot);
}

// A handler may call in the middle of an unwinder's work, whose frames are further in than the call
// that it leaves: the slot of that is not to be had as long as it can be read.
static void release_left(uint64_t stack)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < own.left_count; i++)
		if (is_left(own.left[i], stack))
			trace_slot_release(own.left[i]);
		else
			own.left[kept++] = own.left[i];
	own.left_count = kept;
}

static void keep_left(uint32_t slot)
{
	if (own.left_count == LEFT_MAX) {
		trace_slot_release(own.left[0]);
		memmove(own.left, own.left + 1, --own.left_count * sizeof(own.left[0]));
	}
	own.left[own.left_count++] = slot;
}

// Whether release_left() may have something to do.
static bool is_left_behind(uint64_t stack)
{
	return own.left_count && trace_calls[own.left[own.left_count - 1]].stack <= stack;
}

static uint32_t take_slot(uint64_t stack, uint64_t return_address)
{
	uint32_t slot = trace_slot_dig_up(stack, return_address);

	if (slot)
		return slot;
	if (own.left_count)
		release_left(stack);
	return trace_slot_take();
}

static void end_op(struct op_thread *t, struct call *call, uint16_t flags)
{
	if (t && call->begin_ns && call->generation == t->generation)
		op_end_call(t, call->begin_ns, flags);
	call->begin_ns = 0;
}

static void leave_behind(struct op_thread *t, uint64_t stack)
{
	while (own.top) {
		uint32_t slot = own.top;
		struct call *call = &trace_calls[slot];
		bool gone = __atomic_load_n(&call->state, __ATOMIC_ACQUIRE) == CALL_RETURNED;
		if (!gone && !is_left(slot, stack))
			return;
		own.top = call->below;
		end_op(t, call, 0);
		if (gone)
			trace_slot_release(slot);
		else
			trace_slot_bury(slot);
	}
}

static void unlink_call(uint32_t slot)
{
	uint32_t *link = &own.top;

	while (*link && *link != slot)
		link = &trace_calls[*link].below;
	if (*link)
		*link = trace_calls[slot].below;
}

static uint32_t name_of(struct op_thread *t, struct trace_function *f)
{
	uint32_t id = detour_known(&f->known, t);

	if (id)
		return id;
	id = op_name(t, OP_TRACE, 0, f->name);
	detour_know(&f->known, t, id);
	return id;
}

static uint64_t stack_of(const struct trace_frame *frame)
{
	return (uint64_t)(&frame->return_address + 1);
}

// Of the agent's own code, but for the slots.
static bool is_ours(uint64_t address)
{
	return address - (uint64_t)__ehdr_start < (uint64_t)(_end - __ehdr_start) &&
	       !trace_slot_is(address);
}

// What we call, and what that calls, is no part of the program. Without a slot only the former is.
static void enter_ours(struct trace_frame *frame)
{
	uint32_t slot = take_slot(stack_of(frame), frame->return_address);
	struct call *call = &trace_calls[slot];

	if (!slot)
		return;
	call->return_address = frame->return_address;
	call->stack = stack_of(frame);
	call->owner = &own;
	__atomic_store_n(&call->state, CALL_OURS, __ATOMIC_RELAXED);
	frame->return_address = trace_slot_address(slot);
}

struct entry {
	struct trace_frame *frame;
	struct trace_function *function;
};

// Its frame was that of the function that has now jumped here: 0 if there is none.
static uint32_t find_jumped(const struct trace_frame *frame)
{
	uint64_t address = frame->return_address;

	return trace_slot_is(address) &&
	                       trace_calls[trace_slot_at(address)].stack == stack_of(frame)
	               ? trace_slot_at(address)
	               : 0;
}

static void open_call(struct op_thread *t, struct trace_frame *frame, uint32_t slot, uint32_t name,
                      uint64_t return_address)
{
	struct op_here here = { stack_of(frame), return_address };
	struct call *call = &trace_calls[slot];
	uint64_t begin_ns = op_begin_call(t, name, here);

	call->begin_ns = begin_ns;
	call->generation = t->generation;
	if (trace_slot_is(frame->return_address) || !begin_ns)
		return;
	call->return_address = return_address;
	call->stack = here.stack;
	call->owner = &own;
	call->below = own.top;
	__atomic_store_n(&call->state, CALL_OPEN, __ATOMIC_RELAXED);
	own.top = slot;
	// The collector knows of the op by now, whoever sees the slot in the stack.
	frame->return_address = trace_slot_address(slot);
}

static void count_apart(void *function)
{
	const struct trace_function *f = function;
	const struct name name = { .provider = OP_TRACE, .text = f->name };

	op_count_apart(&name);
}

// Whether what is called within our own work is called by a handler: what libc's functions call,
// which we call, cannot be told from that.
static bool is_of_handler(const struct trace_frame *frame, const struct trace_function *f)
{
	return f != trace_functions && !f->shared && !is_ours(frame->return_address);
}

static void count_without_thread(const struct entry *entry)
{
	if (!op_is_inside() || is_of_handler(entry->frame, entry->function))
		count_apart(entry->function);
}

static void begin(void *argument)
{
	struct entry *entry = argument;
	struct trace_frame *frame = entry->frame;
	struct op_thread *t = op_enter();
	uint32_t slot = find_jumped(frame);

	if (!t) {
		count_without_thread(entry);
		return;
	}
	leave_behind(t, slot ? stack_of(frame) - 1 : stack_of(frame));
	uint32_t name = name_of(t, entry->function);
	if (slot) {
		struct call *call = &trace_calls[slot];
		end_op(t, call, OP_RETURNED);
		if (call->owner == &own)
			open_call(t, frame, slot, name, call->return_address);
	} else if ((slot = take_slot(stack_of(frame), frame->return_address))) {
		uint64_t before = frame->return_address;
		open_call(t, frame, slot, name, before);
		if (frame->return_address == before)
			trace_slot_release(slot);
	} else {
		op_count_timeless(t, name);
	}
	op_leave(t);
}

// No return address may be replaced: see shadow_stack.h. When the call ends is not known then.
static void count_call(void *argument)
{
	static bool said; // atomic
	struct entry *entry = argument;
	struct op_thread *t = op_enter();

	if (!t) {
		count_without_thread(entry);
		return;
	}
	op_count_timeless(t, name_of(t, entry->function));
	if (!__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
		op_note(t, "the program has shadow stacks (CET): calls of traced functions are "
		           "counted, not timed");
	op_leave(t);
}

// Whether the beginning does nothing but to write the record: no vector register is touched.
static bool begins_quickly(const struct entry *entry)
{
	const struct trace_frame *frame = entry->frame;
	const struct op_thread *t = op_own;
	uint64_t stack = stack_of(frame), caller = frame->return_address;

	if (!t || t->inside || t->generation != *op_witness || is_left_behind(stack) ||
	    !trace_slots_are_left() || !detour_known(&entry->function->known, t))
		return false;
	if (own.top) {
		const struct call *top = &trace_calls[own.top];
		bool jumped = caller == trace_slot_address(own.top) && top->stack == stack;
		if ((top->stack <= stack && !jumped) || top->state != CALL_OPEN ||
		    (jumped && !op_ends_quickly(t, top->begin_ns)))
			return false;
		caller = jumped ? top->return_address : caller;
	}
	return op_begins_quickly(t, caller);
}

static void call_loaded(void *argument)
{
	(void)argument;
	loaded();
}

void trace_begin(struct trace_frame *frame)
{
	struct trace_function *f = &trace_functions[frame->word];
	struct entry entry = { frame, f };

	frame->word = (uint64_t)f->body;
	if (agent_untraced) {
		if (agent_untraced == AGENT_WRITING && is_of_handler(frame, f))
			keeping_all(count_apart, f);
		return;
	}
	agent_untraced = AGENT_WRITING;
	__asm__ volatile("" ::: "memory"); // a handler of this thread sees it from here on
	bool shadowed = shadow_stack_is_on();
	if (f->shared && is_ours(frame->return_address)) {
		if (shadowed) {
			agent_untraced = AGENT_TRACED;
			return;
		}
		agent_untraced = AGENT_OURS;
		enter_ours(frame);
		agent_untraced = trace_slot_is(frame->return_address) ? AGENT_OURS : AGENT_TRACED;
		return;
	}
	if (f == trace_functions)
		keeping_all(call_loaded, NULL);
	else if (shadowed)
		keeping_all(count_call, &entry);
	else if (begins_quickly(&entry))
		begin(&entry);
	else
		keeping_all(begin, &entry);
	__asm__ volatile("" ::: "memory");
	agent_untraced = AGENT_TRACED;
}

// Not the list of the thread where it began.
static void return_elsewhere(struct call *call, uint32_t slot)
{
	if (call->state != CALL_OPEN)
		return;
	if (call->owner)
		__atomic_store_n(&call->state, CALL_RETURNED, __ATOMIC_RELEASE);
	else
		trace_slot_release(slot);
}

static void close_call(void *argument)
{
	struct call *call = argument;
	uint32_t slot = (uint32_t)(call - trace_calls);
	struct op_thread *t = op_enter();

	if (call->owner != &own || call->state != CALL_OPEN) {
		return_elsewhere(call, slot);
	} else {
		leave_behind(t, call->stack - 1);
		end_op(t, call, OP_RETURNED);
		unlink_call(slot);
		trace_slot_release(slot);
	}
	if (t)
		op_leave(t);
}

static bool closes_quickly(const struct call *call)
{
	const struct op_thread *t = op_own;

	return call == &trace_calls[own.top] && call->owner == &own && call->state == CALL_OPEN &&
	       t && !t->inside && t->generation == *op_witness &&
	       call->generation == t->generation && op_ends_quickly(t, call->begin_ns);
}

void trace_end(struct trace_frame *frame)
{
	struct call *call = &trace_calls[trace_slot_at(frame->return_address)];

	// Before the op ends: whoever sees the slot in the stack finds the op.
	frame->return_address = call->return_address;
	__asm__ volatile("" ::: "memory");
	if (call->state == CALL_OURS) {
		trace_slot_release((uint32_t)(call - trace_calls));
		agent_untraced = AGENT_TRACED;
		return;
	}
	if (agent_untraced)
		return; // a coroutine is run by a handler: its slot is lost
	agent_untraced = AGENT_WRITING;
	__asm__ volatile("" ::: "memory");
	if (closes_quickly(call))
		close_call(call);
	else
		keeping_all(close_call, call);
	__asm__ volatile("" ::: "memory");
	agent_untraced = AGENT_TRACED;
}

typedef uint64_t get_address(void *context);

// Of the very unwinder that asks: there may be several.
static get_address *find_get_address(const void *caller)
{
	static const void *known;         // atomic
	static get_address *known_getter; // atomic
	get_address *found = __atomic_load_n(&known_getter, __ATOMIC_ACQUIRE);

	if (found && __atomic_load_n(&known, __ATOMIC_RELAXED) == caller)
		return found;
	found = (get_address *)definition_near(caller, "_Unwind_GetIP");
	__atomic_store_n(&known_getter, NULL, __ATOMIC_RELEASE);
	__atomic_store_n(&known, caller, __ATOMIC_RELEASE);
	__atomic_store_n(&known_getter, found, __ATOMIC_RELEASE);
	return found;
}

// The slot is read once more, when the unwinder steps to the caller.
static void leave_call(uint32_t slot)
{
	struct call *call = &trace_calls[slot];
	struct op_thread *t = op_enter();

	if (call->owner == &own && call->state == CALL_OPEN) {
		leave_behind(t, call->stack - 1);
		end_op(t, call, OP_RETURNED);
		unlink_call(slot);
		keep_left(slot);
	}
	if (t)
		op_leave(t);
}

// An exception, or the end of the thread, leaves the call whose slot the unwinder is at. Without a
// way to ask which that is the call is found to be left later.
int trace_personality(int version, int actions, uint64_t class, void *exception, void *context)
{
	int error = errno;

	(void)version, (void)class, (void)exception;
	if (!(actions & UNWIND_CLEANUP) || agent_untraced)
		return UNWIND_CONTINUE;
	agent_untraced = AGENT_OURS;
	get_address *get = find_get_address(__builtin_return_address(0));
	uint64_t address = get ? get(context) : 0;
	if (trace_slot_is(address))
		leave_call(trace_slot_at(address));
	agent_untraced = AGENT_TRACED;
	errno = error;
	return UNWIND_CONTINUE;
}

// Where a processor has no more than SSE nothing is lost.
static uint32_t find_state(void)
{
	unsigned a, b, c, d, low, high;

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return 0;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & STATE_ALL) == STATE_SSE ? 0 : low & STATE_ALL;
}

void trace_calls_start(void (*when_loaded)(void))
{
	loaded = when_loaded;
	state = find_state();
}

bool trace_untraced(void (*function)(void *argument), void *argument)
{
	if (agent_untraced)
		return false;
	agent_untraced = AGENT_WRITING;
	function(argument);
	agent_untraced = AGENT_TRACED;
	return true;
}

// What is open on the thread's own stack never returns. A coroutine may go on in another thread.
static void let_go(uint32_t slot)
{
	struct call *call = &trace_calls[slot];

	call->begin_ns = 0;
	if (on_own_stack(call->stack, call->stack))
		trace_slot_release(slot);
	else
		__atomic_store_n(&call->owner, NULL, __ATOMIC_RELEASE);
}

void trace_calls_thread_end(void)
{
	while (own.top) {
		uint32_t slot = own.top;
		own.top = trace_calls[slot].below;
		let_go(slot);
	}
	while (own.left_count)
		trace_slot_release(own.left[--own.left_count]);
	trace_slots_thread_end();
}

#endif
