/* SPDX-License-Identifier: MIT */
/*
 * A command in one argument, as --vs takes it: its words as a shell would split them.
 *
 * Quotes, backslashes, ~, $VAR and globs mean what they mean in a shell (wordexp(3)). What only a
 * shell can do (pipes, redirections, ; and $(…)) is an error that says so.
 */
#pragma once

#include "base/cleanup.h"

#include <wordexp.h>

struct error;

/* Fills WORDS, at least one, for wordfree(). -1 on error. */
int words_split(const char *text, wordexp_t *words, struct error *err);
