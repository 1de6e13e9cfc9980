/* SPDX-License-Identifier: MIT */
/*
 * Tasks of asyncio in another process, read from outside while it runs.
 *
 *	sys.modules ─► asyncio.tasks ─► WeakSet ─► tasks ─► coroutine ─► frame ─► what it awaits
 *
 * The process is not stopped: a task that goes on while it is read counts in the state that was
 * read first, and the chain that was read of it is dropped. All that is read is checked as foreign
 * bytes are, and may be anything without harm. Of more than half of PYTHON_TASKS_LOOKED tasks one
 *of each of so many equal parts is drawn, and stands for its part.
 *
 * CPython 3.8 to 3.13 with a GIL, and tasks of asyncio's C implementation.
 */
#pragma once

#include "sampler/event/event.h"
#include "sampler/python/python_remote_code.h"

#include <stdbool.h>
#include <stdint.h>

#define PYTHON_TASK_FRAMES  32 /* outermost ones of a chain of awaits */
#define PYTHON_TASKS_LOOKED 1000

enum python_task_state {
	PYTHON_TASK_READY,
	PYTHON_TASK_RUNNING,
	PYTHON_TASK_WAITING
};

struct python_task {
	uint64_t address; /* of the task */
	enum python_task_state state;
	uint64_t tasks; /* that it stands for */
	uint32_t count; /* of frames; at least 1. WAITING: 1 and CUT: where is not known */
	bool cut;
	struct python_frame frames[PYTHON_TASK_FRAMES]; /* outermost first */
};

/* Zeroed: nothing is known yet. */
struct python_remote_tasks {
	uint64_t set;         /* the WeakSet; 0: not found */
	int32_t coroutine_at; /* in a task; 0: not known */
	uint64_t drawn;
	struct {
		uint64_t type;
		uint32_t kind;
	} kinds[16]; /* types that were met */
};

enum python_tasks_found {
	PYTHON_TASKS_NONE,    /* asyncio is not imported, or cannot be read now */
	PYTHON_TASKS_UNKNOWN, /* it is, and where this version has its tasks is not known */
	PYTHON_TASKS_FOUND
};

typedef void python_task_function(void *context, const struct python_task *task);

/* Hands each task that is not done to TELL. RUNTIME: the address of _PyRuntime. */
enum python_tasks_found python_remote_tasks_look(struct python_remote_tasks *t,
                                                 struct python_remote_codes *codes,
                                                 const struct python_remote_source *from,
                                                 uint64_t runtime, python_task_function *tell,
                                                 void *context);
