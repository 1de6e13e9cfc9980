// SPDX-License-Identifier: MIT
#include "tracer/agent/detour.h"

#define NESTED_MAX 4 // each hides its like

#define OWN        static __thread __attribute__((tls_model("initial-exec")))

struct nested {
	uint64_t stack; // the CFA of its call
	enum detour_rank rank;
};

OWN struct nested nested[NESTED_MAX];
__thread unsigned detour_depth __attribute__((tls_model("initial-exec")));

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
	while (detour_depth && nested[detour_depth - 1].stack <= stack) {
		detour_depth--;
		end();
	}
}

bool detour_hides_within(enum detour_rank rank, const uint64_t *frame)
{
	close_left((uint64_t)(frame + 2));
	if (!detour_depth)
		return false;
	enum detour_rank around = nested[detour_depth - 1].rank;
	return detour_depth == NESTED_MAX || rank <= DETOUR_VECTOR || around == rank ||
	       around < DETOUR_LAPACK;
}

void detour_open(struct op_thread *t, enum detour_rank rank, uint32_t name, const uint64_t *frame,
                 const struct op_details *d)
{
	struct op_here here = detour_here(frame);

	nested[detour_depth++] = (struct nested){ here.stack, rank };
	op_begin(t, name, here, d);
}

void detour_close(const uint64_t *frame)
{
	uint64_t stack = (uint64_t)(frame + 2);

	// What a call further out has closed already is not there any more.
	close_left(stack - 1);
	if (!detour_depth || nested[detour_depth - 1].stack != stack)
		return;
	detour_depth--;
	end();
}
