/* SPDX-License-Identifier: MIT */
/*
 * How much sampled time stacks with ops in them have. For the files of merge/ alone.
 *
 * Ops belong to groups, which are what rows are about. A group that is open
 * within itself counts once.
 */
#pragma once

#include "merge/scope/scope.h"

#include <stdbool.h>
#include <stdint.h>

struct op_sample {
	uint64_t total_ns, self_ns; /* self: no other op within */
	/* While it is open: */
	uint64_t before_ns;
	uint32_t open;
};

struct op_samples {
	const struct scope *scope;
	struct op_sample *groups; /* [group - 1] */
	uint32_t *innermost;      /* [node - 1]: group; 0: none */
	uint64_t all_ns;
};

/* False if there is no memory. */
bool op_samples_init(struct op_samples *s, const struct scope *scope, uint32_t groups);
void op_samples_fini(struct op_samples *s);

static inline void op_samples_at_scope_end(struct op_samples *s)
{
	op_samples_fini(s);
}

/* Adds the thread whose root is ROOT. GROUPS[op - 1] is what an op belongs to, 0: nothing. */
void op_samples_add(struct op_samples *s, uint32_t root, const uint32_t *groups);
