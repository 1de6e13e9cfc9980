/* SPDX-License-Identifier: MIT */
/*
 * Names for functions of a stripped file that exported ones do nothing but jump to.
 *
 * Where a library's function is a call of an internal one, compilers make that a jump: no frame of
 * it is on the stack while the internal one runs, and that has no name in a stripped file. What it
 * does is what the exported one does.
 *
 * x86-64. The file is not trusted; see elf_file.h for how long the names live.
 */
#pragma once

#include "symbolize/elf/elf_symbols.h"

/*
 * Fills those of NAMES (one for each of ADDRESSES, ascending) that are unknown yet and lie in a
 * function to which one exported function jumps at once, and no other. -1 if there is no memory.
 */
int jump_names_find(struct elf_file *elf, const uint64_t *addresses, size_t count,
                    struct symbol_name *names);
