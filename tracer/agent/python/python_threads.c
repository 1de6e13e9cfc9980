// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_threads.h"

#define INTERPRETERS_MAX 256
#define THREADS_MAX      1024               // of all interpreters
#define SEARCHED         ((size_t)64 << 10) // of the stack, for a frame of 3.8 to 3.10

static uintptr_t first_interpreter(const struct python_runtime *r)
{
	return guard_pointer(r->runtime, r->layout.runtime_interpreters);
}

enum python_init python_threads_check(const struct python_runtime *r, struct guard *g)
{
	const struct python_layout *l = &r->layout;
	uintptr_t interpreter = first_interpreter(r);
	uintptr_t thread, back;

	if (!interpreter)
		return PYTHON_NOT_YET;
	if (!guard_load(g, interpreter + (uintptr_t)l->interpreter_threads, &thread))
		return PYTHON_WRONG;
	if (!thread)
		return PYTHON_NOT_YET;
	if (!guard_load(g, thread + (uintptr_t)l->thread_interpreter, &back) || back != interpreter)
		return PYTHON_WRONG;
	return PYTHON_READY;
}

bool python_threads_ending(const struct python_runtime *r, uintptr_t thread)
{
	uintptr_t finalizing = guard_pointer(r->runtime, r->layout.runtime_finalizing);

	return finalizing && finalizing != thread;
}

static bool has_several_interpreters(const struct python_runtime *r, struct guard *g)
{
	uintptr_t first = first_interpreter(r), next;

	return first && guard_load(g, first + (uintptr_t)r->layout.interpreter_next, &next) && next;
}

// Where the stack holds VALUE, from its lowest place on; UINTPTR_MAX if nowhere near.
static uintptr_t find_on_stack(const struct guard *g, uintptr_t value)
{
	uintptr_t at = (g->stack_low + 7) & ~(uintptr_t)7;
	uintptr_t end = g->stack_high - at < SEARCHED ? g->stack_high : at + SEARCHED;

	for (; value && at < end; at += sizeof(value))
		if (guard_pointer(at, 0) == value)
			return at;
	return UINTPTR_MAX;
}

// Where the newest call of the interpreter in THREAD stands on the calling thread's stack:
// UINTPTR_MAX if it does not stand there.
static uintptr_t place_on_stack(const struct python_runtime *r, struct guard *g, uintptr_t thread)
{
	const struct python_layout *l = &r->layout;

	if (!guard_readable(g, thread, (size_t)l->thread_bytes))
		return UINTPTR_MAX;
	uintptr_t newest = guard_pointer(thread, l->thread_frame);
	if (l->cframe_current < 0)
		return find_on_stack(g, newest);
	return guard_within(newest, 1, g->stack_low, g->stack_high) ? newest : UINTPTR_MAX;
}

// Up to 3.11. Other threads may change the lists meanwhile: all is guarded, and counts. From 3.12
// on the state that a thread runs becomes its own one.
static uintptr_t find_running(const struct python_runtime *r, struct guard *g, uintptr_t fallback)
{
	const struct python_layout *l = &r->layout;
	uintptr_t interpreter = first_interpreter(r), thread = 0;
	uintptr_t best = fallback, lowest = UINTPTR_MAX;
	int threads = 0;

	for (int i = 0; i < INTERPRETERS_MAX && interpreter; i++) {
		if (!guard_load(g, interpreter + (uintptr_t)l->interpreter_threads, &thread))
			break;
		for (; thread && threads < THREADS_MAX; threads++) {
			uintptr_t place = place_on_stack(r, g, thread);
			if (place < lowest) {
				lowest = place;
				best = thread;
			}
			if (!guard_load(g, thread + (uintptr_t)l->thread_next, &thread))
				break;
		}
		if (!guard_load(g, interpreter + (uintptr_t)l->interpreter_next, &interpreter))
			break;
	}
	return best;
}

static bool is_bound(const struct python_layout *l, struct guard *g, uintptr_t thread, uint32_t tid)
{
	return thread % sizeof(thread) == 0 && guard_readable(g, thread, (size_t)l->thread_bytes) &&
	       (uint32_t)guard_int(thread, l->thread_status) & PYTHON_THREAD_BOUND &&
	       guard_pointer(thread, l->thread_tid) == tid;
}

static uintptr_t find_bound(const struct python_runtime *r, struct guard *g, uint32_t tid)
{
	const struct python_layout *l = &r->layout;
	uintptr_t interpreter = first_interpreter(r), thread;
	int threads = 0;

	for (int i = 0; i < INTERPRETERS_MAX && interpreter; i++) {
		if (!guard_load(g, interpreter + (uintptr_t)l->interpreter_threads, &thread))
			break;
		for (; thread && threads < THREADS_MAX; threads++) {
			if (is_bound(l, g, thread, tid))
				return thread;
			if (!guard_load(g, thread + (uintptr_t)l->thread_next, &thread))
				break;
		}
		if (!guard_load(g, interpreter + (uintptr_t)l->interpreter_next, &interpreter))
			break;
	}
	return 0;
}

/*
 * From 3.15 on this, too, is thread-local memory of the interpreter's, which may be a library: to
 * ask for it may call malloc(), after libraries with such memory were loaded at the latest, and
 * malloc() may be what was interrupted.
 */
uintptr_t python_threads_bound(const struct python_runtime *r, struct guard *g, uint32_t tid)
{
	static __thread uintptr_t last __attribute__((tls_model("initial-exec")));

	if (r->own)
		return (uintptr_t)r->own();
	if (!last || !is_bound(&r->layout, g, last, tid))
		last = find_bound(r, g, tid);
	return last;
}

static bool is_active(const struct python_layout *l, uintptr_t thread)
{
	return (uint32_t)guard_int(thread, l->thread_status) & PYTHON_THREAD_ACTIVE;
}

/*
 * Up to 3.11 the current state is a variable of the process: of the thread that holds the GIL. From
 * 3.12 on it is a variable of each thread, which is not asked for: it might be the first use of the
 * interpreter's thread-local memory, and so an allocation. But the states themselves say whether
 * they are it.
 */
static bool runs(const struct python_runtime *r, uintptr_t current, uintptr_t thread)
{
	return r->layout.thread_status < 0 ? thread == current : is_active(&r->layout, thread);
}

uintptr_t python_threads_own(const struct python_runtime *r, struct guard *g, uint32_t tid,
                             bool *holds_gil)
{
	const struct python_layout *l = &r->layout;
	uintptr_t own = python_threads_bound(r, g, tid);
	uintptr_t thread = own;

	*holds_gil = false;
	if (!own || !guard_readable(g, own, (size_t)l->thread_bytes))
		return 0;
	uintptr_t current = l->thread_status < 0 ? (uintptr_t)r->current() : 0;
	if (l->thread_status < 0 && own != current && has_several_interpreters(r, g))
		thread = find_running(r, g, own);
	*holds_gil = runs(r, current, thread) && !l->free_threaded;
	return python_threads_ending(r, thread) ? 0 : thread;
}
