/* SPDX-License-Identifier: MIT */
/*
 * One position in one stack, and the ways to step from it to the caller.
 *
 * A step either moves the walk or leaves it as it was. Which way is right, and
 * what becomes of the frames, is the unwinder's business.
 */
#pragma once

#include "base/record.h"
#include "sampler/unwind/address_space.h"
#include "sampler/unwind/cfi_table.h"
#include "sampler/unwind/stack_memory.h"
#include "sampler/unwind/unwind_modules.h"

#include <stdbool.h>
#include <stdint.h>

struct code_rules;

struct walk {
	struct unwind_modules *modules;
	struct code_rules *code; /* of code that no file is behind */
	struct address_space *space;
	struct stack_memory *memory;
	pid_t pid; /* 0: unknown or gone */
	/* The position. */
	uint64_t pc, sp, rbp;
	bool exact; /* PC was interrupted; else it is a return address */
	bool has_rbp;
	const uint64_t *regs;  /* all registers by enum dwarf_register, where PC was interrupted;
	                          else NULL */
	uint64_t *interrupted; /* room for DWARF_REGISTERS of them, for what a signal has
	                          interrupted */
	/* Where that is: see walk_locate(). */
	struct unwind_module *module; /* NULL: in no mapping */
	uint64_t address;             /* PC in the module */
	struct cfi_rule rule;
	/* The mapping of MODULE: most callers are in the same one. */
	uint64_t map_start, map_size, bias;
};

enum walk_step {
	WALK_CALLER, /* moved one frame out */
	WALK_END,    /* this is the outermost frame */
	WALK_STUCK   /* it is not, but this way leads nowhere */
};

/* Turns to the mapping that holds PC, and looks the rule up there. */
void walk_enter(struct walk *w);

/* Fills module, address and rule for PC. */
static inline void walk_locate(struct walk *w)
{
	// A call may be the last instruction of its function, and the function of its mapping.
	uint64_t inside = w->pc - !w->exact;
	const struct cfi_rule *rule = NULL;

	if (inside - w->map_start < w->map_size && w->module->table)
		rule = cfi_table_find(w->module->table, inside - w->bias);
	if (!rule) {
		walk_enter(w);
		return;
	}
	w->address = w->pc - w->bias;
	w->rule = *rule;
}

/* True if PC is in code that no file is behind, as just-in-time compilers make it. */
static inline bool walk_is_generated(const struct walk *w)
{
	return w->module && !w->module->image;
}

/* By w->rule, which is neither CFI_NO_RULE nor CFI_UNUSABLE. */
enum walk_step walk_by_rule(struct walk *w);

/* Where the caller's stack pointer is by w->rule, as far as registers tell. False if unknown. */
bool walk_caller_sp(struct walk *w, uint64_t *sp);

/* Out of a signal trampoline: to what the signal has interrupted. */
enum walk_step walk_by_ucontext(struct walk *w);

/* By what can be seen without a rule: a leaf's own return address, the frame pointer. */
enum walk_step walk_without_rule(struct walk *w);

/* True if w->rule cannot be followed without rbp. */
bool walk_needs_rbp(const struct walk *w);

/*
 * True if the frame is that of the code that starts a program: what the kernel lays down before the
 * first instruction, argc, argv and the environment, is right above. Some C libraries, as musl,
 * have no rules for that code.
 */
bool walk_at_start(struct walk *w);

/* True if PC is in a signal trampoline, by its rule or by its code. */
bool walk_in_trampoline(const struct walk *w);

/*
 * True if PC, which was interrupted, is at or beside a PAUSE: the instruction that tells the CPU of
 * a loop which spins (Intel's manual, volume 2, PAUSE). Or if it is in a short loop with eight
 * nops, which OpenBLAS 0.3.29 has in its place and 0.3.21 has not (YIELDING in its common.h).
 * Whoever spins waits, though it is on a CPU.
 */
bool walk_in_spin(const struct walk *w);

struct call_site {
	bool direct;
	uint64_t target; /* of a direct call; run-time address */
};

/*
 * True if the instruction before RETURN_ADDRESS is a call, or if the code there
 * cannot be read (just-in-time code).
 */
bool walk_call_site(struct walk *w, uint64_t return_address, struct call_site *site);

/*
 * Finds rbp in the copied stack, where it is needed and not known: the lowest slot from which rules
 * lead, by a call of this very function, over several callers or to the outermost one; where there
 * is none, the lowest from which nothing speaks against it.
 */
bool walk_guess_rbp(struct walk *w);

/*
 * Steps out of code that no rule describes and that has no frame pointer, by the copied stack: to
 * the lowest word that is the return address of a call which may have led here, and from which the
 * next step leads to another call.
 */
bool walk_guess_caller(struct walk *w);
