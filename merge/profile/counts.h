/* SPDX-License-Identifier: MIT */
/*
 * Instructions that a program has executed, by function and by line, exact: what "bottleneck count"
 * has callgrind count.
 *
 * Names are callgrind's own, but for what it appends to functions that are entered again while they
 * run ("fib'2"): those are one function. For the files of merge/, and for cli/, which fills them.
 * One thread at a time.
 */
#pragma once

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct strings;

#define COUNTS_MAX (1u << 22) /* functions; lines */

struct count_function {
	uint32_t name, file, module; /* strings; 0: unknown */
	uint64_t calls;              /* by other functions */
	uint64_t self;
	uint64_t called;  /* by those calls, with all that it has called */
	uint64_t callees; /* by its calls of others */
};

/* What a function has executed itself on a line, of its file or of one that is inlined there. */
struct count_line {
	uint32_t function; /* from 1 */
	uint32_t file;     /* string; 0: unknown */
	uint32_t line;     /* 0: unknown */
	uint64_t self;
};

struct counts {
	struct count_function *functions;
	struct count_line *lines;
	uint32_t function_count, line_count;
	size_t function_capacity, line_capacity;
	struct hash by_function, by_line;
	uint64_t all; /* that were executed */
	uint32_t processes;
};

void counts_fini(struct counts *c);

/* The number of a function, added if it is new; 0 if there is no room. */
uint32_t counts_function(struct counts *c, uint32_t name, uint32_t file, uint32_t module);

/* NUMBER more instructions at a line of FUNCTION. False if there is no room. */
bool counts_add(struct counts *c, uint32_t function, uint32_t file, uint32_t line, uint64_t number);

/* What P has of them, to be filled, with names in its strings. */
struct counts *profile_writable_counts(struct profile *p);
struct strings *profile_writable_strings(struct profile *p);
