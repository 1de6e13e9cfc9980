/* SPDX-License-Identifier: MIT */
/*
 * What ops are done on, as texts: "[256, 128, 300]", "payload 17",
 * "[[64, 128], [128, 256]] float32".
 *
 * An op may have a number that is another one at each call: then only its first
 * ones are kept apart. One thread at a time. For the files of merge/ alone.
 */
#pragma once

#include "base/op.h"
#include "base/stack.h"
#include "base/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OP_SHAPES_OF_OP 1024 /* kept apart */

struct op_shape {
	uint32_t text;          /* string; 0: none */
	uint64_t flops;         /* of one call; 0: unknown */
	uint64_t message_bytes; /* of one call of MPI */
	bool left_out;          /* there was one */
};

/* The last ones, so that most calls need not print theirs. */
#define OP_SHAPE_VALUES 24
struct op_shape_known {
	uint32_t op; /* 0: none */
	uint16_t detail, count;
	uint64_t values[OP_SHAPE_VALUES];
	struct op_shape shape;
};

#define OP_SHAPES_KNOWN 1024

struct op_shapes {
	struct op_shape_known *known; /* [OP_SHAPES_KNOWN]; NULL: there was no shape yet */
	uint32_t *texts;              /* [op - 1]: that were new with it */
	size_t text_count, text_capacity;
};

void op_shapes_fini(struct op_shapes *s);

/* What EVENT, of OP, was done on. New texts go to STRINGS. */
struct op_shape op_shapes_of(struct op_shapes *s, struct strings *strings, const struct op *op,
                             const struct op_event *event);
