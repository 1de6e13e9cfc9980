/* SPDX-License-Identifier: MIT */
/*
 * The inputs of an op on tensors, in the numbers of a record (OP_DETAIL_TENSORS).
 *
 * Each input is one word, and behind it its dimensions, two in a word unless they are TENSORS_WIDE:
 *
 *	  63         40 │ 39     32 │ 31     24 │ 23    16 │ 15    8 │ 7      0
 *	  enum tensor_flags  index    device      type       count     kind
 *
 * The numbers are PyTorch's: c10::DeviceType, c10::ScalarType. Writers are in the target, whose
 * numbers are not to be relied upon.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TENSORS_DIMENSIONS 64 /* of one tensor, at most */

/* Append only. */
enum tensors_kind {
	TENSORS_OTHER = 0,    /* COUNT inputs that are no tensors */
	TENSORS_TENSOR = 1,   /* of COUNT dimensions */
	TENSORS_UNKNOWN = 2,  /* a tensor, of dimensions that are not numbers, or not known */
	TENSORS_INTEGERS = 3, /* a list of COUNT numbers, or one number */
	TENSORS_CUT = 4       /* there were more inputs */
};

enum tensors_flags {
	TENSORS_WIDE = 1 << 0
};

struct tensors_input {
	enum tensors_kind kind;
	unsigned count;
	unsigned type, device, index;            /* index 255: none */
	uint64_t dimensions[TENSORS_DIMENSIONS]; /* INTEGERS: as two's complement */
};

/* An input's first word. */
static inline uint64_t tensors_head(enum tensors_kind kind, unsigned count, unsigned type,
                                    unsigned device, unsigned index, unsigned flags)
{
	return (uint64_t)kind | (uint64_t)(count & 0xff) << 8 | (uint64_t)(type & 0xff) << 16 |
	       (uint64_t)(device & 0xff) << 24 | (uint64_t)(index & 0xff) << 32 |
	       (uint64_t)flags << 40;
}

/* The input at *AT of COUNT words, which moves on. False at the end, or where it makes no sense. */
bool tensors_next(const uint64_t *values, size_t count, size_t *at, struct tensors_input *out);

/* "float32", "cuda"; never NULL. */
const char *tensors_type_name(unsigned type);
const char *tensors_device_name(unsigned device);
