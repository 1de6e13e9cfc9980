/* SPDX-License-Identifier: MIT */
/*
 * The source lines of a GPU's machine code: of one cubin, as nvcc -lineinfo or -G makes it.
 *
 * Each function of a cubin is a section of its own, from address 0 on; relocations say which one a
 * piece of the line table is of. nvcc reports inlined functions in the line table itself.
 *
 * One thread at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/cleanup.h"

struct cubin;
struct error;

struct cubin_place {
	const char *function; /* mangled: inlined here; NULL: it is the kernel's own line */
	const char *file;     /* full path; never NULL */
	uint32_t line;
};

#define CUBIN_PLACES 16 /* of one instruction, at most: a function inlined in a function … */

/* IMAGE is copied as far as it is needed. NULL if it is no cubin, or there is no memory. */
struct cubin *cubin_new(struct bytes image, struct error *err);
void cubin_free(struct cubin *c); /* NULL is fine */

CLEANUP(cubin, struct cubin *, cubin_free)

/*
 * Where the instruction at OFFSET of FUNCTION (mangled) is of: innermost first, the last one the
 * kernel's own line. Returns how many there are; 0: nothing is known. Texts live as long as C.
 */
uint32_t cubin_find(const struct cubin *c, const char *function, uint64_t offset,
                    struct cubin_place places[CUBIN_PLACES]);
