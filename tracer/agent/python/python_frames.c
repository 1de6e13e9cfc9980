// SPDX-License-Identifier: MIT
#include "tracer/agent/python/python_frames.h"

#define TAG_BITS   ((uintptr_t)7) // of references, from 3.14 on
#define CHUNKS_MAX 64             // looked through for one frame
#define CHUNK_MAX  ((size_t)1 << 30)
#define STEPS_MAX  4096 // frames and shims
#define CFRAMES    4096
#define BEFORE     (-2) // the first instruction
#define CODE_MAX   ((intptr_t)1 << 30)
#define TLBC_MAX   (1 << 16)
#define PROLOGUE   256 // bytes of eval, until a new cframe is filled in

static const struct python_layout *layout(const struct python_frames *f)
{
	return &f->runtime->layout;
}

static bool on_stack(const struct guard *g, uintptr_t at, int32_t size)
{
	return guard_within(at, (size_t)size, g->stack_low, g->stack_high);
}

static bool enter_chunk(struct python_frames *f, uintptr_t chunk)
{
	if (!chunk || chunk % sizeof(chunk) ||
	    !guard_readable(f->guard, chunk, PYTHON_CHUNK_FRAMES))
		return false;
	size_t size = guard_pointer(chunk, PYTHON_CHUNK_SIZE);
	if (size < PYTHON_CHUNK_FRAMES || size > CHUNK_MAX)
		return false;
	f->chunk = chunk;
	f->guard->chunk_low = chunk + PYTHON_CHUNK_FRAMES;
	f->guard->chunk_high = chunk + size;
	return true;
}

// Callers lie in older chunks, but for generators', which lie in none.
static void find_chunk(struct python_frames *f, uintptr_t frame)
{
	uintptr_t start = f->chunk;
	uintptr_t at = start;

	if (!start)
		return;
	for (int i = 0; i < CHUNKS_MAX && enter_chunk(f, at); i++) {
		if (guard_within(frame, (size_t)layout(f)->frame_bytes, f->guard->chunk_low,
		                 f->guard->chunk_high))
			return;
		at = guard_pointer(at, PYTHON_CHUNK_PREVIOUS);
	}
	enter_chunk(f, start);
}

static bool frame_is_readable(struct python_frames *f, uintptr_t frame)
{
	size_t size = (size_t)layout(f)->frame_bytes;

	// A call that is just beginning may still have what an earlier one has left.
	if (frame % sizeof(frame) || guard_within(frame, 1, f->dead_low, f->dead_high))
		return false;
	if (guard_within(frame, size, f->guard->chunk_low, f->guard->chunk_high) ||
	    guard_within(frame, size, f->guard->stack_low, f->guard->stack_high))
		return true;
	find_chunk(f, frame);
	return guard_readable(f->guard, frame, size);
}

// The outermost is part of the thread's state.
static bool is_cframe(const struct python_frames *f, uintptr_t cframe)
{
	int32_t size = layout(f)->cframe_previous + 8;

	return cframe % sizeof(cframe) == 0 &&
	       (on_stack(f->guard, cframe, size) ||
	        guard_within(cframe, (size_t)size, f->thread,
	                     f->thread + (uintptr_t)layout(f)->thread_bytes));
}

bool python_frames_start(struct python_frames *f, const struct python_runtime *runtime,
                         struct guard *guard, uintptr_t thread)
{
	const struct python_layout *l = &runtime->layout;

	*f = (struct python_frames){ .runtime = runtime, .guard = guard, .thread = thread };
	if (!guard_readable(guard, thread, (size_t)l->thread_bytes))
		return false;
	if (l->thread_chunk >= 0 && enter_chunk(f, guard_pointer(thread, l->thread_chunk))) {
		// A thread's first chunk is there before the top of its frames is.
		uintptr_t top = guard_pointer(thread, l->thread_top);
		f->dead_low = top > guard->chunk_low ? top : guard->chunk_low;
		f->dead_high = guard->chunk_high;
	}
	f->frame = guard_pointer(thread, l->thread_frame);
	if (l->cframe_current >= 0) {
		f->cframe = f->frame;
		if (!is_cframe(f, f->cframe))
			return false;
		f->frame = guard_pointer(f->cframe, l->cframe_current);
	}
	return true;
}

static uintptr_t current_of(const struct python_frames *f, uintptr_t cframe)
{
	return guard_pointer(cframe, layout(f)->cframe_current);
}

static bool is_code(struct python_frames *f, uintptr_t frame)
{
	const struct python_layout *l = layout(f);

	if (!frame || !frame_is_readable(f, frame))
		return false;
	uintptr_t code = guard_pointer(frame, l->frame_code);
	return code % sizeof(code) == 0 && guard_readable(f->guard, code, (size_t)l->code_bytes) &&
	       guard_pointer(code, l->object_type) == f->runtime->code_type;
}

// The frame that called the outermost one of the newest call of eval.
// From 3.12 on a shim lies between them.
static bool find_caller(struct python_frames *f, uintptr_t *out)
{
	const struct python_layout *l = layout(f);
	uintptr_t frame = f->frame;

	for (int i = 0; i < STEPS_MAX && frame && frame_is_readable(f, frame); i++) {
		bool last = l->frame_entry >= 0
		                    ? guard_byte(frame, l->frame_entry)
		                    : guard_byte(frame, l->frame_owner) >= PYTHON_OWNER_SHIM;
		frame = guard_pointer(frame, l->frame_previous);
		*out = frame;
		if (last)
			return true;
	}
	return false;
}

// Whether the newest cframe has been filled in: its outermost frame was called by the one that was
// current before, or has returned to it.
static bool is_whole(struct python_frames *f)
{
	uintptr_t previous = guard_pointer(f->cframe, layout(f)->cframe_previous), caller;

	if (!is_cframe(f, previous) || !is_code(f, f->frame))
		return false;
	return current_of(f, previous) == f->frame ||
	       (find_caller(f, &caller) && current_of(f, previous) == caller);
}

// The function that begins still has the address of the cframe before its own in a register.
static bool leave_out_newest(struct python_frames *f, const uint64_t registers[DWARF_REGISTERS])
{
	uintptr_t newest = f->cframe, best = UINTPTR_MAX;

	for (int i = 0; i < DWARF_RIP; i++)
		if (i != DWARF_RSP && registers[i] > newest && registers[i] < best &&
		    is_cframe(f, registers[i]) && is_code(f, current_of(f, registers[i])))
			best = registers[i];
	if (best == UINTPTR_MAX)
		return false;
	f->cframe = best;
	f->frame = current_of(f, best);
	return true;
}

bool python_frames_enter(struct python_frames *f, const uint64_t registers[DWARF_REGISTERS])
{
	const struct python_runtime *r = f->runtime;

	// 3.11 takes a frame from its stack before it ceases to be the current one.
	if (r->layout.frame_entry >= 0 && f->frame == f->dead_low &&
	    guard_within(f->frame, (size_t)r->layout.frame_bytes, f->dead_low, f->dead_high))
		f->frame = guard_pointer(f->frame, r->layout.frame_previous);
	if (r->layout.cframe_current < 0 ||
	    !guard_within(registers[DWARF_RIP], 1, r->eval_start, r->eval_start + PROLOGUE) ||
	    is_whole(f))
		return f->frame != 0;
	return leave_out_newest(f, registers);
}

// The call of eval whose outermost frame was called by CALLER: the one that began when CALLER was
// the current frame. A call that is ending has none any more.
static uintptr_t find_cframe(struct python_frames *f, uintptr_t caller)
{
	const struct python_layout *l = layout(f);

	for (int i = 0; i < CFRAMES && is_cframe(f, f->cframe); i++) {
		uintptr_t cframe = f->cframe;
		uintptr_t previous = guard_pointer(cframe, l->cframe_previous);
		if (!is_cframe(f, previous) ||
		    (on_stack(f->guard, previous, 1) && previous <= cframe))
			break;
		f->cframe = previous;
		if (current_of(f, previous) == caller)
			return cframe;
	}
	f->cframe = 0;
	return 0;
}

static bool is_shim(struct python_frames *f, uintptr_t frame)
{
	return frame_is_readable(f, frame) &&
	       guard_byte(frame, layout(f)->frame_owner) >= PYTHON_OWNER_SHIM;
}

static uintptr_t anchor_of(struct python_frames *f, uintptr_t frame, uintptr_t caller)
{
	const struct python_layout *l = layout(f);

	if (l->frame_owner < 0)
		return 0;
	if (l->frame_entry >= 0)
		return guard_byte(frame, l->frame_entry) ? find_cframe(f, caller) : 0;
	if (!on_stack(f->guard, caller, l->frame_bytes) || !is_shim(f, caller))
		return 0;
	return caller;
}

static bool skip_shims(struct python_frames *f)
{
	const struct python_layout *l = layout(f);

	for (; f->frame && f->steps < STEPS_MAX; f->steps++) {
		if (!frame_is_readable(f, f->frame))
			return false;
		if (l->frame_owner < 0)
			return true;
		uint8_t owner = guard_byte(f->frame, l->frame_owner);
		if (owner > PYTHON_OWNER_MAX)
			return false;
		if (owner < PYTHON_OWNER_SHIM)
			return true;
		f->frame = guard_pointer(f->frame, l->frame_previous);
	}
	return false;
}

bool python_frames_next(struct python_frames *f, struct python_step *out)
{
	const struct python_layout *l = layout(f);

	if (!skip_shims(f))
		return false;
	uintptr_t frame = f->frame;
	uintptr_t caller = guard_pointer(frame, l->frame_previous);
	if (caller == frame)
		return false;
	out->code = guard_pointer(frame, l->frame_code) & ~TAG_BITS;
	out->instruction = l->code_start < 0
	                           ? (uintptr_t)(intptr_t)guard_int(frame, l->frame_instruction)
	                           : guard_pointer(frame, l->frame_instruction);
	out->tlbc = l->frame_tlbc < 0 ? 0 : guard_int(frame, l->frame_tlbc);
	out->anchor = anchor_of(f, frame, caller);
	f->frame = caller;
	f->steps++;
	return true;
}

// Threads may run copies of their own: the code has the addresses of all, behind their count.
static uintptr_t copy_of_bytecode(const struct python_layout *l, struct guard *g, uintptr_t code,
                                  int32_t index)
{
	uintptr_t copies = guard_pointer(code, l->code_tlbc), start;

	if (index > TLBC_MAX || !guard_load(g, copies, &start) || start <= (uintptr_t)index ||
	    !guard_load(g, copies + 8 + 8 * (uintptr_t)index, &start))
		return 0;
	return start;
}

int32_t python_frames_instruction(const struct python_runtime *runtime, struct guard *guard,
                                  const struct python_step *of)
{
	const struct python_layout *l = &runtime->layout;

	if (l->code_start < 0) {
		int32_t last = (int32_t)of->instruction;
		return l->version >= PYTHON_VERSION(10) && last > 0 ? last * 2 : last;
	}
	uintptr_t start = of->code + (uintptr_t)l->code_start;
	if (of->tlbc > 0)
		start = copy_of_bytecode(l, guard, of->code, of->tlbc);
	if (!start)
		return BEFORE;
	intptr_t place = (intptr_t)(of->instruction - start);
	return place >= BEFORE && place < CODE_MAX ? (int32_t)place : BEFORE;
}
