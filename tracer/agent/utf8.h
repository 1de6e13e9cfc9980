/* SPDX-License-Identifier: MIT */
/*
 * Wide strings of the target as UTF-8: names that NVTX and ITT programs give as wchar_t.
 *
 * Functions without state; nothing is allocated.
 */
#pragma once

#include <stddef.h>
#include <wchar.h>

/*
 * Writes TEXT into BUFFER (of SIZE bytes, at least 1), cut between two characters if it does not
 * fit; what is no character becomes U+FFFD. Returns BUFFER; NULL if TEXT is NULL.
 */
const char *utf8_from_wide(char *buffer, size_t size, const wchar_t *text);
