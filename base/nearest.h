/* SPDX-License-Identifier: MIT */
/*
 * What somebody who mistyped a name meant: the name with the fewest letters to add, leave out,
 * replace or swap (optimal string alignment distance).
 *
 *	struct nearest n = { .word = "repot" };
 *	nearest_try(&n, "report");
 *	if (n.name)
 *		error_hint(err, "did you mean \"%s\"?", n.name);
 */
#pragma once

#include <stddef.h>

struct nearest {
	const char *word; /* as it was typed */
	const char *name; /* borrowed; NULL: none is near, as far as was tried */
	size_t distance;  /* of NAME */
};

/* One of the names that there are. Only those count that differ from the word by a third of its
   letters at most; of equally near ones the first does. */
void nearest_try(struct nearest *n, const char *name);
