/* SPDX-License-Identifier: MIT */
/*
 * What kind of loop an address is in: what its machine code says, as a line of text that a profile
 * keeps. Readers parse it, for a profile is foreign bytes.
 *
 *	stride 8192 0 20 /home/me/raster.c
 *
 * Functions without state, for any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum loop_kind {
	LOOP_NONE,
	LOOP_WAIT,   /* reads one address again until it changes, and does nothing else */
	LOOP_CHASE,  /* the address of a load depends on what the load before it returned */
	LOOP_DIVIDE, /* its samples are at divisions or square roots; DETAIL: enum loop_divisor */
	LOOP_STRIDE, /* an access moves on by BYTES (0: by what a register holds) each time;
	                DETAIL: enum loop_access */
	LOOP_SEARCH, /* ends by what it has read: compares elements, BYTES apart, one after another
	              */
	LOOP_COPY,   /* moves BYTES at a time and does nothing else; DETAIL: enum loop_copy */
	LOOP_SUM,    /* adds one floating-point number after another to one sum */
	LOOP_SCALAR, /* computes with one element at a time, though the next ones are beside it;
	                DETAIL: 1: of floating point */
	LOOP_NARROW, /* computes with vectors of BYTES, on a CPU with those of DETAIL */
	LOOP_SUBNORMAL, /* computes with subnormal numbers at BYTES percent of its samples, which
	                   makes operations of its kinds take DETAIL / 10 times as long */
	LOOP_SHARED,    /* writes to a cache line that another thread uses there, BYTES beside it;
	                   DETAIL: enum loop_sharing */
	LOOP_KINDS
};

enum loop_divisor {
	DIVISOR_UNKNOWN,
	DIVISOR_VARIES,  /* whole numbers, by one that changes in the loop */
	DIVISOR_CONSTANT /* whole numbers, by one that does not */
};

enum loop_access {
	ACCESS_LOAD,
	ACCESS_STORE
};
enum loop_copy {
	COPY_COPY,
	COPY_FILL
};

enum loop_sharing {
	SHARING_PLAIN,
	SHARING_ATOMIC /* by atomic instructions */
};

struct loop_fact {
	enum loop_kind kind;
	uint64_t bytes;
	uint32_t detail;
	uint32_t line;    /* of the loop; 0: unknown */
	const char *file; /* NULL: unknown */
	bool measured;    /* STRIDE: BYTES are what a register held at a sample */
};

/* "stride". NULL if KIND is none. */
const char *loop_kind_name(enum loop_kind kind);

/* False if it does not fit. */
bool loop_fact_print(const struct loop_fact *fact, char *buffer, size_t size);

/* The file points into TEXT. False if that is no fact. TEXT may be NULL. */
bool loop_fact_parse(const char *text, struct loop_fact *fact);
