/* SPDX-License-Identifier: MIT */
/*
 * Who has called an op of PyTorch in Python; of one of the backward pass, also who has called what
 * it is the derivative of.
 */
#pragma once

#include <stdint.h>

struct op_thread;
struct torch_layout;

enum torch_kind {
	TORCH_OP,
	TORCH_BACKWARD,
	TORCH_LABEL /* begun by a function that has returned while it is open */
};

/*
 * FUNCTION, an at::RecordFunction of the calling thread T, begins as OWNER. What is told of it: the
 * first word of OP_DETAIL_CALLED; 0: nothing. Between op_enter() and op_leave().
 */
uint64_t torch_origin(struct op_thread *t, const struct torch_layout *layout, const void *function,
                      uint32_t owner, enum torch_kind kind);
