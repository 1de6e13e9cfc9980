// SPDX-License-Identifier: MIT
#include "tracer/agent/detour.h"

#define NESTED_MAX 4 // each hides its like

#define OWN        static __thread __attribute__((tls_model("initial-exec")))

struct nested {
	uint64_t stack; // the CFA of its call
	enum detour_rank rank;
};

OWN struct nested nested[NESTED_MAX];
OWN unsigned depth;

static void end(void)
{
	struct op_thread *t = op_enter();

	if (!t)
		return;
	op_end(t);
	op_leave(t);
}

// What is further in than the frame at hand has been left without a return.
static void close_left(uint64_t stack)
{
	while (depth && nested[depth - 1].stack <= stack) {
		depth--;
		end();
	}
}

bool detour_hides(enum detour_rank rank, const uint64_t *frame)
{
	if (__builtin_expect(!depth, 1))
		return false;
	close_left((uint64_t)(frame + 2));
	if (!depth)
		return false;
	enum detour_rank around = nested[depth - 1].rank;
	return depth == NESTED_MAX || rank <= DETOUR_VECTOR || around == rank ||
	       around < DETOUR_LAPACK;
}

void detour_open(struct op_thread *t, enum detour_rank rank, uint32_t name, const uint64_t *frame,
                 const struct op_details *d)
{
	struct op_here here = detour_here(frame);

	nested[depth++] = (struct nested){ here.stack, rank };
	op_begin(t, name, here, d);
}

void detour_close(const uint64_t *frame)
{
	uint64_t stack = (uint64_t)(frame + 2);

	// What a call further out has closed already is not there any more.
	close_left(stack - 1);
	if (!depth || nested[depth - 1].stack != stack)
		return;
	depth--;
	end();
}
