/* SPDX-License-Identifier: MIT */
/*
 * Numbers as ITT programs hand them over, in metadata and counters, with the number of their type
 * in ITT. Functions without state.
 */
#pragma once

#include "tracer/agent/itt/itt_abi.h"
#include "tracer/agent/op/op.h"

#include <stdint.h>

struct itt_value_type {
	uint16_t bytes;
	uint16_t detail; /* enum op_detail */
};

extern const struct itt_value_type
	itt_value_types[]; /* [enum itt_metadata], ITT_U64 to ITT_DOUBLE */

/* The one at AT as its detail has it: with its sign, or a double's bits. */
uint64_t itt_value(const char *at, struct itt_value_type type);
