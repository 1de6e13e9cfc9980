/* SPDX-License-Identifier: MIT */
/*
 * The kinds of the loops that samples of one function are in, by its machine code.
 *
 * A loop is what jumps back lead around: each of its instructions leads to the jump back, and it is
 * entered at its first one alone. What the data flow does not prove gets no kind. The code is
 * foreign bytes, and what it takes is bounded: LOOP_CODE_MAX bytes, LOOP_INSNS_MAX instructions a
 * loop.
 *
 * Functions without state, for any thread.
 */
#pragma once

#include "base/bytes.h"
#include "symbolize/loop/loop_fact.h"

#define LOOP_CODE_MAX  16384
#define LOOP_INSNS_MAX 400

struct loop_sample {
	uint32_t at;           /* offset in the code */
	uint64_t ns;           /* that was spent there */
	const uint64_t *regs;  /* what the 16 general registers held at a sample there, as
	                          instructions number them; NULL: unknown */
	const uint64_t *other; /* the same of another thread of the process; NULL: unknown */
};

struct loop_found {
	struct loop_fact fact; /* without the line and the file */
	uint32_t begin;        /* offset of its first instruction */
	uint32_t jump;         /* and of the jump back; 0: it is in no loop */
};

/*
 * Fills one of FOUND for each of COUNT SAMPLES (ascending): the innermost loop around it, of
 * LOOP_NONE where there is none or its kind is unknown. CODE begins with the function's entry;
 * VECTOR_BYTES are those of the CPU that ran it, 0 if unknown. False if there is no memory.
 */
bool loops_find(struct bytes code, const struct loop_sample *samples, size_t count,
                uint32_t vector_bytes, struct loop_found *found);
