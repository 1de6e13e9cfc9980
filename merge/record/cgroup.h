/* SPDX-License-Identifier: MIT */
/*
 * What the control groups of a process allow it: CPU time and memory, of its group and of each
 * group around that, cgroup v1 and v2.
 *
 * Where the groups are is read from /proc/PID/cgroup and /proc/self/mountinfo, both as this process
 * sees them: in a container the mount's root is the container's own group, and groups around that
 * are out of sight. Plain values, no memory but their own.
 *
 * The files are those of Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst of Linux.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CGROUP_PATH   4096
#define CGROUP_LEVELS 32 /* of groups within groups: only the innermost ones are looked at */

/* Where a hierarchy is mounted, and which of its groups is at that place. */
struct cgroup_mount {
	char point[CGROUP_PATH], root[CGROUP_PATH]; /* point "": it is not mounted */
};
struct cgroup_mounts {
	struct cgroup_mount cpu, memory; /* of v1 */
	struct cgroup_mount unified;     /* v2 */
};

/* FILE is a /proc/PID/mountinfo. The first mount of each hierarchy counts. */
void cgroup_parse_mounts(FILE *file, struct cgroup_mounts *mounts);

/* The groups that a process is in; "" if it is in none. */
struct cgroup_paths {
	char cpu[CGROUP_PATH], memory[CGROUP_PATH]; /* of v1 */
	char unified[CGROUP_PATH];
};

/* FILE is a /proc/PID/cgroup. */
void cgroup_parse_paths(FILE *file, struct cgroup_paths *paths);

/* The directories of a group and of those around it. */
struct cgroup_chain {
	char directory[CGROUP_PATH];   /* of the innermost one */
	size_t lengths[CGROUP_LEVELS]; /* of the directory's part that is the group's, innermost
	                                  first */
	uint32_t count;                /* 0: the groups are not known */
	size_t top;                    /* where in it the path within the hierarchy begins */
	bool unified;                  /* v2 */
};

/* Directories begin with PREFIX, which is "" but in tests. */
void cgroup_find_cpu(const struct cgroup_mounts *mounts, const struct cgroup_paths *paths,
                     const char *prefix, struct cgroup_chain *chain);
void cgroup_find_memory(const struct cgroup_mounts *mounts, const struct cgroup_paths *paths,
                        const char *prefix, struct cgroup_chain *chain);

struct cgroup_cpu {
	uint64_t quota_us, period_us; /* CPU time in each period; quota_us 0: no limit */
	uint64_t periods;             /* in which the group had something to run */
	uint64_t throttled_periods;   /* of these: those whose quota was used up */
	uint64_t throttled_ns;        /* summed over the CPUs' run queues: no wall time */
};

/* Fields that FILE, a cpu.stat or a cpu.max, has; others stay. False if there is none. */
bool cgroup_parse_cpu_stat(FILE *file, struct cgroup_cpu *cpu);
bool cgroup_parse_cpu_max(FILE *file, struct cgroup_cpu *cpu);

/* Of the group LEVEL of CHAIN, from 0. False if nothing can be read. */
bool cgroup_read_cpu(const struct cgroup_chain *chain, uint32_t level, struct cgroup_cpu *cpu);

struct cgroup_memory {
	uint64_t limit_bytes; /* 0: no limit */
	uint64_t used_bytes;  /* all that is charged, with the page cache */
	uint64_t held_bytes; /* of it: what cannot be dropped, without swap: anonymous and shared */
	uint64_t limit_hits; /* allocations that came to the limit */
	uint64_t kills;      /* processes that were killed for want of memory */
	uint64_t stalled_ns; /* some task waited for memory; PSI */
	bool knows_stalls;
};

bool cgroup_parse_memory_stat(FILE *file, struct cgroup_memory *memory);
bool cgroup_parse_memory_events(FILE *file, struct cgroup_memory *memory);
bool cgroup_parse_pressure(FILE *file, struct cgroup_memory *memory);
bool cgroup_read_memory(const struct cgroup_chain *chain, uint32_t level,
                        struct cgroup_memory *memory);

/* The group LEVEL as it is called in its hierarchy: "/a/b". */
void cgroup_name(const struct cgroup_chain *chain, uint32_t level, char *buffer, size_t size);

/*
 * How long a group was kept from its CPUs by the clock, while it used its quota up in PERIODS
 * periods, and its run queues together were throttled for THROTTLED_NS.
 *
 * Each run queue of N that have work is throttled for what is left of the period, P, once all have
 * used the quota Q: throttled = N P - Q. So N = (throttled + Q) / P, and by the clock it is
 * throttled / N. CPUS is how many run queues there can be; 0: unknown.
 */
uint64_t cgroup_throttled_wall_ns(const struct cgroup_cpu *limit, uint64_t periods,
                                  uint64_t throttled_ns, uint32_t cpus);
