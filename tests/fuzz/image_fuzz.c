// SPDX-License-Identifier: MIT
// ELF files, good and bad: headers, notes, sections, and the rules made of them.
#include "sampler/unwind/cfi_table.h"
#include "sampler/unwind/image.h"

#include <string.h>

/* A damaged file may claim gigabytes of code: so many parts are made, and the last one. */
#define PARTS_MAX 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The rule at the start of each part of the code. */
static void ask_for_rules(struct image *image)
{
	struct image_section eh = image_eh_frame(image), hdr = image_eh_frame_hdr(image);
	struct image_section debug = image_debug_frame(image);
	struct cfi_section sections[2] = { 0 };
	uint64_t start, end;

	image_text(image, &start, &end);
	if (!cfi_section_init(&sections[0], eh.bytes, eh.size, eh.address, false) ||
	    !cfi_section_init(&sections[1], debug.bytes, debug.size, start, true))
		return;
	cfi_search_take(&sections[0].search, hdr.bytes, hdr.size, hdr.address);
	cleanup(cfi_table) struct cfi_table *table = cfi_table_new(sections, 2, start, end, NULL);
	uint32_t count = table ? table->part_count : 0;
	struct image_section go = image_go_code(image);
	if (table && go.bytes)
		cfi_table_set_go(table, go.bytes, go.size, go.address);
	for (uint32_t i = 0; i < count && i < PARTS_MAX; i++)
		cfi_table_rule(table, start + ((uint64_t)i << CFI_PART_SHIFT));
	if (count > PARTS_MAX)
		cfi_table_rule(table, start + ((uint64_t)(count - 1) << CFI_PART_SHIFT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mapping mapping = { .start = 0x7f0000001000, .file_offset = 0x1000 };
	uint8_t *copy = malloc(size ? size : 1), code[16];
	const uint8_t *id;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	cleanup(image) struct image *image = image_of_bytes(copy, size, NULL);
	if (!image)
		return 0;
	image_build_id(image, &id);
	image_locate(image, &mapping);
	uint64_t start, end;
	image_text(image, &start, &end);
	image_read(image, start, code, sizeof(code));
	image_read_code(image, end - sizeof(code), code, sizeof(code));
	ask_for_rules(image);
	return 0;
}
