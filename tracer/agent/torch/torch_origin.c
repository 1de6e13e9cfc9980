// SPDX-License-Identifier: MIT
#include "tracer/agent/torch/torch_origin.h"

#include "tracer/agent/op/op.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/torch/torch_layout.h"
#include "tracer/agent/torch/torch_links.h"

#include <stdbool.h>

#define OWN   static __thread __attribute__((tls_model("initial-exec")))
#define TRIES 10000
#define SURE  16 // links that were found

// The outermost op that is open, and the Python frame that has called it. As long as both are there
// what is called below that frame has the same callers.
OWN struct {
	uintptr_t frame;
	uint32_t depth, owner; // in op_thread.open; owner 0: there is none
	uint32_t caller;
} outermost;

static bool is_open(const struct op_thread *t)
{
	return outermost.owner && t->depth > outermost.depth &&
	       t->open[outermost.depth].owner == outermost.owner;
}

static uint32_t caller_of(struct op_thread *t, uint32_t owner, enum torch_kind kind)
{
	uintptr_t frame = python_callers_newest(t);
	bool inside = is_open(t);

	if (!frame)
		return 0;
	if (inside && frame == outermost.frame)
		return outermost.caller;
	uint32_t caller = python_callers_number(t, frame);
	if (inside)
		return caller;
	outermost.frame = frame;
	outermost.depth = t->depth;
	outermost.owner = kind == TORCH_LABEL || t->depth >= OP_DEPTH_MAX ? 0 : owner;
	outermost.caller = caller;
	return caller;
}

// Where the number of the forward pass's thread stands behind the inputs: in 1.13 behind the
// outputs, since 2.1 behind the inputs that have names, too.
static const uint32_t places[] = { 40, 96 };
#define PLACES (sizeof(places) / sizeof(places[0]))

static uint32_t place;             // atomic: 0: not known yet
static uint32_t found[PLACES];     // atomic: links by each
static uint32_t missed;            // atomic
static bool has_links, has_failed; // atomic

static void miss(struct op_thread *t)
{
	if (!__atomic_load_n(&has_links, __ATOMIC_RELAXED) ||
	    __atomic_add_fetch(&missed, 1, __ATOMIC_RELAXED) != TRIES)
		return;
	__atomic_store_n(&has_failed, true, __ATOMIC_RELAXED);
	op_note(t, "lines of the forward pass are not available for PyTorch's backward pass: "
	           "this version keeps what joins them where no version did that is known");
}

static __attribute__((noinline)) uint32_t learn(struct op_thread *t,
                                                const struct torch_layout *layout,
                                                const void *function, int64_t sequence)
{
	for (unsigned i = 0; i < PLACES; i++) {
		uint64_t thread = torch_layout_forward(layout, function, places[i]);
		uint32_t caller = thread ? torch_links_get(thread, sequence) : 0;
		if (!caller)
			continue;
		if (__atomic_add_fetch(&found[i], 1, __ATOMIC_RELAXED) >= SURE)
			__atomic_store_n(&place, places[i], __ATOMIC_RELAXED);
		return caller;
	}
	miss(t);
	return 0;
}

static uint32_t forward_of(struct op_thread *t, const struct torch_layout *layout,
                           const void *function, int64_t sequence)
{
	uint32_t known = __atomic_load_n(&place, __ATOMIC_RELAXED);

	if (sequence < 0 || __atomic_load_n(&has_failed, __ATOMIC_RELAXED))
		return 0;
	if (!known)
		return learn(t, layout, function, sequence);
	return torch_links_get(torch_layout_forward(layout, function, known), sequence);
}

uint64_t torch_origin(struct op_thread *t, const struct torch_layout *layout, const void *function,
                      uint32_t owner, enum torch_kind kind)
{
	uint32_t caller = caller_of(t, owner, kind);
	int64_t sequence = kind == TORCH_LABEL ? -1 : torch_layout_sequence(layout, function);

	if (kind == TORCH_BACKWARD)
		return caller | (uint64_t)forward_of(t, layout, function, sequence) << 32;
	if (sequence >= 0 && caller) {
		torch_links_put(torch_layout_thread(function), sequence, caller);
		if (!__atomic_load_n(&has_links, __ATOMIC_RELAXED))
			__atomic_store_n(&has_links, true, __ATOMIC_RELAXED);
	}
	return caller;
}
