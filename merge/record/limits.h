/* SPDX-License-Identifier: MIT */
/*
 * What control groups took of the program's CPU time and left of its memory, and how busy its CPUs
 * were: read at the start, about ten times a second while it runs, and at the end.
 *
 * The groups are those of the program's first process and all groups around them, looked up again
 * whenever it has moved. Reading takes a 200th of the time at most: where it takes long, as on
 * machines with very many CPUs, it is done less often. One thread.
 */
#pragma once

#include "merge/record/cgroup.h"
#include "merge/table/contention.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct run;

#define LIMITS_GROUPS 16    /* groups with a quota that are distinguished */
#define LIMITS_TEXT   12288 /* bytes for all of them */

/* A group with a quota of CPU time. */
struct limits_group {
	char name[512];
	uint64_t quota_us, period_us; /* the last that were not without limit */
	uint64_t periods, throttled_periods, throttled_ns; /* since the program is in it */
	uint64_t wall_ns; /* of throttled_ns, cgroup_throttled_wall_ns() */
	/* Periods and time that have not come together yet: the kernel counts one after the other.
	 */
	uint64_t open_periods, open_ns;
};

struct limits_memory {
	struct cgroup_memory first, last;
	uint64_t most_bytes; /* of held_bytes */
	bool known;
};

struct limits {
	const char *prefix; /* of all paths: "" but in tests */
	uint32_t pid;
	uint64_t start_ns, next_ns, end_ns; /* CLOCK_MONOTONIC; end_ns: of the last row */
	cpu_set_t cpus;                     /* that the program may use */
	uint32_t cpu_count;                 /* of them; 0: unknown */

	uint64_t paths_hash; /* of /proc/PID/cgroup, as it was read last */
	struct cgroup_chain cpu, memory;
	struct cgroup_cpu last[CGROUP_LEVELS];
	struct limits_memory memories[CGROUP_LEVELS];
	struct limits_group groups[LIMITS_GROUPS];
	uint32_t group_count;
	uint64_t busy_ns, own_ns; /* of the CPUs, and of this process, as they were read last */
	bool knows_busy;

	uint64_t bound_ns; /* with more threads ready than CPUs that they are bound to */
	uint64_t bound_at_ns, bound_due_ns; /* when threads were looked at, and are to be again */
	uint32_t bound_threads, bound_cpus; /* when most were */

	struct contention table;
	/* Of the memory limit that came nearest, or made tasks wait longest. */
	struct limits_memory worst;
	char worst_name[512];
	char table_text[CONTENTION_TEXT], groups_text[LIMITS_TEXT], group_name[512];
};

/* PREFIX must outlive L. START_NS, of CLOCK_MONOTONIC, is the zero of all times. */
void limits_init(struct limits *l, const char *prefix, uint32_t pid, uint64_t start_ns);

/* Reads, if it is time to. True if it did. */
bool limits_maybe(struct limits *l, uint64_t now_ns);

/* Reads in any case. */
void limits_look(struct limits *l, uint64_t now_ns);

/* TIMEOUT_MS, or less, if a reading is due before. */
int limits_timeout_ms(const struct limits *l, uint64_t now_ns, int timeout_ms);

/* Tells RUN, which borrows the texts of L. */
void limits_tell(struct limits *l, struct run *run);

/* The smallest quota of the groups of process PID, in thousandths of a CPU; 0: none. */
uint32_t limits_quota(const char *prefix, uint32_t pid);

/* The time that CPUS of a /proc/stat were busy or stolen. False if it does not tell. */
bool limits_parse_busy(FILE *file, const cpu_set_t *cpus, uint64_t *busy_ns);
