/* SPDX-License-Identifier: MIT */
/*
 * Kernels by the names that people wrote, in place of those that compilers made.
 *
 *	_Z6vecaddPKfS0_Pfi    vecadd(float const*, float const*, float*, int)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct demangler;
struct ops;

/* Zeroed when empty. */
struct kernel_names {
	struct demangler *demangler;
	uint32_t *readable; /* [op - 1]; 0: not asked for yet */
	size_t count, capacity;
};

void kernel_names_fini(struct kernel_names *k);

/* The op of OPS that has the readable name of OP; OP itself where that is readable, or memory is
   short. */
uint32_t kernel_names_get(struct kernel_names *k, struct ops *ops, uint32_t op);
