/* SPDX-License-Identifier: MIT */
/*
 * Whole files that do not tell their size (/proc) or are still being written.
 */
#pragma once

#include <stddef.h>

struct error;

/* All of PATH, *SIZE bytes and a NUL, to be freed; at most MAX bytes of it. NULL with ERR. */
char *read_file(const char *path, size_t max, size_t *size, struct error *err);
