// SPDX-License-Identifier: MIT
#include "sampler/walk.h"

/* A frame is seldom larger, and a guess far away is worth little. */
#define SCAN_BYTES_MAX (32u << 10)

/* What the walk stands in, to be compared with what a caller says it calls. */
struct callee {
	uint64_t start; // run-time address of the function; 0 if unknown
	const struct unwind_module *module;
	bool strict;
};

static enum walk_step step(struct walk *w)
{
	if (w->rule->cfa == CFI_NO_RULE || w->rule->cfa == CFI_UNUSABLE)
		return walk_in_trampoline(w) ? walk_by_ucontext(w) : walk_without_rule(w);
	return walk_by_rule(w);
}

/* A direct call must lead to the function, except through the PLT of another module. Code that
   was entered by a jump (tail calls, cold parts) fits only the second, lenient round. */
static bool calls(struct walk *caller, const struct call_site *site, const struct callee *callee)
{
	if (!site->direct || !callee->strict || !callee->start)
		return true;
	return site->target == callee->start || caller->module != callee->module;
}

/* True if rbp = SLOT makes sense of the stack for two frames. */
static bool fits(const struct walk *w, uint64_t slot, const struct callee *callee)
{
	struct stack_memory memory = *w->memory;
	uint64_t interrupted[DWARF_REGISTERS];
	struct walk trial = *w;
	struct call_site site;

	memory.pid = 0; // the copy must be enough
	trial.memory = &memory;
	trial.interrupted = interrupted;
	trial.rbp = slot;
	trial.has_rbp = true;
	if (step(&trial) != WALK_CALLER || !walk_call_site(&trial, trial.pc, &site))
		return false;
	walk_locate(&trial);
	if (!calls(&trial, &site, callee))
		return false;

	if (trial.rule->cfa == CFI_UNUSABLE)
		return true;
	if (walk_needs_rbp(&trial) && (trial.rbp <= slot || trial.rbp & 7))
		return false;
	enum walk_step next = step(&trial);
	return next == WALK_END || (next == WALK_CALLER && walk_call_site(&trial, trial.pc, &site));
}

static struct callee callee_of(struct walk *w)
{
	struct callee callee = { .module = w->module };

	if (!w->module)
		return callee;
	uint64_t inside = w->address - !w->exact;
	uint64_t start = unwind_module_function(w->modules, w->module, inside);
	if (start)
		callee.start = w->pc - (w->address - start);
	return callee;
}

bool walk_guess_rbp(struct walk *w)
{
	struct callee callee = callee_of(w);
	uint64_t end = w->memory->start + w->memory->size;

	if (w->memory->size < 16 || w->sp < w->memory->start || w->sp >= end)
		return false;
	end = end - w->sp > SCAN_BYTES_MAX ? w->sp + SCAN_BYTES_MAX : end;
	for (int round = 0; round < 2; round++) {
		callee.strict = round == 0;
		for (uint64_t slot = (w->sp + 7) & ~UINT64_C(7); slot + 16 <= end; slot += 8) {
			if (!fits(w, slot, &callee))
				continue;
			w->rbp = slot;
			w->has_rbp = true;
			return true;
		}
	}
	return false;
}
