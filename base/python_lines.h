/* SPDX-License-Identifier: MIT */
/*
 * Which line of its source a place in a Python code object belongs to.
 *
 * The tables are CPython's own: co_lnotab (3.8, 3.9: Objects/lnotab_notes.txt),
 * co_linetable as PEP 626 has it (3.10), and as Objects/locations.md has it
 * (3.11 and later). They come from another process and are not trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at byte INSTRUCTION of a code object of VERSION (0x030b: 3.11) that
 * begins at FIRST_LINE: what PyCode_Addr2Line() says. Before its first instruction: FIRST_LINE.
 * 0: it has no line, or TABLE is damaged.
 */
uint32_t python_line(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line,
                     int32_t instruction);
