/* SPDX-License-Identifier: MIT */
/*
 * Counters and events that ITT programs make: what their handles stand for.
 *
 * A handle is ours, or one of the user's own collector; each is known by its
 * value. Kept in the store, never given back. Any thread at any time.
 */
#pragma once

#include "tracer/agent/itt/itt_abi.h"

#include <stdbool.h>
#include <stdint.h>

struct itt_counter {
	const char *domain; /* NULL: none */
	const char *name;
	int type;       /* enum itt_metadata */
	uint64_t value; /* atomic; a double as its bits */
};

/* The counter that is called so: there is one of each domain and name. NULL if there is no room. */
struct itt_counter *itt_counter_called(const char *domain, const char *name, int type);

/* HANDLE is the user's collector's for COUNTER. */
void itt_counter_alias(const void *handle, struct itt_counter *counter);

/* NULL if nobody knows it. */
struct itt_counter *itt_counter_of(const void *handle);

/* Adds to a counter of integers, and returns what it is now. */
uint64_t itt_counter_add(struct itt_counter *c, uint64_t delta);

struct itt_event {
	const char *name;
	uint32_t number; /* 1 and up */
};

/* The event that is called so, and its number as the program is to get it; 0: there is no room. */
int itt_event_called(const char *name);

/* EVENT is the user's collector's for our NUMBER. */
void itt_event_alias(int event, int number);

/* NULL if nobody knows it. */
const struct itt_event *itt_event_of(int event);
