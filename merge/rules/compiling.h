/* SPDX-License-Identifier: MIT */
/*
 * Compilers that a program runs while it runs: of torch.compile (Dynamo, AOTAutograd, Inductor,
 * Triton), of JAX and Numba, of C++ extensions, with the programs that they start (cc1plus, ld,
 * ninja, ptxas).
 *
 *	train.py:12 <module> > … > convert_frame.py > … > compile_fx.py > … > Popen.communicate
 *	                           it begins here          Inductor's own     g++ > cc1plus
 *
 * Where it begins is known from the functions that activity_of() knows; whose time it is, within
 *that, by the folder of the innermost Python function; a process that was started from there, and
 *has the name of a compiler's program, belongs to it with all that it starts. A program that
 *compiles by trade, as make(1) or a compiler itself, is none of that.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;
struct query;

struct compiling_row {
	const char *name;   /* "Inductor", "cc1plus" */
	uint32_t processes; /* that ran as a program of this name; 0: it is part of the program */
	uint64_t cpu_ns;    /* of all threads, on CPUs */
	/* Wall time where that ranks code, else the time of the critical thread: in both without
	   waiting for a free CPU. */
	uint64_t wall_ns;
};

struct compiling {
	struct compiling_row *rows; /* most wall time first */
	size_t count;
	uint64_t cpu_ns, wall_ns;         /* of all rows */
	uint64_t all_cpu_ns, all_wall_ns; /* of the program in the window, the same way */
};

/* QUERY: which time of which threads counts. Imports within are left out: they are imports. NULL on
   error; no rows where nothing was compiled. */
struct compiling *query_compiling(const struct profile *p, const struct query *query,
                                  struct error *err);
void compiling_free(struct compiling *c);

CLEANUP(compiling, struct compiling *, compiling_free)

/* [slot - 1]: threads of programs that such compilers have started; to be freed. NULL if there is
   no memory. */
bool *compiling_threads(const struct profile *p);
