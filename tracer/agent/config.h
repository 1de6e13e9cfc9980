/* SPDX-License-Identifier: MIT */
/*
 * What the collector asks of the agent, as words in one variable of the environment:
 *
 *	hz=999,stack=32768,kernel=0,python=999,ops=30,opshare=25000,malloc=524288,calls=0,gpu=0,launches=1,waits=1,
 *	pidns=0,filters=0,collector=0,zero=0,zerons=0
 *
 * Unknown words are skipped, so that an older agent runs under a newer collector; values out of
 * range are clamped. Functions without state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CONFIG_STACK_MAX 65528

struct config {
	uint32_t frequency_hz; /* 0: no samples are taken here */
	uint32_t stack_bytes;  /* a multiple of 8 */
	bool kernel_only; /* another samples user code: only what ticks in the kernel is reported */
	uint32_t python_hz;   /* processes with a Python interpreter sample themselves; 0: not for
	                         that */
	uint32_t ops;         /* providers that are on: bits 1 << enum op_provider */
	uint32_t ops_allowed; /* millionths of the program's time that recording ops may take where
	                         they can be thinned; 0: all are recorded */
	bool count_calls;     /* of Python functions */
	bool waits;           /* for locks and other threads */
	uint32_t malloc_allowed; /* millionths of a thread's CPU time that counting allocations may
	                            take; 0: each is counted */
	uint32_t malloc_bytes;  /* of allocations for each that is sampled; 0: none are looked at */
	uint32_t gpu;           /* enum protocol_gpu */
	uint32_t launches;      /* enum protocol_launches */
	uint32_t pid_namespace; /* the collector's: its inode; 0: unknown */
	uint32_t filters;       /* of system calls that it is under */
	uint32_t collector;     /* its number; 0: it does not say */
	uint64_t zero_ns;       /* how far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC there */
};

/* TEXT may be NULL: then everything has its default. */
struct config config_parse(const char *text);
