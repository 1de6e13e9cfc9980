/* SPDX-License-Identifier: MIT */
/*
 * Python's functions, by number.
 *
 * A function is the file, the qualified name and the first line of its code
 * object, whatever process runs it and how often the object was made. Entries
 * are never removed and never move while the registry lives. One thread at a time.
 *
 * Chains of calls have numbers, too: that of a call stands for all that lead to it.
 */
#pragma once

#include "base/cleanup.h"
#include "base/stack.h"

#include <stdbool.h>
#include <stdint.h>

#define CODES_MAX       (1u << 24)
#define CODES_CALLS_MAX (1u << 20) /* and modules */

struct code {
	const char *file; /* as the interpreter has it: a path, "<stdin>", "<frozen ...>" */
	const char *name; /* qualified; up to 3.10 only where its source was read */
	uint32_t first_line;
};

struct codes;

struct codes *codes_new(void); /* NULL if there is no memory */
void codes_free(struct codes *c);

CLEANUP(codes, struct codes *, codes_free)

/* The number, from 1 on, of the function that equals WANTED; added, with its texts copied, if it is
   new. 0 if there is no room. */
uint32_t codes_add(struct codes *c, const struct code *wanted);

/* NULL if there is no such number. */
const struct code *codes_get(const struct codes *c, uint32_t id);

struct code_call {
	uint32_t caller; /* the call that leads to it; 0: it is the outermost */
	struct frame frame;
};

/* The number, from 1 on, of the call of FRAME that CALLER (0: none) leads to. 0 if there is no
   room. */
uint32_t codes_add_call(struct codes *c, uint32_t caller, struct frame frame);

/* NULL if there is no such number. Until another is added. */
const struct code_call *codes_get_call(const struct codes *c, uint32_t id);

/*
 * Modules of PyTorch: what one is called becomes known bit by bit. The number, from 1 on, of a new
 * one that is called NAME; 0 if there is no room.
 */
uint32_t codes_add_module(struct codes *c, const char *name);

/* It is called NAME from now on. False if there is no memory. */
bool codes_name_module(struct codes *c, uint32_t id, const char *name);

/* NULL if there is no such number. */
const char *codes_module(const struct codes *c, uint32_t id);
