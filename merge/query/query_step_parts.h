/* SPDX-License-Identifier: MIT */
/*
 * What a step spent its time on: each moment from its begin to its end is one part, the first of
 * these that it belongs to.
 *
 *	kernels        a GPU of the step's process ran a kernel or a graph
 *	copies         the same of a copy or a set of memory
 *	communication  the same of a kernel of NCCL; or the step's thread was in an op of MPI or of
 *	               torch.distributed
 *	data loader    the step's thread was in the __next__() of PyTorch's DataLoader
 *	CPU ops        it was in an op, other than those that only give a name to a part of the run
 *	idle           it waited, for whatever it was, a free CPU, too
 *	other          the rest: Python, and code that is no op
 *
 * They are known where each call, wait and work of the step was kept one by one: not behind the
 * limit of the timeline, of steps that are averages, and outside of what was recorded. Waits that
 *the sampler sums up, as it does where it can look at some of them alone, have no place of their
 *own: they are other time.
 */
#pragma once

#include "merge/query/query_steps.h"

enum step_part {
	STEP_KERNELS,
	STEP_COPIES,
	STEP_COMMUNICATION,
	STEP_LOADER,
	STEP_OPS,
	STEP_IDLE,
	STEP_OTHER,
	STEP_PARTS
};

struct step_parts {
	bool known;
	uint64_t ns[STEP_PARTS]; /* they sum to end_ns - begin_ns of the step */
};

/*
 * How long the steps' thread waited from the first step to the last without the waits that were
 * kept one by one, as far as bins of time tell.
 */
uint64_t query_unplaced_waits(const struct profile *p, const struct steps *s);

/* [step], to be freed with free(). NULL on error. */
struct step_parts *query_step_parts(const struct profile *p, const struct steps *s,
                                    struct error *err);

/* The sum over those of S that are known, whose number is in *COUNT. */
static inline struct step_parts step_parts_sum(const struct steps *s,
                                               const struct step_parts *parts, size_t *count)
{
	struct step_parts sum = { 0 };

	*count = 0;
	for (size_t i = 0; i < s->count; i++) {
		*count += parts[i].known;
		sum.known |= parts[i].known;
		for (int part = 0; part < STEP_PARTS; part++)
			sum.ns[part] += parts[i].ns[part];
	}
	return sum;
}
