/* SPDX-License-Identifier: MIT */
/*
 * Jumps from elsewhere into the middle of instructions that are to be displaced: hand-written code
 * has them, as libc's memcpy(), and so have parts of functions that compilers have put aside.
 *
 * Far ones are looked for at each byte of the code, near ones in the functions around: what is
 * found may be none, and a function is left alone that need not be.
 */
#pragma once

#include "tracer/agent/trace/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Addresses are as the file has them. */
struct intruded {
	uint64_t address, size; /* of the function */
	uint32_t entry, length; /* what is displaced, from ADDRESS on; LENGTH 0: nothing */
	bool intruded;
};

/* A part of memory with code. */
struct intruder_code {
	const uint8_t *bytes;
	uint64_t address;
	size_t size;
};

/* Sets INTRUDED of those of the COUNT functions at LIST that CODE jumps into, of an object with
 * SYMBOLS. */
void intruders_find(const struct intruder_code *code, const struct symbols *symbols,
                    struct intruded *list, size_t count);
