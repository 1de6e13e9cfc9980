/* SPDX-License-Identifier: MIT */
/*
 * Functions that a machine compiles again and again, faster code each time, as one.
 *
 * V8 names its code after how it was made: "JS:~load" is interpreted, "JS:^load", "JS:+load" and
 * "JS:*load" are what its compilers made of it, at the same line of the same file. Up to Node 18
 * they are "LazyCompile:~load", "Function:^load", "LazyCompile:*load".
 */
#pragma once

#include "base/strings.h"
#include "merge/scope/keys.h"

/* [key - 1]: the first key of the same function; mostly KEY itself. NULL if there is no memory;
 * the caller frees it. */
uint32_t *tiers_of_keys(const struct key_table *table, const struct strings *strings);
