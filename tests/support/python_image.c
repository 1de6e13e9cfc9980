// SPDX-License-Identifier: MIT
#include "tests/support/python_image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPACT     (1u << 3)
#define ASCII       (1u << 4)
#define PTHREAD     1024
#define PTHREAD_TID 720

uint64_t image_take(struct image *i, size_t size)
{
	uint64_t at = i->base + i->used;

	i->used += (size + 15) & ~(size_t)15;
	if (i->used > IMAGE_BYTES)
		abort();
	return at;
}

void image_poke(struct image *i, uint64_t at, int32_t offset, uint64_t value, size_t size)
{
	memcpy(i->bytes + (at - i->base) + offset, &value, size);
}

static void word(struct image *i, uint64_t at, int32_t offset, uint64_t value)
{
	image_poke(i, at, offset, value, 8);
}

// What real builds report of themselves: 3.13.0, and Debian's 3.14.10 and 3.15.2.
static void load_layout(struct image *i, uint32_t version)
{
	static const char *const names[] = { "3.13.0", "3.14", "3.15" };
	char path[512];
	uint8_t bytes[PYTHON_LAYOUT_BYTES] = { 0 };

	if (version < PYTHON_VERSION(13) || version > PYTHON_VERSION(15))
		abort();
	snprintf(path, sizeof(path), "%s/fuzz/corpus/python_layout/%s", TESTS_DIR,
	         names[version - PYTHON_VERSION(13)]);
	FILE *file = fopen(path, "rb");
	if (!file || fread(bytes, 1, sizeof(bytes), file) < 584 ||
	    !python_layout_read(bytes, sizeof(bytes), &i->layout))
		abort();
	fclose(file);
	memcpy(i->bytes + (i->runtime - i->base), bytes, sizeof(bytes));
}

void image_init(struct image *i, uint32_t version, uint64_t base)
{
	*i = (struct image){ .bytes = calloc(1, IMAGE_BYTES) };
	i->base = base ? base : (uint64_t)(uintptr_t)i->bytes;
	i->used = 64;
	i->runtime = image_take(i, 2048);
	i->code_type = image_take(i, 64);
	i->interpreter = image_take(i, 8192);
	if (!python_layout_of(version, &i->layout))
		load_layout(i, version);
	word(i, i->runtime, i->layout.runtime_interpreters, i->interpreter);
	if (i->layout.interpreter_gil >= 0)
		word(i, i->interpreter, i->layout.interpreter_gil, image_take(i, 256));
}

void image_fini(struct image *i)
{
	free(i->bytes);
}

static uint64_t text(struct image *i, const void *characters, size_t length, unsigned kind)
{
	const struct python_layout *l = &i->layout;
	uint32_t state = kind | COMPACT | (kind == 1 ? ASCII : 0);
	int32_t data = kind == 1 ? l->text_ascii : l->text_compact;
	uint64_t at = image_take(i, (size_t)data + length * kind);

	word(i, at, l->text_length, length);
	image_poke(i, at, l->text_state, state << l->text_kind_bit, 4);
	memcpy(i->bytes + (at - i->base) + data, characters, length * kind);
	return at;
}

uint64_t image_text(struct image *i, const char *characters)
{
	return text(i, characters, strlen(characters), 1);
}

uint64_t image_wide_text(struct image *i, const uint32_t *characters, size_t length)
{
	return text(i, characters, length, 4);
}

// Its table says that all of it is the first line.
uint64_t image_code(struct image *i, uint64_t file, uint64_t name, uint32_t first_line)
{
	const struct python_layout *l = &i->layout;
	uint64_t at = image_take(i, (size_t)l->code_bytes + 256), table = image_take(i, 64);

	word(i, at, l->object_type, i->code_type);
	word(i, at, l->code_file, file);
	word(i, at, l->code_name, name);
	word(i, at, l->code_lines, table);
	word(i, at, l->code_size, 100);
	image_poke(i, at, l->code_first_line, first_line, 4);
	word(i, table, l->bytes_size, l->version < PYTHON_VERSION(10) ? 0 : 2);
	image_poke(i, table, l->bytes_data, l->version == PYTHON_VERSION(10) ? 0x00fe : 0x00d7, 2);
	return at;
}

uint64_t image_frame(struct image *i, uint64_t code, uint32_t instruction)
{
	const struct python_layout *l = &i->layout;
	uint64_t at = image_take(i, (size_t)l->frame_bytes);

	// References on a frame have a tag in these versions.
	word(i, at, l->frame_code, code | (l->version >= PYTHON_VERSION(14)));
	word(i, at, l->frame_previous, i->caller);
	if (l->code_start >= 0)
		word(i, at, l->frame_instruction, code + (uint64_t)l->code_start + instruction);
	else
		image_poke(i, at, l->frame_instruction, instruction, 4);
	i->caller = at;
	return at;
}

uint64_t image_operands(struct image *i, uint64_t code, uint32_t variables,
                        const uint64_t *operands, uint32_t count)
{
	const struct python_layout *l = &i->layout;
	uint64_t at = image_frame(i, code, 0);
	uint64_t words = image_take(i, 8 * (size_t)(variables + count));
	uint64_t first = l->frame_operands >= 0 ? words + 8 * variables
	                                        : at + (uint64_t)l->frame_locals + 8 * variables;

	image_poke(i, code, l->code_operands, count, 4);
	if (l->frame_operands >= 0)
		word(i, at, l->frame_operands, first);
	else
		image_poke(i, code, l->code_locals, variables, 4);
	for (uint32_t n = 0; n < count; n++)
		word(i, first + 8 * n, 0, operands[n]);
	return at;
}

uint64_t image_shim(struct image *i)
{
	const struct python_layout *l = &i->layout;
	uint64_t at = image_take(i, (size_t)l->frame_bytes);

	image_poke(i, at, l->frame_owner, PYTHON_OWNER_SHIM, 1);
	word(i, at, l->frame_previous, i->caller);
	i->caller = at;
	return at;
}

uint64_t image_thread(struct image *i, uint32_t tid)
{
	const struct python_layout *l = &i->layout;
	uint64_t at = image_take(i, (size_t)l->thread_bytes), pthread = image_take(i, 2048),
		 current = i->caller;

	if (l->cframe_current >= 0) {
		current = image_take(i, 32);
		word(i, current, l->cframe_current, i->caller);
	}
	word(i, at, l->thread_interpreter, i->interpreter);
	word(i, at, l->thread_next, i->newest);
	if (i->newest)
		word(i, i->newest, 0, at); // its prev
	word(i, at, l->thread_frame, current);
	word(i, at, l->thread_pthread, pthread);
	image_poke(i, pthread, PTHREAD_TID, tid, 4);
	if (l->thread_tid >= 0)
		word(i, at, l->thread_tid, tid);
	word(i, i->interpreter, l->interpreter_threads, at);
	i->newest = at;
	i->caller = 0;
	return at;
}

bool image_read(void *context, uint64_t address, void *to, size_t size)
{
	struct image *i = context;

	i->reads++;
	if (address < i->base || address - i->base > IMAGE_BYTES ||
	    size > IMAGE_BYTES - (address - i->base))
		return false;
	memcpy(to, i->bytes + (address - i->base), size);
	return true;
}
