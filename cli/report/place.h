/* SPDX-License-Identifier: MIT */
/*
 * Which place in the user's own code a cost belongs to: the advice names that,
 * not the library function in which the time happened to be spent.
 */
#pragma once

#include "merge/query/query.h"

#include <stdbool.h>

/*
 * Where the user's own code leads to a library function, borrowed from a tree. CALLER is a function
 * of the user's own, or where that has no name the library function that it calls.
 */
struct place_call {
	const struct call_node *caller; /* NULL if there is none */
	const struct call_node *entry; /* what CALLER calls of the library; NULL: FUNCTION itself */
	int line;                      /* of CALLER, where it does; 0 if unknown */
	uint64_t self;                 /* of FUNCTION below CALLER, on all paths */
};

/* The caller below which most time of FUNCTION was spent. */
struct place_call place_caller(const struct call_tree *tree, const char *function);

/* One that calls a function itself, whoever's it is; borrowed from the tree. */
struct place_direct {
	const struct call_node *caller; /* NULL: nobody is known to */
	uint64_t self;                  /* of the function, called by it */
	uint64_t all;                   /* of the function, whoever calls it */
};

/* The one that most of FUNCTION's self time is called by, but for itself. */
struct place_direct place_direct_caller(const struct call_tree *tree, const char *function);

/* What code that a JIT compiler made, without names, has called with most time in and below it:
   there CALLER is that, SELF its time. What only passes calls on (base/known_calls.h) is part of
   such code. */
struct place_direct place_called_by_jit(const struct call_tree *tree);

/* The function with a name, of whichever file but the C library's, that most of the self time of
   code without one is below: NAME in MODULE. It is the innermost of each path. */
struct place_direct place_named_above(const struct call_tree *tree, const char *name,
                                      const char *module);

/* The code, with a name or without, that most of the self time of NAME in MODULE is called from: of
   each path the innermost that is neither of MODULE nor of the C library. Of what was compiled at
   run time, which has one MODULE for all, it is any other function. */
struct place_direct place_outer_caller(const struct call_tree *tree, const char *name,
                                       const char *module);

/*
 * A function of the user's own with all that it calls of libraries and the kernel, until they call
 * code of the user's own again: what the user's code asks for, whatever runs it.
 */
struct place_sum {
	const struct call_node *own; /* NULL if there is none; of its nodes the heaviest one */
	const struct call_node
		*entry; /* what more of BELOW is in than in any other; NULL if there is none */
	uint64_t self, below;
	uint64_t entry_ns; /* of BELOW, in ENTRY */
};

/* The one that holds most time, of those that COUNTS says true of; NULL: of all. It is without what
   the tree leaves out. */
struct place_sum place_busiest(const struct call_tree *tree,
                               bool (*counts)(const struct place_sum *sum));

/* That of OWN's function, of this tree or another one of the same profile; nothing if it is not in
   TREE. */
struct place_sum place_sum_of(const struct call_tree *tree, const struct call_node *own);

/* An op, and the self time of what was done in it and in no op within it. */
struct place_op {
	const char *name; /* borrowed from the tree; NULL: none was open */
	uint64_t self;
};

/* The op that most of the self time of FUNCTION in MODULE, which may be NULL, was spent in: it
   names what code without symbols does not. */
struct place_op place_op_around(const struct call_tree *tree, const char *function,
                                const char *module);

/* The op that most of what SUM's function asks libraries for is in. Ops that COUNTS says false of
   do not count. */
struct place_op place_op_below(const struct call_tree *tree, const struct place_sum *sum,
                               bool (*counts)(const void *context, const char *op),
                               const void *context);

/*
 * A library, by what its functions do themselves: which of them code outside of it calls, and whose
 * code that is for.
 */
struct place_library {
	const struct call_node *entry; /* below which more of SELF is than below any other; NULL if
	                                  none has a name */
	const struct call_node *own; /* of the user's own, for which most of SELF is; NULL: none */
	int line;                    /* of OWN, where it calls most; 0 if unknown */
	uint64_t self;               /* of all functions of the library */
	uint64_t entry_ns, own_ns;   /* of SELF */
};

/* ASKED: with what the library asks the C library and the kernel for, as to copy and to map
   memory. */
struct place_library place_library_of(const struct call_tree *tree, const char *module, bool asked);

/* Whether FUNCTION only passes on to one other function, which has all of its time but for 1 %, and
   hardly any from other callers: its row says the same. */
bool place_passes_on(const struct call_tree *tree, const char *function);

/* Whether most of CALLEE's time, with all that it calls, is within FUNCTION of FILE, which may be
   NULL, or both are one. */
bool place_is_within(const struct call_tree *tree, const char *callee, const char *function,
                     const char *file);

/* How much of TREE's time is waiting for the lock of Python's interpreter. */
uint64_t place_gil(const struct call_tree *tree);

/* The innermost such function on the heaviest path; NULL if there is none. */
const struct call_node *place_heaviest(const struct call_tree *tree);
