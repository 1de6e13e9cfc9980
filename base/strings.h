/* SPDX-License-Identifier: MIT */
/*
 * Each distinct text once, by number.
 *
 * Id 0 is "no text" (NULL). Texts live as long as the table and do not move.
 * One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct strings;

struct strings *strings_new(void); /* NULL if there is no memory */
void strings_free(struct strings *s);

CLEANUP(strings, struct strings *, strings_free)

/* The id of TEXT (copied if new). 0 if TEXT is NULL or there is no memory. */
uint32_t strings_add(struct strings *s, const char *text);
uint32_t strings_add_bytes(struct strings *s, const char *text, size_t length);

/* The id of TEXT; 0 if it is not there. */
uint32_t strings_find(const struct strings *s, const char *text);

/* Whether both are the same text, wherever they come from; so are two NULLs, which are no text. */
static inline bool strings_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* NULL for id 0 and for ids that were never given out. */
const char *strings_get(const struct strings *s, uint32_t id);

/* Ids run from 1 to this number. */
uint32_t strings_count(const struct strings *s);
