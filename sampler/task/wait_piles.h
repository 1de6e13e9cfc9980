/* SPDX-License-Identifier: MIT */
/*
 * Waits of one thread of which not all is known yet: short ones whose Python
 * frames are not, and those for a CPU whose ops alone are (sampler/off_cpu/off_cpu.c).
 *
 * Looks read Python frames, but come too seldom to meet every short wait. One
 * that was met tells for the others at the very same native stack (addresses
 * and stack pointers) since the last one. They wait here, a few stacks at a
 * time, for a while.
 *
 * The agent's samples on a CPU within the same call are more frequent. They are drawn by CPU time
 * though, not by waiting time, and one native stack may belong to several lines: the same call of
 * the interpreter runs them. So the frames of samples are used only for waits between two sightings
 * (samples or looks) of the same frames, and only while no other frames are seen there:
 *
 *	sightings   A     A     A     A           B     A
 *	waits       ··········· ▒▒▒▒▒ ▒▒▒▒▒ ·····································
 *	            too few     in A's frames     not clear for SIGHTINGS_MIXED_NS: left to looks
 */
#pragma once

#include "base/clock.h"
#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_PILES_MAX 8

struct wait_pile {
	uint64_t key;   /* what tells native stacks apart, or ops */
	uint64_t place; /* the same of the stack alone, whatever the cause; 0: not exact */
	enum metric cause;
	uint64_t ns;       /* together; 0: none */
	uint64_t since_ns; /* when the first of them began */
	uint32_t samples;
	uint32_t count, flags;
	struct frame *frames; /* native; owned */
	size_t capacity;
};

/* Sightings this close together stand for the time between them, after so many that agree. */
#define SIGHTINGS_APART_NS NS_PER_SEC
#define SIGHTINGS_MIN      3

/* Frames that differ at one native stack disqualify it for so long. */
#define SIGHTINGS_MIXED_NS (10 * NS_PER_SEC)

/* Where in Python a thread was seen last at a native stack. */
struct sighting {
	uint64_t place; /* 0: none */
	uint64_t time_ns;
	uint64_t mixed_ns; /* when the frames differed from those before; 0: never */
	uint32_t run;      /* sightings in a row that agree */
	uint32_t count;
	struct frame *frames; /* owned */
	size_t capacity;
};

/* Zeroed: none. */
struct wait_piles {
	struct wait_pile *piles;    /* owned; WAIT_PILES_MAX or NULL */
	struct sighting *sightings; /* likewise */
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

/*
 * The thread was seen at PLACE, not 0, at TIME_NS in FRAMES, Python's among them. Returns from when
 * on it was in these frames whenever it was there: its waits at PLACE since then had them, too.
 * TIME_NS: nothing is known of the time before.
 */
uint64_t wait_piles_see(struct wait_piles *p, uint64_t place, uint64_t time_ns,
                        const struct frame *frames, uint32_t count);

/* The program is another one: what was seen of its stacks means nothing any more. */
void wait_piles_forget(struct wait_piles *p);

/* All of it as one stack, until END_NS; the pile is empty then, its frames are valid until it
   begins again. */
struct stack wait_pile_take(struct wait_pile *pile, uint32_t thread, uint64_t end_ns);
