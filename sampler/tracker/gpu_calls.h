/* SPDX-License-Identifier: MIT */
/*
 * Which call caused what a GPU did: CUDA's calls by their correlation, and where they stand.
 *
 *	OP_SITE    the stack there, if that is a new one ──┐
 *	OP_BEGIN   correlation 17, in thread 3             ├─► site 5 (told once)
 *	GPU_…      correlation 17, up to seconds later ────┘   └─► the event, with site 5
 *
 * What comes before its call waits a while for that. Calls are kept until many more have come:
 * memory is bounded, whatever the program does. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "sampler/event/event.h"
#include "sampler/event/sink.h"
#include "sampler/task/tasks.h"

#include <stddef.h>
#include <stdint.h>

struct codes;
struct gpu_calls;

/* SINK is borrowed. NULL if there is no memory. */
struct gpu_calls *gpu_calls_new(const struct sampler_sink *sink);
void gpu_calls_free(struct gpu_calls *c); /* NULL is fine */

CLEANUP(gpu_calls, struct gpu_calls *, gpu_calls_free)

/* RECORD_OP_SITE of a CUDA call of PROCESS, unwound to FRAMES with SPS. */
void gpu_calls_site(struct gpu_calls *c, const struct process *process,
                    const struct event_op_site *site, const struct frame *frames,
                    const uint64_t *sps, size_t count, uint32_t flags);

/* THREAD has begun a CUDA call: it is the innermost of its open ops. CODES may be NULL. */
void gpu_calls_begin(struct gpu_calls *c, struct thread *thread, const struct codes *codes,
                     const struct event *event);

/* RECORD_GPU_… of the process with this number: to the sink, now or as soon as its call is known.
 */
void gpu_calls_take(struct gpu_calls *c, uint32_t process, const struct event *event);

/* Hands on what has waited for its call for long enough at NOW_NS; UINT64_MAX: all. */
void gpu_calls_flush(struct gpu_calls *c, uint64_t now_ns);
