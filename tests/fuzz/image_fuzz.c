// SPDX-License-Identifier: MIT
// ELF files, good and bad: headers, notes, sections, and the table made of them.
#include "sampler/unwind/cfi_table.h"
#include "sampler/unwind/image.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_sections(struct image *image)
{
	struct cfi_table_options options = { .base = image_base(image) };
	struct image_section eh = { 0 }, hdr = { 0 }, debug = { 0 };
	struct cfi_section sections[2] = { 0 };

	image_text(image, &options.text_start, &options.text_end);
	if (image_load_eh_frame(image, &eh) && image_load_eh_frame_hdr(image, &hdr) &&
	    image_load_debug_frame(image, &debug) &&
	    cfi_section_init(&sections[0], eh.bytes, eh.size, eh.address, false) &&
	    cfi_section_init(&sections[1], debug.bytes, debug.size, 0, true))
		cfi_table_free(cfi_table_new(sections, 2, &options, NULL));
	cfi_section_fini(&sections[0]);
	cfi_section_fini(&sections[1]);
	free(eh.bytes);
	free(hdr.bytes);
	free(debug.bytes);
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
	read_sections(image);
	return 0;
}
