/* SPDX-License-Identifier: MIT */
/*
 * A profile made by hand: the answers that the report asks for, without the
 * folders that work them out. It defines the functions of merge/query.h that
 * the report calls, so a test links either this or merge/.
 */
#pragma once

#include "merge/query.h"

struct profile {
	struct run run;
	struct totals totals;
	struct account account;
	const struct row *functions; /* best self first; answers for BY_FUNCTION */
	size_t function_count;
	const struct row *lines; /* answers for BY_LINE */
	size_t line_count;
	const struct row *others; /* answers for everything else */
	size_t other_count;
	uint64_t all;
	struct call_node *tree;      /* children of the root, on a CPU */
	struct call_node *wait_tree; /* the same for waiting; NULL: none */
	const struct module_row *modules;
	size_t module_count;
	struct query asked; /* the last query_run() */
};

/* A busy program with inlines, kernel time, lock waits and a library without lines. */
struct profile *fake_profile(void);
