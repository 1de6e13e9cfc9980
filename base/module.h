/* SPDX-License-Identifier: MIT */
/*
 * The files (and file-like things) that code was mapped from.
 *
 * The sampler registers a module when it meets a new mapping; a module's id is
 * its identity from there to the profile file. Entries are never removed and
 * never move while the registry lives. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define BUILD_ID_MAX 32

enum module_kind {
	MODULE_ELF = 1,    /* addresses: the file's own (p_vaddr) */
	MODULE_VDSO = 2,   /* addresses: the vDSO image's own */
	MODULE_KERNEL = 3, /* kernel and its modules; addresses: as the kernel reports them */
	MODULE_JIT = 4,    /* anonymous executable memory of one process; run-time addresses */
	MODULE_MARK = 5    /* not code: the address is an enum mark (see base/stack.h) */
};

struct module {
	uint32_t id; /* 1 and up */
	enum module_kind kind;
	const char *path; /* as the target saw it: "/usr/lib/x.so", "[vdso]", "[kernel]", "[jit
	                     4711]" */
	pid_t pid;        /* JIT: whose memory; others: a process that mapped it */
	bool user_known;  /* of JIT: whose process it is, which decides what files about it count */
	uid_t user;
	pid_t inner_pid; /* of JIT: its pid in its own PID namespace, where files are named by that,
	                    if it is known whether it has our /tmp, too; else 0 */
	uint64_t born_ns; /* of JIT: when the process began, CLOCK_REALTIME; 0 if unknown */
	dev_t device;     /* of the mapped file; 0 if unknown */
	ino_t inode;      /* 0 if unknown */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_size; /* 0 if unknown */
	int fd; /* open on the mapped file if PATH may not lead to it (deleted, another mount
	           namespace); of JIT: on the process's /tmp, if that is not ours; else -1. Owned by
	           the registry. */
};

struct modules;

struct modules *modules_new(void); /* NULL if there is no memory */
void modules_free(struct modules *m);

CLEANUP(modules, struct modules *, modules_free)

/*
 * The module that equals WANTED in kind, path, device, inode and (if both are
 * known) build-id; for MODULE_JIT in pid. Added, with its strings copied, if it
 * is new: then *ADDED is true. NULL if there is no memory. ADDED may be NULL.
 */
struct module *modules_add(struct modules *m, const struct module *wanted, bool *added);

/* NULL if there is no such id. */
struct module *modules_get(const struct modules *m, uint32_t id);

/* Gives it another path; it is found by the old one no more. False if there is no memory. */
bool modules_rename(struct modules *m, uint32_t id, const char *path);

/* Ids run from 1 to this number. */
uint32_t modules_count(const struct modules *m);
