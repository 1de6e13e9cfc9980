// SPDX-License-Identifier: MIT
#include "tracer/agent/torch_label.h"

#include "tracer/agent/python.h"
#include "tracer/agent/python_code.h"
#include "tracer/agent/python_frames.h"
#include "tracer/agent/python_text.h"
#include "tracer/agent/python_threads.h"
#include "tracer/agent/rings.h"

#include <string.h>

#define FRAMES_MAX 64 // looked at
#define FILE_BYTES 1024

// How the files end whose functions are on the way from a program to our hook.
static const char *const own_files[] = { "torch/autograd/profiler.py", "torch/_ops.py" };

static bool ends_like(const uint8_t *text, size_t length, const char *end)
{
	size_t wanted = strlen(end);

	return length >= wanted && memcmp(text + length - wanted, end, wanted) == 0;
}

static bool is_own(const struct python_runtime *r, struct guard *g, uintptr_t code)
{
	uint8_t path[FILE_BYTES];

	if (!python_code_is_there(r, g, code))
		return false;
	struct python_text file = python_text_of(
		&r->layout, g, guard_pointer(code, r->layout.code_file), sizeof(path));
	if (!file.kind || file.bytes > sizeof(path))
		return false;
	python_text_write(&file, path);
	for (unsigned i = 0; i < sizeof(own_files) / sizeof(own_files[0]); i++)
		if (ends_like(path, file.bytes, own_files[i]))
			return true;
	return false;
}

// The frame that is found may be run by the same call as the ones around it.
static bool find_anchor(struct python_frames *frames, uint64_t *address)
{
	struct python_step step;
	bool own = true;

	for (unsigned i = 0; i < FRAMES_MAX && python_frames_next(frames, &step); i++) {
		own = own && is_own(frames->runtime, frames->guard, step.code);
		if (own || !step.anchor)
			continue;
		*address = step.anchor;
		return true;
	}
	return false;
}

bool torch_label_place(const struct lane *lane, uint64_t sp, uint64_t *address)
{
	const struct python_runtime *r = python_known();
	struct python_frames frames;
	struct guard g = { 0 };
	bool holds_gil;

	if (!r || sp < lane->stack_low || sp >= lane->stack_high)
		return false;
	g.stack_low = sp;
	g.stack_high = lane->stack_high;
	uintptr_t thread = python_threads_own(r, &g, lane->tid, &holds_gil);
	return thread && python_frames_start(&frames, r, &g, thread) &&
	       find_anchor(&frames, address);
}
