/* SPDX-License-Identifier: MIT */
/*
 * Ops: named intervals of a program's work, and the names themselves.
 *
 * An op's identity is its provider, its domain and its name; every process that
 * uses it means the same op. The registry gives each a number, which is the
 * op's identity from the sampler to the profile file. Entries are never removed
 * and never move while the registry lives. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/provider.h"

#include <stdbool.h>
#include <stdint.h>

/* The category of counters: their marks hold one number each, what is counted from then on. */
#define OP_COUNTER "counter"

/* PyTorch's counters of what its allocator holds, in the domain of a device. */
#define OP_TORCH_ALLOCATED "allocated"
#define OP_TORCH_RESERVED  "reserved"

/* ITT's range from pause to resume. */
#define OP_PAUSED "paused"

/* What the API's calls are: steps, and the marks that say what is recorded. */
#define OP_API_STEP  "mark_step"
#define OP_API_START "start"
#define OP_API_STOP  "stop"

/*
 * Where this variable is set, ranges with nothing in them are recorded now and then, in whatever
 * thread has ops: their time is what recording adds to a range. ROW is one around OP_EMPTY_ROW of
 * them. The Python package makes some of its own when the program ends.
 */
#define OP_EMPTY_ENV    "BOTTLENECK_EMPTY_RANGES"
#define OP_EMPTY        "bottleneck: empty"
#define OP_EMPTY_PYTHON "bottleneck: empty, in Python"
#define OP_EMPTIES      "bottleneck: row of empty"
#define OP_EMPTY_ROW    8

/* "nvtx", "blas" …; never NULL. */
const char *op_provider_name(enum op_provider provider);

struct op {
	uint32_t id; /* 1 and up */
	enum op_provider provider;
	const char *domain;   /* "" if none */
	uint32_t domain_id;   /* the same for all ops that op_domain() says the same of */
	const char *category; /* "" if none; the first one that was seen with the op */
	const char *name;
};

/* The domain; what has none is in its provider's. */
const char *op_domain(const struct op *op);

bool op_is_counter(const struct op *op);

/* The line of the file DOMAIN that it is named after, as those of shells are; 0: none. */
int op_line(const struct op *op);

/* Whether it is the API's OP_API_STEP. */
bool op_is_step(const struct op *op);

/* Whether the program's author or its user has named it, not a library. */
bool op_is_label(const struct op *op);

/* A call of MPI, or one of PyTorch's with which processes exchange data: c10d, NCCL, Gloo, UCC. */
bool op_communicates(const struct op *op);

struct ops;

struct ops *ops_new(void); /* NULL if there is no memory */
void ops_free(struct ops *o);

CLEANUP(ops, struct ops *, ops_free)

/* The op that equals WANTED in provider, domain and name; added, with its texts copied, if it is
   new. NULL if there is no memory. */
const struct op *ops_add(struct ops *o, const struct op *wanted);

/* NULL if there is no such id. */
const struct op *ops_get(const struct ops *o, uint32_t id);

/* Ids run from 1 to this number. */
uint32_t ops_count(const struct ops *o);
