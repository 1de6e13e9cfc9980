// SPDX-License-Identifier: MIT
// Unwind sections, good and bad: the first byte says whether .eh_frame or .debug_frame.
#include "sampler/unwind/cfi_table.h"

#define TEXT    UINT64_C(0x1000)
#define SECTION UINT64_C(0x100000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A damaged file may claim gigabytes of code. */
#define PARTS_MAX 20

/* Every row of the part must be found where it says it is. */
static void check(struct cfi_table *table, uint32_t number)
{
	uint64_t start = table->start + ((uint64_t)number << CFI_PART_SHIFT);

	cfi_table_rule(table, start);
	const struct cfi_part *part = table->parts[number];
	if (!part || part->rows[0].pc != 0)
		__builtin_trap();
	for (uint32_t i = 0; i <= part->pages[CFI_PART_PAGES]; i++) {
		uint64_t address = start + part->rows[i].pc;
		if (cfi_table_find(table, address) != &table->rules[part->rows[i].rule])
			__builtin_trap();
		if (i && part->rows[i].pc <= part->rows[i - 1].pc)
			__builtin_trap();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_section section;
	uint64_t end = SECTION;

	if (size < 1)
		return 0;
	if (data[0] & 2) // as wide as it may be
		end = UINT64_C(1) << 40;
	if (!cfi_section_init(&section, data + 1, size - 1, SECTION, data[0] & 1))
		return 0;
	cleanup(cfi_table) struct cfi_table *table = cfi_table_new(&section, 1, TEXT, end, NULL);
	for (uint32_t i = 0; table && i < table->part_count && i < PARTS_MAX; i++)
		check(table, i);
	if (table && cfi_table_rule(table, end)->cfa != CFI_NO_RULE)
		__builtin_trap();
	return 0;
}
