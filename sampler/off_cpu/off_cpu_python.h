/* SPDX-License-Identifier: MIT */
/*
 * Where Python code waits: the Python frames of a blocked thread, at their
 * places in the native stack of the wait.
 *
 * One thread at a time: the one that follows the target's.
 */
#pragma once

#include "base/cleanup.h"
#include "sampler/python/python_remote_tasks.h"
#include "sampler/task/tasks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codes;
struct off_cpu_python;
struct python_name_sink;

/* CODES is borrowed. NULL if there is no memory. */
struct off_cpu_python *off_cpu_python_new(struct codes *codes);
void off_cpu_python_free(struct off_cpu_python *p); /* NULL is fine */

CLEANUP(off_cpu_python, struct off_cpu_python *, off_cpu_python_free)

/* Whether THREAD may have Python frames that can be read. */
bool off_cpu_python_may(const struct thread *thread);

/*
 * Reads the frames of THREAD, which is blocked with its stack pointer at SP. Valid until the next
 * call; NULL: it has none. Exact if it has not run up to *UNTIL_NS.
 */
const struct python_chain *off_cpu_python_read(struct off_cpu_python *p, struct thread *thread,
                                               uint64_t sp, uint64_t *until_ns);

/* Reports C functions that the frames of the last read, which was of THREAD, call. */
void off_cpu_python_called(struct off_cpu_python *p, struct thread *thread,
                           const struct python_name_sink *sink);

/* COUNT native FRAMES with *SPS become those with CHAIN's among them; the number. */
size_t off_cpu_python_place(struct off_cpu_python *p, struct thread *thread,
                            const struct python_chain *chain, struct frame *frames,
                            const uint64_t **sps, size_t count, size_t max, uint32_t *flags);

/* What THREAD is called in its own PID namespace, as its interpreter has it. */
uint32_t off_cpu_python_tid(struct thread *thread);

/* Which thread of PROCESS holds GIL number I, from 0 on, at the moment; 0: none. False: there is no
   such GIL. */
bool off_cpu_python_gil(struct off_cpu_python *p, struct process *process, uint32_t i,
                        uint32_t *holder);

/* Hands the tasks of asyncio in PROCESS that are not done to WANTED; see python_remote_tasks.h. */
enum python_tasks_found off_cpu_python_tasks(struct off_cpu_python *p, struct process *process,
                                             const struct python_tasks_wanted *wanted);

/* Whether a wait for the futex at ADDRESS is one for the GIL. */
bool off_cpu_python_is_gil(const struct thread *thread, uint64_t address);

/* After how long THREAD, which waits at the condition variable ADDRESS of a GIL, is woken in any
   case; 0: it is not. */
uint64_t off_cpu_python_gil_step_ns(const struct thread *thread, uint64_t address);
