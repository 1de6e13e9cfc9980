/* SPDX-License-Identifier: MIT */
/*
 * What a change at one place of the program may save: an interval.
 *
 *	low    what the symptom itself has shown: the time that a rule has measured, or the place's
 *	       own time, less what sampling leaves open
 *	high   the wall share of the whole place: what the end of the run waited for there, with all
 *	       that it calls, with the waits of others that it caused (merge/wall/wall.h charges
 *	       these to it), with what it made the run wait for CPUs, and with waits whose end
 *	       nobody knows; without what profiling added to the rest of the run
 *
 * The highest is more by what sampling leaves open, and by how far the rest of the run differs
 * between two runs by itself (merge/rules/noise.h).
 *
 * The whole place is the function with all its callees. Of a function that none of the user's own
 * has called, such as main() or the entry of a thread, that would be all of the run: it is what
 * that function does itself, with libraries, and all that it calls at the line in question. Of code
 * without a name it is that code, with what the kernel does for it. A symptom of which most is not
 * at its place, as what the holder of a lock waits for, has its part of the waits for a CPU.
 *
 * Plain values; texts are borrowed. Any thread, while the profile is not changed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct profile;
struct query;
struct wait_rows;
struct wall_account;

struct price {
	uint64_t low_ns, high_ns; /* of wall time; both 0: not known */
};

/* Code, or with PROGRAM or PID all that processes do. */
struct price_place {
	const char *function; /* NULL: no place is known, and the symptom is all there is; "[…" with
	                         MODULE: all code of that without a name */
	const char *file;     /* NULL: of any */
	const char *module;   /* the same */
	int line;             /* 0: all lines */
	const char *program;   /* "cc1" of "cc1 a.c": all that run it; NULL: none */
	uint32_t pid;          /* 0: none */
	uint64_t elsewhere_ns; /* of wall time, what goes with it at other places, without waits for
	                          a CPU */
	bool children;         /* also all that processes do which the first one has started */
};

/*
 * The price of a change at PLACE, in the window of QUERY, where SYMPTOM_NS ± MARGIN_NS was found.
 * It has SYMPTOM_NS, and ends with the window's wall time at the latest. -1 on error.
 */
int price_find(const struct profile *p, const struct query *query, const struct price_place *place,
               uint64_t symptom_ns, uint64_t margin_ns, struct price *price, struct error *err);

/* The same for who has asked for the WAITS and the ACCOUNT of that window already. */
int price_find_by(const struct profile *p, const struct query *query, const struct wait_rows *waits,
                  const struct wall_account *account, const struct price_place *place,
                  uint64_t symptom_ns, uint64_t margin_ns, struct price *price, struct error *err);
