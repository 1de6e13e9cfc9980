/* SPDX-License-Identifier: MIT */
/*
 * Where the code of a Go program changes from a goroutine's stack to that of its thread.
 *
 * C functions and parts of Go's runtime run on the thread's stack (g0's), and what unwind
 * information there is of the functions that change to it does not say so. Their code does: after
 * the call it goes back. By these instructions they are found, so symbols are not needed.
 *
 *	g0's stack                    the goroutine's stack, from g.stack.hi down
 *	┌───────────────────┐         ┌───────────────────┐ ◄─ stack.hi
 *	│ distance ─────────┼──┐      │ main.main         │
 *	│ g ────────────────┼──┼─► g  │ main._Cfunc_f     │
 *	├───────────────────┤  │      │ runtime.cgocall   │
 *	│ the C function f  │  └────► ├───────────────────┤ ◄─ stack.hi - distance
 *	└───────────────────┘         └───────────────────┘
 */
#pragma once

#include "base/record.h"
#include "sampler/unwind/cfi_table.h"
#include "sampler/unwind/walk.h"

#include <stddef.h>
#include <stdint.h>

/* Bytes of code that are looked at from the beginning of one on. */
#define GO_SWITCH_MAX 85

/* A call from such a place: RULE holds from START up to END, in which the call returns. */
struct go_switch {
	uint64_t start, end;
	struct cfi_rule rule;
};

/* The first one in CODE, SIZE bytes at ADDRESS. False if there is none. */
bool go_switch_find(const uint8_t *code, size_t size, uint64_t address, struct go_switch *out);

/*
 * Out of CALLEE, which runs on the thread's stack, to the caller on the goroutine's: by w->rule,
 * CFI_GO_CALL. What is read there must fit, or the walk is stuck.
 */
enum walk_step walk_by_go_call(struct walk *w, const struct frame *callee);

/* The same by CFI_GO_SYSTEM. REGS are those of the innermost frame of the stack. */
enum walk_step walk_by_go_system(struct walk *w, const struct frame *callee, const uint64_t *regs);

#define GO_CALLERS 256 /* that are kept, the latest ones */

/* What was called, and how deep in a goroutine's stack: both are in the copy that came with the
   sample. Frames of Go's functions have fixed sizes, so the same depth is as a rule that of the
   same callers. */
struct go_caller_key {
	pid_t pid;
	uint32_t module, callee_module;
	uint64_t callee, distance;
};

/* Callers that were found on goroutines' stacks, for calls that have ended when their stack is
   read. Zeroed when empty. */
struct go_callers {
	struct go_caller *places; /* GO_CALLERS; NULL: there has been none */
};

void go_callers_fini(struct go_callers *callers);
void go_callers_keep(struct go_callers *callers, const struct go_caller_key *key,
                     const struct frame *frames, const uint64_t *sps, size_t count);

/* Writes at most MAX of them. Returns how many there are; 0 if none is known, or more. */
size_t go_callers_find(const struct go_callers *callers, const struct go_caller_key *key,
                       struct frame *frames, uint64_t *sps, size_t max);

/* The key of W, which is at a frame of CFI_GO_CALL, and of what that has called. */
bool walk_go_key(struct walk *w, const struct frame *callee, struct go_caller_key *key);
