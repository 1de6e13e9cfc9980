/* SPDX-License-Identifier: MIT */
/*
 * What all of the machine's CPUs did, by /proc/stat: to tell what else ran beside the program.
 *
 * The kernel counts in hundredths of a second: short runs tell nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct run;

struct machine {
	uint64_t busy_ns;  /* of all CPUs, for whatever it was but guests, which are in it */
	uint64_t steal_ns; /* that a hypervisor gave to others */
	uint32_t cpus;     /* 0: nothing is known */
};

/* What FILE, in the format of /proc/stat, says. */
struct machine machine_parse(FILE *file);

/* The same of this machine now. */
struct machine machine_now(void);

/* Tells RUN what the machine did from BEFORE on until now. */
void machine_tell(const struct machine *before, const struct machine *now, struct run *run);
