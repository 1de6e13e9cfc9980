/* SPDX-License-Identifier: MIT */
/*
 * Functions, files and lines by the table that Go's runtime reads for its own tracebacks
 * (.gopclntab): stripping leaves it in place. Of Go 1.16 and later.
 *
 * Which calls are inlined is in other data (FUNCS), of Go 1.18 and later. Without it they are not
 * told apart: a place has the name of the function that its code stands in, and the file and line
 * of the call that is inlined there. Functions without state; nothing in the table is trusted.
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct go_place {
	/* In the table, each ended by NUL; NULL if unknown. */
	const char *function; /* "main.(*Cart).Total" */
	const char *file;
	const char *declared; /* the file of the function */
	int line;             /* 0 if unknown */
};

/* Whether TABLE is one that can be read. */
bool go_table_is_known(struct bytes table);

#define GO_INLINED_MAX 32 // calls at one place; what lies between these and the last is left out

/*
 * Fills PLACES with the calls that are inlined at ADDRESS, innermost first, and last of all the
 * function that its code stands in. How many there are: 0 if nothing is known. TEXT is where the
 * code of Go begins, for tables that leave that to the loader (0: unknown; then those give
 * nothing). FUNCS begins where the linker has put the data of functions (go:func.*); empty: it is
 * not known.
 */
size_t go_table_find(struct bytes table, uint64_t text, struct bytes funcs, uint64_t address,
                     struct go_place places[GO_INLINED_MAX]);

/* Whether FUNCS is what TABLE needs: some of its inlined calls, and none that cannot be. */
bool go_table_has(struct bytes table, uint64_t text, struct bytes funcs);

/* Where the function called NAME begins and ends, TEXT as above. False: there is none. */
bool go_table_function(struct bytes table, uint64_t text, const char *name, uint64_t *start,
                       uint64_t *end);
