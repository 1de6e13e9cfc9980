/* SPDX-License-Identifier: MIT */
/*
 * What compilers and linkers compress: sections (zlib, zstd) and the small
 * symbol table of stripped files (xz).
 *
 * A claimed size is believed only as far as the input could hold it.
 */
#pragma once

#include "base/bytes.h"

struct error;

enum compression {
	COMPRESSION_ZLIB = 1, /* as ELFCOMPRESS_ZLIB */
	COMPRESSION_ZSTD = 2
};

/* SIZE bytes of what IN holds, to be freed; NULL with ERR. The caller bounds the sum of all. */
uint8_t *decompress(enum compression how, struct bytes in, uint64_t size, struct error *err);

/* All that IN holds, *SIZE bytes, to be freed; NULL with ERR. */
uint8_t *decompress_xz(struct bytes in, size_t *size, struct error *err);
