/* SPDX-License-Identifier: MIT */
/*
 * How long CUPTI's records are in each release of CUDA, and where their times and names lie.
 *
 * The lengths are those of the structs in cupti_activity.h and cupti_activity_deprecated.h; in
 * which release each came is what CUPTI's changelogs say. tests/gpu/cupti_sizes_test.c compares
 * the newest with the headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RECORD_MAX_BYTES 216

/* Kinds that the fake writes where a fault asks for it: one that its CUPTI walks over, and one that
 * it does not know the length of. */
#define RECORD_STRANGE_KIND  77
#define RECORD_STRANGE_BYTES 64
#define RECORD_BAD_KIND      9999

struct record_kind {
	uint32_t kind;
	uint16_t times_at, times; /* where TIMES u64 of ns lie one after the other */
	uint16_t name_at;         /* where a pointer to a name lies; 0: there is none */
	struct {
		uint16_t cuda, bytes; /* 1300 is CUDA 13.0; the newest first, 0 ends */
	} sizes[7];
};

/* NULL if the kind is not known. */
const struct record_kind *record_kind(uint32_t kind);

/* A record's length in the release CUDA; 0: that release has no such kind. */
size_t record_bytes(uint32_t kind, uint32_t cuda);
