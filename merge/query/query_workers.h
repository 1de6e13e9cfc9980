/* SPDX-License-Identifier: MIT */
/*
 * Processes of one run that exchange data with each other, as those of torchrun: how long each
 * computed, communicated, or did both at once.
 *
 *	train    ██████████░░░░░░██████████     an op is open
 *	gloo         ▒▒▒▒▒▒▒▒▒▒       ▒▒▒▒▒▒▒   one that communicates is
 *	         computing │ overlapping │ communicating │ other
 *
 * Exact, by single calls (query_slices.h): in a thread that is in such a call within another op, it
 * communicates. A process that runs kernels on GPUs computes while these run; ops of its threads
 *only launch them.
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;

struct worker_row {
	const char *process; /* its command; never NULL */
	uint32_t pid;
	uint64_t lifetime_ns; /* in the window: the sum of the next four */
	uint64_t computing_ns, overlapping_ns, communicating_ns, other_ns;
	uint64_t calls; /* that communicate */
};

struct workers {
	struct worker_row *rows; /* longest communication first */
	size_t count;
	uint64_t until_ns; /* of the run: what comes later was not kept call by call; 0: all was */
};

/* Of what happened from FROM_NS to TO_NS (0: the end) since the start. NULL on error; no rows where
   fewer than two processes communicate. */
struct workers *query_workers(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                              struct error *err);
void workers_free(struct workers *w);

CLEANUP(workers, struct workers *, workers_free)
