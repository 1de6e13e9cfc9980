/* SPDX-License-Identifier: MIT */
/*
 * An interpreter's memory, as far as a profiler reads it, laid out as a version does.
 */
#pragma once

#include "base/python_layout.h"
#include "sampler/unwind/remote_memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_BYTES ((size_t)64 << 10)

struct image {
	uint64_t base; /* where BYTES are said to be */
	uint8_t *bytes;
	size_t used;
	struct python_layout layout;
	uint64_t runtime, code_type, interpreter;
	uint64_t newest; /* thread state */
	uint64_t caller; /* the frame that the next one is called by */
	unsigned reads;
};

/* VERSION 3.8 to 3.15; from 3.13 on it tells its layout itself. BASE 0: where BYTES really are. */
void image_init(struct image *i, uint32_t version, uint64_t base);
void image_fini(struct image *i);

void image_poke(struct image *i, uint64_t at, int32_t offset, uint64_t value, size_t size);
uint64_t image_text(struct image *i, const char *text);
uint64_t image_wide_text(struct image *i, const uint32_t *text, size_t length);

uint64_t image_code(struct image *i, uint64_t file, uint64_t name, uint32_t first_line);

/* A frame of CODE, called by the last one, or the first. */
uint64_t image_frame(struct image *i, uint64_t code, uint32_t instruction);

/* SIZE zeroed bytes, for any object. */
uint64_t image_take(struct image *i, size_t size);

/* A frame of CODE with VARIABLES of zero and COUNT OPERANDS, called by the last one, or the first.
 */
uint64_t image_operands(struct image *i, uint64_t code, uint32_t variables,
                        const uint64_t *operands, uint32_t count);

/* What a call of the interpreter leaves on the stack, from 3.12 on. */
uint64_t image_shim(struct image *i);

/* A thread whose innermost frame is the last one. */
uint64_t image_thread(struct image *i, uint32_t tid);

bool image_read(void *context, uint64_t address, void *to, size_t size);
