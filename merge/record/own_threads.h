/* SPDX-License-Identifier: MIT */
/*
 * Threads in the program that are there for us: those that have CUPTI give out what it has seen,
 * and CUPTI's own. They are none of the program's, and bear PROTOCOL_OWN_THREAD as their name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct own_threads {
	uint32_t *numbers; /* the sampler's */
	size_t count, capacity;
};

void own_threads_fini(struct own_threads *o);

/* Whether thread NUMBER, which is called NAME now, is one of them, from now on and for good. */
bool own_threads_take(struct own_threads *o, uint32_t number, const char *name);

bool own_threads_has(const struct own_threads *o, uint32_t number);
