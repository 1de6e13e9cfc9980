/* SPDX-License-Identifier: MIT */
/*
 * The Python frames of a thread that does not run, read from outside.
 *
 * A thread changes its own chain of frames and nobody else's, so what is found
 * is exact if the thread was blocked all the while: the caller has to prove
 * that afterwards. All that is read is checked as foreign bytes are, and may
 * be anything without harm.
 *
 *	_PyRuntime ─► interpreters ─► thread states ─► the one with TID
 *	                                                 └► frames ─► code objects
 *
 * One of these belongs to one process between two of its execs.
 */
#pragma once

#include "base/cleanup.h"
#include "base/record.h"
#include "sampler/python/python_remote_tasks.h"
#include "sampler/unwind/remote_memory.h"

#include <stdbool.h>
#include <stdint.h>

struct codes;
struct python;
struct python_name_sink;
struct python_remote;

struct python_remote *python_remote_new(void);    /* NULL if there is no memory */
void python_remote_free(struct python_remote *r); /* NULL is fine */

CLEANUP(python_remote, struct python_remote *, python_remote_free)

/* Who is looked at, and when. */
struct python_remote_thread {
	uint32_t pid, tid;
	uint32_t forked_by; /* the thread that forked it, whose number it may have still; 0: none */
	uint64_t sp;        /* what lies far below is not its stack */
	uint64_t now_ns;
};

/*
 * The frames of THREAD in the interpreter of P, whose code objects are made known to P and CODES.
 * Valid until the next call. NULL: it runs no Python, or that cannot be read.
 */
const struct python_chain *python_remote_chain(struct python_remote *r, struct python *p,
                                               struct codes *codes, struct remote_memory *memory,
                                               const struct python_remote_thread *thread);

/*
 * Reports to SINK (python_remote_names.h) the C functions that are new among those which the frames
 * of the last chain call. Nothing if P does not say where the types of C functions are.
 */
void python_remote_called(struct python_remote *r, struct python *p, struct remote_memory *memory,
                          const struct python_name_sink *sink);

/* Hands the tasks of asyncio that are not done to WANTED; see python_remote_tasks.h. */
enum python_tasks_found python_remote_tasks(struct python_remote *r, struct python *p,
                                            struct codes *codes, struct remote_memory *memory,
                                            const struct python_tasks_wanted *wanted);

/*
 * Which thread holds GIL number I, from 0 on, of those that python_remote_chain() has found; 0:
 * none, or one that is not known. False: there is no such GIL.
 */
bool python_remote_gil(const struct python_remote *r, struct remote_memory *memory, uint32_t i,
                       uint32_t *holder);

/*
 * Whether ADDRESS, on which a thread waits, is part of a GIL. Nothing is read: what
 * python_remote_chain() has found is what is known.
 */
bool python_remote_is_gil(const struct python_remote *r, uint64_t address);

/*
 * After how long a thread that waits at the condition variable ADDRESS of a GIL is woken in any
 * case, to ask the holder to give way (sys.setswitchinterval()). 0: it is none, or not known.
 */
uint64_t python_remote_gil_step_ns(const struct python_remote *r, uint64_t address);
