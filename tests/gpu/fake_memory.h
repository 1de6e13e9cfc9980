/* SPDX-License-Identifier: MIT */
/*
 * Memory of the device, pinned and managed memory: all of it the host's. Whatever was not
 * allocated here is pageable. Any thread.
 */
#pragma once

#include "tracer/agent/cupti/cupti_abi.h"

#include <stdbool.h>

struct fake_block {
	uint8_t *data;
	size_t bytes;
	uint32_t kind; /* enum cupti_memory_kind */
	uint32_t device;
	bool is_there; /* of managed memory: its pages are the device's, and no one else may touch
	                  them */
	uint32_t bounces; /* the same: how often a page fault has moved it, see fake_managed.h */
};

static inline bool fake_memory_is_managed(uint32_t kind)
{
	return kind == CUPTI_MEMORY_MANAGED || kind == CUPTI_MEMORY_MANAGED_STATIC;
}

/* NULL if the device has no more, or the host. */
void *fake_memory_new(size_t bytes, enum cupti_memory_kind kind, uint32_t device);

/* Frees what begins at DATA, and says what it was. False if nothing does. */
bool fake_memory_free(void *data, struct fake_block *was);

/* Where an address lies; kind PAGEABLE if it is none of ours. */
struct fake_block fake_memory_find(const void *address);

/*
 * Has the managed memory that ADDRESS is in be on its device, or not; NULL: all that there is.
 * Calls MOVED for each that was not so.
 */
void fake_memory_move(const void *address, bool to_device, void *context,
                      void (*moved)(void *context, struct fake_block *block));

/* What the device does: it may touch whatever is there. */
void fake_memory_copy(uint8_t *to, const uint8_t *from, size_t bytes);
void fake_memory_set(uint8_t *memory, int value, size_t bytes);

uint64_t fake_memory_used(uint32_t device);
