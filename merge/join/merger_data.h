/* SPDX-License-Identifier: MIT */
/*
 * What a struct merger is made of: for merge/join/ alone.
 */
#pragma once

#include "merge/join/merger.h"
#include "merge/join/merger_slots.h"
#include "merge/profile/profile_data.h"

#define MERGER_THREADS (1u << 14) /* see struct profile_limits */

struct merger {
	struct merge_plan plan;
	struct profile *profile;
	struct run run; /* of all so far; its texts are the profile's */
	uint32_t parts;
	bool apart;
	struct merger_slots process_slots, thread_slots;

	/* Of the part that is being added: what its numbers are in the profile [number - 1]. */
	const struct profile *part;
	int64_t shift_ns;         /* to be added to its times */
	int64_t meeting_shift_ns; /* the same to compare it with others, even before the first start
	                           */
	struct meetings meetings; /* by its own times, until they are joined with the others' */
	struct meetings_clock clock; /* of its host, as its meetings with the others tell */
	uint32_t *modules, *locations, *nodes, *chains, *ops, *processes, *threads;
	uint32_t *devices, *streams, *works;
	uint32_t *models; /* of devices: whose rows their works are in */

	uint64_t wall_busy_ns; /* of the rank that has worked longest so far */
	uint32_t left_out;     /* profiles */
	uint32_t unmerged_series, unmerged_repeats, unmerged_slices, unmerged_quotas;
	uint32_t gpus_shared, gpus_left_out, streams_left_out;
	char notes[4096];
	struct merger_host {
		uint32_t name; /* string */
		uint32_t cpus;
		int64_t boot_ns;  /* since the epoch: where its clock is 0 */
		int64_t ahead_ns; /* its clock is, of the first host's */
		bool met;         /* that is known */
	} * hosts;
	uint32_t host_count;
	size_t host_capacity;
};

/* The text of the part's number ID in the profile. False if there is no memory. */
bool merger_text(struct merger *m, uint32_t id, uint32_t *text);

/* A time of the part in the profile; 0 stays 0. */
static inline uint64_t merger_time(const struct merger *m, uint64_t ns)
{
	return ns ? ns + (uint64_t)m->shift_ns : 0;
}

static inline uint32_t merger_number(const uint32_t *map, uint32_t number)
{
	return number ? map[number - 1] : 0;
}

/* Whether the part has rows of its own: of many, the first, so that there is one main thread. */
static inline bool merger_is_apart(const struct merger *m)
{
	return m->apart || !m->parts;
}

/* A table of cells of the part, and what takes INTERVAL, a piece of CELL, into that of all. */
struct merger_cells {
	const struct cells *from, *to;
	bool (*add)(struct merger *m, const struct cell *cell, const struct interval *interval);
};

/* False if there is no memory. */
bool merger_move_cells(struct merger *m, const struct merger_cells *cells);

/* Each takes its tables of the part. False if there is no memory. */
bool merger_add_modules(struct merger *m);
bool merger_add_op_names(struct merger *m);
bool merger_add_threads(struct merger *m);
bool merger_add_locations(struct merger *m);
bool merger_add_sources(struct merger *m);
bool merger_add_nodes(struct merger *m);
bool merger_add_cells(struct merger *m);
bool merger_add_chains(struct merger *m);
bool merger_add_ops(struct merger *m);
bool merger_add_memory(struct merger *m);
bool merger_add_gpu(struct merger *m);
bool merger_add_gpu_lines(struct merger *m);
bool merger_add_counts(struct merger *m);
int merger_add_slices(struct merger *m, struct error *err);
int merger_add_rank(struct merger *m, struct error *err);

/* Its ranks, of which there were BEFORE others, have been added. */
bool merger_add_wall(struct merger *m, uint32_t before);

/* Finds the meetings of the part, before its clock is put right. -1 on error. */
struct steps;
int merger_find_meetings(struct merger *m, struct error *err);

/* How far the part's clock is ahead when SHIFT_NS is added to its times. False without memory. */
bool merger_compare_clocks(const struct merger *m, int64_t shift_ns, struct meetings_clock *out);

/* Its meetings are known of the first BEFORE ranks and of it. STEPS of it; NULL: it is several.
   False if there is no memory. */
bool merger_join_meetings(struct merger *m, uint32_t before, const struct steps *steps);
