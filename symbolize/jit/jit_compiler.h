/* SPDX-License-Identifier: MIT */
/*
 * Compilers that work within programs, known by the files that programs have mapped, and how they
 * are made to tell the names of what they make.
 */
#pragma once

struct modules;

/* What helps where code of MODULES has no names, as an imperative; of several such compilers the
   first that is known. Never NULL; constant. */
const char *jit_compiler_remedy(const struct modules *modules);
