/* SPDX-License-Identifier: MIT */
/*
 * Names of C functions in another process's interpreter, as cProfile has them: "{method 'sub' of
 * 're.Pattern' objects}", "{built-in method builtins.len}"; and what operators call, as the agent
 * names it: "{slot '__getitem__' of 'numpy.ndarray' objects}".
 *
 * A Python function that calls a C function has the callable among the operands of its frame:
 *
 *	frame ─► variables │ operands ─► PyCFunction, method descriptor ─► PyMethodDef
 *	                                                                     ├► name
 *	                                                                     └► function
 *	                      any other object ─► its type ─► functions of operators
 *
 * An operand that was popped, or one that lies behind the newest, may be anything; what is read is
 * checked as foreign bytes are. A name belongs to the address of a function, and stays true when
 *the frame has long been left.
 *
 * One thread at a time.
 */
#pragma once

#include "base/hash.h"
#include "sampler/python/python_remote_code.h"

#include <stddef.h>
#include <stdint.h>

#define PYTHON_REMOTE_SEEN  512
#define PYTHON_REMOTE_TYPES 256

struct remote_name {
	uint64_t address; /* where the function begins */
	uint64_t text;    /* a hash of its name; 0: it has several */
	uint64_t type;    /* whose operator it is; 0: of none */
};

/* Zeroed: none. */
struct python_remote_names {
	struct remote_name *names;
	uint32_t count;
	size_t capacity;
	struct hash index;
	uint64_t seen[PYTHON_REMOTE_SEEN]; /* operands that were looked at of late */
	uint32_t looks;
	uint64_t types[PYTHON_REMOTE_TYPES]; /* whose operators are known */
};

void python_remote_names_fini(struct python_remote_names *n);

/* The function at ADDRESS has NAME; "": it has several, and so none. */
typedef void python_name_function(void *context, uint64_t address, const char *name);

struct python_name_sink {
	python_name_function *tell;
	void *context;
};

/* Reports what is new among the C functions that FRAME, which runs CODE, has for operands. */
void python_remote_names_look(struct python_remote_names *n,
                              const struct python_remote_source *from, uint64_t frame,
                              uint64_t code, const struct python_name_sink *sink);
