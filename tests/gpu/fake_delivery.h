/* SPDX-License-Identifier: MIT */
/*
 * Buffers on their way: from the client when one is needed, and back to him when it is full.
 * Part of fake_buffers. What he must not do with a buffer meanwhile is checked here.
 */
#pragma once

#include "tracer/agent/cupti/cupti_abi.h"

#include <pthread.h>
#include <stdbool.h>

struct fake_buffer {
	uint8_t *data; /* NULL: there is none */
	size_t size, used;
	size_t records, records_max; /* 0: as many as fit */
	uint32_t sum;                /* of what was written, see fake_buffer_put() */
	struct fake_buffer *next;
};

void fake_delivery_set(cupti_request *request, cupti_complete *complete);
bool fake_delivery_is_set(void);
void fake_delivery_promise_zeroed(bool are_zeroed);

/* Asks the client, on this thread. OUT->data is NULL if he has none. */
void fake_delivery_request(struct fake_buffer *out);

/* Appends BYTES, a multiple of four, which must fit. */
void fake_buffer_put(struct fake_buffer *b, const void *bytes, size_t size);

/* Queues *B for fake_delivery_run(), and leaves none in it. */
void fake_delivery_add(struct fake_buffer *b);

/* The client does not get it. */
void fake_delivery_lose(struct fake_buffer *b);

/* The worker: gives the queue to the client. */
void fake_delivery_run(void);

/* Delivers the saved buffers of FAKE_CUPTI_REPLAY, if that is set. */
void fake_delivery_replay(void);

/* Waits until all that is queued has been delivered. WAKE is what the worker sleeps on. */
void fake_delivery_wait(pthread_cond_t *wake);
