/* SPDX-License-Identifier: MIT */
/*
 * Waits of one thread of which not all is known yet: short ones whose Python
 * frames are not, and those for a CPU whose ops alone are (sampler/off_cpu/off_cpu.c).
 *
 * Looks read Python frames, but come too seldom to meet every short wait. One
 * that was met tells for the others at the very same native stack (addresses
 * and stack pointers) since the last one. They wait here, a few stacks at a
 * time, for a while.
 */
#pragma once

#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_PILES_MAX 8

struct wait_pile {
	uint64_t key; /* what tells native stacks apart, or ops */
	enum metric cause;
	uint64_t ns;       /* together; 0: none */
	uint64_t since_ns; /* when the first of them began */
	uint32_t samples;
	uint32_t count, flags;
	struct frame *frames; /* native; owned */
	size_t capacity;
};

/* Zeroed: none. */
struct wait_piles {
	struct wait_pile *piles; /* owned; WAIT_PILES_MAX or NULL */
};

void wait_piles_fini(struct wait_piles *p);

/* The pile of KEY, which may be empty; NULL: there is none. */
struct wait_pile *wait_piles_find(const struct wait_piles *p, uint64_t key);

/* The one that is to make room for another: an empty one, else the oldest. NULL: no memory. */
struct wait_pile *wait_piles_room(struct wait_piles *p);

/* A new one of STACK, in place of an empty one. False: no memory. */
bool wait_pile_begin(struct wait_pile *pile, uint64_t key, const struct stack *stack);

/* One more at the same place. */
void wait_pile_add(struct wait_pile *pile, const struct stack *stack);

/* All of it as one stack, until END_NS; the pile is empty then, its frames are valid until it
   begins again. */
struct stack wait_pile_take(struct wait_pile *pile, uint32_t thread, uint64_t end_ns);
