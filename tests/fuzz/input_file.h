/* SPDX-License-Identifier: MIT */
/*
 * The file of an input, for what reads files by their path and would not follow a link of /proc.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The path of a file with mode 0600 that holds DATA until the next call. It is the same file each
 * time, in memory where that can be: to make one takes longer than to read it. NULL on failure.
 */
const char *input_file(const uint8_t *data, size_t size);
