// SPDX-License-Identifier: MIT
#include "sampler/unwind/go_stacks.h"

#include "base/array.h"
#include "base/bytes.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Go's runtime lets no stack grow larger than that on 64-bit machines. */
#define GO_STACK_MAX (UINT64_C(1) << 30)

/* Fields of runtime.g: the code that is searched for has these places in it. */
#define G_STACK_HIGH 8
#define G_M          48
#define G_BYTES      64

/* The functions that change stacks are shorter. */
#define FUNCTION_MAX 512

/* Functions that end in a jump to another one are short, as a rule, and seldom many in a row. */
#define JUMPER_MAX 512
#define JUMPS_MAX  3

/* Bytes of the longest form, and of a call before it. */
#define FORM_MAX (GO_SWITCH_MAX - CALL_MAX)
#define CALL_MAX 5

static bool take(struct cursor *c, const void *bytes, size_t size)
{
	const uint8_t *at = cursor_take(c, size);

	return at && memcmp(at, bytes, size) == 0;
}

#define TAKE(c, ...)                                                                               \
	take(c, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

static bool skip(struct cursor *c, const void *bytes, size_t size)
{
	if (cursor_left(c) < size || memcmp(c->at, bytes, size) != 0)
		return false;
	cursor_take(c, size);
	return true;
}

#define SKIP(c, ...)                                                                               \
	skip(c, (const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* "mov $-8, %rcx", where position-independent code has the offset of g from the thread's base. */
static void skip_tls(struct cursor *c)
{
	SKIP(c, 0x48, 0xc7, 0xc1, 0xf8, 0xff, 0xff, 0xff);
}

/* OPCODE on g, at a fixed offset or at that in %rcx, and the register REG. */
static bool take_g(struct cursor *c, uint8_t opcode, uint8_t reg)
{
	if (SKIP(c, 0x64, 0x48, opcode, (uint8_t)(reg << 3 | 1)))
		return true;
	return TAKE(c, 0x64, 0x48, opcode, (uint8_t)(reg << 3 | 4), 0x25, 0xf8, 0xff, 0xff, 0xff);
}

/* The operand "N(%rsp)", the code's or none, of OPCODE with the register REG. */
static bool take_slot(struct cursor *c, uint8_t opcode, uint8_t reg, int32_t *offset)
{
	if (!TAKE(c, 0x48, opcode))
		return false;
	uint8_t mode = cursor_u8(c);
	if (cursor_u8(c) != 0x24 || (mode & 0x3f) != (reg << 3 | 4) || mode >> 6 > 1)
		return false;
	*offset = mode >> 6 ? (int8_t)cursor_u8(c) : 0;
	return !c->bad && *offset >= 0 && *offset % 8 == 0;
}

/* The end of both, with the goroutine's stack again: [pop %rbp], ret. ADD: from %rsp to the CFA. */
static bool take_end(struct cursor *c, uint8_t *add)
{
	*add = SKIP(c, 0x5d) ? 16 : 8;
	return cursor_u8(c) == 0xc3;
}

enum {
	RAX = 0,
	RSI = 6,
	RDI = 7,
	MOV_TO = 0x8b,
	MOV_FROM = 0x89,
	SUB = 0x2b
};

/* The rest of runtime.asmcgocall behind its call, "mov %rsi, %rsp; mov %eax, N(%rsp)" included. */
static bool is_go_call(struct cursor c, struct cfi_rule *rule)
{
	skip_tls(&c);
	struct cursor other = c;
	*rule = (struct cfi_rule){ .cfa = CFI_GO_CALL };
	bool changes = take_slot(&c, MOV_TO, RDI, &rule->offset) &&
	               TAKE(&c, 0x48, MOV_TO, 0x77, G_STACK_HIGH) &&
	               take_slot(&c, SUB, RSI, &rule->rbp_offset) && take_g(&c, MOV_FROM, RDI);
	if (!changes) { // it was on the thread's stack already, and has aligned it
		c = other;
		*rule = (struct cfi_rule){ .cfa = CFI_RSP_MEMORY };
		if (!take_slot(&c, MOV_TO, RSI, &rule->offset))
			return false;
	}
	if (!TAKE(&c, 0x48, 0x89, 0xf4, 0x89, 0x44, 0x24))
		return false;
	cursor_u8(&c);
	if (!take_end(&c, &rule->add))
		return false;
	if (!changes && rule->add == 16) {
		rule->rbp = CFI_RBP_AT_CFA;
		rule->rbp_offset = -16;
	}
	return true;
}

/* The rest of runtime.systemstack behind its call. */
static bool is_go_system(struct cursor c, struct cfi_rule *rule)
{
	*rule = (struct cfi_rule){ .cfa = CFI_GO_SYSTEM };
	skip_tls(&c);
	if (!take_g(&c, MOV_TO, RAX) || !TAKE(&c, 0x48, MOV_TO, 0x58, G_M) ||
	    !TAKE(&c, 0x48, MOV_TO, 0x83))
		return false;
	rule->offset = (int32_t)cursor_u32(&c); // m.curg
	if (!take_g(&c, MOV_FROM, RAX) || !TAKE(&c, 0x48, MOV_TO, 0x60))
		return false;
	rule->rbp_offset = cursor_u8(&c); // g.sched.sp
	if (SKIP(&c, 0x48, MOV_TO, 0x68)) // g.sched.bp
		cursor_u8(&c);
	while (SKIP(&c, 0x48, 0xc7, 0x40)) // which are 0 from here on
		cursor_take(&c, 5);
	return take_end(&c, &rule->add) && rule->offset > 0 && rule->offset < 4096 &&
	       rule->rbp_offset % 8 == 0 && rule->rbp_offset + 8 <= G_BYTES;
}

/* Behind the call of runtime.mcall, which never returns: the goroutine has left this thread. */
static bool is_go_leave(struct cursor c, struct cfi_rule *rule)
{
	*rule = (struct cfi_rule){ .cfa = CFI_OUTERMOST };
	SKIP(&c, 0x90);
	return TAKE(&c, 0x58, 0xe9);
}

/* runtime.goexit, all of it: goroutines begin as if its "nop" had called them. */
static bool is_go_outermost(struct cursor c)
{
	if (!TAKE(&c, 0x90, 0xe8))
		return false;
	cursor_take(&c, 4);
	return TAKE(&c, 0x90, 0xcc);
}

bool go_switch_find(const uint8_t *code, size_t size, uint64_t address, struct go_switch *out)
{
	// push %rax; mov (%rdx), %r12; call *%r12
	static const uint8_t leave[] = { 0x50, 0x4c, 0x8b, 0x22, 0x41, 0xff, 0xd4 };

	for (size_t at = 0; at + CALL_MAX + FORM_MAX <= size; at++) {
		size_t call = code[at] == 0xe8   ? 5
		              : code[at] == 0xff ? 2
		              : code[at] == 0x50 ? 7
		                                 : 0;
		if (code[at] == 0x90 && (address + at) % 16 == 0 &&
		    is_go_outermost(cursor_of(code + at, FORM_MAX))) {
			*out = (struct go_switch){ address + at,
				                   address + at + 2,
				                   { .cfa = CFI_OUTERMOST } };
			return true;
		}
		struct cursor behind = cursor_of(code + at + call, FORM_MAX - 2);
		bool found = false;
		if (!call)
			continue;
		if (call == 7)
			found = memcmp(code + at, leave, sizeof(leave)) == 0 &&
			        is_go_leave(behind, &out->rule);
		else if (call == 2 && (code[at + 1] & 0xf8) == 0xd0)
			found = is_go_call(behind, &out->rule) || is_go_system(behind, &out->rule);
		else if (call == 5)
			found = is_go_call(behind, &out->rule);
		if (!found)
			continue;
		// Before its push the last one has another frame. The first instruction behind a
		// call is still on the thread's stack.
		out->start = address + at + (call == 7 ? 1 : 0);
		out->end = address + at + call + 1;
		return true;
	}
	return false;
}

/* True if SP is on the stack of the runtime.g of which G is a copy. */
static bool is_stack(const uint64_t g[G_BYTES / 8], uint64_t sp)
{
	return g[0] < sp && sp < g[1] && g[1] - g[0] <= GO_STACK_MAX && sp % 8 == 0;
}

static bool read_g(struct walk *w, uint64_t address, uint64_t g[G_BYTES / 8])
{
	return address && address % 8 == 0 && stack_memory_fetch(w->memory, address, g, G_BYTES);
}

/* Goes to the caller, if SP is where the function of the frame stands on the stack of G, and a
   direct call of this very function has led there. */
static enum walk_step enter(struct walk *w, const uint64_t g[G_BYTES / 8], uint64_t sp)
{
	uint64_t cfa = sp + w->rule.add, pc, rbp = w->rbp;
	struct call_site site;

	if (!stack_memory_turn(w->memory, sp, g[1] - sp) ||
	    !stack_memory_read(w->memory, cfa - 8, &pc) ||
	    (w->rule.add == 16 && !stack_memory_read(w->memory, sp, &rbp)))
		return WALK_STUCK;
	if (pc - w->map_start >= w->map_size || !walk_call_site(w, pc, &site) || !site.direct ||
	    site.target > w->pc || w->pc - site.target > FUNCTION_MAX)
		return WALK_STUCK;
	w->pc = pc;
	w->sp = cfa;
	w->rbp = rbp;
	w->has_rbp |= w->rule.add == 16;
	w->exact = false;
	w->regs = NULL;
	return WALK_CALLER;
}

/* The module that has code at ADDRESS, which becomes one in the module; NULL if there is none. */
static struct unwind_module *module_at(struct walk *w, uint64_t *address)
{
	struct mapping *mapping = address_space_find(w->space, *address);
	struct unwind_module *module =
		mapping ? unwind_modules_get(w->modules, mapping, w->pid) : NULL;

	if (!module || !module->image)
		return NULL;
	*address -= mapping->bias;
	return module;
}

/* The start of the function at ADDRESS; 0 if unknown. Go's own ones are in .debug_frame. */
static uint64_t function_at(const struct unwind_module *module, uint64_t address)
{
	uint64_t start = 0;

	for (size_t i = 0; module->table && i < module->table->section_count; i++) {
		const struct cfi_search *search = &module->table->sections[i].search;
		size_t count = search->count ? cfi_search_up_to(search, address) : 0;
		uint64_t here = count ? cfi_search_function(search, count - 1) : 0;
		start = here > start ? here : start;
	}
	return start;
}

/* Where the stub of a procedure linkage table at ADDRESS leads; ADDRESS itself if it is none. */
static uint64_t behind_stub(struct walk *w, uint64_t address)
{
	static const uint8_t landing[] = { 0xf3, 0x0f, 0x1e, 0xfa }; // endbr64
	uint64_t here = address, at = 0, target;
	struct unwind_module *module = module_at(w, &here);
	uint8_t code[11];
	int32_t distance;

	if (!module || !image_read_code(module->image, here, code, sizeof(code)))
		return address;
	if (memcmp(code, landing, sizeof(landing)) == 0)
		at += sizeof(landing);
	at += code[at] == 0xf2; // bnd
	if (at + 6 > sizeof(code) || code[at] != 0xff || code[at + 1] != 0x25)
		return address;
	memcpy(&distance, code + at + 2, sizeof(distance));
	uint64_t slot = address + at + 6 + (uint64_t)(int64_t)distance;
	return stack_memory_fetch(w->memory, slot, &target, sizeof(target)) ? target : address;
}

/* True if CALLEE is in the function at ADDRESS, or in one to which that jumps at its end: so do
   cgo's functions for those that return nothing. */
static bool leads_to(struct walk *w, uint64_t address, const struct frame *callee, int depth)
{
	uint64_t start = address;
	struct unwind_module *module = module_at(w, &start);
	uint8_t code[JUMPER_MAX];

	if (!module || function_at(module, start) != start)
		return false;
	if (callee->module == module->id &&
	    function_at(module, frame_lookup_address(*callee)) == start)
		return true;
	size_t size = depth > 0 ? image_read(module->image, start, code, sizeof(code)) : 0;
	for (size_t i = 0; i + 5 <= size; i++) {
		int32_t distance;
		if (code[i] != 0xe9)
			continue;
		memcpy(&distance, code + i + 1, sizeof(distance));
		uint64_t into = i + 5 + (uint64_t)(int64_t)distance;
		if (function_at(module, start + i) != start)
			return false;
		if (function_at(module, start + into) != start &&
		    leads_to(w, behind_stub(w, address + into), callee, depth - 1))
			return true;
	}
	return false;
}

enum walk_step walk_by_go_call(struct walk *w, const struct frame *callee)
{
	const struct cfi_rule *rule = &w->rule;
	uint64_t address, distance, function, g[G_BYTES / 8];
	struct walk before = *w;

	if (!stack_memory_read(w->memory, w->sp + (uint32_t)rule->offset, &address) ||
	    !stack_memory_read(w->memory, w->sp + (uint32_t)rule->rbp_offset, &distance) ||
	    !read_g(w, address, g) || !is_stack(g, g[1] - distance) ||
	    enter(w, g, g[1] - distance) != WALK_CALLER)
		return WALK_STUCK;
	// What it was to call is its first argument. The goroutine goes on before its stack is
	// read, and may have called something else by then.
	if (stack_memory_read(w->memory, w->sp, &function) &&
	    leads_to(&before, function, callee, JUMPS_MAX))
		return WALK_CALLER;
	*w = before;
	return WALK_STUCK;
}

enum walk_step walk_by_go_system(struct walk *w, const struct frame *callee, const uint64_t *regs)
{
	uint64_t g0[G_BYTES / 8], g[G_BYTES / 8], m, m_g0, address, function;
	struct walk before = *w;

	// Go's code keeps the g that it runs for in r14.
	if (!read_g(w, regs[DWARF_R14], g0) || !is_stack(g0, w->sp))
		return WALK_STUCK;
	m = g0[G_M / 8];
	if (!stack_memory_fetch(w->memory, m, &m_g0, sizeof(m_g0)) || m_g0 != regs[DWARF_R14] ||
	    !stack_memory_fetch(w->memory, m + (uint32_t)w->rule.offset, &address,
	                        sizeof(address)) ||
	    !read_g(w, address, g) || g[G_M / 8] != m)
		return WALK_STUCK;
	uint64_t sp = g[w->rule.rbp_offset / 8];
	if (!is_stack(g, sp) || enter(w, g, sp) != WALK_CALLER)
		return WALK_STUCK;
	// Its argument is a closure, which begins with the address of its code.
	if (stack_memory_read(w->memory, w->sp, &address) &&
	    stack_memory_fetch(w->memory, address, &function, sizeof(function)) &&
	    leads_to(&before, function, callee, 0))
		return WALK_CALLER;
	*w = before;
	return WALK_STUCK;
}

struct go_caller {
	struct go_caller_key key;
	struct frame *frames; // NULL: this place is free
	uint64_t *sps;
	size_t count, frame_capacity, sp_capacity;
};

void go_callers_fini(struct go_callers *callers)
{
	for (size_t i = 0; callers->places && i < GO_CALLERS; i++) {
		free(callers->places[i].frames);
		free(callers->places[i].sps);
	}
	free(callers->places);
	*callers = (struct go_callers){ 0 };
}

static struct go_caller *place_of(const struct go_callers *callers, const struct go_caller_key *key)
{
	uint64_t hash = hash_pair(hash_pair(key->callee, key->distance), (uint64_t)key->pid);

	return &callers->places[hash % GO_CALLERS];
}

static bool same_key(const struct go_caller_key *a, const struct go_caller_key *b)
{
	return a->pid == b->pid && a->module == b->module && a->callee == b->callee &&
	       a->callee_module == b->callee_module && a->distance == b->distance;
}

void go_callers_keep(struct go_callers *callers, const struct go_caller_key *key,
                     const struct frame *frames, const uint64_t *sps, size_t count)
{
	if (!callers->places && !(callers->places = calloc(GO_CALLERS, sizeof(*callers->places))))
		return;
	struct go_caller *c = place_of(callers, key);
	c->count = 0;
	if (!array_reserve(&c->frames, &c->frame_capacity, count) ||
	    !array_reserve(&c->sps, &c->sp_capacity, count))
		return;
	memcpy(c->frames, frames, count * sizeof(*frames));
	memcpy(c->sps, sps, count * sizeof(*sps));
	c->key = *key;
	c->count = count;
}

size_t go_callers_find(const struct go_callers *callers, const struct go_caller_key *key,
                       struct frame *frames, uint64_t *sps, size_t max)
{
	const struct go_caller *c = callers->places ? place_of(callers, key) : NULL;

	if (!c || !same_key(&c->key, key) || c->count > max)
		return 0;
	memcpy(frames, c->frames, c->count * sizeof(*frames));
	memcpy(sps, c->sps, c->count * sizeof(*sps));
	return c->count;
}

bool walk_go_key(struct walk *w, const struct frame *callee, struct go_caller_key *key)
{
	uint64_t start = 0;

	*key = (struct go_caller_key){ .pid = w->pid,
		                       .module = w->module->id,
		                       .callee_module = callee->module,
		                       .callee = callee->address };
	// What was interrupted may be anywhere in its function.
	if (callee->module == w->module->id)
		start = function_at(w->module, frame_lookup_address(*callee));
	if (start)
		key->callee = start;
	return stack_memory_read(w->memory, w->sp + (uint32_t)w->rule.rbp_offset, &key->distance);
}
