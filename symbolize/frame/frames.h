/* SPDX-License-Identifier: MIT */
/*
 * The frames that were found for each address of a batch, innermost first.
 *
 * The texts belong to the tables of the symbolizer that asked, and must outlive the frames. One
 * thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_found {
	const char *function; /* readable; NULL if unknown */
	const char *file;     /* NULL if unknown */
	int line;             /* 0 if unknown */
	const char *declared; /* the file where FUNCTION is declared; NULL if unknown */
	bool unoptimized;     /* compiled without optimization */
	bool is_bare;         /* FUNCTION lacks its namespace and parameters */
	uint64_t start;       /* where FUNCTION, of C or the assembler, is entered; else 0 */
};

struct frames {
	struct frame_found *items;
	size_t count, capacity;
	size_t address_count;
	uint32_t *first;  /* of each address: number of its innermost frame in ITEMS */
	uint32_t *counts; /* of each address; 0: nothing is known */
};

/* False if there is no memory; then _fini() all the same. */
bool frames_init(struct frames *frames, size_t address_count);
void frames_fini(struct frames *frames);

/* Adds the next outer frame of address number PLACE; all of an address in one go. */
bool frames_add(struct frames *frames, size_t place, struct frame_found frame);
