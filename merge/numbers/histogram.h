/* SPDX-License-Identifier: MIT */
/*
 * How long calls took: counts by duration, in buckets less than 1/128 wide.
 *
 * Log-linear, as HdrHistogram's: durations under 128 have a bucket each, and
 * every octave above has 128. Only buckets that hold something take room.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BUCKETS 7424u

struct histogram_bucket {
	uint32_t bucket;
	uint32_t count; /* stays at its maximum */
};

/* Zeroed when empty. */
struct histogram {
	struct histogram_bucket *buckets; /* in order */
	uint32_t count;
	size_t capacity;
	uint32_t last; /* index of the one that was added to last */
};

void histogram_fini(struct histogram *h);

/* COUNT calls that took NS. False if there is no memory. */
bool histogram_add(struct histogram *h, uint64_t ns, uint32_t count);

/* The same without taking memory: in the nearest bucket that there is. False if there is none. */
bool histogram_add_near(struct histogram *h, uint64_t ns, uint32_t count);

/* Adds what is in FROM. False if there is no memory. */
bool histogram_merge(struct histogram *h, const struct histogram *from);

/* Adds COUNT to BUCKET, e.g. from a file. False if there is no memory or no such bucket. */
bool histogram_add_bucket(struct histogram *h, uint32_t bucket, uint32_t count);

/* Of all buckets. */
uint64_t histogram_calls(const struct histogram *h);

/* The value of which SHARE (0 … 1) of all are smaller; 0 if there is none. */
uint64_t histogram_quantile(const struct histogram *h, double share);

/*
 * The same where the shortest and the longest call are known: a bucket stands for its middle, which
 * may lie beyond either. MOST: 0 if they are not known.
 */
uint64_t histogram_quantile_within(const struct histogram *h, double share, uint64_t least,
                                   uint64_t most);
