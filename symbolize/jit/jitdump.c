// SPDX-License-Identifier: MIT
#include "symbolize/jit/jitdump.h"

#include "base/array.h"
#include "symbolize/dwarf/cover.h"

#define JITDUMP_MAGIC UINT32_C(0x4a695444) /* "JiTD" */

enum jit_record {
	JIT_CODE_LOAD = 0,
	JIT_CODE_MOVE = 1,
	JIT_CODE_DEBUG_INFO = 2
};

struct code {
	uint64_t start, size;
	uint64_t original; // where it was when its lines were written
	uint64_t index;    // the compiler's own number for it
	const char *name;
	uint32_t name_length;
	struct bytes lines; // entries of a debug record; may be empty
};

struct dump {
	struct code *items;
	size_t count, capacity;
	// A debug record stands before the load record that it is for.
	uint64_t lines_start;
	struct bytes lines;
};

static bool add(struct dump *dump, struct code code)
{
	if (!array_reserve(&dump->items, &dump->capacity, dump->count + 1))
		return false;
	dump->items[dump->count++] = code;
	return true;
}

static const char *read_text(struct cursor *c, uint32_t *length)
{
	const char *text = cursor_string(c);

	*length = text ? (uint32_t)((const char *)c->at - text - 1) : 0;
	return text;
}

static bool read_load(struct dump *dump, struct cursor *c)
{
	cursor_skip(c, 8); // pid, tid
	cursor_skip(c, 8); // vma
	struct code code = { .start = cursor_u64(c) };
	code.original = code.start;
	code.size = cursor_u64(c);
	code.index = cursor_u64(c);
	code.name = read_text(c, &code.name_length);
	if (dump->lines_start == code.start)
		code.lines = dump->lines;
	dump->lines = (struct bytes){ 0 };
	return c->bad || add(dump, code);
}

static bool read_move(struct dump *dump, struct cursor *c)
{
	cursor_skip(c, 8);
	cursor_skip(c, 8);
	uint64_t from = cursor_u64(c);
	uint64_t to = cursor_u64(c);
	uint64_t size = cursor_u64(c);
	uint64_t index = cursor_u64(c);

	// What moves was mostly made a short while ago.
	for (size_t i = dump->count, tries = 0; !c->bad && i > 0 && tries < 4096; i--, tries++) {
		struct code code = dump->items[i - 1];
		if (code.index != index || code.start != from)
			continue;
		code.start = to;
		code.size = size;
		return add(dump, code);
	}
	return true;
}

static void read_debug(struct dump *dump, struct cursor *c)
{
	dump->lines_start = cursor_u64(c);
	cursor_skip(c, 8); // how many: the entries go to the end of the record
	dump->lines = (struct bytes){ c->at, cursor_left(c) };
}

static bool read_records(struct dump *dump, struct cursor *c)
{
	while (cursor_left(c) >= 16) {
		const uint8_t *start = c->at;
		uint32_t type = cursor_u32(c);
		uint32_t size = cursor_u32(c);
		struct cursor body = { start + 16, start, false };
		c->at = start;
		cursor_skip(c, size);
		if (c->bad || size < 16)
			return true; // cut off, or still being written
		body.end = start + size;
		if (type == JIT_CODE_LOAD && !read_load(dump, &body))
			return false;
		if (type == JIT_CODE_MOVE && !read_move(dump, &body))
			return false;
		if (type == JIT_CODE_DEBUG_INFO)
			read_debug(dump, &body);
	}
	return true;
}

// V8 counts from the start of an ELF header that it thinks stands before the code.
static uint64_t bias_of(const struct code *code)
{
	struct cursor c = cursor_at(code->lines, 0);

	return cursor_u64(&c) - code->original == 0x40 ? 0x40 : 0;
}

// The entry with the highest address that is not above ADDRESS. They come in order.
static void find_line(const struct code *code, uint64_t address, struct jitdump_hit *hit)
{
	struct cursor c = cursor_at(code->lines, 0);
	const char *file = NULL;
	uint32_t file_length = 0;

	address = address - code->start + code->original + bias_of(code);
	while (cursor_left(&c) >= 17) {
		uint64_t start = cursor_u64(&c);
		int line = (int)cursor_u32(&c);
		cursor_skip(&c, 4); // discriminator
		uint32_t length;
		const char *name = read_text(&c, &length);
		if (c.bad || start > address)
			return;
		// "\xff" stands for the name of the entry before.
		if (length != 1 || name[0] != '\xff') {
			file = name;
			file_length = length;
		}
		hit->file = file;
		hit->file_length = file_length;
		hit->line = line > 0 ? line : 0;
	}
}

int jitdump_find(struct bytes bytes, const uint64_t *addresses, size_t count,
                 struct jitdump_hit *hits)
{
	struct cursor c = cursor_at(bytes, 0);
	struct dump dump = { 0 };
	struct cover cover;

	memset(hits, 0, count * sizeof(*hits));
	uint32_t magic = cursor_u32(&c);
	cursor_skip(&c, 4); // version
	uint32_t header = cursor_u32(&c);
	if (c.bad || magic != JITDUMP_MAGIC || header < 40)
		return 0;
	c = cursor_at(bytes, header);
	if (!cover_init(&cover, addresses, count))
		return -1;
	bool good = read_records(&dump, &c);
	for (size_t i = dump.count; good && i > 0; i--) {
		const struct code *code = &dump.items[i - 1];
		for (size_t at; (at = cover_take(&cover, code->start, code->size)) < count;) {
			hits[at].name = code->name;
			hits[at].name_length = code->name_length;
			find_line(code, addresses[at], &hits[at]);
		}
	}
	cover_fini(&cover);
	free(dump.items);
	return good ? 1 : -1;
}
