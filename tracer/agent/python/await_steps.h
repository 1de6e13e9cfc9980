/* SPDX-License-Identifier: MIT */
/*
 * Tasks and their steps, whatever library runs them: who is ready, who runs, who waits, and which
 * steps keep others from theirs. A library says when a task is scheduled and when its steps begin
 * and end; the sums are await_sums.h's.
 *
 *	await_steps_scheduled()   await_steps_begin()   await_steps_end()
 *	   ready ───────────────────► runs ───────────────► waits
 *
 * The awaits in which a task stands are only read at the end of a wait, when its frames still stand
 * there. Where this takes more than 0.5 % of the time, a chain is read for so many ms of waiting,
 * in which the waits of its coroutine add up: sums are right, and the parts of chains estimates.
 *
 * All of it is under the GIL, in any thread. A task is the address of one of its library's objects.
 */
#pragma once

#include "base/await.h"
#include "base/clock.h"
#include "tracer/agent/python/python_api.h"
#include "tracer/agent/stopwatch.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;

#define AWAIT_LONG_STEPS 8 /* of a loop, that may have delayed others */
#define AWAIT_LONG_NS    (AWAIT_LONG_MS * NS_PER_MS)
#define AWAIT_LOOK_NS    NS_PER_MS /* a look at descriptors that takes longer has waited */

/* Whose tasks they are. */
struct await_library {
	const char *name;
	unsigned number; /* below 8 */
	/* The place of what TASK runs; 0: it is the library's own, or unknown. */
	uint32_t (*coroutine_of)(py_object task);
	/* The same, of what that awaits, if it only wraps this; 0: unknown. NULL: none does. */
	uint32_t (*inner_of)(py_object task);
	/* The place of the name that the program has given TASK; 0: none. NULL: they have none. */
	uint32_t (*name_of)(py_object task);
	/* The places in which TASK stands, outermost first, at most AWAIT_PLACES_MAX - 1. */
	uint32_t (*chain_of)(py_object task, uint16_t *places);
};

struct await_long_step {
	uintptr_t task; /* 0: a callback */
	uint16_t place;
	uint64_t begin_ns, end_ns;
	uint64_t blocked_ns; /* of this, while others were ready */
};

struct await_step {
	struct await_step *outer; /* which has run a loop of its own */
	const struct await_library *library;
	uint64_t begin_ns;
	uint64_t due_ns;  /* since when it could have run, of a timer or a descriptor; 0: unknown */
	py_object object; /* the task; NULL: a callback */
	uint32_t task;    /* its number; 0: it has none */
};

/* A thread that runs loops. */
struct await_loop {
	uint32_t tid, row;
	struct await_step *step; /* the innermost one */
	struct await_long_step steps[AWAIT_LONG_STEPS];
	uint32_t next;
	uint64_t long_ns; /* the end of the last long one */
	uint64_t end_ns;  /* of the last one */
	struct stopwatch watch;
	/* asyncio's: when the loop looked at its descriptors last, and what runs for those that
	   were ready then, behind so many OTHERS; since when. */
	uint64_t looked_ns, due_ns;
	int64_t others, descriptors;
	/* trio's: the moment of a look at deadlines, by both clocks; since when its queue of what
	   other threads ask for has something. */
	double deadline;
	uint64_t deadline_ns, woken_ns;
	struct await_step running; /* gevent's; its object NULL: the hub runs */
};

extern __thread struct await_loop *await_own_loop __attribute__((tls_model("initial-exec")));

/* False: there is no memory. Borrows A for good. May be called again. */
bool await_steps_start(struct agent *a);

struct await_loop *await_steps_add_loop(void);

/* Of this thread; NULL: there is no room. */
static inline struct await_loop *await_steps_loop(void)
{
	return await_own_loop ? await_own_loop : await_steps_add_loop();
}

/*
 * TASK is ready from now on, or from DUE_NS (0: unknown), if it is not before that. IS_FIRST: it
 * can be its first step: else a result wakes it. True: it was not known before.
 */
bool await_steps_scheduled(const struct await_library *library, py_object task, uint64_t due_ns,
                           bool is_first);

/* TASK, which is new, is called NAME (NULL: it has none): that of its function, or the program's.
 */
void await_steps_name(py_object task, const char *name);

/* STEP, of a task or a callback, begins. */
void await_steps_begin(struct await_loop *loop, struct await_step *step);

/* It ends: ENDED: the task is done. PLACE: of what a callback or an unknown task ran; 0: nowhere.
 */
void await_steps_end(struct await_loop *loop, const struct await_step *step, bool ended,
                     uint64_t now_ns);
void await_steps_end_callback(struct await_loop *loop, const struct await_step *step,
                              uint32_t place, uint64_t now_ns);

/* After either: the loop has run until NOW_NS. */
void await_steps_ran(struct await_loop *loop, uint64_t now_ns);

/* Whether TASK has been scheduled again. */
bool await_steps_is_ready(const struct await_step *step);

/* The process ends while TASK waits, or is ready. */
void await_steps_leave(const struct await_library *library, py_object task, uint64_t now_ns);

/* The same of all of LIBRARY that are known. */
void await_steps_leave_rest(const struct await_library *library, uint64_t now_ns);

/* Whether it is known since when TASK is ready, or will be. */
bool await_steps_has_due(py_object task);

/* Since when what the loop has found after a long step, between two steps, was there; 0: there was
   none. It is taken to have come in the middle of that step. */
uint64_t await_steps_due_after_long(const struct await_loop *loop);

/* In a forked child: what was known was its parent's. */
void await_steps_fork(void);
