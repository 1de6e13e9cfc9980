// SPDX-License-Identifier: MIT
#include "sampler/unwind/walk.h"

/* A frame is seldom larger, and a guess far away is worth little. */
#define SCAN_BYTES_MAX (32u << 10)
/* Frames that nothing describes are those of hand-written code: small, of small functions. */
#define BARE_FRAME_MAX    (4u << 10)
#define BARE_FUNCTION_MAX (64u << 10)
/* … but for those of matrix products, which lay a buffer on the stack: what they have saved is
 * above. */
#define ALIGNED_FRAME_MAX (64u << 10)
#define SAVED_MAX         256
/* Generated code saves the registers that it must, and what it keeps of vectors. */
#define MADE_SAVED_MAX 256
/* So many callers are asked whether a guess is right. */
#define STRICT_FRAMES 8

/* How much must speak for a guess. A round of less is tried where the one before finds nothing. */
enum rigour {
	RIGOUR_PROVEN,  // rules lead over STRICT_FRAMES callers, or to the outermost one
	RIGOUR_STRICT,  // as far as rules lead, nothing speaks against it
	RIGOUR_LENIENT, // the next caller makes sense
	RIGOURS,
};

/* What the walk stands in, to be compared with what a caller says it calls. */
struct callee {
	uint64_t start; // run-time address of the function; 0 if unknown
	const struct unwind_module *module;
	enum rigour rigour;
};

static enum walk_step step(struct walk *w)
{
	if (w->rule.cfa == CFI_NO_RULE || w->rule.cfa == CFI_UNUSABLE)
		return walk_in_trampoline(w) ? walk_by_ucontext(w) : walk_without_rule(w);
	return walk_by_rule(w);
}

/* True if the code at ADDRESS is a stub of a procedure linkage table: "jmp *slot(%rip)". */
static bool is_stub(struct walk *w, uint64_t address)
{
	static const uint8_t landing[] = { 0xf3, 0x0f, 0x1e, 0xfa }; // endbr64
	const struct mapping *mapping = address_space_find(w->space, address);
	struct unwind_module *module =
		mapping ? unwind_modules_get(w->modules, (struct mapping *)mapping, w->pid) : NULL;
	uint8_t code[7], *at = code;

	if (!module || !module->image ||
	    !image_read_code(module->image, address - mapping->bias, code, sizeof(code)))
		return false;
	if (memcmp(at, landing, sizeof(landing)) == 0)
		at += sizeof(landing);
	at += *at == 0xf2; // bnd
	return at[0] == 0xff && (at + 1 == code + sizeof(code) || at[1] == 0x25);
}

/* True if what the walk has come to follows a call, or is what a signal's handler returns to, which
   nothing calls. Locates it. */
static bool comes_back(struct walk *w, struct call_site *site)
{
	bool called = walk_call_site(w, w->pc, site);

	walk_locate(w);
	return called || walk_in_trampoline(w);
}

/* A direct call must lead to the function, or to a stub of another module that may. Code that was
   entered by a jump (tail calls, cold parts) fits only the last, lenient round. */
static bool calls(struct walk *caller, const struct call_site *site, const struct callee *callee)
{
	if (!site->direct || callee->rigour == RIGOUR_LENIENT || !callee->start ||
	    site->target == callee->start)
		return true;
	return caller->module != callee->module && is_stub(caller, site->target);
}

/* True if the stack makes sense for COUNT frames more. What earlier calls have left there leads to
   callers of which some are overwritten, by zeros, too. Where rules end before the outermost frame,
   the rest is UNKNOWN: neither proven nor refuted. */
static bool leads_on(struct walk *w, int count, bool unknown)
{
	struct call_site site;

	for (; count > 0; count--) {
		if (w->rule.cfa >= CFI_GO_CALL)
			return true; // the callers are on another stack
		if (walk_needs_rbp(w) && !w->has_rbp)
			return unknown;
		bool outermost = w->rule.cfa == CFI_OUTERMOST;
		enum walk_step next = step(w);
		if (next == WALK_END)
			return outermost || unknown;
		if (next == WALK_STUCK)
			return false;
		if (w->exact)
			return true; // out of a signal's handler, with all registers
		if (!comes_back(w, &site))
			return false;
		if ((w->rule.cfa == CFI_NO_RULE || w->rule.cfa == CFI_UNUSABLE) &&
		    !walk_in_trampoline(w))
			return unknown;
	}
	return true;
}

/* True if rbp = SLOT makes sense of the stack. */
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
	if (step(&trial) != WALK_CALLER || !comes_back(&trial, &site) ||
	    !calls(&trial, &site, callee))
		return false;

	if (trial.rule.cfa == CFI_UNUSABLE && !walk_in_trampoline(&trial))
		return callee->rigour != RIGOUR_PROVEN;
	if (walk_needs_rbp(&trial) && (trial.rbp <= slot || trial.rbp & 7))
		return false;
	return leads_on(&trial, callee->rigour == RIGOUR_LENIENT ? 1 : STRICT_FRAMES,
	                callee->rigour != RIGOUR_PROVEN);
}

static struct callee callee_of(struct walk *w)
{
	struct callee callee = { .module = w->module };

	if (!w->module)
		return callee;
	uint64_t inside = w->address - !w->exact;
	uint64_t start = unwind_module_function(w->module, inside);
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
	for (callee.rigour = RIGOUR_PROVEN; callee.rigour < RIGOURS; callee.rigour++) {
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

static bool is_in_module(const struct walk *w, uint64_t address)
{
	return address - w->map_start < w->map_size;
}

/* True if the call before RETURN_ADDRESS can have led to where the walk is. STRICT: by itself, or
   through a pointer of the same module, and not by way of a stub that leads who knows where. */
static bool may_have_called(struct walk *w, uint64_t return_address, bool strict)
{
	struct call_site site;

	if (!walk_call_site(w, return_address, &site))
		return false;
	if (!site.direct)
		return !strict || is_in_module(w, return_address - 1);
	if (is_stub(w, site.target))
		return !strict;
	return site.target <= w->pc && w->pc - site.target < BARE_FUNCTION_MAX;
}

/* True if the walk can go on from the caller that returns to PC, with RBP or without. */
static bool goes_on(const struct walk *w, struct walk *caller, uint64_t pc, uint64_t sp)
{
	struct walk trial = *w;
	struct call_site site;

	trial.pc = pc;
	trial.sp = sp;
	trial.exact = false;
	trial.regs = NULL;
	trial.has_rbp = caller->has_rbp;
	trial.rbp = caller->rbp;
	walk_locate(&trial);
	if (trial.rule.cfa == CFI_NO_RULE || trial.rule.cfa == CFI_UNUSABLE)
		return false;
	if (walk_needs_rbp(&trial) && (!trial.has_rbp || trial.rbp <= sp || trial.rbp & 7))
		return false;
	*caller = trial;
	enum walk_step next = walk_by_rule(&trial);
	return next == WALK_END || (next == WALK_CALLER && comes_back(&trial, &site));
}

/* The caller's rbp is still there, or has been saved between LOW and SLOT, where the frame ends. */
static bool find_caller_rbp(const struct walk *w, struct walk *caller, uint64_t pc, uint64_t slot,
                            uint64_t low)
{
	*caller = *w;
	if (goes_on(w, caller, pc, slot + 8))
		return true;
	for (uint64_t saved = slot - 8; saved + 8 > low; saved -= 8) {
		*caller = *w;
		caller->has_rbp = stack_memory_read(w->memory, saved, &caller->rbp);
		if (caller->has_rbp && caller->rbp > slot && goes_on(w, caller, pc, slot + 8))
			return true;
	}
	return false;
}

/* Steps to the lowest word of [FROM, END) that is the return address of a caller: what earlier
   calls have left there may look like one. HERE is W, but for the memory that may be read. */
static bool find_caller(struct walk *w, struct walk *here, uint64_t from, uint64_t end, bool strict)
{
	struct walk caller;
	uint64_t pc;

	for (uint64_t slot = (from + 7) & ~UINT64_C(7); slot + 8 <= end; slot += 8) {
		if (!stack_memory_read(here->memory, slot, &pc) ||
		    !may_have_called(here, pc, strict) ||
		    !find_caller_rbp(here, &caller, pc, slot, from))
			continue;
		w->pc = pc;
		w->sp = slot + 8;
		w->exact = false;
		w->regs = NULL;
		w->has_rbp = caller.has_rbp;
		w->rbp = caller.rbp;
		return true;
	}
	return false;
}

/* Code that aligns the stack keeps its old end in a register that it has saved there, among others:
   "mov %rsp, %rbx; sub $28800, %rsp; and $-4096, %rsp". */
static bool find_caller_of_aligned(struct walk *w, struct walk *here)
{
	static const uint8_t keepers[] = { DWARF_RBX, DWARF_RBP, DWARF_R12,
		                           DWARF_R13, DWARF_R14, DWARF_R15 };

	for (size_t i = 0; w->regs && i < sizeof(keepers); i++) {
		uint64_t old = w->regs[keepers[i]];
		if (old > w->sp && old - w->sp <= ALIGNED_FRAME_MAX && !(old & 7) &&
		    (find_caller(w, here, old, old + SAVED_MAX, true) ||
		     find_caller(w, here, old, old + SAVED_MAX, false)))
			return true;
	}
	return false;
}

/* True if CALLER, where W's walk would go on with PC, SP and a frame pointer, makes sense. */
static bool proves(const struct walk *w, struct walk *caller, uint64_t pc, uint64_t sp,
                   enum rigour rigour)
{
	struct walk trial = *w;

	trial.pc = pc;
	trial.sp = sp;
	trial.exact = false;
	trial.regs = NULL;
	trial.has_rbp = caller->has_rbp;
	trial.rbp = caller->rbp;
	walk_locate(&trial);
	if (trial.rule.cfa == CFI_NO_RULE || trial.rule.cfa == CFI_UNUSABLE)
		return false;
	if (walk_needs_rbp(&trial) && (!trial.has_rbp || trial.rbp <= sp || trial.rbp & 7))
		return false;
	*caller = trial;
	return leads_on(&trial, STRICT_FRAMES, rigour != RIGOUR_PROVEN);
}

/* The caller of generated code that returns to PC from SLOT: such code may have taken rbp for
   itself, and then has saved it right below its return address, among the other registers that are
   not its own. */
static bool find_made_caller(const struct walk *w, struct walk *caller, uint64_t pc, uint64_t slot,
                             enum rigour rigour)
{
	uint64_t low = slot - w->sp > MADE_SAVED_MAX ? slot - MADE_SAVED_MAX : w->sp;

	for (uint64_t saved = slot - 8; saved + 8 > low && saved < slot; saved -= 8) {
		*caller = *w;
		caller->has_rbp = stack_memory_read(w->memory, saved, &caller->rbp);
		if (caller->has_rbp && caller->rbp > slot &&
		    proves(w, caller, pc, slot + 8, rigour))
			return true;
	}
	*caller = *w;
	return proves(w, caller, pc, slot + 8, rigour);
}

/* Generated code has no image, so that nothing is known of its functions; it is called through
   pointers, in code that has rules. */
static bool find_caller_of_made(struct walk *w, struct walk *here, uint64_t end)
{
	struct call_site site;
	struct walk caller;
	uint64_t pc;

	for (enum rigour rigour = RIGOUR_PROVEN; rigour <= RIGOUR_STRICT; rigour++) {
		for (uint64_t slot = (w->sp + 7) & ~UINT64_C(7); slot + 8 <= end; slot += 8) {
			if (!stack_memory_read(here->memory, slot, &pc) ||
			    is_in_module(w, pc - 1) || !walk_call_site(here, pc, &site) ||
			    site.direct || !find_made_caller(here, &caller, pc, slot, rigour))
				continue;
			w->pc = pc;
			w->sp = slot + 8;
			w->exact = false;
			w->regs = NULL;
			w->has_rbp = caller.has_rbp;
			w->rbp = caller.rbp;
			return true;
		}
	}
	return false;
}

bool walk_guess_caller(struct walk *w)
{
	struct stack_memory memory = *w->memory;
	struct walk here = *w;
	uint64_t interrupted[DWARF_REGISTERS];
	uint64_t end = memory.start + memory.size;

	here.interrupted = interrupted;
	if (!w->module || w->sp < memory.start || w->sp >= end)
		return false;
	if (!w->module->image) {
		memory.pid = 0; // the copy must be enough
		here.memory = &memory;
		end = end - w->sp > SCAN_BYTES_MAX ? w->sp + SCAN_BYTES_MAX : end;
		return find_caller_of_made(w, &here, end);
	}
	if (find_caller_of_aligned(w, &here))
		return true;
	memory.pid = 0; // the copy must be enough
	here.memory = &memory;
	end = end - w->sp > BARE_FRAME_MAX ? w->sp + BARE_FRAME_MAX : end;
	return find_caller(w, &here, w->sp, end, true) || find_caller(w, &here, w->sp, end, false);
}
