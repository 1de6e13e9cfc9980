/* SPDX-License-Identifier: MIT */
/*
 * How the agent in the target and the collector find each other.
 *
 * The collector makes a private directory (mode 0700, in $XDG_RUNTIME_DIR or
 * /tmp, never in the working directory or /dev/shm) and names it in the
 * environment; a descriptor would not survive close_fds. For root it has the
 * mode 0711, and in it is a directory with a secret name for processes that
 * become other users (tracer/reader/session.c). Each process of the
 * target makes files there, "PID-IMAGE-NUMBER", whose mappings hold the rings
 * of its threads; the collector scans the directory, checks owner and size,
 * maps the file, unlinks it, and drains the rings (base/ring.h).
 *
 *	[struct protocol_file, one page | ring | ring | … ring_count of them]
 *
 * A ring is RING_HEADER_BYTES + data_bytes. The file is sparse: the reader
 * touches a ring only after its bit in `made` is set. Ring 0 of file 0 holds
 * what is said of the process; all others belong to one thread at a time.
 */
#pragma once

#include "base/ring.h"

#include <stdint.h>

#define PROTOCOL_ENV_DIRECTORY "BOTTLENECK_AGENT_DIR" /* path of the directory */
#define PROTOCOL_ENV_CONFIG    "BOTTLENECK_AGENT"     /* see tracer/agent/config.h */
#define PROTOCOL_ENV_TRACE     "BOTTLENECK_TRACE"     /* see tracer/agent/trace/pattern.h */
#define PROTOCOL_TRACE_BYTES   4096                   /* of its value, with the NUL */
#define PROTOCOL_AGENT_LIBRARY "libbottleneck-agent.so"

/*
 * What a process is called in that runs already, once it has loaded the agent: with the texts that
 * the environment would have had. By enum protocol_join it says what has come of it. The second one
 * ends that, in a process that goes on: 0, or not 0 if threads stay in hooks; then all that the
 * agent has stays mapped, idle.
 */
#define PROTOCOL_JOIN  "bottleneck_agent_join"  /* int (const char *directory, *config) */
#define PROTOCOL_LEAVE "bottleneck_agent_leave" /* int (void) */

enum protocol_join {
	PROTOCOL_JOINED,
	PROTOCOL_JOIN_BUSY,  /* an agent is at work already */
	PROTOCOL_JOIN_FAILED /* this C library lacks what the agent needs, or it was stopped for
	                        good */
};

/*
 * Where a program may take no more address space than this (RLIMIT_AS, ulimit -v), the agent, whose
 * image alone takes 27 MB of it, is not loaded.
 */
#define PROTOCOL_SPACE_LEAST ((uint64_t)256 << 20)

/* What threads in the program are called that are there for the agent: not the program's. */
#define PROTOCOL_OWN_THREAD "bottleneck-gpu"

/* What is wanted of GPUs: bits. */
enum protocol_gpu {
	PROTOCOL_GPU_LINES = 1 << 0, /* instructions of kernels are sampled */
	PROTOCOL_GPU_NODES = 1 << 1  /* of graphs each kernel is told, not the launch as a whole */
};

/* Of which calls of CUDA's the stack is copied, beside the first of each place. */
enum protocol_launches {
	PROTOCOL_LAUNCHES_OFF,     /* of none */
	PROTOCOL_LAUNCHES_SAMPLED, /* of some each second */
	PROTOCOL_LAUNCHES_ALL
};

#define PROTOCOL_MAGIC      UINT32_C(0x4b4e5442) /* "BTNK" */
#define PROTOCOL_VERSION    7
#define PROTOCOL_FILE_BYTES ((size_t)4096)
#define PROTOCOL_RINGS_MAX  32 /* in one file: bits of `made` */

struct protocol_file {
	uint32_t magic;
	uint32_t version;
	uint32_t pid;
	uint32_t number;   /* of this file among the process's, from 0 */
	uint64_t image_ns; /* when this program began in the process: tells an exec'd one apart */
	uint32_t ring_count;
	uint32_t data_bytes;  /* of each ring */
	uint32_t made;        /* bit I: ring I is there; set with release, never cleared */
	uint32_t unsampled;   /* threads that got no ring (no room, or too many) */
	uint64_t handlers_ns; /* atomic; file 0: what the handlers of ticks have taken */
	/* Where pids, tids and times in the file are counted: struct namespaces. */
	uint32_t pid_namespace;
	uint32_t reserved;
	int64_t monotonic_ns;
};
_Static_assert(sizeof(struct protocol_file) == 64, "file header");

static inline size_t protocol_ring_bytes(uint32_t data_bytes)
{
	return RING_HEADER_BYTES + data_bytes;
}

static inline size_t protocol_ring_offset(uint32_t index, uint32_t data_bytes)
{
	return PROTOCOL_FILE_BYTES + index * protocol_ring_bytes(data_bytes);
}

/*
 * The names of a process's ops are in one more file, "PID-IMAGE-names": they grow at its end and
 * never change, so that a name is there as soon as its id is, whatever becomes of the rings.
 *
 *	[struct protocol_names | struct protocol_name + text | struct protocol_name + text | …
 *
 * A name's id is the place of its entry in the file, in units of 8 bytes. The first entry of 0
 * bytes is behind the last.
 */
#define PROTOCOL_NAMES_MAGIC UINT32_C(0x4e4e5442) /* "BTNN" */
#define PROTOCOL_NAMES_BYTES ((size_t)4 << 20)
#define PROTOCOL_NAME_TEXT   1000 /* longer names are cut, */
#define PROTOCOL_KERNEL_TEXT 4000 /* but for kernels': those of templates are mangled */

struct protocol_names {
	uint32_t magic;
	uint32_t version;
	uint32_t pid;
	uint32_t pid_namespace; /* as in struct protocol_file */
	uint64_t image_ns;
	uint64_t refused; /* ops whose names found no room */
};
_Static_assert(sizeof(struct protocol_names) == 32, "names header");

struct protocol_name {
	uint32_t bytes; /* of entry and text, a multiple of 8; stored last, with release */
	uint32_t domain, category; /* ids of names; 0: none */
	uint8_t provider;          /* enum op_provider */
	uint8_t reserved[3];
	struct op_counts counts; /* ops that found no room in their ring; each atomic */
				 /* The text and its NUL follow. */
};
_Static_assert(sizeof(struct protocol_name) == 64, "name");

/*
 * Most processes are short, and files of their own would cost them more than they do: what one
 * without files has to report of its memory at its end is a struct record_memory that it appends
 * to a file of its user's, whole. One that cannot make its files appends the same with RECORD_LOST
 * for a type. Its time is the machine's, and its tid is the inode of the PID namespace that the pid
 * is of.
 */
#define PROTOCOL_TOTALS_FILE "totals-" /* and the number of the user, whose own it is */

/*
 * The collector holds a lock on this file (F_OFD_SETLK, F_WRLCK) for as long as it lives. Where
 * the file is there and not locked, nobody reads the rings: agents make no files.
 *
 * One byte of it is locked by the collector as a process (F_SETLK): who finds its number on that
 * lock, which the kernel gives as the asking one counts processes, counts them as the collector
 * does.
 */
#define PROTOCOL_ALIVE_FILE "collector"
#define PROTOCOL_ALIVE_BYTE 1 /* the one that has the number; the lock of the run is on byte 0 */

/*
 * Where the collector listens (a stream socket), for processes in another PID namespace than its
 * own: they cannot know their numbers there, and it can find them in /proc only while they live. On
 * each connection comes one struct protocol_introduction; the kernel says whose it is
 * (SO_PEERCRED). Whoever cannot connect at once goes on without.
 */
#define PROTOCOL_DOOR "door"

struct protocol_introduction {
	uint32_t magic;
	uint32_t pid;
	uint32_t parent_pid; /* in the same namespace; 0: outside of it */
	uint32_t pid_namespace;
	uint64_t image_ns; /* as in struct protocol_file */
};
_Static_assert(sizeof(struct protocol_introduction) == 24, "introduction");

/*
 * A cubin with lines (see base/record_gpu.h, RECORD_GPU_PC), by its CRC: whole, as it is renamed
 * when it is.
 */
#define PROTOCOL_CUBIN_FILE   "cubin-%016llx"
#define PROTOCOL_CUBIN_BYTES  ((size_t)64 << 20)  /* of one */
#define PROTOCOL_CUBINS_BYTES ((size_t)256 << 20) /* of all that a process keeps */
