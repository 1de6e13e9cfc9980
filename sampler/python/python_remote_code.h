/* SPDX-License-Identifier: MIT */
/*
 * Code objects in another process's memory, and the numbers that they have.
 *
 * Objects are freed, and others come to lie in their place: one is known by
 * what it consists of. There is a limit to how many are known.
 *
 * One thread at a time.
 */
#pragma once

#include "base/hash.h"
#include "base/python_layout.h"
#include "sampler/unwind/remote_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct codes;
struct python;

struct remote_code {
	uint64_t at;
	uint64_t file, name, lines, size; /* the objects that it consists of; ob_size */
	uint32_t first_line;
	uint32_t number; /* in struct python */
};

/* Zeroed: none. */
struct python_remote_codes {
	struct remote_code *codes;
	uint32_t count;
	size_t capacity;
	struct hash index;
	uint32_t made, table_bytes; /* numbers in all, and what is kept of their lines */
};

void python_remote_codes_fini(struct python_remote_codes *c);

/* Where the numbers come from. */
struct python_remote_source {
	const struct python_layout *layout;
	uint64_t code_type;
	struct remote_memory *memory;
	struct python *python;
	struct codes *codes;
};

#define PYTHON_REMOTE_TEXT ((size_t)1 << 10) /* bytes of a text that are read */

/* The string object at ADDRESS as UTF-8, without a NUL; how many bytes. 0: it is none. */
size_t python_remote_text(const struct python_remote_source *from, uint64_t address,
                          char out[PYTHON_REMOTE_TEXT]);

/* The number of the code object at ADDRESS. 0: there is none, or no memory for it. */
uint32_t python_remote_code(struct python_remote_codes *c, const struct python_remote_source *from,
                            uint64_t address);
