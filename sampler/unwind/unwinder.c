// SPDX-License-Identifier: MIT
#include "sampler/unwind/unwinder.h"

#include "base/clock.h"
#include "base/error.h"
#include "sampler/unwind/code_rules.h"
#include "sampler/unwind/go_stacks.h"
#include "sampler/unwind/read_risk.h"
#include "sampler/unwind/unwind_modules.h"
#include "sampler/unwind/unwinder_libunwind.h"
#include "sampler/unwind/walk.h"

#include <errno.h>
#include <string.h>

_Static_assert(UNWINDER_LIBUNWIND_REGS == DWARF_REGISTERS, "the same registers");

/* Where libunwind sees the search tables that we have made: no process has memory there. */
#define MADE_TABLE (UINT64_C(1) << 62)

/* What a probe tells of a thread in a system call. */
#define PROBED_REGISTERS (1u << DWARF_RIP | 1u << DWARF_RSP | 1u << DWARF_RDI)

/* What the last frame before a cut is taken to hold: its end is not known. */
#define CUT_FRAME 4096

struct unwinder {
	enum unwinder_mode mode;
	struct unwind_modules *modules;
	struct code_rules *code;
	struct unwinder_libunwind *libunwind;
	struct unwinder_stats stats;
	struct stack_memory memory;
	struct read_risk risk;
	uint32_t threads;          // of the process
	struct event_sample moved; // the last sample, as it would be without patches
	struct walk walk;
	uint64_t interrupted[DWARF_REGISTERS]; // of the walk
	const struct event_sample *sample;
	size_t cursor; // frames that libunwind has stepped over in this stack, if CURSOR_BEGUN
	bool cursor_begun;
	struct unwind_module *searched; // libunwind has asked for it last
	uint64_t sps[STACK_MAX_FRAMES]; // of the frames of the last stack
	bool turned;                    // that has frames on two stacks, or would have
	struct go_callers callers;
	struct go_caller_key key; // of the callers on the other stack
	size_t turn;              // index of the first of them; 0: none was found there
	uint64_t cut_sp; // of the caller at which that was cut for want of memory; 0: it was not
};

/* What one call of unwinder_unwind() fills. */
struct output {
	struct frame *frames;
	uint64_t *sps;
	size_t count, max;
	uint32_t flags;
};

/* Copies the word at ADDRESS out of SECTION; bytes beyond its ends are 0. */
static bool read_section(struct image_section section, uint64_t address, uint64_t *word)
{
	uint8_t bytes[8] = { 0 };
	bool any = false;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		uint64_t into = address + i - section.address;
		if (into >= section.size)
			continue;
		bytes[i] = section.bytes[into];
		any = true;
	}
	if (any)
		memcpy(word, bytes, sizeof(*word));
	return any;
}

static bool read_image(struct image *image, uint64_t address, uint64_t *word)
{
	*word = 0;
	return image && (image_read_code(image, address, word, sizeof(*word)) ||
	                 image_read(image, address, word, sizeof(*word)));
}

/* The search table that we have made for the module that libunwind is looking into. */
static bool read_made(const struct unwinder *u, uint64_t address, uint64_t *word)
{
	const struct cfi_search *search =
		address >= MADE_TABLE && u->searched ? unwind_module_search(u->searched) : NULL;

	if (!search || !search->made)
		return false;
	struct image_section made = { search->made, search->count * 8, MADE_TABLE };
	return read_section(made, address, word);
}

/* What the file mapped at MAPPING has at ADDRESS, there or beside it. */
static bool read_file(struct unwinder *u, struct mapping *mapping, uint64_t address, uint64_t *word)
{
	struct unwind_module *module =
		mapping ? unwind_modules_get(u->modules, mapping, u->walk.pid) : NULL;

	if (!module || !module->image)
		return false;
	address -= mapping->bias;
	return read_section(module->eh_frame_hdr, address, word) ||
	       read_section(module->eh_frame, address, word) ||
	       read_image(module->image, address, word);
}

static bool libunwind_read(void *context, uint64_t address, uint64_t *word)
{
	struct unwinder *u = context;
	uint64_t into = address - u->memory.start;
	struct mapping *beside[2];

	if (into < u->memory.size && u->memory.size - into >= sizeof(*word))
		return stack_memory_read(&u->memory, address, word);
	if (read_made(u, address, word) ||
	    read_file(u, address_space_find(u->walk.space, address), address, word))
		return true;
	// Only code is known of the address space; unwind information is data.
	address_space_neighbours(u->walk.space, address, beside);
	return read_file(u, beside[0], address, word) || read_file(u, beside[1], address, word) ||
	       stack_memory_read(&u->memory, address, word);
}

static bool libunwind_find(void *context, uint64_t pc, struct unwind_search *found)
{
	struct unwinder *u = context;
	struct mapping *mapping = address_space_find(u->walk.space, pc);
	struct unwind_module *module =
		mapping ? unwind_modules_get(u->modules, mapping, u->walk.pid) : NULL;
	const struct cfi_search *search = module ? unwind_module_search(module) : NULL;

	if (!search)
		return false;
	u->searched = module;
	*found = (struct unwind_search){
		.start = mapping->start,
		.end = mapping->end,
		.segment_base = mapping->bias + search->base,
		.table = search->made ? MADE_TABLE : mapping->bias + search->address,
		.table_count = search->count,
	};
	return true;
}

struct unwinder *unwinder_new(struct modules *modules, enum unwinder_mode mode, struct error *err)
{
	cleanup(unwinder) struct unwinder *u = calloc(1, sizeof(*u));
	struct unwinder_libunwind_source source = { u, libunwind_read, libunwind_find };

	if (u)
		u->modules = unwind_modules_new(modules, UNWIND_BUDGET_BYTES, UNWIND_OPEN_MAX);
	if (u)
		u->code = code_rules_new();
	if (!u || !u->modules || !u->code) {
		error_set(err, ENOMEM, "could not start the unwinder");
		return NULL;
	}
	u->mode = mode;
	u->libunwind = unwinder_libunwind_new(&source, err);
	if (!u->libunwind)
		return NULL;
	return steal(u);
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	unwinder_libunwind_free(u->libunwind);
	code_rules_free(u->code);
	unwind_modules_free(u->modules);
	stack_memory_fini(&u->memory);
	go_callers_fini(&u->callers);
	free(u);
}

struct frame unwinder_place(struct unwinder *u, struct address_space *space, uint64_t address,
                            int pid)
{
	struct mapping *where = address_space_find(space, address);
	const struct unwind_module *module =
		where ? unwind_modules_get(u->modules, where, pid) : NULL;

	if (!module)
		return (struct frame){ 0 };
	return (struct frame){ address - (where->has_bias ? where->bias : 0), module->id,
		               FRAME_EXACT };
}

struct frame unwinder_data(struct unwinder *u, struct address_space *space, uint64_t address,
                           int pid)
{
	struct mapping *beside[2];

	// Only code is known of the address space: data is mapped beside it.
	address_space_neighbours(space, address, beside);
	for (int i = 0; i < 2; i++) {
		const struct unwind_module *module =
			beside[i] ? unwind_modules_get(u->modules, beside[i], pid) : NULL;
		if (module && module->image && beside[i]->has_bias &&
		    image_holds(module->image, address - beside[i]->bias))
			return (struct frame){ address - beside[i]->bias, module->id, FRAME_EXACT };
	}
	return (struct frame){ 0 };
}

/* False if there is no room; the last place is kept for the mark. */
static bool push(struct output *out, const struct walk *w)
{
	if (out->count + 1 >= out->max)
		return false;
	out->sps[out->count] = w->sp;
	out->frames[out->count++] = (struct frame){
		.address = w->address,
		.module = w->module ? w->module->id : 0,
		.kind = w->exact ? FRAME_EXACT : FRAME_RETURN,
	};
	return true;
}

/* The kernel enters a trampoline at its first byte: no call stands before it. */
static void mark_trampoline(struct output *out)
{
	out->frames[out->count - 1].kind = FRAME_EXACT;
}

/* Puts libunwind's cursor on the walk's frame, DEPTH frames from the innermost. Walking there
   again is what gives it the registers that the table does not follow. */
static bool place_cursor(struct unwinder *u, size_t depth)
{
	uint64_t pc, sp;

	if (!u->cursor_begun || u->cursor > depth) {
		uint32_t all = (1u << DWARF_REGISTERS) - 1;
		uint32_t known = u->sample->has_rbp ? all : PROBED_REGISTERS;
		u->cursor = 0;
		u->cursor_begun =
			unwinder_libunwind_begin(u->libunwind, u->sample->regs, known,
		                                 address_space_fingerprint(u->walk.space));
	}
	while (u->cursor_begun && u->cursor < depth) {
		if (unwinder_libunwind_step(u->libunwind) != LIBUNWIND_CALLER)
			u->cursor_begun = false;
		u->cursor++;
	}
	return u->cursor_begun && unwinder_libunwind_get(u->libunwind, DWARF_RIP, &pc) &&
	       unwinder_libunwind_get(u->libunwind, DWARF_RSP, &sp) && pc == u->walk.pc &&
	       sp == u->walk.sp;
}

/* Takes the caller from libunwind's cursor. */
static bool take_cursor(struct unwinder *u, bool exact)
{
	struct walk *w = &u->walk;

	if (!unwinder_libunwind_get(u->libunwind, DWARF_RIP, &w->pc) ||
	    !unwinder_libunwind_get(u->libunwind, DWARF_RSP, &w->sp))
		return false;
	w->has_rbp = unwinder_libunwind_get(u->libunwind, DWARF_RBP, &w->rbp);
	w->regs = NULL;
	w->exact = exact;
	return true;
}

static enum walk_step step_by_libunwind(struct unwinder *u, size_t depth)
{
	struct walk *w = &u->walk;

	if (!place_cursor(u, depth)) {
		u->cursor_begun = false;
		return WALK_STUCK;
	}
	u->cursor++;
	// The table knows the true ends; this frame is none of them.
	if (unwinder_libunwind_step(u->libunwind) != LIBUNWIND_CALLER) {
		u->cursor_begun = false;
		return WALK_STUCK;
	}
	struct walk before = *w;
	// vfork() has popped its return address into a register: its caller's sp is its own.
	if (take_cursor(u, w->rule.signal) && w->pc && w->sp + before.exact > before.sp) {
		u->stats.libunwind_frames++;
		return WALK_CALLER;
	}
	*w = before;
	return WALK_STUCK;
}

static bool ready(struct unwinder *u, struct output *out)
{
	struct walk *w = &u->walk;

	if (!walk_needs_rbp(w) || w->has_rbp)
		return true;
	if (u->sample->has_rbp || !walk_guess_rbp(w))
		return false; // lost on the way, not withheld: nothing to guess from
	out->flags |= STACK_GUESSED;
	return true;
}

static enum walk_step step_without_rule(struct unwinder *u, struct output *out)
{
	enum walk_step step = walk_without_rule(&u->walk);

	u->stats.fp_frames += step == WALK_CALLER;
	// Where code has no frame pointer, its zero is no outermost frame's. Generated code is
	// never the outermost one of a thread.
	bool doubtful = step == WALK_STUCK ||
	                (step == WALK_END && (u->walk.exact || walk_is_generated(&u->walk)));
	if (!doubtful)
		return step;
	if (!u->walk.exact && walk_at_start(&u->walk))
		return WALK_END;
	if (walk_guess_caller(&u->walk))
		step = WALK_CALLER;
	if (step != WALK_STUCK)
		out->flags |= STACK_GUESSED;
	return step;
}

/* By what its instructions say, if that leads to a call; else by what can be seen. */
static enum walk_step step_generated(struct unwinder *u, struct output *out)
{
	struct walk *w = &u->walk, before = *w;
	struct call_site site;
	uint64_t sp;

	if (w->rule.cfa == CFI_NO_RULE)
		return step_without_rule(u, out);
	if (walk_by_rule(w) == WALK_CALLER && walk_call_site(w, w->pc, &site)) {
		u->stats.code_frames++;
		return WALK_CALLER;
	}
	*w = before;
	// What lies beyond the copy may have changed since: what is in the copy is older still.
	if (walk_caller_sp(w, &sp) && sp - u->memory.start > u->memory.size)
		return WALK_STUCK;
	// A rule that lacks a register is not refuted.
	if ((w->rule.cfa != CFI_REGISTER || w->regs) && (!walk_needs_rbp(w) || w->has_rbp))
		code_rules_doubt(u->code);
	w->rule.cfa = CFI_NO_RULE;
	return step_without_rule(u, out);
}

/* The callers that were found from the same place, so deep in a goroutine's stack, before. */
static enum walk_step take_callers(struct unwinder *u, struct output *out)
{
	size_t count = go_callers_find(&u->callers, &u->key, out->frames + out->count,
	                               out->sps + out->count, out->max - out->count - 1);

	if (!count)
		return WALK_STUCK;
	out->count += count;
	out->flags |= STACK_JOINED;
	return WALK_END;
}

static enum walk_step step_to_goroutine(struct unwinder *u, struct output *out)
{
	struct walk *w = &u->walk;
	const struct frame *callee = out->count > 1 ? &out->frames[out->count - 2] : NULL;

	u->turn = 0;
	u->turned = true;
	// Go's own traces end there. It calls for a short time, and often has by then returned.
	if (w->rule.cfa == CFI_GO_SYSTEM)
		return callee && u->sample->has_rbp &&
		                       walk_by_go_system(w, callee, u->sample->regs) == WALK_CALLER
		               ? WALK_CALLER
		               : WALK_END;
	if (!callee || !walk_go_key(w, callee, &u->key))
		return WALK_STUCK;
	if (walk_by_go_call(w, callee) != WALK_CALLER)
		return take_callers(u, out);
	u->turn = out->count;
	return WALK_CALLER;
}

static enum walk_step step_by_table(struct unwinder *u, struct output *out)
{
	struct walk *w = &u->walk;
	enum walk_step step = WALK_STUCK;

	if (walk_is_generated(w))
		return step_generated(u, out);
	if (w->rule.cfa == CFI_UNUSABLE || (w->rule.cfa == CFI_REGISTER && !w->regs)) {
		step = step_by_libunwind(u, out->count - 1);
	} else if (w->rule.cfa >= CFI_GO_CALL) {
		return step_to_goroutine(u, out);
	} else if (w->rule.cfa != CFI_NO_RULE && ready(u, out)) {
		if (w->rule.cfa == CFI_UCONTEXT)
			mark_trampoline(out);
		step = walk_by_rule(w);
		u->stats.table_frames += step == WALK_CALLER;
	}
	if (step != WALK_STUCK)
		return step;
	// musl's trampoline has no rule, though what lies before it may have one.
	if (walk_in_trampoline(w)) {
		mark_trampoline(out);
		return walk_by_ucontext(w);
	}
	// A rule that leads nowhere says more than a guess by the frame pointer would.
	return w->rule.cfa <= CFI_UNUSABLE ? step_without_rule(u, out) : WALK_STUCK;
}

/* Memory that was read later than the registers may hold anything by now. */
static bool believable(struct walk *w)
{
	struct call_site site;

	if (!w->memory->joined)
		return true;
	if (w->exact)
		return address_space_find(w->space, w->pc);
	if (walk_call_site(w, w->pc, &site))
		return true;
	walk_locate(w);
	return walk_in_trampoline(w) || w->rule.cfa == CFI_OUTERMOST;
}

static enum walk_step walk_by_table(struct unwinder *u, struct output *out)
{
	struct walk *w = &u->walk;
	enum walk_step step = WALK_CALLER;

	while (step == WALK_CALLER) {
		uint64_t pc = w->pc, sp = w->sp;
		walk_locate(w);
		if (!push(out, w))
			return WALK_STUCK;
		step = step_by_table(u, out);
		if (step == WALK_STUCK && !walk_caller_sp(w, &u->cut_sp))
			u->cut_sp = 0;
		if (step != WALK_CALLER)
			break;
		if (w->pc == pc && w->sp == sp)
			return WALK_STUCK;
		if (!believable(w)) {
			u->cut_sp = w->sp;
			return WALK_STUCK;
		}
	}
	return step;
}

static enum walk_step walk_by_libunwind(struct unwinder *u, struct output *out)
{
	struct walk *w = &u->walk;
	bool exact = true;

	if (!place_cursor(u, 0))
		return WALK_STUCK;
	while (take_cursor(u, exact)) {
		if (!w->pc)
			return WALK_END;
		walk_locate(w);
		if (!push(out, w))
			return WALK_STUCK;
		bool trampoline = w->rule.cfa == CFI_UCONTEXT ||
		                  (w->rule.cfa == CFI_NO_RULE && walk_in_trampoline(w));
		if (trampoline)
			mark_trampoline(out);
		exact = trampoline || w->rule.signal;
		enum unwinder_libunwind_step step = unwinder_libunwind_step(u->libunwind);
		u->stats.libunwind_frames += step == LIBUNWIND_CALLER;
		if (step != LIBUNWIND_CALLER)
			return step == LIBUNWIND_END ? WALK_END : WALK_STUCK;
	}
	return WALK_STUCK;
}

static void begin(struct unwinder *u, struct address_space *space,
                  const struct event_sample *sample, int pid)
{
	const uint64_t *regs = sample->regs;

	stack_memory_set(&u->memory, sample->stack, regs[DWARF_RSP], sample->stack_bytes,
	                 pid && read_risk_is_high(&u->risk, u->threads, clock_now_ns()) ? 0 : pid);
	u->sample = sample;
	u->cut_sp = 0;
	u->turned = false;
	u->turn = 0;
	u->cursor_begun = false;
	u->searched = NULL;
	u->walk = (struct walk){
		.modules = u->modules,
		.code = u->code,
		.space = space,
		.memory = &u->memory,
		.pid = pid,
		.pc = regs[DWARF_RIP],
		.sp = regs[DWARF_RSP],
		.rbp = regs[DWARF_RBP],
		.exact = true,
		.has_rbp = sample->has_rbp,
		.regs = sample->has_rbp ? regs : NULL,
		.interrupted = u->interrupted,
	};
}

static void count(struct unwinder *u, const struct output *out)
{
	u->stats.frames += out->count - !!(out->flags & STACK_TRUNCATED); // without the mark
	u->stats.truncated += (out->flags & STACK_TRUNCATED) != 0;
	u->stats.joined += (out->flags & STACK_JOINED) != 0;
	u->stats.guessed += (out->flags & STACK_GUESSED) != 0;
}

void unwinder_follow(struct unwinder *u, const struct patches *patches, uint32_t threads,
                     const struct op_stack *ops)
{
	u->threads = threads;
	u->memory.patched = (struct patched){ patches->slots_size ? patches : NULL, ops, 0 };
}

// What was interrupted in the agent's stubs was so in the program.
static const struct event_sample *move(struct unwinder *u, const struct event_sample *sample)
{
	uint64_t pc = sample->regs[DWARF_RIP], sp = sample->regs[DWARF_RSP];

	u->memory.patched.hint = 0;
	if (!patched_move(&u->memory.patched, &pc, &sp))
		return sample;
	uint64_t pushed = sp - sample->regs[DWARF_RSP];
	u->moved = *sample;
	u->moved.regs[DWARF_RIP] = pc;
	u->moved.regs[DWARF_RSP] = sp;
	if (pushed <= sample->stack_bytes) {
		u->moved.stack += pushed;
		u->moved.stack_bytes -= (uint32_t)pushed;
	}
	return &u->moved;
}

size_t unwinder_unwind(struct unwinder *u, struct address_space *space,
                       const struct event_sample *sample, int pid, struct frame *frames, size_t max,
                       uint32_t *flags)
{
	struct output out = { .frames = frames, .sps = u->sps, .max = max };

	if (out.max > STACK_MAX_FRAMES)
		out.max = STACK_MAX_FRAMES;
	*flags = 0;
	if (!sample->has_user || !max)
		return 0;
	begin(u, space, move(u, sample), pid);
	if (u->code)
		code_rules_begin_stack(u->code);
	walk_locate(&u->walk);
	out.flags = walk_in_spin(&u->walk) ? STACK_SPINS : 0;
	enum walk_step end =
		u->mode == UNWIND_BY_TABLE ? walk_by_table(u, &out) : walk_by_libunwind(u, &out);
	if (u->memory.joined)
		out.flags |= STACK_JOINED;
	if (u->turn && end == WALK_END)
		go_callers_keep(&u->callers, &u->key, frames + u->turn, u->sps + u->turn,
		                out.count - u->turn);
	if (u->memory.read_ns)
		read_risk_took(&u->risk, u->memory.read_ns, clock_now_ns());
	if (end == WALK_STUCK) {
		out.flags |= STACK_TRUNCATED;
		u->sps[out.count] = u->walk.sp + CUT_FRAME;
		frames[out.count++] = (struct frame){ MARK_TRUNCATED, 0, FRAME_MARK };
	}
	count(u, &out);
	*flags = out.flags;
	return out.count;
}

// The frames from INDEX of LAST on take the place of the mark; that stack lay so much lower.
static size_t join(struct unwinder *u, const struct last_stack *last, size_t index, uint64_t higher,
                   struct frame *frames, size_t count, size_t max)
{
	size_t kept = count - 1, added = last->count - index;

	if (max > STACK_MAX_FRAMES)
		max = STACK_MAX_FRAMES;
	if (added > max - kept)
		added = max - kept;
	memcpy(frames + kept, last->frames + index, added * sizeof(*frames));
	for (size_t i = 0; i < added; i++)
		u->sps[kept + i] = last->sps[index + i] + higher;
	return kept + added;
}

// Whether both are in one function of the walk's module.
static bool is_same_function(struct unwinder *u, const struct frame *cut, const struct frame *frame)
{
	struct unwind_module *module = u->walk.module;

	if (!module || frame->module != cut->module || cut->module != module->id)
		return false;
	uint64_t start = unwind_module_function(module, frame_lookup_address(*cut));
	return start && start == unwind_module_function(module, frame_lookup_address(*frame));
}

// Index in LAST of the caller of the frame that was cut; its count if it is not there.
static size_t find_callers(struct unwinder *u, const struct last_stack *last, uint64_t time_ns,
                           const struct frame *frames, size_t count)
{
	if (count < 2)
		return last->count;
	// The innermost frame had no callee then: it has not called what was cut.
	if (u->cut_sp)
		return last_stack_find(last, u->cut_sp, 1, time_ns);
	// Where the frame ends stands in memory that was not copied. It is as large as it was.
	size_t index = last_stack_find(last, u->sps[count - 2], 0, time_ns);
	if (index + 1 >= last->count ||
	    !is_same_function(u, &frames[count - 2], &last->frames[index]))
		return last->count;
	return index + 1;
}

static void mark_joined(struct unwinder *u, uint32_t *flags)
{
	u->stats.joined += !(*flags & STACK_JOINED);
	u->stats.truncated--;
	*flags = (*flags & ~(uint32_t)STACK_TRUNCATED) | STACK_JOINED;
}

size_t unwinder_complete(struct unwinder *u, struct last_stack *last, uint64_t time_ns,
                         struct frame *frames, size_t count, size_t max, uint32_t *flags)
{
	// On the thread's own stack many goroutines have their calls at the same place.
	if (u->turned)
		return count;
	if (!(*flags & STACK_TRUNCATED)) {
		last_stack_keep(last, frames, u->sps, count, time_ns);
		return count;
	}
	size_t index = find_callers(u, last, time_ns, frames, count);
	if (index == last->count)
		return count;
	mark_joined(u, flags);
	return join(u, last, index, 0, frames, count, max);
}

size_t unwinder_complete_alike(struct unwinder *u, const struct whole_stacks *whole,
                               struct frame *frames, size_t count, size_t max, uint32_t *flags)
{
	const struct last_stack *alike =
		u->memory.short_of && !u->turned
			? whole_stacks_find(whole, frames, u->sps, count - 1, u->cut_sp)
			: NULL;

	if (!alike)
		return count;
	mark_joined(u, flags);
	return join(u, alike, count - 1, u->sps[1] - alike->sps[1], frames, count, max);
}

const uint64_t *unwinder_stack_pointers(const struct unwinder *u)
{
	return u->sps;
}

struct frame unwinder_frame(struct unwinder *u, struct address_space *space, int pid, uint64_t pc)
{
	struct mapping *where = address_space_find(space, pc);
	const struct unwind_module *module =
		where ? unwind_modules_get(u->modules, where, pid) : NULL;

	return (struct frame){
		.address = module ? pc - where->bias : pc,
		.module = module ? module->id : 0,
		.kind = FRAME_EXACT,
	};
}

const struct unwinder_stats *unwinder_stats(const struct unwinder *u)
{
	struct unwind_modules_stats modules;
	struct unwinder_stats *stats = (struct unwinder_stats *)&u->stats;

	unwind_modules_stats(u->modules, &modules);
	stats->tables = modules.tables;
	stats->table_bytes = modules.table_bytes;
	stats->table_build_ns = modules.build_ns;
	return stats;
}
