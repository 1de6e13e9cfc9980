/* SPDX-License-Identifier: MIT */
/*
 * Compilers that work within programs, known by the files that programs have mapped, and how they
 * are made to tell the names of what they make.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct modules;

/* What helps where code of MODULES has no names, as an imperative, cut to SIZE; of several such
   compilers the first that is known. USED: --names did not help. */
void jit_compiler_remedy(const struct modules *modules, bool used, char *text, size_t size);
