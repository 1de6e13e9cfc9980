/* SPDX-License-Identifier: MIT */
/*
 * From registers and a copy of the stack to frames, while the program runs.
 *
 * The unwinder keeps one compact table per module (sampler/unwind/cfi_table.h), made of
 * .eh_frame or .debug_frame, each part of it when the first frame in that code turns up.
 * Where a table holds no usable rule it asks libunwind for that one step, then
 * tries the frame pointer. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/module.h"
#include "base/stack.h"
#include "sampler/event/event.h"
#include "sampler/unwind/address_space.h"
#include "sampler/unwind/last_stack.h"
#include "sampler/unwind/patches.h"
#include "sampler/unwind/whole_stacks.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct unwinder;

enum unwinder_mode {
	UNWIND_BY_TABLE,    /* the default, as above */
	UNWIND_BY_LIBUNWIND /* libunwind for every step: the oracle */
};

struct unwinder_stats {
	uint64_t frames;           /* all steps */
	uint64_t table_frames;     /* by the table */
	uint64_t libunwind_frames; /* by libunwind, because the table could not */
	uint64_t code_frames;      /* by what generated code says of itself */
	uint64_t fp_frames;        /* by frame pointer, for want of rules */
	uint64_t truncated;        /* stacks that ended before their outermost frame */
	uint64_t joined;           /* stacks whose older part was read from the process's memory */
	uint64_t guessed;          /* stacks for which a frame pointer was guessed */
	uint64_t tables;           /* tables in memory */
	uint64_t table_bytes;
	uint64_t table_build_ns;
};

struct unwinder *unwinder_new(struct modules *modules, enum unwinder_mode mode, struct error *err);
void unwinder_free(struct unwinder *u);

CLEANUP(unwinder, struct unwinder *, unwinder_free)

/*
 * The next stack is of a process with these PATCHES and so many THREADS, of a thread with these
 * open OPS. Until the next call of this; both must live so long. The process's memory is not read
 * where that may block: sampler/unwind/read_risk.h.
 */
void unwinder_follow(struct unwinder *u, const struct patches *patches, uint32_t threads,
                     const struct op_stack *ops);

/*
 * Writes SAMPLE's user frames to FRAMES, innermost first, at most MAX, and
 * returns how many. *FLAGS gets enum stack_flags. A sample of a live process PID is joined
 * from its memory where the copy of the stack ends too early; pass 0 not to try.
 * A truncated stack ends with a FRAME_MARK, MARK_TRUNCATED (counted in the result).
 */
size_t unwinder_unwind(struct unwinder *u, struct address_space *space,
                       const struct event_sample *sample, int pid, struct frame *frames, size_t max,
                       uint32_t *flags);

/* The code at ADDRESS of the process PID, as if it had been interrupted there. */
struct frame unwinder_place(struct unwinder *u, struct address_space *space, uint64_t address,
                            int pid);

/* The module of whose data ADDRESS is, and where in it; module 0 if it is of none. */
struct frame unwinder_data(struct unwinder *u, struct address_space *space, uint64_t address,
                           int pid);

/*
 * Completes what the last call of unwinder_unwind() wrote, if it was cut for want of memory, by the
 * thread's LAST whole stack, or keeps it as that. Returns the new count.
 */
size_t unwinder_complete(struct unwinder *u, struct last_stack *last, uint64_t time_ns,
                         struct frame *frames, size_t count, size_t max, uint32_t *flags);

/* The same of one that is still cut, by the stacks of its process that were WHOLE. */
size_t unwinder_complete_alike(struct unwinder *u, const struct whole_stacks *whole,
                               struct frame *frames, size_t count, size_t max, uint32_t *flags);

/*
 * The stack pointer at each frame that the last call of unwinder_unwind() wrote: the frame lies
 * from there to its caller's. Valid until the next call.
 */
const uint64_t *unwinder_stack_pointers(const struct unwinder *u);

/* The instruction at PC in SPACE, of process PID; module 0 if nothing is mapped there. */
struct frame unwinder_frame(struct unwinder *u, struct address_space *space, int pid, uint64_t pc);

const struct unwinder_stats *unwinder_stats(const struct unwinder *u);
