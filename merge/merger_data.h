/* SPDX-License-Identifier: MIT */
/*
 * What a struct merger is made of: for merge/merger*.c alone.
 */
#pragma once

#include "merge/merger.h"
#include "merge/profile_data.h"

/* Who shares a slot, where not everybody is apart. */
struct merger_slot {
	uint32_t owner;   /* of threads: the slot of their process */
	uint32_t name;    /* string */
	uint32_t ordinal; /* among those called alike in one part */
};

struct merger {
	struct merge_plan plan;
	struct profile *profile;
	struct run run; /* of all so far; its texts are the profile's */
	uint32_t parts;
	bool apart;
	struct merger_slot *process_slots, *thread_slots; /* [slot - 1] */
	size_t process_slot_capacity, thread_slot_capacity;

	/* Of the part that is being added: what its numbers are in the profile [number - 1]. */
	const struct profile *part;
	int64_t shift_ns; /* to be added to its times */
	uint32_t *modules, *locations, *nodes, *chains, *ops, *processes, *threads;

	uint32_t unmerged_gpus, unmerged_series, unmerged_repeats, unmerged_slices;
	char notes[4096];
	struct merger_host {
		uint32_t name; /* string */
		uint32_t cpus;
		int64_t boot_ns; /* since the epoch: where its clock is 0 */
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

/* Each takes its tables of the part. False if there is no memory. */
bool merger_add_modules(struct merger *m);
bool merger_add_op_names(struct merger *m);
bool merger_add_threads(struct merger *m);
bool merger_add_locations(struct merger *m);
bool merger_add_nodes(struct merger *m);
bool merger_add_cells(struct merger *m);
bool merger_add_chains(struct merger *m);
bool merger_add_ops(struct merger *m);
bool merger_add_memory(struct merger *m);
int merger_add_rank(struct merger *m, struct error *err);
