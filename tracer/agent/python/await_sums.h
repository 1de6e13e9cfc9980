/* SPDX-License-Identifier: MIT */
/*
 * What tasks of event loops did, summed: rows by kind and chain of places (base/await.h), and
 * telling them to the collector.
 *
 * Places are known by a key, the address of a code object as a rule, which the caller keeps alive;
 * their texts are copied, so that telling runs nothing of Python's. Numbers of places and rows
 * begin at 1; 0 is "no room", which every function here takes. There is one such table in a
 * process, under the GIL.
 */
#pragma once

#include "base/await.h"

#include <stdbool.h>
#include <stdint.h>

struct agent;

#define SUMS_PLACES_MAX ((uint32_t)1 << 13)
#define SUMS_ROWS_MAX   ((uint32_t)1 << 14)
#define SUMS_NAME_BYTES 120
#define SUMS_FILE_BYTES 240

/* A line of a function; or a coroutine, whose line is where it begins. */
struct sums_place {
	uintptr_t key;
	uint32_t line;
	bool begins;
	uint32_t rows[AWAIT_READY + 1]; /* [kind]: of the coroutine; 0: none so far */
	uint32_t last_wait;             /* the row of the chain that was read last */
	uint64_t owed_ns, owed_count;   /* waits whose chain was not read */
	uint32_t names_asked;           /* how many of its tasks were asked for theirs */
	uint8_t libraries;              /* of its tasks, bits of their numbers */
	char name[SUMS_NAME_BYTES], file[SUMS_FILE_BYTES];
};

struct sums_row {
	uint8_t kind, place_count;
	uint16_t places[AWAIT_PLACES_MAX]; /* numbers */
	uint64_t count, ns, longest_ns;
	uint64_t told_count, told_ns;
};

struct sums {
	struct sums_place places[SUMS_PLACES_MAX]; /* [number - 1] */
	struct sums_row rows[SUMS_ROWS_MAX];       /* the same */
	uint32_t place_slots[2 * SUMS_PLACES_MAX], row_slots[2 * SUMS_ROWS_MAX];
	uint32_t place_count, row_count;
};

/* NULL before await_sums_start(); most of it is never touched. */
extern struct sums *await_sums;

/* False: there is no memory. */
bool await_sums_start(void);

/* Something found no room. */
void await_sums_lack(void);
bool await_sums_are_lacking(void);

/* 0: it is not known yet. */
uint32_t await_sums_find(uintptr_t key, uint32_t line, bool begins);
/* One that is not known. */
uint32_t await_sums_add_place(uintptr_t key, uint32_t line, bool begins, const char *name,
                              const char *file);

uint32_t await_sums_row(enum await_kind kind, const uint16_t *places, uint32_t count);

/* The row of AWAIT_TASK, AWAIT_RUN or AWAIT_READY of a coroutine. */
uint32_t await_sums_row_of(uint16_t coroutine, enum await_kind kind);

static inline struct sums_place *await_sums_place(uint32_t number)
{
	return &await_sums->places[number - 1];
}

static inline void await_sums_add(uint32_t row, uint64_t count, uint64_t ns, uint64_t longest_ns)
{
	struct sums_row *r = row ? &await_sums->rows[row - 1] : (struct sums_row *)0;

	if (!r)
		return;
	r->count += count;
	r->ns += ns;
	if (longest_ns > r->longest_ns)
		r->longest_ns = longest_ns;
}

/* What has come since the last time. LAST: waits a while for room in the ring. */
void await_sums_tell(const struct agent *a, bool last);

/* In a forked child: what was summed was its parent's. */
void await_sums_fork(void);
