// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/python/python_code.h"
#include "tracer/agent/python/python_frames.h"
#include "tracer/agent/python/python_guard.h"
#include "tracer/agent/python/python_runtime.h"
#include "tracer/agent/python/python_text.h"
#include "tracer/agent/python/python_threads.h"
#include "tracer/agent/sample/context.h"
#include "tracer/agent/sample/tick.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RED_ZONE   128 // below the stack pointer, where a leaf may keep things
#define DOUBTS_MAX 32  // walks without a valid frame at the start, and none with one
#define SCRATCH_BYTES                                                                              \
	(sizeof(struct python_chain) + PYTHON_FRAMES_MAX * sizeof(struct python_frame))

enum state {
	NOT_FOUND,
	UNCHECKED, // found, perhaps not initialized yet
	CHECKED,   // its frames have been read
	REFUSED
};

static struct python_runtime runtime;
static int state;           // atomic: enum state
static const char *refusal; // why
static uint32_t doubts;     // atomic
static uint16_t record_flags;
static int told;       // atomic: RECORD_PYTHON, or why there is none, is written
static int looking;    // atomic
static uint64_t loads; // the loader's count at the last look

static int state_now(void)
{
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

static void refuse(const char *why)
{
	refusal = why;
	__atomic_store_n(&told, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&state, REFUSED, __ATOMIC_RELEASE);
}

// Outside handlers. Without ticks nobody else would tell it; else the first one does.
static void note_refusal(void)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	op_note(t, refusal);
	op_leave(t);
	__atomic_store_n(&told, 1, __ATOMIC_RELEASE);
}

static struct python_chain *walk_ticked(struct agent *a, struct lane *lane, const void *context)
{
	struct python_chain *chain = python_scratch(lane);

	if (chain)
		python_walk_interrupted(a, lane, context, chain, PYTHON_FRAMES_MAX);
	return chain;
}

static const struct tick_interpreter ticked = { .walk = walk_ticked, .tick = python_api_tick };

static int read_loads(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uint64_t *)context = info->dlpi_adds;
	return 1;
}

static void look(void)
{
	const char *why = NULL;
	uint64_t now = 0;

	loader_each(read_loads, &now);
	if (now == loads)
		return;
	loads = now;
	enum python_found found = python_runtime_find(&runtime, &why);
	if (found == PYTHON_REFUSED)
		refuse(why);
	else if (found == PYTHON_FOUND && !guard_works())
		refuse("a filter of system calls is in the way of Python's frames: native stacks "
		       "only");
	else if (found == PYTHON_FOUND)
		__atomic_store_n(&state, UNCHECKED, __ATOMIC_RELEASE);
	if (state_now() != NOT_FOUND)
		tick_use_interpreter(&ticked);
	if (state_now() == REFUSED)
		note_refusal();
}

bool python_look(uint16_t flags)
{
	struct loader_lock lock;
	int idle = 0;

	if (state_now() == NOT_FOUND &&
	    __atomic_compare_exchange_n(&looking, &idle, 1, false, __ATOMIC_ACQUIRE,
	                                __ATOMIC_RELAXED)) {
		record_flags = flags;
		// A child knows all that the last look found, or nothing of it.
		if (loader_lock_soon(&lock)) {
			look();
			loader_unlock(&lock);
		}
		__atomic_store_n(&looking, 0, __ATOMIC_RELEASE);
	}
	return state_now() == UNCHECKED || state_now() == CHECKED;
}

const struct python_runtime *python_known(void)
{
	return state_now() == UNCHECKED || state_now() == CHECKED ? &runtime : NULL;
}

const struct python_runtime *python_checked(void)
{
	return state_now() == CHECKED ? &runtime : NULL;
}

bool python_is_there(void)
{
	return state_now() != NOT_FOUND;
}

void python_fork(void)
{
	__atomic_store_n(&told, 0, __ATOMIC_RELAXED);
	looking = 0;
	python_code_fork();
	python_callers_fork();
}

static bool tell_runtime(const struct agent *a, struct lane *lane)
{
	struct record_python *record =
		(struct record_python *)agent_reserve(a, lane, RECORD_PYTHON, sizeof(*record));

	if (!record)
		return false;
	record->head.flags = record_flags;
	record->eval_start = runtime.eval_start;
	record->eval_end = runtime.eval_end;
	record->version = runtime.layout.version;
	record->runtime = runtime.runtime;
	record->code_type = runtime.code_type;
	lane_commit(lane, &record->head, sizeof(*record));
	return true;
}

static bool tell_refusal(const struct agent *a, struct lane *lane)
{
	size_t length = strlen(refusal) + 1;
	size_t size = record_align(sizeof(struct record_note) + length);
	struct record_note *note = (struct record_note *)agent_reserve(a, lane, RECORD_NOTE, size);

	if (!note)
		return false;
	memcpy(note + 1, refusal, length);
	lane_commit(lane, &note->head, size);
	return true;
}

void python_end(const struct agent *a, struct lane *lane)
{
	record_flags &= (uint16_t)~PYTHON_SAMPLES;
	if (__atomic_load_n(&told, __ATOMIC_ACQUIRE) && runtime.runtime)
		tell_runtime(a, lane);
}

// Two threads at once both tell it.
static void tell(const struct agent *a, struct lane *lane)
{
	if (__atomic_load_n(&told, __ATOMIC_ACQUIRE))
		return;
	bool done = state_now() == REFUSED ? tell_refusal(a, lane) : tell_runtime(a, lane);
	if (done)
		__atomic_store_n(&told, 1, __ATOMIC_RELEASE);
}

struct python_chain *python_scratch(struct lane *lane)
{
	if (lane->python)
		return lane->python;
	void *memory = mmap(NULL, SCRATCH_BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, SCRATCH_BYTES, MADV_DONTFORK); // a child forgets its parent's lanes
	lane->python = memory;
	return lane->python;
}

// What lies above the stack pointer, if the thread is on the stack that is known to be its own.
static struct guard guard_of(const struct lane *lane, uintptr_t sp)
{
	struct guard g = { 0 };

	if (sp - RED_ZONE >= lane->stack_low && sp < lane->stack_high) {
		g.stack_low = sp - RED_ZONE;
		g.stack_high = lane->stack_high;
	}
	return g;
}

// A forked child's threads may still have their parents' numbers.
static bool is_ours(const struct agent *a, uintptr_t thread)
{
	const struct python_layout *l = &runtime.layout;

	return l->thread_tid < 0 || a->forked ||
	       syscall(SYS_tgkill, a->pid, guard_pointer(thread, l->thread_tid), 0) == 0;
}

static bool has_file(struct guard *g, uintptr_t code)
{
	const struct python_layout *l = &runtime.layout;

	return python_code_is_there(&runtime, g, code) &&
	       python_text_of(l, g, guard_pointer(code, l->code_file), 1).kind != 0;
}

// At the first walk that finds a frame: whether all is where its version has it. What is read while
// a call begins or ends may be wrong, but not all the time.
static void check(const struct agent *a, struct guard *g, uintptr_t thread, uintptr_t code)
{
	enum python_init init = python_threads_check(&runtime, g);

	if (init == PYTHON_READY && is_ours(a, thread) && has_file(g, code))
		__atomic_store_n(&state, CHECKED, __ATOMIC_RELEASE);
	else if (init == PYTHON_WRONG ||
	         __atomic_add_fetch(&doubts, 1, __ATOMIC_RELAXED) > DOUBTS_MAX)
		refuse("this build of Python keeps its frames otherwise than its version does: "
		       "they are not available, native stacks only");
}

// The code object of the newest frame goes to *NEWEST: 0 if there is no frame.
static void walk(struct agent *a, struct lane *lane, struct python_frames *frames,
                 struct python_chain *chain, uint32_t max, uintptr_t *newest)
{
	struct python_step step;
	bool whole = true;

	*newest = 0;
	while (python_frames_next(frames, &step)) {
		if (!*newest)
			*newest = step.code;
		whole = chain->count < max &&
		        python_code_is_there(&runtime, frames->guard, step.code);
		if (!whole)
			break;
		chain->frames[chain->count++] = (struct python_frame){
			.code = python_code_number(&runtime, frames->guard, a, lane, step.code),
			.instruction = python_frames_instruction(&runtime, frames->guard, &step),
			.anchor = step.anchor,
		};
	}
	if ((!whole || frames->frame) && chain->count)
		chain->flags |= PYTHON_CUT;
}

static bool start_walk(struct python_frames *frames, struct guard *g, uintptr_t thread,
                       const uint64_t *registers)
{
	return python_frames_start(frames, &runtime, g, thread) &&
	       (!registers || python_frames_enter(frames, registers));
}

static void walk_from(struct agent *a, struct lane *lane, uintptr_t sp, const uint64_t *registers,
                      struct python_chain *chain, uint32_t max)
{
	struct guard g = guard_of(lane, sp);
	struct python_frames frames;
	uintptr_t newest;
	bool holds_gil;

	chain->count = chain->flags = 0;
	tell(a, lane);
	if (state_now() == REFUSED)
		return;
	uintptr_t thread = python_threads_own(&runtime, &g, lane->tid, &holds_gil);
	if (!thread)
		return;
	if (holds_gil)
		chain->flags |= PYTHON_GIL;
	if (!start_walk(&frames, &g, thread, registers))
		return;
	walk(a, lane, &frames, chain, max, &newest);
	if (newest && state_now() == UNCHECKED)
		check(a, &g, thread, newest);
}

void python_walk(struct agent *a, struct lane *lane, uintptr_t sp, struct python_chain *chain,
                 uint32_t max)
{
	walk_from(a, lane, sp, NULL, chain, max);
}

void python_walk_interrupted(struct agent *a, struct lane *lane, const void *context,
                             struct python_chain *chain, uint32_t max)
{
	uint64_t registers[CONTEXT_REGISTERS];

	context_registers(context, registers);
	walk_from(a, lane, registers[DWARF_RSP], registers, chain, max);
}
