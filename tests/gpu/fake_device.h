/* SPDX-License-Identifier: MIT */
/*
 * Devices, contexts, streams and events in simulated time.
 *
 * Each stream is a queue: what is put into it begins when all before it is done, when the copy
 * engine that it needs is free, and after what the legacy default stream makes it wait for. So
 * begin and end are known at once. Kernels of several streams run side by side. Any thread.
 */
#pragma once

#include "tests/gpu/cuda_api.h"

#include <stdbool.h>

#define FAKE_DEVICES_MAX 16
#define FAKE_LATENCY_NS  2000 /* from a call to the device's beginning */
#define FAKE_NULL_STREAM 7    /* CUPTI's number of the legacy default stream */

enum fake_engine {
	FAKE_COMPUTE, /* never busy */
	FAKE_TO_DEVICE,
	FAKE_TO_HOST,
	FAKE_ENGINES
};

struct fake_span {
	uint64_t begin_ns, end_ns;
};

struct cuda_stream {
	uint32_t id; /* CUPTI's */
	uint32_t device;
	bool is_blocking; /* it and the legacy default stream wait for each other */
	uint64_t ready_ns;
	struct cuda_graph *captured; /* NULL: it is not being captured */
	struct cuda_stream *next;
};

struct cuda_event {
	uint32_t id;
	uint32_t device;
	bool is_recorded;
	uint64_t ready_ns;
};

uint32_t fake_device_current(void); /* of this thread */
bool fake_device_set_current(uint32_t device);
void fake_device_ensure(void);           /* makes this thread's device have a context */
void fake_device_reset(uint32_t device); /* its context ends */
void *fake_device_context(void);         /* NULL: none yet */
void *fake_device_context_of(uint32_t device);
bool fake_device_of_context(const void *context, uint32_t *device);
uint32_t fake_device_context_id(uint32_t device);
uint64_t fake_device_ready(uint32_t device); /* when all that is queued will be done */
void fake_device_properties(uint32_t device, struct cuda_properties *out);

/* KIND was enabled: tells of the devices and contexts that there are. */
void fake_device_tell_kind(uint32_t kind);

struct cuda_stream *fake_stream_new(bool is_blocking);
bool fake_stream_free(struct cuda_stream *stream);

/* The stream that a program's handle means. NULL if there is none. */
struct cuda_stream *fake_stream(cudaStream_t handle);
static inline cudaStream_t fake_per_thread(cudaStream_t handle)
{
	return handle ? handle : CUDA_STREAM_PER_THREAD;
}

struct fake_span fake_stream_run(struct cuda_stream *stream, uint64_t duration_ns,
                                 enum fake_engine engine);
uint64_t fake_stream_ready(struct cuda_stream *stream);
void fake_stream_wait_for(struct cuda_stream *stream, uint64_t ns);
