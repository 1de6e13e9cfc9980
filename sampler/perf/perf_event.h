/* SPDX-License-Identifier: MIT */
/*
 * The kernel's perf events as a source: rungs 1 and 2.
 *
 * One task-clock event per online CPU, inherited by everything the child
 * starts, each with a ring of its own. All side-band records (mappings, names,
 * forks, switches) ride on it: every further inherited event would cost each
 * fork of the target 1.6 us per CPU. See source.h for the two source_ops.
 *
 * Where rings cannot be large, samples copy little of the stack, and a second event takes whole
 * stacks now and then. A sample of either stands for one period of both.
 *
 * PERF_SAMPLE_READ is not asked for: with it the kernel can no longer swap the
 * contexts of two followed threads, and a pipe ping-pong takes 8 times as long.
 */
#pragma once

#include "sampler/event/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct perf_event_attr;

/* *ATTR is of the event that samples and side-band records come by. KERNEL: samples are taken
 * there, too. */
void perf_event_clock_attr(const struct source_request *request, bool kernel,
                           struct perf_event_attr *attr);

/* Bytes of a ring that holds 50 ms of samples: a power of two. */
size_t perf_event_ring_bytes(uint32_t frequency_hz, uint32_t stack_bytes);

/*
 * The stack to copy, of STACK_BYTES at most, with which a ring of so many bytes holds 200 ms of
 * samples: as long as a collector may wait for a CPU that cannot be a real-time one. Whole halves
 * of STACK_BYTES, no fewer than 2048. KERNEL: they have kernel chains as well.
 */
uint32_t perf_event_stack_bytes(size_t ring_bytes, uint32_t frequency_hz, uint32_t stack_bytes,
                                bool kernel);

/* What samples hold in a ring of so many bytes that cannot be larger. */
struct perf_event_plan {
	uint32_t short_bytes, short_hz; /* most samples: so much of the stack, at that rate */
	uint32_t whole_hz; /* beside them, all STACK_BYTES at this; 0: no such samples */
};

/*
 * As perf_event_stack_bytes(), with room for samples of whole stacks, if that is worth it: they
 * show what called the stacks that the others cut. FEWER: the rate may be lowered for that.
 */
struct perf_event_plan perf_event_plan(size_t ring_bytes, uint32_t frequency_hz,
                                       uint32_t stack_bytes, bool kernel, bool fewer);
