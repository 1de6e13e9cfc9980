/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's buffers: from the client, filled, and back to him from a thread of our own.
 *
 * From CUDA 13.0 on each thread fills a buffer with its own calls; earlier ones share one. What
 * the device does goes to another, once it is done in simulated time. The client is asked for a
 * buffer on the thread that needs it, as CUPTI does.
 *
 * Strict: a buffer must be aligned, zeroed if that was promised, handed out once, and untouched
 * until it is delivered. Any thread, but not from a buffer's callback.
 */
#pragma once

#include "tracer/agent/cupti/cupti_abi.h"

#include <stdbool.h>

/* Starts the worker. What is already held goes to the new client. */
void fake_buffers_register(cupti_request *request, cupti_complete *complete);
bool fake_buffers_are_registered(void);

void fake_buffers_promise_zeroed(bool are_zeroed);

/* Partly filled buffers are delivered that often; 0: only full ones. */
void fake_buffers_flush_every(uint32_t ms);

/* A record of this thread's own doing, which is complete. BYTES are cut to the release's. */
void fake_buffers_write(const void *record, size_t bytes);

/* A record of the device's, complete at DONE_NS of clock_now_ns(). */
void fake_buffers_write_later(const void *record, size_t bytes, uint64_t done_ns);

/*
 * Delivers all records that are complete, and waits for that. FORCED: also those that are not,
 * without their ends. False: the worker is not there (a forked child).
 */
bool fake_buffers_flush(bool forced);

/* Records lost since this was last asked. */
size_t fake_buffers_dropped(void);

/* Forgets the client; what he holds is his, what is undelivered is lost. */
void fake_buffers_finalize(void);

/* The client's code runs on this thread: the driver and CUPTI are not to be called. */
extern __thread bool fake_in_callback;
