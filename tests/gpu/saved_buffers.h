/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's buffers in a file, as they were delivered: from a real GPU or from the fake one, to be
 * delivered again where there is no GPU.
 *
 *	struct saved_header
 *	any number of parts, each: struct saved_part, then
 *	    SAVED_STRINGS  bytes: names, each ended by a 0
 *	    SAVED_BUFFER   bytes: records; then names x u32: where in them pointers to names lie
 *	    and zeros up to a multiple of 8
 *
 * A pointer to a name is saved as 1 + its offset in all strings of the file laid end to end; 0 is
 * NULL. Strings come before the buffers that use them. Other pointers are saved as they were.
 * Numbers are little-endian. A file that ends in mid-part is as long as its whole parts.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAVED_MAGIC "bncupti"

struct saved_header {
	char magic[8];
	uint32_t format; /* 1 */
	uint32_t cuda;   /* whose records: 1300 is CUDA 13.0 */
};

enum saved_type {
	SAVED_STRINGS = 1,
	SAVED_BUFFER = 2
};

struct saved_part {
	uint32_t type;
	uint32_t names; /* of a buffer */
	uint64_t bytes;
	uint64_t records; /* of a buffer */
};

struct saved_buffer {
	const uint8_t *data;
	size_t bytes, records;
};

struct saved_buffers;

/* Names point into memory that lives until saved_buffers_free(). NULL on error. */
struct saved_buffers *saved_buffers_read(const char *path, struct error *err);
void saved_buffers_free(struct saved_buffers *s);
CLEANUP(saved_buffers, struct saved_buffers *, saved_buffers_free)
#define cleanup_saved_buffers cleanup(saved_buffers)

uint32_t saved_buffers_cuda(const struct saved_buffers *s);
size_t saved_buffers_count(const struct saved_buffers *s);
struct saved_buffer saved_buffers_get(const struct saved_buffers *s, size_t index);

/* cuptiActivityGetNextRecord() */
typedef int saved_next(uint8_t *buffer, size_t valid_bytes, uint32_t **record);

struct saved_writer;

/* CUDA is the release whose records will be added. NULL on error. */
struct saved_writer *saved_writer_open(const char *path, uint32_t cuda, struct error *err);
void saved_writer_close(struct saved_writer *w); /* NULL is fine */

/* Saves a buffer whose records NEXT finds. One thread at a time. False if it was not written. */
bool saved_writer_add(struct saved_writer *w, uint8_t *buffer, size_t valid_bytes,
                      saved_next *next);
