/* SPDX-License-Identifier: MIT */
/*
 * The frames of nodes as a call tree shows them, with ops between them. For the files of merge/
 * alone.
 *
 * An op stands above the whole frame of its owner, with all that was inlined there.
 * But of these functions only the ones that were open when it was begun are its
 * callers; what else is inlined there runs in the op, and is shown below it. And
 * where the owner runs itself, its frame is there once more below the op, which is
 * not shown at all.
 *
 *	stack                                shown
 *	step, dot inlined in it              step
 *	op "forward", begun by step            «forward»
 *	step, dot inlined in it                  dot
 *
 * Profile and keys are borrowed until op_frames_fini(). Many threads may ask, once it is made.
 */
#pragma once

#include "merge/scope/keys.h"
#include "merge/scope/scope.h"

#include <stdbool.h>
#include <stdint.h>

#define FRAME_NONE (UINT32_MAX - 2)

struct op_frames {
	const struct profile *profile;
	const struct keys *keys;
	bool *again; /* [node - 1]: an op's owner once more */
	uint32_t *
		owner; /* [node - 1]: of an op: the node of its owner; 0: it is none, or has none */
	uint32_t
		*split; /* [node - 1]: of an owner: the first of its frames that is below its ops */
};

/* KEYS have code and ops. False if there is no memory. */
bool op_frames_init(struct op_frames *f, const struct profile *p, const struct keys *keys);
void op_frames_fini(struct op_frames *f);

bool op_frames_is_op(const struct op_frames *f, uint32_t node);

/* The outermost frame of NODE that is not hidden, and the one within FRAME: indices in
   keys->frames, or FRAME_NONE. */
uint32_t op_frames_first(const struct op_frames *f, uint32_t node);
uint32_t op_frames_next(const struct op_frames *f, uint32_t node, uint32_t frame);

/* The frame of NODE that the ops below it stand in; FRAME_NONE if it has no frame. */
uint32_t op_frames_caller(const struct op_frames *f, uint32_t node);
