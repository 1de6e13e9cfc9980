/* SPDX-License-Identifier: MIT */
/*
 * How often each function that Python calls was called, where somebody has counted: by its name,
 * its file and the line where it begins, and by whom. For the files of merge/ alone.
 */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_count {
	uint32_t function, file; /* strings; no file: it is one of C */
	uint32_t line;           /* where it begins; 0: unknown */
	uint64_t calls;
	uint64_t recursive; /* of these, made while it was open in its thread */
};

/* Calls of CALLEE that CALLER has made: ids of counts. */
struct call_edge {
	uint32_t caller, callee;
	uint64_t calls, recursive; /* made while CALLER had one of CALLEE open */
};

struct call_counts {
	struct call_count *all; /* [id - 1] */
	uint32_t count;
	size_t capacity;
	struct hash index;
	struct call_edge *edges;
	uint32_t edge_count;
	size_t edge_capacity;
	struct hash edge_index;
	uint64_t begun, ended; /* processes that have counted, and those that have told all */
};

#define CALL_COUNTS_MAX (1u << 20)
#define CALL_EDGES_MAX  (1u << 22)

void call_counts_fini(struct call_counts *c);

/* Its id, with MORE added to what is known. 0 if there is no room. */
uint32_t call_counts_add(struct call_counts *c, const struct call_count *more);

/* The same. CALLER and CALLEE must be there. */
bool call_counts_add_edge(struct call_counts *c, const struct call_edge *more);

/* Ids of counts. Its id, from 1 on; 0 if it is not known. */
uint32_t call_counts_find_edge(const struct call_counts *c, uint32_t caller, uint32_t callee);

/* Its id; 0 if it is not known. */
uint32_t call_counts_find(const struct call_counts *c, uint32_t function, uint32_t file,
                          uint32_t line);

/* All functions of that name in that file, whatever the line; 0 if none is known. */
struct call_count call_counts_get(const struct call_counts *c, uint32_t function, uint32_t file);
