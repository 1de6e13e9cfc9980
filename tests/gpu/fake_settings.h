/* SPDX-License-Identifier: MIT */
/*
 * What the environment asks of the fake GPU.
 *
 *	FAKE_DEVICES          how many GPUs there are (1)
 *	FAKE_MEMORY_MB        memory of each (81920)
 *	FAKE_KERNEL_US        how long a kernel takes (50)
 *	FAKE_KERNEL_US_name   the same of the kernel of that name, mangled
 *	FAKE_GBPS             speed of copies from and to pinned memory (25); pageable: half of it
 *	FAKE_LAUNCH_US        CPU time that a launch takes (0)
 *	FAKE_CUPTI_VERSION    the CUDA release whose records are written: 11.0 … 13.0 (13.0)
 *	FAKE_CUPTI_LOG        file that gets a line for each rule of CUPTI that its client broke
 *	FAKE_CUPTI_FACTS      file that gets what was delivered and lost, when the process ends
 *	FAKE_CUPTI_REPLAY     file of saved buffers (see saved_buffers.h) that is delivered
 *	FAKE_CUPTI_FAULTS     what goes wrong, with commas between:
 *	    busy=NAME         another tool, NAME, has subscribed
 *	    deny=KIND         enabling records of KIND (a number) lacks the rights for it
 *	    result=N          nearly every function returns N: 999 as without a driver
 *	    no-clock=N        the timestamp callback is refused with N
 *	    drop=N            every Nth record is lost, and counted
 *	    short=BYTES       no more than these are written to a buffer
 *	    misaligned        records begin at odd multiples of four
 *	    disorder          the buffer that was completed last is delivered first
 *	    zero-times        kernels, copies and sets without times
 *	    null-buffer       an empty delivery of no buffer before each true one
 *	    unknown-kind=N    after every Nth record one of a kind that is not known
 *	    bad-kind=N        after every Nth record one that ends the walk through its buffer
 *	    garbage           valid sizes beyond their buffer, a version that never was
 *	    slow-flush=MS     flushing takes at least so long
 *	    managed=N         counters of managed memory are refused with N
 *	    pc=N              sampling instructions is refused with N
 *	    pc-full=N         the Nth time that samples are asked for the GPU's buffer is full, and
 *	                      stays so until sampling is disabled
 *
 * A kernel whose name ends in "_us" takes as many microseconds as its first argument, an unsigned
 * int, says.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fake_settings {
	uint32_t devices;
	uint64_t memory_bytes;
	uint64_t kernel_ns;
	uint64_t launch_ns;
	double pinned_bytes_per_ns, pageable_bytes_per_ns;
	uint32_t cuda; /* 1300 is CUDA 13.0 */
	const char *log, *facts, *replay;
};

struct fake_faults {
	char busy[64]; /* "" if nobody is */
	uint64_t denied_kinds;
	uint32_t result, refuse;
	uint32_t no_clock;
	uint32_t drop, unknown_kind, bad_kind;
	uint32_t short_bytes;
	uint32_t slow_flush_ms;
	uint32_t pc_refused, pc_full;
	uint32_t managed;
	bool misaligned, disorder, zero_times, null_buffer, garbage;
};

/* Read once; both live as long as the process. Any thread. */
const struct fake_settings *fake_settings(void);
const struct fake_faults *fake_faults(void);

/* How long the kernel NAME takes by the environment. */
uint64_t fake_settings_kernel_ns(const char *name);

/* What cuptiGetVersion() says in the release CUDA (1300 is 13.0). */
uint32_t fake_settings_api_version(uint32_t cuda);

/* A rule was broken: a line in FAKE_CUPTI_LOG, or on stderr. printf's format. */
__attribute__((format(printf, 1, 2))) void fake_violation(const char *format, ...);
