// SPDX-License-Identifier: MIT
#include "sampler/python/python_remote_code.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "sampler/python/python.h"

#include <string.h>

#define CODES_LIMIT (1u << 17)
#define CODE_MAX    1024        // bytes of one, without its bytecode
#define TABLE_BYTES (64u << 10) // of a line table; longer ones are cut
#define TEXT_MAX    128         // bytes of a string object before its characters
#define REPLACEMENT 0xfffdu

// Of all line tables together; a program that makes code for ever has no more lines then.
#define TABLES_MAX (64u << 20)

void python_remote_codes_fini(struct python_remote_codes *c)
{
	free(c->codes);
	hash_fini(&c->index);
	*c = (struct python_remote_codes){ 0 };
}

static uint64_t word_of(const uint8_t *bytes, int32_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static uint32_t half_of(const uint8_t *bytes, int32_t offset)
{
	uint32_t half;

	memcpy(&half, bytes + offset, sizeof(half));
	return half;
}

static bool read_code(const struct python_remote_source *from, uint64_t address,
                      struct remote_code *out)
{
	const struct python_layout *l = from->layout;
	uint8_t bytes[CODE_MAX + 8] = { 0 };

	if (address % 8 || l->code_bytes > CODE_MAX ||
	    !remote_memory_read(from->memory, address, bytes, (size_t)l->code_bytes) ||
	    word_of(bytes, l->object_type) != from->code_type)
		return false;
	*out = (struct remote_code){
		.at = address,
		.file = word_of(bytes, l->code_file),
		.name = word_of(bytes, l->code_name),
		.lines = word_of(bytes, l->code_lines),
		.size = word_of(bytes, l->code_size),
		.first_line = half_of(bytes, l->code_first_line),
	};
	return true;
}

static bool equal(const struct remote_code *a, const struct remote_code *b)
{
	return a->at == b->at && a->lines == b->lines && a->file == b->file && a->name == b->name &&
	       a->size == b->size && a->first_line == b->first_line;
}

// Texts.

static uint32_t character(const uint8_t *characters, size_t index, unsigned kind)
{
	uint32_t c = 0;

	memcpy(&c, characters + index * kind, kind);
	// What a surrogate stands for is a byte of a file's name that is no UTF-8.
	return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? REPLACEMENT : c;
}

static size_t bytes_of(uint32_t c)
{
	return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

static void put(uint32_t c, char *to, size_t bytes)
{
	static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = bytes - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(lead[bytes] | c);
}

// Cut where the agent cuts.
static size_t to_utf8(const uint8_t *characters, size_t length, unsigned kind, char *out)
{
	size_t bytes = 0;

	for (size_t i = 0; i < length; i++) {
		uint32_t c = character(characters, i, kind);
		size_t more = bytes_of(c);
		if (bytes + more > PYTHON_REMOTE_TEXT)
			break;
		put(c, out + bytes, more);
		bytes += more;
	}
	return bytes;
}

size_t python_remote_text(const struct python_remote_source *from, uint64_t address,
                          char out[PYTHON_REMOTE_TEXT])
{
	const struct python_layout *l = from->layout;
	uint8_t head[TEXT_MAX + 8] = { 0 }, characters[4 * PYTHON_REMOTE_TEXT];

	if (!address || address % 8 || l->text_ascii > TEXT_MAX ||
	    !remote_memory_read(from->memory, address, head, (size_t)l->text_ascii))
		return 0;
	uint32_t state = half_of(head, l->text_state) >> l->text_kind_bit;
	unsigned kind = state & 7;
	bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
	uint64_t length = word_of(head, l->text_length);
	if (!compact || (kind != 1 && kind != 2 && kind != 4) || (ascii && kind != 1))
		return 0;
	if (length > PYTHON_REMOTE_TEXT)
		length = PYTHON_REMOTE_TEXT;
	if (!remote_memory_read(from->memory,
	                        address + (uint64_t)(ascii ? l->text_ascii : l->text_compact),
	                        characters, length * kind))
		return 0;
	return to_utf8(characters, length, kind, out);
}

// A table that cannot be read is empty: the function is known then, but no line of it.
static uint32_t read_table(const struct python_remote_source *from, uint64_t address, uint8_t *out)
{
	const struct python_layout *l = from->layout;
	uint64_t size;

	if (!address || address % 8 ||
	    !remote_memory_read(from->memory, address + (uint64_t)l->bytes_size, &size, 8))
		return 0;
	if (size > TABLE_BYTES)
		size = TABLE_BYTES;
	return remote_memory_read(from->memory, address + (uint64_t)l->bytes_data, out, size)
	               ? (uint32_t)size
	               : 0;
}

static uint32_t make_known(struct python_remote_codes *c, const struct python_remote_source *from,
                           const struct remote_code *code)
{
	char file[PYTHON_REMOTE_TEXT], name[PYTHON_REMOTE_TEXT];
	cleanup_free uint8_t *table = malloc(TABLE_BYTES);

	if (!table)
		return 0;
	struct event_python_code event = {
		.version = from->layout->version,
		.first_line = code->first_line,
		.file_bytes = (uint32_t)python_remote_text(from, code->file, file),
		.name_bytes = (uint32_t)python_remote_text(from, code->name, name),
		.table_bytes = read_table(from, code->lines, table),
		.file = file,
		.name = name,
		.table = table,
	};
	if (!event.name_bytes || event.table_bytes > TABLES_MAX - c->table_bytes ||
	    c->made == CODES_LIMIT)
		return 0;
	c->made++;
	c->table_bytes += event.table_bytes;
	return python_add_read(from->python, from->codes, &event);
}

// Numbers.

// The entry of what is, or was, at ADDRESS; a new one otherwise. NULL: no memory.
static struct remote_code *entry_of(struct python_remote_codes *c, uint64_t address)
{
	uint32_t at;

	if (!c->index.slots && !hash_init(&c->index, 64))
		return NULL;
	for (at = hash_start(&c->index, hash_mix(address)); c->index.slots[at];
	     at = hash_next(&c->index, at))
		if (c->codes[c->index.slots[at] - 1].at == address)
			return &c->codes[c->index.slots[at] - 1];
	if (c->count == CODES_LIMIT || !array_reserve(&c->codes, &c->capacity, c->count + 1))
		return NULL;
	if (hash_is_full(&c->index)) {
		if (!hash_make_room(&c->index))
			return NULL;
		for (at = hash_start(&c->index, hash_mix(address)); c->index.slots[at];)
			at = hash_next(&c->index, at);
	}
	c->codes[c->count] = (struct remote_code){ .at = address };
	hash_insert(&c->index, at, hash_mix(address), ++c->count);
	return &c->codes[c->count - 1];
}

uint32_t python_remote_code(struct python_remote_codes *c, const struct python_remote_source *from,
                            uint64_t address)
{
	struct remote_code now;

	if (!read_code(from, address, &now))
		return 0;
	struct remote_code *entry = entry_of(c, address);
	if (!entry)
		return 0;
	if (entry->number && equal(entry, &now))
		return entry->number;
	now.number = make_known(c, from, &now);
	*entry = now;
	return entry->number;
}
