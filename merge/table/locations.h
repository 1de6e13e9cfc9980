/* SPDX-License-Identifier: MIT */
/*
 * Each distinct code address once, by number, and what was found out about it.
 *
 * A location is a frame's (module, address, kind); the address of an op is its
 * id, that of a Python function its number and line. Once it is named it has a chain of places: the
 * innermost inlined function first, the function that really stands there last. One thread at a
 * time.
 */
#pragma once

#include "base/hash.h"
#include "base/stack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Marks of our own, beside enum mark: stored in profile files, so append only. */
#define MARK_FOLDED 16 /* callees that were folded to keep the tree small */

struct place {
	uint32_t function; /* string; 0 if unknown */
	uint32_t file;     /* string; 0 if unknown */
	uint32_t line;     /* 0 if unknown */
	uint32_t declared; /* string: the file where the function is declared; 0 if unknown */
	bool unoptimized;  /* compiled with -O0, as far as the compiler tells */
	bool inlined;      /* it stands inside the next place of the chain */
};

struct location {
	uint64_t address;
	uint32_t module; /* 0: none, a mark or an op */
	uint8_t kind;    /* enum frame_kind */
	bool named;      /* looked up; the chain may still be empty */
	uint16_t place_count;
	uint32_t first_place;
	uint32_t loop; /* string: what is known of the loop around it, symbolize/loop/loop_fact.h;
	                  0: nothing */
};

struct locations {
	struct location *locations; /* [id - 1] */
	uint32_t count;
	size_t capacity;
	struct hash index;
	struct place *places;
	uint32_t place_count;
	size_t place_capacity;
	uint32_t unnamed;
	uint32_t asked; /* of the ids up to this one the names are being looked up early */
};

bool locations_init(struct locations *l); /* false if there is no memory */
void locations_fini(struct locations *l);

/* The id of FRAME's location, added if it is new. 0 if there is no memory. */
uint32_t locations_add(struct locations *l, struct frame frame);

/* 0 if it is not there. */
uint32_t locations_find(const struct locations *l, struct frame frame);

static inline const struct location *locations_get(const struct locations *l, uint32_t id)
{
	return &l->locations[id - 1];
}

/* Gives location ID its chain (innermost first). False (and unnamed) if there is no memory. */
bool locations_name(struct locations *l, uint32_t id, const struct place *places, uint32_t count);

static inline const struct place *locations_places(const struct locations *l,
                                                   const struct location *location)
{
	return l->places ? l->places + location->first_place : NULL;
}

/*
 * Drops every location that is not KEPT[id - 1]. MAP receives the new ids, 0
 * for what is gone. Their places stay.
 */
void locations_drop(struct locations *l, const bool *kept, uint32_t *map);
