/* SPDX-License-Identifier: MIT */
/*
 * Where ops are called from, in words. For the files of merge/ alone.
 *
 * The line that calls an op is exact. Who has called that is known from samples only:
 * what most of the stacks have that hold the op in that function.
 *
 * struct op_callers borrows its scope and texts until op_callers_fini(). One thread at a time.
 */
#pragma once

#include "merge/op/op_table.h"
#include "merge/scope/scope.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The function that calls at CALLER, without what providers have put between. NULL if unknown. */
const struct place *op_caller_place(const struct profile *p, uint32_t caller);

/*
 * The caller of KEY's op. 0 if it is unknown, or the code of an interpreter that runs no Python
 * function, as when it ends: nobody wrote that line to call the op.
 */
uint32_t op_caller_of(const struct profile *p, const struct op_key *key);

/* Whether it is a line of the user's own. */
bool op_caller_is_own(const struct profile *p, uint32_t caller);

/*
 * The user's own line that calls at node CHAIN of the profile's chains: a location. If none of them
 * is the user's, the innermost line. 0 if CHAIN is 0.
 */
uint32_t op_chain_own(const struct profile *p, uint32_t chain);

/* The node of the torch.nn.Module that runs at NODE of the profile's chains, or the next one around
   it; 0: there is none. And its name. */
uint32_t op_module_next(const struct profile *p, uint32_t node);
const char *op_module_name(const struct profile *p, uint32_t node);

struct op_caller {
	uint32_t op, function; /* string: that has begun the op */
	uint32_t chain;        /* string, in texts: its callers */
	uint32_t node;         /* one that has them */
	uint64_t ns;           /* of all that have them */
};

struct op_callers {
	const struct scope *scope;
	struct strings *texts;     /* borrowed */
	uint32_t frames;           /* wanted, the exact ones included */
	struct op_caller *callers; /* by op and function, most time first */
	size_t count, capacity;
};

/* False if there is no memory. */
bool op_callers_init(struct op_callers *c, const struct scope *scope, struct strings *texts,
                     uint32_t frames);
void op_callers_fini(struct op_callers *c);

static inline void op_callers_at_scope_end(struct op_callers *c)
{
	op_callers_fini(c);
}

/*
 * "step (train.c:12) < main (train.c:80)" as a string in the texts: frames of the line itself and
 * of its callers. " < ~" where samples had other callers from there on, "?" where there was none.
 * 0 if there is no memory.
 */
uint32_t op_callers_text(const struct op_callers *c, const struct op_key *key);

/* The same of a chain of calls in Python, all of which is exact; FORWARD: it has called what the op
   is the derivative of. */
uint32_t op_callers_chain_text(const struct op_callers *c, uint32_t chain, bool forward);

/* "backward of step (train.c:12)": of one line alone; "?" for CALLER 0, and "[the interpreter
   itself]" if nothing in Python has called KEY's op. */
uint32_t op_callers_line_text(const struct op_callers *c, const struct op_key *key, uint32_t caller,
                              bool forward);
