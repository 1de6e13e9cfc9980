/* SPDX-License-Identifier: MIT */
/*
 * How fast a CPU ran during the run, reading by reading: plain values, no memory but their own.
 *
 * A reading holds from when it was taken until the next one. Where there is no room for another,
 * pairs become one with their mean, and so many more are let go. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCKS_MAX  256     /* readings that are kept */
#define CLOCKS_TEXT 8192    /* bytes that the text of all of them may take */
#define CLOCKS_MHZ  1000000 /* no CPU is as fast as that */

struct clock_reading {
	uint32_t at_ms; /* since the start of the run */
	uint32_t mhz;
};

struct clocks {
	struct clock_reading readings[CLOCKS_MAX]; /* in order */
	uint32_t count;
	uint32_t together; /* so many that were taken make one that is kept; 0: one */
	uint32_t open;     /* of them in the last one */
	uint64_t open_sum; /* what they sum up to, in MHz */
};

/* Of what is 0, too fast, or earlier than the last one nothing is kept. */
void clocks_add(struct clocks *c, uint64_t at_ns, uint64_t mhz);

/* "0:1400 20:2800": milliseconds and MHz; "" if there are none. */
void clocks_print(const struct clocks *c, char text[CLOCKS_TEXT]);

/* False, with nothing in C, if TEXT, which may be NULL, is not what clocks_print() makes. */
bool clocks_parse(struct clocks *c, const char *text);

/* The mean by time, in MHz, over readings FIRST up to, but without, END; the last one holds until
   UNTIL_MS. 0 if there is no reading. */
double clocks_mean(const struct clocks *c, uint32_t first, uint32_t end, uint64_t until_ms);

/* The first reading from AT_MS on; the count if there is none. */
uint32_t clocks_from(const struct clocks *c, uint64_t at_ms);
