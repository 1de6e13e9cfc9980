/* SPDX-License-Identifier: MIT */
/*
 * What the fake CUPTI did, for a test to compare with what its client says. FAKE_CUPTI_FACTS gets
 * it when the process ends, a line each:
 *
 *	records KIND COUNT    written to buffers, by kind
 *	dropped COUNT         lost before they were in a buffer
 *	undelivered COUNT     in buffers that were never delivered
 *	buffers COUNT         delivered
 *	callbacks COUNT       calls and events told to the subscriber
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void fake_facts_record(uint32_t kind); /* written to a buffer */
void fake_facts_dropped(void);
void fake_facts_delivered(size_t records);
void fake_facts_callback(void);
