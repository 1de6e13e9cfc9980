/* SPDX-License-Identifier: MIT */
/*
 * How much the compressed parts of a file may become, all of them together.
 *
 * zlib can make a thousand bytes of one, and zstd as many as it likes, so what is claimed is no
 * bound. Debug information becomes 4 to 6 times as large (552 files of Debian 12 and PyPI); single
 * small sections 80 times, and files of less than 100 KB 25 times.
 */
#pragma once

#include <stdint.h>

#define INFLATED_FREE   (UINT64_C(256) << 20)
#define INFLATED_FACTOR 16
#define INFLATED_MAX    (UINT64_C(8) << 30)

static inline uint64_t inflated_max(uint64_t file_bytes)
{
	uint64_t most = file_bytes > INFLATED_MAX ? INFLATED_MAX : file_bytes * INFLATED_FACTOR;

	return most < INFLATED_FREE ? INFLATED_FREE : most > INFLATED_MAX ? INFLATED_MAX : most;
}
