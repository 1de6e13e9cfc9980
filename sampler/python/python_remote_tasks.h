/* SPDX-License-Identifier: MIT */
/*
 * Tasks of asyncio in another process, read from outside while it runs.
 *
 *	sys.modules ─► asyncio.tasks ─► WeakSet ─┐
 *	interpreter ─► thread states ─► lists ───┴► tasks ─► coroutine ─► frame ─► what it awaits
 *
 * The set is there up to CPython 3.13; the lists are from 3.14 on, whose _asyncio says where.
 *
 * The process is not stopped: a task that goes on while it is read counts in the state that was
 * read first, and the chain that was read of it is dropped. All that is read is checked as foreign
 * bytes are, and may be anything without harm. Of more than half of PYTHON_TASKS_LOOKED tasks one
 *of each of so many equal parts is drawn, and stands for its part.
 *
 * CPython 3.8 to 3.15 with a GIL, and tasks of asyncio's C implementation.
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

/* Where _asyncio has its tasks, as its section PYTHON_TASKS_SECTION says; offsets in bytes. */
#define PYTHON_TASKS_SECTION ".AsyncioDebug"

struct python_tasks_own {
	struct {
		uint64_t size, name, awaited_by, is_task, awaited_by_is_set, coroutine, node;
	} task;
	struct {
		uint64_t size, head;
	} interpreter;
	struct {
		uint64_t size, running_loop, running_task, head;
	} thread;
};
_Static_assert(sizeof(struct python_tasks_own) == 104,
               "_Py_AsyncioModuleDebugOffsets of 3.14 and 3.15");

/* Zeroed: nothing is known yet. */
struct python_remote_tasks {
	bool asked;                  /* for OWN */
	struct python_tasks_own own; /* task.size 0: not known */
	uint64_t set;                /* the WeakSet; 0: not found */
	int32_t coroutine_at;        /* in a task; 0: not known */
	uint64_t drawn;
	struct {
		uint64_t type;
		uint32_t kind;
	} kinds[16]; /* types that were met */
};

/* False: there is no such section in a file that the process has loaded. */
typedef bool python_tasks_own_function(uint32_t pid, struct python_tasks_own *out);

enum python_tasks_found {
	PYTHON_TASKS_NONE,    /* asyncio is not imported, or cannot be read now */
	PYTHON_TASKS_UNKNOWN, /* it is, and where this version has its tasks is not known */
	PYTHON_TASKS_FOUND
};

typedef void python_task_function(void *context, const struct python_task *task);

/* Where they are looked for, and who is handed them. */
struct python_tasks_wanted {
	uint32_t pid;
	python_tasks_own_function *find_own;
	python_task_function *tell;
	void *context;
};

/* Hands each task that is not done to WANTED. RUNTIME: the address of _PyRuntime. */
enum python_tasks_found python_remote_tasks_look(struct python_remote_tasks *t,
                                                 struct python_remote_codes *codes,
                                                 const struct python_remote_source *from,
                                                 uint64_t runtime,
                                                 const struct python_tasks_wanted *wanted);
