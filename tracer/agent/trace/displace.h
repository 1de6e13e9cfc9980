/* SPDX-License-Identifier: MIT */
/*
 * How a function is made to begin with a jump to elsewhere, and what has to stand there to make up
 * for what the jump takes the place of:
 *
 *	function            elsewhere
 *	┌──────────────┐    ┌───────────────────────────┐
 *	│ endbr64      │    │ (what the caller wants)   │
 *	│ jmp ─────────┼───►│ the displaced ones, moved │
 *	│ … ◄──────────┼────┤ jmp                       │
 *	└──────────────┘    └───────────────────────────┘
 *
 * The whole function is looked through: none of it may lead to what is displaced. A moved call
 * pushes the return address that it would have pushed where it was, so that no return address ever
 * lies elsewhere, where no unwinder would know it.
 */
#pragma once

#include "base/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISPLACE_JUMP  5
#define DISPLACE_BYTES 96 /* at most, of moved code */
#define DISPLACE_ROWS  20

struct displace {
	uint32_t entry;  /* where in the function the jump goes: behind an endbr64 */
	uint32_t length; /* bytes that are displaced */
	bool whole;      /* by one instruction: no thread can stand in the middle */
	size_t size;     /* of CODE */
	uint8_t code[DISPLACE_BYTES];
	uint32_t row_count;
	struct patch_row rows[DISPLACE_ROWS]; /* AT counts from CODE, OFFSET from the function */
};

/* A function in memory. */
struct displace_function {
	const uint8_t *code; /* where it can be read; mostly at ADDRESS */
	uint64_t address;
	size_t size;   /* its own */
	size_t room;   /* up to what comes next: padding */
	bool shadowed; /* there are shadow stacks: a moved call would return to what was not called
	                  from */
};

/* What has to stand at address TO. */
enum patch_reason displace(const struct displace_function *f, uint64_t to, struct displace *out);
