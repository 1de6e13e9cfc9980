/* SPDX-License-Identifier: MIT */
/*
 * The entries of a large symbol table by ascending value, so that who asks for a few addresses need
 * not read all of it: libtorch_cpu.so has 622,000, which took 30 ms a run.
 *
 * The order is made once and kept as decompressed sections are (symbolize/elf/section_cache.h).
 * Whoever could write such a file could have put any numbers into it: they may lead to a wrong
 * name, and never out of the table.
 */
#pragma once

#include "symbolize/elf/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries below which a table is read as it is. A build for fuzzing sets fewer. */
#ifndef SYMBOL_ORDER_LEAST
#define SYMBOL_ORDER_LEAST ((size_t)8 << 10)
#endif

struct symbol_order {
	const Elf64_Sym *table;
	const uint32_t *numbers; /* of entries, by value, of equal ones by number; NULL: none */
	size_t count;            /* of both */
};

/* The order of TABLE, which lives as long as ELF. Without NUMBERS if TABLE is small, not that of a
   64-bit file, or damaged, or if there is no memory. */
struct symbol_order symbol_order_of(struct elf_file *elf, const struct elf_section *table);

/* How many of the entries have a value of ADDRESS at most: those come first. False if what stands
   there is no order. */
bool symbol_order_search(const struct symbol_order *o, uint64_t address, size_t *count);

/* The value of the entry at PLACE of the order; 0 where it has no such entry. */
uint64_t symbol_order_value(const struct symbol_order *o, size_t place);
