// SPDX-License-Identifier: MIT
#include "sampler/unwind/walk.h"

#include "sampler/unwind/code_rules.h"

/* Where struct ucontext, as the kernel puts it on the stack of a signal handler, has each
   register, by enum dwarf_register. */
static const uint8_t ucontext_offsets[DWARF_REGISTERS] = {
	[DWARF_RAX] = 144, [DWARF_RDX] = 136, [DWARF_RCX] = 152, [DWARF_RBX] = 128,
	[DWARF_RSI] = 112, [DWARF_RDI] = 104, [DWARF_RBP] = 120, [DWARF_RSP] = 160,
	[DWARF_R8] = 40,   [DWARF_R9] = 48,   [DWARF_R10] = 56,  [DWARF_R11] = 64,
	[DWARF_R12] = 72,  [DWARF_R13] = 80,  [DWARF_R14] = 88,  [DWARF_R15] = 96,
	[DWARF_RIP] = 168,
};

/* How far behind its entry a function without a rule is taken for itself. */
#define LEAF_BYTES_MAX (64u << 10)

/* "call *64(%rax,%rbx,8)" with a 4-byte displacement. */
#define CALL_BYTES_MAX 7

/* What the code that starts a program keeps on the stack below argc. */
#define START_BYTES_MAX   512
#define ARGUMENTS_MAX     4096       /* more are not looked at */
#define STRINGS_BYTES_MAX (8u << 20) /* Linux lets them have a quarter of the stack's limit */

/* A loop around PAUSE loads a word, compares it and counts: it is no longer than so, either way. */
#define SPIN_BYTES 16

/* One around eight nops has two clocks and their limit in it, too; its end goes back to what loads
   the word, right before them. */
#define NOPS            8
#define NOPS_LOOP_BYTES 32

void walk_enter(struct walk *w)
{
	uint64_t inside = w->pc - !w->exact;
	struct mapping *mapping = address_space_find(w->space, inside);

	w->module = mapping ? unwind_modules_get(w->modules, mapping, w->pid) : NULL;
	w->address = w->pc;
	w->rule = (struct cfi_rule){ .cfa = CFI_NO_RULE };
	w->map_size = 0;
	if (!w->module)
		return;
	w->map_start = mapping->start;
	w->map_size = mapping->end - mapping->start;
	w->bias = mapping->bias;
	w->address -= w->bias;
	w->rule = walk_is_generated(w)
	                  ? code_rules_find(w->code, w->module->id, w->pc, w->pid)
	                  : *unwind_modules_rule(w->modules, w->module, inside - w->bias);
}

bool walk_needs_rbp(const struct walk *w)
{
	return w->rule.cfa == CFI_RBP || w->rule.cfa == CFI_RBP_MEMORY;
}

static enum walk_step go(struct walk *w, uint64_t pc, uint64_t sp, bool exact)
{
	if (!pc)
		return WALK_END;
	w->pc = pc;
	w->sp = sp;
	w->exact = exact;
	w->regs = NULL;
	return WALK_CALLER;
}

enum walk_step walk_by_ucontext(struct walk *w)
{
	uint64_t regs[DWARF_REGISTERS];

	for (int i = 0; i < DWARF_REGISTERS; i++)
		if (!stack_memory_read(w->memory, w->sp + ucontext_offsets[i], &regs[i]))
			return WALK_STUCK;
	patched_move(&w->memory->patched, &regs[DWARF_RIP], &regs[DWARF_RSP]);
	enum walk_step step = go(w, regs[DWARF_RIP], regs[DWARF_RSP], true);
	if (step == WALK_CALLER) {
		memcpy(w->interrupted, regs, sizeof(regs));
		w->regs = w->interrupted;
		w->rbp = regs[DWARF_RBP];
		w->has_rbp = true;
	}
	return step;
}

/* The CFA by w->rule; false if it cannot be had. */
static bool find_cfa(struct walk *w, uint64_t *cfa)
{
	const struct cfi_rule *rule = &w->rule;
	uint64_t offset = (uint64_t)(int64_t)rule->offset;

	switch (rule->cfa) {
	case CFI_RSP:
		*cfa = w->sp + offset;
		return true;
	case CFI_RBP:
		*cfa = w->rbp + offset;
		return w->has_rbp;
	case CFI_REGISTER:
		*cfa = w->regs ? w->regs[rule->add] + offset : 0;
		return w->regs;
	case CFI_PLT:
		*cfa = w->sp + ((w->address & 15) >= offset ? 16 : 8);
		return true;
	case CFI_RSP_MEMORY:
		if (!stack_memory_read(w->memory, w->sp + offset, cfa))
			return false;
		*cfa += rule->add;
		return true;
	case CFI_RBP_MEMORY:
		if (!w->has_rbp || !stack_memory_read(w->memory, w->rbp + offset, cfa))
			return false;
		*cfa += rule->add;
		return true;
	default:
		return false;
	}
}

static void recover_rbp(struct walk *w, uint64_t cfa)
{
	const struct cfi_rule *rule = &w->rule;
	uint64_t offset = (uint64_t)(int64_t)rule->rbp_offset;
	uint64_t slot = (rule->rbp == CFI_RBP_AT_CFA ? cfa : w->rbp) + offset;

	if (rule->rbp == CFI_RBP_KEPT || (rule->rbp == CFI_RBP_AT_RBP && !w->has_rbp))
		return;
	// Compilers do not say when an epilogue has popped rbp: its slot is free then, and the
	// register has the caller's value again.
	if (w->exact && slot < w->sp)
		return;
	w->has_rbp = stack_memory_read(w->memory, slot, &w->rbp);
}

bool walk_caller_sp(struct walk *w, uint64_t *sp)
{
	return find_cfa(w, sp) && *sp > w->sp;
}

enum walk_step walk_by_rule(struct walk *w)
{
	uint64_t cfa, pc;

	if (w->rule.cfa == CFI_OUTERMOST)
		return WALK_END;
	if (w->rule.cfa == CFI_UCONTEXT)
		return walk_by_ucontext(w);
	if (!find_cfa(w, &cfa) || (cfa <= w->sp && !w->exact) ||
	    !stack_memory_read(w->memory, cfa - 8, &pc))
		return WALK_STUCK;
	recover_rbp(w, cfa);
	return go(w, pc, cfa, w->rule.signal);
}

/* True if ADDRESS is where the stack of a process began: argc, argv, NULL, and pointers of the
   environment, or NULL, all to strings above. */
static bool began_at(struct walk *w, uint64_t address)
{
	uint64_t count, word;

	if (!stack_memory_read(w->memory, address, &count) || !count || count > ARGUMENTS_MAX)
		return false;
	uint64_t strings = address + 8 * (count + 2);
	for (uint64_t i = 1; i <= count; i++)
		if (!stack_memory_read(w->memory, address + 8 * i, &word) || word <= strings ||
		    word - strings > STRINGS_BYTES_MAX)
			return false;
	if (!stack_memory_read(w->memory, strings - 8, &word) || word)
		return false;
	return stack_memory_read(w->memory, strings, &word) &&
	       (!word || (word > strings && word - strings <= STRINGS_BYTES_MAX));
}

bool walk_at_start(struct walk *w)
{
	uint64_t first = (w->sp + 15) & ~UINT64_C(15); // as the ABI aligns it

	for (uint64_t at = first; at - w->sp < START_BYTES_MAX; at += 16)
		if (began_at(w, at))
			return true;
	return false;
}

bool walk_in_trampoline(const struct walk *w)
{
	// mov $15, %rax (or %eax); syscall
	static const uint8_t wide[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	static const uint8_t narrow[] = { 0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	uint8_t code[sizeof(wide)];

	if (w->rule.cfa == CFI_UCONTEXT)
		return true;
	if (!w->module || !w->module->image ||
	    !image_read_code(w->module->image, w->address, code, sizeof(code)))
		return false;
	return memcmp(code, wide, sizeof(wide)) == 0 || memcmp(code, narrow, sizeof(narrow)) == 0;
}

static bool has_nops(const uint8_t *code)
{
	static const uint8_t nops[NOPS] = { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 };

	return memcmp(code, nops, sizeof(nops)) == 0;
}

/* A loop of the SIZE bytes of CODE that has eight nops, and the byte AT, in it: its last
   instruction is a short conditional jump. */
static bool in_loop_of_nops(const uint8_t *code, size_t size, size_t at)
{
	size_t first = at > NOPS_LOOP_BYTES ? at - NOPS_LOOP_BYTES : 0;

	for (size_t nops = first; nops < at + NOPS_LOOP_BYTES && nops + NOPS + 2 <= size; nops++) {
		if (!has_nops(code + nops))
			continue;
		for (size_t end = nops + NOPS + 2; end <= size && end <= nops + NOPS_LOOP_BYTES;
		     end++) {
			int8_t back = (int8_t)code[end - 1];
			size_t length = back < 0 ? (size_t)-back : 0;
			if ((code[end - 2] & 0xf0) == 0x70 && length <= NOPS_LOOP_BYTES &&
			    length <= end && end - length <= nops && end - length <= at && at < end)
				return true;
		}
	}
	return false;
}

bool walk_in_spin(const struct walk *w)
{
	static const uint8_t pause[] = { 0xf3, 0x90 };
	uint8_t code[2 * SPIN_BYTES], more[4 * NOPS_LOOP_BYTES];

	if (!w->module || !w->module->image ||
	    !image_read_code(w->module->image, w->address - SPIN_BYTES, code, sizeof(code)))
		return false;
	if (memmem(code, sizeof(code), pause, sizeof(pause)))
		return true;
	// Most code has not even two nops beside each other.
	return image_read_code(w->module->image, w->address - sizeof(more) / 2, more,
	                       sizeof(more)) &&
	       in_loop_of_nops(more, sizeof(more), sizeof(more) / 2);
}

/* True if RETURN_ADDRESS is where a direct call of the code at PC comes back to. */
static bool called_from(struct walk *w, uint64_t return_address)
{
	struct call_site site;

	return walk_call_site(w, return_address, &site) && site.direct && site.target <= w->pc &&
	       w->pc - site.target < LEAF_BYTES_MAX;
}

/* Hand-written code that has not made a frame, or not yet. */
static bool step_leaf(struct walk *w)
{
	uint64_t top, next;

	if (!stack_memory_read(w->memory, w->sp, &top))
		return false;
	if (called_from(w, top))
		return go(w, top, w->sp + 8, false) == WALK_CALLER;
	if (w->has_rbp && top == w->rbp && stack_memory_read(w->memory, w->sp + 8, &next) &&
	    called_from(w, next))
		return go(w, next, w->sp + 16, false) == WALK_CALLER; // pushed, not yet moved
	return false;
}

static enum walk_step step_frame_pointer(struct walk *w)
{
	uint64_t pc, rbp;

	if (!w->has_rbp)
		return WALK_STUCK;
	// As the ABI marks the outermost frame, and a program's very first code is.
	if (!w->rbp && (!w->exact || w->module))
		return WALK_END;
	if (w->rbp < w->sp || w->rbp & 7 || !stack_memory_read(w->memory, w->rbp, &rbp) ||
	    !stack_memory_read(w->memory, w->rbp + 8, &pc))
		return WALK_STUCK;
	if (pc && !address_space_find(w->space, pc - 1))
		return WALK_STUCK;
	uint64_t sp = w->rbp + 16;
	w->rbp = rbp;
	return go(w, pc, sp, false);
}

enum walk_step walk_without_rule(struct walk *w)
{
	if (w->exact && step_leaf(w))
		return WALK_CALLER;
	return step_frame_pointer(w);
}

/* True if the last SIZE bytes of CODE are "call *operand": ff /2, by the length of its operand. */
static bool ends_in_indirect_call(const uint8_t code[CALL_BYTES_MAX], size_t size)
{
	const uint8_t *call = code + CALL_BYTES_MAX - size;
	unsigned mode = call[1] >> 6, rm = call[1] & 7;
	size_t length = 2;

	if (call[0] != 0xff || (call[1] >> 3 & 7) != 2)
		return false;
	if (mode != 3 && rm == 4) {
		length++; // SIB
		if (size >= 3 && mode == 0 && (call[2] & 7) == 5)
			length += 4;
	}
	if (mode == 1)
		length += 1;
	else if (mode == 2 || (mode == 0 && rm == 5))
		length += 4;
	return length == size;
}

bool walk_call_site(struct walk *w, uint64_t return_address, struct call_site *site)
{
	struct mapping *mapping = address_space_find(w->space, return_address - 1);
	uint8_t code[CALL_BYTES_MAX];
	int32_t displacement;

	*site = (struct call_site){ 0 };
	if (!mapping || return_address - mapping->start < 2)
		return false;
	struct unwind_module *module = unwind_modules_get(w->modules, mapping, w->pid);
	if (!module || !module->image)
		return module != NULL;
	uint64_t address = return_address - mapping->bias - sizeof(code);
	if (!image_read_code(module->image, address, code, sizeof(code)))
		return false;

	memcpy(&displacement, code + CALL_BYTES_MAX - 4, sizeof(displacement));
	if (code[CALL_BYTES_MAX - 5] == 0xe8) {
		site->direct = true;
		site->target = return_address + (uint64_t)(int64_t)displacement;
		if (address_space_find(w->space, site->target))
			return true;
	}
	site->direct = false;
	for (size_t size = 2; size <= CALL_BYTES_MAX; size++)
		if (ends_in_indirect_call(code, size))
			return true;
	return false;
}
