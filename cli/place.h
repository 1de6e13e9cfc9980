/* SPDX-License-Identifier: MIT */
/*
 * Which place in the user's own code a cost belongs to: the advice names that,
 * not the library function in which the time happened to be spent.
 */
#pragma once

#include "merge/query.h"

#include <stdbool.h>

/* True for code that the user most likely did not write: the kernel, the vDSO, system libraries. */
bool place_is_foreign(const char *module, const char *file);

/*
 * The function of the user's own code below which most time of FUNCTION was
 * spent, or where that has no name the library function that it calls; NULL if there is none.
 * Borrowed from TREE.
 */
const struct call_node *place_caller(const struct call_tree *tree, const char *function);

/* The innermost such function on the heaviest path; NULL if there is none. */
const struct call_node *place_heaviest(const struct call_tree *tree);
