/* SPDX-License-Identifier: MIT */
/*
 * What a stream is given to do, and the records of it: kernels, copies and sets, which a stream
 * that is captured keeps for its graph instead; and waiting, allocating and freeing.
 */
#pragma once

#include "tests/gpu/fake_call.h"
#include "tests/gpu/fake_device.h"
#include "tests/gpu/fake_kernel.h"
#include "tests/gpu/fake_memory.h"

enum fake_work_type {
	FAKE_KERNEL,
	FAKE_COPY,
	FAKE_SET
};

struct fake_work {
	enum fake_work_type type;
	bool is_async;
	union {
		struct {
			const struct fake_kernel *function;
			uint64_t duration_ns;
			dim3 grid, block;
			uint32_t shared;
		} kernel;
		struct {
			uint8_t *to;
			const uint8_t *from;
			size_t bytes;
			uint32_t kind; /* enum cuda_copy_kind */
		} copy;
		struct {
			uint8_t *memory;
			size_t bytes;
			int value;
		} set;
	};
};

/* Which graph's node is run; 0 if none. */
struct fake_graph_place {
	uint32_t graph;
	uint64_t node;
	bool is_untold; /* the graph is told of as one */
};

/* Puts WORK into STREAM, or into the graph that is being captured. Memory is changed at once. */
struct fake_span fake_work_submit(struct cuda_stream *stream, const struct fake_work *work,
                                  uint32_t correlation);

/* The same for a node of a graph. */
struct fake_span fake_work_run(struct cuda_stream *stream, const struct fake_work *work,
                               uint32_t correlation, struct fake_graph_place place);

/* Submits WORK, waits where the host has to for its copy, and ends the call. */
int fake_work_do(struct fake_call *call, const struct fake_work *work, cudaStream_t stream);

/* Launches K, and ends the call. K: NULL if the program asked for none that there is. */
int fake_work_launch(struct fake_call *call, const struct fake_kernel *k,
                     const struct cuda_launch *launch, void **arguments);

/* Sleeps until UNTIL_NS, and records it. STREAM and EVENT may be NULL. */
void fake_work_wait(enum cupti_synchronization type, const struct cuda_stream *stream,
                    const struct cuda_event *event, uint64_t until_ns, uint32_t correlation);

/* Records an allocation, or a release. STREAM: it was asked of a stream's pool. */
void fake_work_memory(const struct fake_block *block, enum cupti_memory_operation operation,
                      const struct cuda_stream *stream, uint32_t correlation);
