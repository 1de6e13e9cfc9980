// SPDX-License-Identifier: MIT
// Unwind sections, good and bad: the first byte says whether .eh_frame or .debug_frame.
#include "sampler/unwind/cfi_table.h"

#define TEXT    UINT64_C(0x1000)
#define SECTION UINT64_C(0x100000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every row must be found where it says it is. */
static void check(const struct cfi_table *table)
{
	for (uint32_t i = 0; i < table->rows; i++) {
		uint64_t address = table->base + table->pc[i];
		if (cfi_table_find(table, address) != &table->rules[table->rule[i]])
			__builtin_trap();
		if (i && table->pc[i] <= table->pc[i - 1])
			__builtin_trap();
	}
	if (cfi_table_find(table, table->base + table->high)->cfa != CFI_NO_RULE)
		__builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_table_options options = { .base = 0, .text_start = TEXT, .text_end = SECTION };
	struct cfi_section section;

	if (size < 1)
		return 0;
	if (data[0] & 2) // as wide as it may be
		options.text_end = UINT64_C(1) << 40;
	if (!cfi_section_init(&section, data + 1, size - 1, SECTION, data[0] & 1))
		return 0;
	cleanup(cfi_table) struct cfi_table *table = cfi_table_new(&section, 1, &options, NULL);
	cfi_section_fini(&section);
	if (table)
		check(table);
	return 0;
}
