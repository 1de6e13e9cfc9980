// SPDX-License-Identifier: MIT
#include "symbolize/loop/subnormal.h"

#include "base/clock.h"
#include "symbolize/loop/insn.h"

#include <math.h>

#define RUNS   7
#define ROUNDS 2000

void subnormal_look(struct subnormal_looks *looks, uint32_t subnormal)
{
	looks->count++;
	for (int reg = 0; reg < SUBNORMAL_REGISTERS; reg++) {
		looks->doubles[reg] += subnormal >> reg & 1;
		looks->floats[reg] += subnormal >> (reg + 16) & 1;
	}
}

// The samples of all spots that had a subnormal number of BYTES in register REG.
static uint64_t held_by(const struct subnormal_spot *spots, size_t count, int reg, uint8_t bytes)
{
	uint64_t held = 0;

	for (size_t i = 0; i < count; i++)
		if (spots[i].looks)
			held += bytes == 8 ? spots[i].looks->doubles[reg]
			                   : spots[i].looks->floats[reg];
	return held;
}

static void note_kind(const struct insn *insn, struct subnormal_use *use)
{
	use->divides |= insn->divides;
	use->adds |= insn->math == INSN_MATH_ADD;
	use->multiplies |= insn->math == INSN_MATH_MULTIPLY || insn->math == INSN_MATH_FUSED;
}

struct subnormal_use subnormal_find(struct bytes code, uint32_t begin, uint32_t end,
                                    const struct subnormal_spot *spots, size_t count)
{
	struct subnormal_use use = { 0 };
	uint64_t all = 0;
	struct insn insn;

	for (size_t i = 0; i < count; i++)
		all += spots[i].looks ? spots[i].looks->count : 0;
	for (uint32_t at = begin; all && at < end && insn_decode(code.data, code.size, at, &insn);
	     at += insn.length) {
		if (insn.math == INSN_MATH_NONE)
			continue;
		for (int reg = 0; reg < SUBNORMAL_REGISTERS; reg++) {
			if (!((insn.reads | insn.writes) >> (INSN_VECTOR + reg) & 1))
				continue;
			uint64_t held = held_by(spots, count, reg, insn.float_bytes);
			if (held)
				note_kind(&insn, &use);
			if (held > use.found)
				use.found = held;
		}
	}
	use.share = all ? (double)use.found / (double)all : 0;
	return use;
}

enum operation {
	ADD,
	MULTIPLY,
	DIVIDE
};

// Volatile: each is done, at run time.
static uint64_t time_of(enum operation operation, double left, double right)
{
	volatile double a = left, b = right, result;
	uint64_t start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	for (int i = 0; i < ROUNDS; i++) {
		if (operation == ADD)
			result = a + b;
		else if (operation == MULTIPLY)
			result = a * b;
		else
			result = a / b;
	}
	(void)result;
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns;
}

static double slowdown_of(enum operation operation, double subnormal, double other)
{
	uint64_t slow = UINT64_MAX, normal = UINT64_MAX;

	// In turn, and the fastest of each: other work on the machine comes and goes.
	for (int run = 0; run < RUNS; run++) {
		uint64_t ns = time_of(operation, subnormal, other);
		slow = ns < slow ? ns : slow;
		ns = time_of(operation, 1.25, 1.5);
		normal = ns < normal ? ns : normal;
	}
	return normal ? (double)slow / (double)normal : 1;
}

double subnormal_slowdown(const struct subnormal_use *use)
{
	static const double small = 1e-310;
	double most = 1;

	if (use->adds)
		most = fmax(most, slowdown_of(ADD, small, small));
	if (use->multiplies)
		most = fmax(most, fmax(slowdown_of(MULTIPLY, small, 0.7),
		                       slowdown_of(MULTIPLY, 1e-155, 1.1e-155)));
	if (use->divides)
		most = fmax(most, slowdown_of(DIVIDE, small, 1.7));
	return most;
}
