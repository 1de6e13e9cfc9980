/* SPDX-License-Identifier: MIT */
/*
 * How fast the CPU runs that the program's first thread is on, read now and then while it runs.
 *
 * By scaling_cur_freq of Linux' cpufreq (Documentation/admin-guide/pm/cpufreq.rst), which anybody
 * may read: 50 times in the first second, 10 times a second up to the tenth, then twice a second.
 * Some kernels ask the CPU, or sleep until it has counted for a while: a reading that took long
 * puts off the next one, so that all of them take a hundredth of the time at most. While the thread
 * waits, nothing is kept: the clock of a CPU that idles tells nothing. Where nothing can be read
 * the first times, as on most virtual machines, nobody tries again. One thread.
 */
#pragma once

#include "merge/table/clocks.h"

#include <stdbool.h>
#include <stdint.h>

struct run;

#define CPU_CLOCK_ROOT "/sys/devices/system/cpu"

struct cpu_clock {
	const char *root; /* CPU_CLOCK_ROOT, but in tests */
	uint32_t pid;
	uint64_t start_ns, next_ns; /* CLOCK_MONOTONIC; next_ns UINT64_MAX: never */
	bool told;                  /* something could be read */
	uint32_t failed;            /* times, before that */
	struct clocks clocks;
	char text[CLOCKS_TEXT];
};

/* ROOT must outlive C. START_NS, of CLOCK_MONOTONIC, is the zero of all readings. */
void cpu_clock_init(struct cpu_clock *c, const char *root, uint32_t pid, uint64_t start_ns);

/* In MHz; 0 if ROOT does not tell. */
uint32_t cpu_clock_read(const char *root, uint32_t cpu);

/* Reads, if it is time to. True if it did, and knows more. */
bool cpu_clock_maybe(struct cpu_clock *c, uint64_t now_ns);

/* TIMEOUT_MS, or less, if a reading is due before. */
int cpu_clock_timeout_ms(const struct cpu_clock *c, uint64_t now_ns, int timeout_ms);

/* Tells RUN, which borrows the text of C. */
void cpu_clock_tell(struct cpu_clock *c, struct run *run);
