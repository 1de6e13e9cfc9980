/* SPDX-License-Identifier: MIT */
/*
 * What is mapped where in one process: executable mappings only.
 *
 * The kernel reports maps but no unmaps, so a later mapping replaces what it overlaps. The agent
 * reports both. Lookups remember the last hit: consecutive frames are neighbours.
 *
 * One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mapping {
	uint64_t start, end; /* run-time addresses, END is the first one beyond */
	uint64_t file_offset;
	uint32_t module; /* module id */
	bool has_bias;   /* the next field is valid; image_locate() fills it */
	uint64_t bias;   /* run-time address - bias = address in the module */
};

struct address_space;

struct address_space *address_space_new(void); /* NULL if there is no memory */
struct address_space *address_space_copy(const struct address_space *parent); /* fork */
void address_space_free(struct address_space *space);

CLEANUP(address_space, struct address_space *, address_space_free)

/* Adds a mapping, cutting what it overlaps. False if there is no memory. */
bool address_space_map(struct address_space *space, uint64_t start, uint64_t length,
                       uint64_t file_offset, uint32_t module);

/* Forgets what is mapped from START on. False if there is no memory. */
bool address_space_unmap(struct address_space *space, uint64_t start, uint64_t length);

/* Forgets all mappings (exec). */
void address_space_clear(struct address_space *space);

/* NULL if nothing is mapped at ADDRESS. Valid until the space changes. */
struct mapping *address_space_find(struct address_space *space, uint64_t address);

/* The mapping that ends last at or before ADDRESS, and the one that begins first behind it: the
   rest of a file is mapped beside its code. NULL where there is none. */
void address_space_neighbours(struct address_space *space, uint64_t address,
                              struct mapping *neighbours[2]);

size_t address_space_count(const struct address_space *space);

/* Equal for spaces that were mapped alike, so what is cached for one holds for the other. */
uint64_t address_space_fingerprint(const struct address_space *space);
