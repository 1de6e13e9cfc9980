/* SPDX-License-Identifier: MIT */
/*
 * What PyTorch's libtorch_cpu.so does for observers of its ops, and no more: at::RecordFunction
 * with global callbacks that are switched on and off, and sampled ones. Built as a library of that
 * name.
 */
#pragma once

#include <stdint.h>

enum imitation_scope { // at::RecordScope
	IMITATION_FUNCTION = 0,
	IMITATION_BACKWARD = 1,
	IMITATION_USER = 7
};

/* An at::RecordFunction, as far as an observer reads it. On the stack of who begins the op. */
struct imitation_op {
	uint64_t words[64];
	const char *name;
	uint32_t active; /* callbacks that its begin has called: bits */
};

/* Nested ops end in the opposite order. Any thread's. */
void imitation_begin(struct imitation_op *op, enum imitation_scope scope, const char *name);
void imitation_end(struct imitation_op *op);
