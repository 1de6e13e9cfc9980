// SPDX-License-Identifier: MIT
#include "tracer/agent/torch/torch_label.h"

#include "base/hash.h"
#include "tracer/agent/python/python.h"
#include "tracer/agent/python/python_code.h"
#include "tracer/agent/python/python_frames.h"
#include "tracer/agent/python/python_text.h"
#include "tracer/agent/python/python_threads.h"
#include "tracer/agent/rings.h"

#include <string.h>

#define FRAMES_MAX 64 // looked at
#define FILE_BYTES 1024
#define KNOWN      256

// How the files end whose functions are on the way from a program to our hook.
static const char *const own_files[] = { "torch/autograd/profiler.py", "torch/_ops.py" };

static bool ends_like(const uint8_t *text, size_t length, const char *end)
{
	size_t wanted = strlen(end);

	return length >= wanted && memcmp(text + length - wanted, end, wanted) == 0;
}

static bool is_own_file(const struct python_runtime *r, struct guard *g, uintptr_t text)
{
	uint8_t path[FILE_BYTES];
	struct python_text file = python_text_of(&r->layout, g, text, sizeof(path));

	if (!file.kind || file.bytes > sizeof(path))
		return false;
	python_text_write(&file, path);
	for (unsigned i = 0; i < sizeof(own_files) / sizeof(own_files[0]); i++)
		if (ends_like(path, file.bytes, own_files[i]))
			return true;
	return false;
}

// The texts of our own files live as long as their modules: what is at the address of one of them,
// and of one of its functions, is that.
static bool is_own(const struct python_runtime *r, struct guard *g, uintptr_t code)
{
	static uint64_t
		known[KNOWN]; // atomic: hash of code and file, and in its last bit the answer

	if (!python_code_is_there(r, g, code))
		return false;
	uintptr_t file = guard_pointer(code, r->layout.code_file);
	uint64_t key = hash_pair(code, file) & ~UINT64_C(1);
	uint64_t *place = &known[key / 2 % KNOWN];
	uint64_t answer = __atomic_load_n(place, __ATOMIC_RELAXED);
	if ((answer ^ key) > 1) {
		answer = key | is_own_file(r, g, file);
		__atomic_store_n(place, answer, __ATOMIC_RELAXED);
	}
	return answer & 1;
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
