/* SPDX-License-Identifier: MIT */
/*
 * Answers about a profile that one report asks for more than once: they are computed once.
 *
 * From kept_begin() to kept_end() nobody changes the profile, and the calling thread keeps what
 * queries hand to kept_add(), by a text that says all that the answer depends on. Elsewhere nothing
 * is kept or found, and each query computes its answer. Each thread keeps its own. For the files of
 * merge/ alone, but for the first two functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* They nest; only the answers about the P of the outermost pair are kept. */
void kept_begin(const struct profile *p);
void kept_end(void);

struct kept_key {
	char text[192];
	bool works; /* it is of the profile whose answers are kept, and the text is whole */
};

/* The key of an answer about P. */
struct kept_key kept_key(const struct profile *p, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* What was added under KEY, until kept_end(); NULL: nothing. */
void *kept_find(const struct kept_key *key);

/* Takes VALUE, which RELEASE frees. False if it is not kept: then it stays the caller's. */
bool kept_add(const struct kept_key *key, void *value, void (*release)(void *value));

/* [number of a place of P]: bytes that own_place.c fills, zeroed at first. It is asked for with
   each frame of each path, where a key would take longer than the answer. NULL: nothing is kept. */
uint8_t *kept_origins(const struct profile *p);
