/* SPDX-License-Identifier: MIT */
/*
 * The text of a Python string object, as UTF-8. For handlers.
 */
#pragma once

#include "base/python_layout.h"
#include "tracer/agent/python/python_guard.h"

#include <stddef.h>
#include <stdint.h>

struct python_text {
	uintptr_t at;  /* the characters */
	uint8_t kind;  /* bytes of each: 1, 2, 4; 0: it is no text */
	size_t length; /* in characters, cut */
	size_t bytes;  /* as UTF-8 */
};

/* The string object at TEXT, cut to LIMIT bytes of UTF-8; empty if it is none. */
struct python_text python_text_of(const struct python_layout *l, struct guard *g, uintptr_t text,
                                  size_t limit);

/* Writes t->bytes, without a NUL. */
void python_text_write(const struct python_text *t, uint8_t *to);
