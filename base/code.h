/* SPDX-License-Identifier: MIT */
/*
 * Python's functions, by number.
 *
 * A function is the file, the qualified name and the first line of its code
 * object, whatever process runs it and how often the object was made. Entries
 * are never removed and never move while the registry lives. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdint.h>

#define CODES_MAX (1u << 24)

struct code {
	const char *file; /* as the interpreter has it: a path, "<string>", "<frozen ...>" */
	const char *name; /* qualified, from 3.11 on */
	uint32_t first_line;
};

struct codes;

struct codes *codes_new(void); /* NULL if there is no memory */
void codes_free(struct codes *c);

CLEANUP(codes, struct codes *, codes_free)

/* The number, from 1 on, of the function that equals WANTED; added, with its texts copied, if it is
   new. 0 if there is no room. */
uint32_t codes_add(struct codes *c, const struct code *wanted);

/* NULL if there is no such number. */
const struct code *codes_get(const struct codes *c, uint32_t id);
