/* SPDX-License-Identifier: MIT */
/*
 * The buffers that CUPTI writes its records into, and the two callbacks by which it asks for them
 * and gives them back, whoever wants the records:
 *
 *	CUPTI ──request──► ours, or the other client's while it has CUPTI
 *	CUPTI ──complete─► by whose the buffer is: read here, or handed to the other client
 *
 * Ours are zeroed, and used again. Any thread, and several at once.
 */
#pragma once

#include "tracer/agent/cupti/cupti_clock.h"
#include "tracer/agent/cupti/cupti_library.h"

#include <stdbool.h>

/* F must stay. FITTED: CUPTI has a clock of its own. */
void cupti_buffers_start(const struct cupti_functions *f, bool fitted);

/* In a forked child: nothing is ours any more. */
void cupti_buffers_fork(void);

/* The other client's callbacks; NULL: it has none. */
void cupti_buffers_set_other(cupti_request *request, cupti_complete *complete);
bool cupti_buffers_has_other(void);

/* Whether the other client's buffers are given out from now on. */
void cupti_buffers_hand_over(bool over);

/* The callbacks. */
void cupti_buffers_request(uint8_t **buffer, size_t *size, size_t *records_max);
void cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size);

/* Asks what CUPTI has dropped, reads the clocks, and tells what is not there. */
void cupti_buffers_settle(void);
