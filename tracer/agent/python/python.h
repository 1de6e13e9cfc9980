/* SPDX-License-Identifier: MIT */
/*
 * The Python frames of the thread that a handler has interrupted.
 *
 * In its own handler a thread's frames are exact: nobody else changes them.
 * What is read there may yet be half made (a call that is just beginning), so
 * every address is checked before it is read: the thread's own stack and the
 * interpreter's stack of frames are known, all else the kernel is asked about.
 * Code objects have numbers; what one is, is reported before the first frame of it.
 *
 *	python_look()          whenever something was loaded, outside handlers
 *	  found ──► python_walk()    in handlers: reports the interpreter first, and
 *	                             checks it as soon as it is initialized
 */
#pragma once

#include "base/record.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;
struct lane;
struct python_runtime;

/*
 * Looks for an interpreter in this process, at start and whenever something was loaded. Not for
 * handlers. True once there is one of a known version; its record will have FLAGS (enum
 * python_flags).
 */
bool python_look(uint16_t flags);

/* The interpreter that python_look() has found; NULL: none, or one that is not to be read. */
const struct python_runtime *python_known(void);

/* The same once its frames have been read and found to be where its version has them. */
const struct python_runtime *python_checked(void);

/* Whether python_walk() has something to walk. For handlers. */
bool python_is_there(void);

/*
 * The chain of the calling thread, whose stack pointer is or was (in its handler) SP, at most MAX
 * frames; the interpreter and new code objects are reported into LANE first. 0 frames: no Python on
 * this thread.
 */
void python_walk(struct agent *a, struct lane *lane, uintptr_t sp, struct python_chain *chain,
                 uint32_t max);

/* The same in a handler, of what CONTEXT (its third argument) has interrupted, wherever that was.
 */
void python_walk_interrupted(struct agent *a, struct lane *lane, const void *context,
                             struct python_chain *chain, uint32_t max);

/* Room for a chain of PYTHON_FRAMES_MAX frames, LANE's own. NULL: none to be had. For handlers. */
struct python_chain *python_scratch(struct lane *lane);

/* The process does not sample itself any more: reported into LANE, if anything was reported before.
 */
void python_end(const struct agent *a, struct lane *lane);

/* In a forked child: its rings are new, so all is to be reported again. */
void python_fork(void);
