// SPDX-License-Identifier: MIT
#include "sampler/python/python_remote.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/python_layout.h"
#include "sampler/python/python.h"
#include "sampler/python/python_remote_code.h"
#include "sampler/python/python_remote_names.h"

#include <stdlib.h>
#include <string.h>

#define INTERPRETERS_MAX 64
#define GIL_STEP_MAX_US  UINT64_C(100000000) /* longer ones are no steps */
#define STATES_MAX       4096
#define STATES_EACH      16   // of one thread, in as many interpreters
#define STEPS_MAX        4096 // frames and shims
#define CALLERS_MAX      4    // frames whose operands are looked at
#define CFRAMES_MAX      4096
#define FRAME_MAX        512  // bytes
#define BEFORE           (-2) // the first instruction
#define CODE_MAX         (INT64_C(1) << 30)
#define TLBC_MAX         (1 << 16)

// Threads that are in no list are not looked for again at once, unless the list has changed.
#define AGAIN_NS     (2 * NS_PER_MS) // twice as long each time
#define AGAIN_MAX_NS (100 * NS_PER_MS)

// A thread state's neighbour in its list: in all versions.
#define STATE_PREVIOUS 0

// Up to 3.10 a state tells its pthread_t alone, in which glibc has the kernel's number. It has
// been here for 15 years (x86-64); other places are found by looking.
#define PTHREAD_TID   720
#define PTHREAD_BYTES 2048

struct state {
	uint64_t at, interpreter;
	uint32_t tid;
};

// A frame that calls C functions.
struct caller {
	uint64_t frame, code;
};

struct python_remote {
	struct python_layout layout;
	bool known, refused; /* the layout; there is none */
	int32_t pthread_tid; /* 0: not known */

	struct state *states;
	size_t state_count, state_capacity;
	uint64_t gils[INTERPRETERS_MAX];
	uint64_t gil_steps_ns[INTERPRETERS_MAX]; /* see python_remote_gil_step_ns() */
	uint32_t gil_count;
	uint64_t listed_ns, again_ns; /* when, and after how long once more */
	uint64_t newest;              /* the first interpreter's newest state then */

	struct python_remote_codes codes;
	struct python_remote_names names;
	struct python_remote_tasks tasks;
	struct caller callers[CALLERS_MAX]; /* of the last chain, innermost first */
	uint32_t caller_count;
	struct python_chain *chain; /* owned; the last one */
};

struct python_remote *python_remote_new(void)
{
	cleanup(python_remote) struct python_remote *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->chain = malloc(sizeof(*r->chain) + PYTHON_FRAMES_MAX * sizeof(r->chain->frames[0]));
	return r->chain ? steal(r) : NULL;
}

void python_remote_free(struct python_remote *r)
{
	if (!r)
		return;
	free(r->states);
	free(r->chain);
	python_remote_codes_fini(&r->codes);
	python_remote_names_fini(&r->names);
	free(r);
}

static uint64_t word_at(struct remote_memory *m, uint64_t address, int32_t offset)
{
	return remote_memory_word(m, address + (uint64_t)(int64_t)offset);
}

// The interpreter.

static bool read_layout(struct python_layout *out, const struct python *p, struct remote_memory *m)
{
	uint8_t bytes[PYTHON_LAYOUT_BYTES];

	if (python_layout_of(p->version, out))
		return true;
	return remote_memory_read(m, p->runtime, bytes, sizeof(bytes)) &&
	       python_layout_read(bytes, sizeof(bytes), out);
}

static bool know_layout(struct python_remote *r, const struct python *p, struct remote_memory *m)
{
	if (r->known || r->refused)
		return r->known;
	if (!p->runtime || !p->code_type)
		return false;
	r->known = read_layout(&r->layout, p, m) && r->layout.frame_bytes <= FRAME_MAX;
	r->refused = !r->known;
	return r->known;
}

// Threads.

// Until it first runs, a forked child has its parent's memory, and so the number of the thread that
// forked it.
static bool is_called(const struct python_remote_thread *thread, uint32_t tid)
{
	return tid == thread->tid || (thread->forked_by && tid == thread->forked_by);
}

static int32_t find_in_pthread(struct remote_memory *m, uint64_t pthread,
                               const struct python_remote_thread *thread)
{
	uint32_t words[PTHREAD_BYTES / 4];

	if (!remote_memory_read(m, pthread, words, sizeof(words)))
		return 0;
	if (is_called(thread, words[PTHREAD_TID / 4]))
		return PTHREAD_TID;
	for (int32_t i = 1; i < PTHREAD_BYTES / 4; i++)
		if (is_called(thread, words[i]))
			return 4 * i;
	return 0;
}

static uint32_t tid_by_pthread(struct python_remote *r, struct remote_memory *m, uint64_t pthread,
                               const struct python_remote_thread *wanted)
{
	if (!pthread)
		return 0;
	if (!r->pthread_tid)
		r->pthread_tid = find_in_pthread(m, pthread, wanted);
	return r->pthread_tid ? (uint32_t)word_at(m, pthread, r->pthread_tid) : 0;
}

// The thread of STATE: that of WANTED, if it is its thread.
static uint32_t tid_of(struct python_remote *r, struct remote_memory *m, uint64_t state,
                       const struct python_remote_thread *wanted)
{
	const struct python_layout *l = &r->layout;
	uint64_t pthread = word_at(m, state, l->thread_pthread);
	uint32_t tid = l->thread_tid < 0 ? tid_by_pthread(r, m, pthread, wanted)
	                                 : (uint32_t)word_at(m, state, l->thread_tid);

	if (is_called(wanted, tid))
		return wanted->tid;
	// The interpreter of a forked child may not have learned the child's number yet.
	if (l->thread_tid >= 0 && (uint32_t)word_at(m, pthread, PTHREAD_TID) == wanted->tid)
		return wanted->tid;
	return tid;
}

static uint64_t gil_of(const struct python_remote *r, const struct python *p,
                       struct remote_memory *m, uint64_t interpreter)
{
	const struct python_layout *l = &r->layout;

	return l->runtime_gil >= 0 ? p->runtime + (uint64_t)l->runtime_gil
	                           : word_at(m, interpreter, l->interpreter_gil);
}

static void add_gil(struct python_remote *r, const struct python *p, struct remote_memory *m,
                    uint64_t interpreter)
{
	uint64_t gil = gil_of(r, p, m, interpreter);

	for (uint32_t i = 0; i < r->gil_count; i++)
		if (r->gils[i] == gil) // interpreters may share it
			return;
	if (!gil || r->layout.free_threaded || r->gil_count == INTERPRETERS_MAX)
		return;
	uint64_t step_us = word_at(m, gil, r->layout.gil_holder - (int32_t)sizeof(uint64_t));
	r->gil_steps_ns[r->gil_count] = step_us < GIL_STEP_MAX_US ? step_us * NS_PER_US : 0;
	r->gils[r->gil_count++] = gil;
}

static void list_states(struct python_remote *r, struct remote_memory *m, uint64_t interpreter,
                        const struct python_remote_thread *wanted)
{
	uint64_t first = word_at(m, interpreter, r->layout.interpreter_threads), at = first;

	while (at && r->state_count < STATES_MAX &&
	       array_reserve(&r->states, &r->state_capacity, r->state_count + 1)) {
		r->states[r->state_count++] =
			(struct state){ at, interpreter, tid_of(r, m, at, wanted) };
		at = word_at(m, at, r->layout.thread_next);
		if (at == first)
			return;
	}
}

static uint64_t newest_state(const struct python_remote *r, const struct python *p,
                             struct remote_memory *m)
{
	uint64_t interpreter = word_at(m, p->runtime, r->layout.runtime_interpreters);

	return interpreter ? word_at(m, interpreter, r->layout.interpreter_threads) : 0;
}

static void list_all(struct python_remote *r, const struct python *p, struct remote_memory *m,
                     const struct python_remote_thread *wanted)
{
	uint64_t interpreter = word_at(m, p->runtime, r->layout.runtime_interpreters);

	r->state_count = r->gil_count = 0;
	for (int i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		add_gil(r, p, m, interpreter);
		list_states(r, m, interpreter, wanted);
		interpreter = word_at(m, interpreter, r->layout.interpreter_next);
	}
}

static void list(struct python_remote *r, const struct python *p, struct remote_memory *m,
                 const struct python_remote_thread *thread)
{
	int32_t pthread_tid = r->pthread_tid;

	list_all(r, p, m, thread);
	if (r->pthread_tid != pthread_tid) // not known yet for those that came first
		list_all(r, p, m, thread);
	r->listed_ns = thread->now_ns;
	r->again_ns = r->again_ns ? 2 * r->again_ns : AGAIN_NS;
	if (r->again_ns > AGAIN_MAX_NS)
		r->again_ns = AGAIN_MAX_NS;
	r->newest = newest_state(r, p, m);
	for (size_t i = 0; i < r->state_count; i++)
		if (!r->states[i].tid) // its thread is just starting
			r->newest = 0;
}

// Whether it is still in its list, and of that thread: states are freed, and their memory lasts.
static bool is_alive(struct python_remote *r, struct remote_memory *m, const struct state *state,
                     const struct python_remote_thread *thread)
{
	const struct python_layout *l = &r->layout;
	uint64_t previous = word_at(m, state->at, STATE_PREVIOUS);
	uint64_t back = previous ? word_at(m, previous, l->thread_next)
	                         : word_at(m, state->interpreter, l->interpreter_threads);

	return back == state->at &&
	       word_at(m, state->at, l->thread_interpreter) == state->interpreter &&
	       tid_of(r, m, state->at, thread) == thread->tid;
}

// Frames.

struct walk {
	const struct python_layout *layout;
	struct remote_memory *memory;
	uint64_t state, sp;
	uint64_t frame;  /* the next one; 0: none */
	uint64_t cframe; /* 3.11 */
	unsigned steps;
	uint8_t bytes[FRAME_MAX + 8]; /* of the frame; a word may begin in its last byte */
};

static uint64_t word_of(const struct walk *w, int32_t offset)
{
	uint64_t word;

	memcpy(&word, w->bytes + offset, sizeof(word));
	return word;
}

static int32_t int_of(const struct walk *w, int32_t offset)
{
	int32_t number;

	memcpy(&number, w->bytes + offset, sizeof(number));
	return number;
}

static bool read_frame(struct walk *w, uint64_t frame)
{
	return frame % 8 == 0 &&
	       remote_memory_read(w->memory, frame, w->bytes, (size_t)w->layout->frame_bytes);
}

static bool begin(struct walk *w)
{
	const struct python_layout *l = w->layout;

	w->frame = word_at(w->memory, w->state, l->thread_frame);
	if (l->cframe_current >= 0) {
		w->cframe = w->frame;
		w->frame = w->cframe ? word_at(w->memory, w->cframe, l->cframe_current) : 0;
	}
	return w->frame != 0;
}

// Of who goes on while it is read the innermost calls may have begun since its stack pointer was
// taken: they lie below it. So far below is no stack of this thread.
#define DEEPER_BYTES (UINT64_C(1) << 20)

static bool in_stack(const struct walk *w, uint64_t address)
{
	return address >= w->sp || w->sp - address <= DEEPER_BYTES;
}

static bool in_state(const struct walk *w, uint64_t address)
{
	return address >= w->state && address - w->state < (uint64_t)w->layout->thread_bytes;
}

// The call of eval whose outermost frame was called by CALLER: the one that began when CALLER was
// the current frame. Callers' calls lie higher, but the first one is part of the state.
static uint64_t find_cframe(struct walk *w, uint64_t caller)
{
	const struct python_layout *l = w->layout;

	for (int i = 0; i < CFRAMES_MAX && in_stack(w, w->cframe) && !in_state(w, w->cframe); i++) {
		uint64_t cframe = w->cframe;
		uint64_t previous = word_at(w->memory, cframe, l->cframe_previous);
		if (!previous || (previous <= cframe && !in_state(w, previous)))
			break;
		w->cframe = previous;
		if (word_at(w->memory, previous, l->cframe_current) == caller)
			return cframe;
	}
	w->cframe = 0;
	return 0;
}

static bool is_shim(struct walk *w, uint64_t frame)
{
	uint8_t owner;

	return frame &&
	       remote_memory_read(w->memory, frame + (uint64_t)w->layout->frame_owner, &owner, 1) &&
	       owner >= PYTHON_OWNER_SHIM;
}

// Of the frame that was read last.
static uint64_t anchor_of(struct walk *w, uint64_t caller)
{
	const struct python_layout *l = w->layout;

	if (l->frame_owner < 0)
		return 0;
	if (l->frame_entry >= 0)
		return w->bytes[l->frame_entry] ? find_cframe(w, caller) : 0;
	return in_stack(w, caller) && !in_state(w, caller) && is_shim(w, caller) ? caller : 0;
}

// Reads the next frame of a function. False: there is none, or it cannot be read.
static bool next_frame(struct walk *w)
{
	const struct python_layout *l = w->layout;

	for (; w->frame && w->steps < STEPS_MAX; w->steps++) {
		if (!read_frame(w, w->frame))
			return false;
		uint8_t owner = l->frame_owner < 0 ? 0 : w->bytes[l->frame_owner];
		if (owner > PYTHON_OWNER_MAX)
			return false;
		if (owner < PYTHON_OWNER_SHIM)
			return true;
		w->frame = word_of(w, l->frame_previous);
	}
	return false;
}

// Threads may run copies of their own: the code has the addresses of all, behind their count.
static uint64_t bytecode_of(const struct walk *w, uint64_t code)
{
	const struct python_layout *l = w->layout;
	int32_t copy = l->frame_tlbc < 0 ? 0 : int_of(w, l->frame_tlbc);

	if (copy <= 0 || copy > TLBC_MAX)
		return code + (uint64_t)l->code_start;
	uint64_t copies = word_at(w->memory, code, l->code_tlbc);
	if (!copies || remote_memory_word(w->memory, copies) <= (uint64_t)copy)
		return 0;
	return remote_memory_word(w->memory, copies + 8 + 8 * (uint64_t)copy);
}

static int32_t instruction_of(const struct walk *w, uint64_t code)
{
	const struct python_layout *l = w->layout;

	if (l->code_start < 0) {
		int32_t last = int_of(w, l->frame_instruction);
		return l->version >= PYTHON_VERSION(10) && last > 0 && last < CODE_MAX ? last * 2
		                                                                       : last;
	}
	int64_t place = (int64_t)(word_of(w, l->frame_instruction) - bytecode_of(w, code));
	return place >= BEFORE && place < CODE_MAX ? (int32_t)place : BEFORE;
}

// Of the outermost frame that was read: nobody resumes it. Of a thread that runs it was left while
// the others were read.
static bool is_suspended(const struct walk *w)
{
	int32_t owner = w->layout->frame_owner;

	return owner >= 0 && w->bytes[owner] == PYTHON_OWNER_GENERATOR;
}

// Who called the frame that was read before FRAME: the interpreter, or a C function that FRAME had
// called. Up to 3.10 nothing is known.
static void keep_caller(struct python_remote *r, uint64_t frame, uint64_t code)
{
	const struct python_chain *chain = r->chain;
	bool calls = !chain->count || r->layout.frame_owner < 0 ||
	             chain->frames[chain->count - 1].anchor;

	if (calls && r->caller_count < CALLERS_MAX)
		r->callers[r->caller_count++] = (struct caller){ frame, code };
}

static void walk(struct python_remote *r, struct walk *w, const struct python_remote_source *from)
{
	struct python_chain *chain = r->chain;

	while (next_frame(w) && chain->count < PYTHON_FRAMES_MAX) {
		uint64_t frame = w->frame, caller = word_of(w, w->layout->frame_previous);
		uint64_t code = word_of(w, w->layout->frame_code) & ~PYTHON_TAG_BITS;
		uint32_t number = python_remote_code(&r->codes, from, code);
		if (!number || caller == frame)
			break;
		keep_caller(r, frame, code);
		chain->frames[chain->count++] = (struct python_frame){
			.code = number,
			.instruction = instruction_of(w, code),
			.anchor = anchor_of(w, caller),
		};
		w->frame = caller;
		w->steps++;
	}
	if (chain->count && (w->frame || is_suspended(w)))
		chain->flags |= PYTHON_CUT;
}

static uint64_t first_anchor(const struct python_chain *chain)
{
	for (uint32_t i = 0; i < chain->count; i++)
		if (chain->frames[i].anchor)
			return chain->frames[i].anchor;
	return UINT64_MAX;
}

static void read_chain(struct python_remote *r, const struct python_remote_source *from,
                       const struct state *state, uint64_t sp)
{
	struct walk w = {
		.layout = &r->layout, .memory = from->memory, .state = state->at, .sp = sp
	};

	r->chain->count = r->chain->flags = r->caller_count = 0;
	if (begin(&w))
		walk(r, &w, from);
}

// At its end the interpreter frees the states of threads that are still there.
static bool is_ending(const struct python_remote *r, const struct python *p,
                      struct remote_memory *m, const struct state *state)
{
	uint64_t finalizing = word_at(m, p->runtime, r->layout.runtime_finalizing);

	return finalizing && finalizing != state->at;
}

// A thread may have states in several interpreters: it waits in the innermost of their frames.
// False: it has none.
static bool read_innermost(struct python_remote *r, const struct python_remote_source *from,
                           const struct python_remote_thread *thread)
{
	const struct state *innermost = NULL, *last = NULL;
	uint64_t lowest = UINT64_MAX;
	int looked_at = 0;

	for (size_t i = 0; i < r->state_count && looked_at < STATES_EACH; i++) {
		const struct state *state = &r->states[i];
		if (state->tid != thread->tid || !is_alive(r, from->memory, state, thread) ||
		    is_ending(r, from->python, from->memory, state))
			continue;
		looked_at++;
		read_chain(r, from, state, thread->sp);
		last = state;
		if (r->chain->count && (!innermost || first_anchor(r->chain) < lowest)) {
			innermost = state;
			lowest = first_anchor(r->chain);
		}
	}
	if (innermost != last && innermost)
		read_chain(r, from, innermost, thread->sp);
	return looked_at > 0;
}

const struct python_chain *python_remote_chain(struct python_remote *r, struct python *p,
                                               struct codes *codes, struct remote_memory *memory,
                                               const struct python_remote_thread *thread)
{
	if (!know_layout(r, p, memory))
		return NULL;

	struct python_remote_source from = { &r->layout, p->code_type, memory, p, codes };
	r->chain->count = r->caller_count = 0;
	bool found = read_innermost(r, &from, thread);
	if (!found && (newest_state(r, p, memory) != r->newest ||
	               thread->now_ns - r->listed_ns >= r->again_ns)) {
		list(r, p, memory, thread);
		read_innermost(r, &from, thread);
	}
	return r->chain->count ? r->chain : NULL;
}

void python_remote_called(struct python_remote *r, struct python *p, struct remote_memory *memory,
                          const struct python_name_sink *sink)
{
	const struct python_remote_source from = {
		.layout = &r->layout, .code_type = p->code_type, .memory = memory, .python = p
	};

	for (uint32_t i = 0; i < r->caller_count; i++)
		python_remote_names_look(&r->names, &from, r->callers[i].frame, r->callers[i].code,
		                         sink);
}

enum python_tasks_found python_remote_tasks(struct python_remote *r, struct python *p,
                                            struct codes *codes, struct remote_memory *memory,
                                            const struct python_tasks_wanted *wanted)
{
	if (!know_layout(r, p, memory))
		return PYTHON_TASKS_NONE;

	struct python_remote_source from = { &r->layout, p->code_type, memory, p, codes };
	return python_remote_tasks_look(&r->tasks, &r->codes, &from, p->runtime, wanted);
}

bool python_remote_gil(const struct python_remote *r, struct remote_memory *memory, uint32_t i,
                       uint32_t *holder)
{
	*holder = 0;
	if (i >= r->gil_count)
		return false;
	if ((uint32_t)word_at(memory, r->gils[i], r->layout.gil_locked) != 1)
		return true;
	uint64_t state = word_at(memory, r->gils[i], r->layout.gil_holder);
	for (size_t s = 0; s < r->state_count; s++)
		if (r->states[s].at == state)
			*holder = r->states[s].tid;
	return true;
}

bool python_remote_is_gil(const struct python_remote *r, uint64_t address)
{
	for (uint32_t i = 0; i < r->gil_count; i++)
		if (address >= r->gils[i] && address - r->gils[i] < (uint64_t)r->layout.gil_bytes)
			return true;
	return false;
}

uint64_t python_remote_gil_step_ns(const struct python_remote *r, uint64_t address)
{
	// The counter of switches comes between.
	const uint64_t timed = (uint64_t)r->layout.gil_locked + 2 * sizeof(uint64_t);

	for (uint32_t i = 0; i < r->gil_count; i++)
		if (address == r->gils[i] + timed)
			return r->gil_steps_ns[i];
	return 0;
}
