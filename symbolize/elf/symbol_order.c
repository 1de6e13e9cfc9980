// SPDX-License-Identifier: MIT
#include "symbolize/elf/symbol_order.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS     (1u << DIGIT_BITS)

struct item {
	uint64_t value;
	uint32_t number;
};

static unsigned int digit_of(uint64_t value, unsigned int shift)
{
	return (unsigned int)(value >> shift) & (DIGITS - 1);
}

// Items of equal digits stay in their order.
static void sort_by_digit(const struct item *from, struct item *to, size_t count,
                          unsigned int shift)
{
	size_t places[DIGITS] = { 0 }, before = 0;

	for (size_t i = 0; i < count; i++)
		places[digit_of(from[i].value, shift)]++;
	for (unsigned int d = 0; d < DIGITS; d++) {
		size_t of_digit = places[d];
		places[d] = before;
		before += of_digit;
	}
	for (size_t i = 0; i < count; i++)
		to[places[digit_of(from[i].value, shift)]++] = from[i];
}

// The whole entries of TABLE. None if they do not lie in memory as the compiler's do.
static const Elf64_Sym *entries_of(struct elf_file *elf, const struct elf_section *table,
                                   size_t *count)
{
	const Elf_Data *data = elf_file_is_64(elf) ? elf_file_data(elf, table) : NULL;

	*count = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	return data ? data->d_buf : NULL;
}

static bool make(struct elf_file *elf, const struct elf_section *table, void *out)
{
	size_t count;
	const Elf64_Sym *entries = entries_of(elf, table, &count);
	cleanup_free struct item *items = malloc((count + 1) * sizeof(*items));
	cleanup_free struct item *sorted = malloc((count + 1) * sizeof(*sorted));
	uint32_t *numbers = out;
	uint64_t all = 0;

	if (!items || !sorted)
		return false;
	for (size_t i = 0; i < count; i++) {
		items[i] = (struct item){ entries[i].st_value, (uint32_t)i };
		all |= entries[i].st_value;
	}
	for (unsigned int shift = 0; shift < 64 && all >> shift; shift += DIGIT_BITS) {
		sort_by_digit(items, sorted, count, shift);
		struct item *before = items;
		items = sorted;
		sorted = before;
	}
	for (size_t i = 0; i < count; i++)
		numbers[i] = items[i].number;
	return true;
}

struct symbol_order symbol_order_of(struct elf_file *elf, const struct elf_section *table)
{
	struct symbol_order o = { 0 };

	o.table = entries_of(elf, table, &o.count);
	if (!o.table || o.count < SYMBOL_ORDER_LEAST || o.count > UINT32_MAX)
		return (struct symbol_order){ 0 };
	const char *name = table->type == SHT_DYNSYM ? ".dynsym_order" : ".symtab_order";
	struct bytes made = elf_file_derived(elf, table, name, o.count * sizeof(*o.numbers), make);
	o.numbers = (const void *)made.data;
	return o;
}

uint64_t symbol_order_value(const struct symbol_order *o, size_t place)
{
	return o->numbers[place] < o->count ? o->table[o->numbers[place]].st_value : 0;
}

bool symbol_order_search(const struct symbol_order *o, uint64_t address, size_t *count)
{
	size_t at = array_search(o->count, i, symbol_order_value(o, i) <= address);

	*count = at;
	return (!at ||
	        (o->numbers[at - 1] < o->count && symbol_order_value(o, at - 1) <= address)) &&
	       (at == o->count || symbol_order_value(o, at) > address);
}
