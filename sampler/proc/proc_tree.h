/* SPDX-License-Identifier: MIT */
/*
 * The threads of processes that run already, and of all their descendants, as /proc lists them.
 *
 * Whoever starts or ends meanwhile may be missing or listed: callers ask again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_tree_thread {
	uint32_t pid, tid;
	uint32_t parent_pid; /* of the process; 0: that is none of those that are listed */
	bool blocked;        /* it waits, or is stopped */
};

struct proc_tree {
	struct proc_tree_thread *threads; /* a process's first one first, parents before children */
	size_t count, capacity;
};

/* A process that is not there is left out. False if there is no memory. */
bool proc_tree_list(struct proc_tree *tree, const pid_t *pids, size_t count);
void proc_tree_fini(struct proc_tree *tree); /* zeroed is fine */

bool proc_tree_has(const struct proc_tree *tree, uint32_t tid);
