/* SPDX-License-Identifier: MIT */
/*
 * The names of a process's ops: each distinct one gets an id, once.
 *
 * The texts stand in a file that is shared with the collector (see
 * tracer/protocol.h); the index over them is the process's own. Any thread may
 * ask at any time, in handlers too: nothing is waited for, and a name that is
 * added twice at the same moment takes its room twice.
 */
#pragma once

#include "base/op.h"
#include "tracer/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAMES_INDEX 32768 /* a power of two; three quarters of it are used */
#define NAMES_PARTS 32

struct names {
	struct protocol_names *file; /* NULL: there is none */
	bool by_populate;
	uint32_t reserved;           /* atomic: bytes given out */
	uint32_t ready;              /* atomic: bytes that are safe to touch */
	int growing;                 /* atomic */
	uint32_t count;              /* atomic */
	uint32_t touched;            /* atomic: bit I: part I of the index has been written to */
	uint32_t index[NAMES_INDEX]; /* atomic: ids */
};

/* What an op is called. */
struct name {
	enum op_provider provider;
	uint32_t domain, category; /* ids; 0: none */
	const char *text;
};

/* Takes MEMORY (PROTOCOL_NAMES_BYTES, zeroed, its first page safe to touch). */
void names_start(struct names *n, void *memory, bool by_populate, uint32_t pid, uint64_t image_ns);

/* Forgets all names. */
void names_abandon(struct names *n);

/* What is written from now on goes nowhere: nobody else sees it. */
void names_detach(struct names *n);

/* The id of NAME, added if it is new. 0 if there is no room (counted). */
uint32_t names_id(struct names *n, const struct name *name);

/* Ops of name ID which the rings have no room for: COUNTS more of them. */
void names_count(struct names *n, uint32_t id, const struct op_counts *counts);

/*
 * Another id for name ID, for one thread to count in alone: that takes no turns with others. 0 if
 * there is no room to spare.
 */
uint32_t names_twin(struct names *n, uint32_t id);
void names_count_alone(struct names *n, uint32_t twin, const struct op_counts *counts);

static inline const struct protocol_name *names_entry(const struct names *n, uint32_t id)
{
	return (const struct protocol_name *)((const char *)n->file + (size_t)id * 8);
}

static inline const char *names_text(const struct names *n, uint32_t id)
{
	return (const char *)(names_entry(n, id) + 1);
}
