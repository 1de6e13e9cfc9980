// SPDX-License-Identifier: MIT
#include "symbolize/jit/jitdump.h"
#include "tests/support/expect.h"

// Writes a dump as a run-time compiler does.
struct writer {
	uint8_t bytes[4096];
	size_t used, record;
};

static void put(struct writer *w, uint64_t number, size_t size)
{
	memcpy(w->bytes + w->used, &number, size);
	w->used += size;
}

static void put_text(struct writer *w, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(w->bytes + w->used, text, size);
	w->used += size;
}

static void begin(struct writer *w)
{
	*w = (struct writer){ 0 };
	put(w, 0x4a695444, 4);
	put(w, 1, 4);
	put(w, 40, 4);
	put(w, 62, 4);
	put(w, 0, 4);
	put(w, 4711, 4);
	put(w, 0, 8);
	put(w, 0, 8);
}

static void begin_record(struct writer *w, uint32_t type)
{
	w->record = w->used;
	put(w, type, 4);
	put(w, 0, 4);
	put(w, 0, 8);
}

static void end_record(struct writer *w)
{
	uint32_t size = (uint32_t)(w->used - w->record);

	memcpy(w->bytes + w->record + 4, &size, 4);
}

static void put_load(struct writer *w, uint64_t start, uint64_t size, uint64_t index,
                     const char *name)
{
	begin_record(w, 0);
	put(w, 4711, 4);
	put(w, 4711, 4);
	put(w, start, 8);
	put(w, start, 8);
	put(w, size, 8);
	put(w, index, 8);
	put_text(w, name);
	put(w, 0xc3, 1); // the code
	end_record(w);
}

static void put_move(struct writer *w, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	begin_record(w, 1);
	put(w, 4711, 4);
	put(w, 4711, 4);
	put(w, to, 8);
	put(w, from, 8);
	put(w, to, 8);
	put(w, size, 8);
	put(w, index, 8);
	end_record(w);
}

static void put_lines_at(struct writer *w, uint64_t start, uint64_t bias)
{
	static const struct {
		uint64_t offset;
		int line;
		const char *file;
	} lines[] = { { 0, 10, "/a.js" }, { 8, 12, "\xff" }, { 16, 3, "/b.js" } };

	begin_record(w, 2);
	put(w, start, 8);
	put(w, 3, 8);
	for (size_t i = 0; i < 3; i++) {
		put(w, start + lines[i].offset + bias, 8);
		put(w, (uint64_t)lines[i].line, 4);
		put(w, 0, 4);
		put_text(w, lines[i].file);
	}
	end_record(w);
}

static void put_lines(struct writer *w, uint64_t start)
{
	put_lines_at(w, start, 0);
}

static struct jitdump_hit find(const struct writer *w, uint64_t address)
{
	struct jitdump_hit hit;

	cr_assert(eq(int, jitdump_find((struct bytes){ w->bytes, w->used }, &address, 1, &hit), 1));
	return hit;
}

Test(jitdump, code_has_the_lines_of_the_record_before_it)
{
	struct writer w;

	begin(&w);
	put_lines(&w, 0x1000);
	put_load(&w, 0x1000, 0x20, 1, "fit");
	put_load(&w, 0x2000, 0x20, 2, "bare");
	static const struct {
		uint64_t address;
		int line;
		const char *file;
	} rows[] = { { 0x1000, 10, "/a.js" },
		     { 0x1007, 10, "/a.js" },
		     { 0x1008, 12, "/a.js" },
		     { 0x101f, 3, "/b.js" } };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct jitdump_hit hit = find(&w, rows[i].address);
		cr_assert(hit.name != NULL, "%#lx", rows[i].address);
		cr_expect(eq(str, (char *)hit.name, "fit"));
		cr_expect(eq(int, hit.line, rows[i].line), "%#lx", rows[i].address);
		cr_expect(eq(str, (char *)hit.file, (char *)rows[i].file));
	}
	cr_expect(eq(ptr, (void *)find(&w, 0x1020).name, NULL));
	cr_expect(eq(int, find(&w, 0x2000).line, 0));
}

Test(jitdump, lines_of_V8_are_moved_to_where_the_code_is)
{
	struct writer w;

	begin(&w);
	put_lines_at(&w, 0x1000, 0x40);
	put_load(&w, 0x1000, 0x60, 1, "fit");
	cr_expect(eq(int, find(&w, 0x1000).line, 10));
	cr_expect(eq(int, find(&w, 0x1008).line, 12));
	cr_expect(eq(int, find(&w, 0x105f).line, 3));
}

Test(jitdump, code_that_moves_takes_its_name_and_lines_along)
{
	struct writer w;

	begin(&w);
	put_lines(&w, 0x1000);
	put_load(&w, 0x1000, 0x20, 1, "fit");
	put_move(&w, 0x1000, 0x9000, 0x20, 1);
	struct jitdump_hit hit = find(&w, 0x9009);
	cr_assert(hit.name != NULL);
	cr_expect(eq(str, (char *)hit.name, "fit"));
	cr_expect(eq(int, hit.line, 12));
}

Test(jitdump, code_that_was_replaced_has_its_last_name)
{
	struct writer w;

	begin(&w);
	put_load(&w, 0x1000, 0x20, 1, "old");
	put_load(&w, 0x1010, 0x20, 2, "new");
	cr_expect(eq(str, (char *)find(&w, 0x1008).name, "old"));
	cr_expect(eq(str, (char *)find(&w, 0x1018).name, "new"));
}

Test(jitdump, a_file_that_is_still_being_written_gives_what_is_whole)
{
	struct writer w;

	begin(&w);
	put_load(&w, 0x1000, 0x20, 1, "first");
	size_t whole = w.used;
	put_load(&w, 0x2000, 0x20, 2, "second");
	for (w.used--; w.used >= whole; w.used--) {
		cr_expect(eq(str, (char *)find(&w, 0x1000).name, "first"));
		cr_expect(eq(ptr, (void *)find(&w, 0x2000).name, NULL), "%zu bytes", w.used);
	}
}

Test(jitdump, what_is_no_dump_is_refused)
{
	uint64_t address = 0;
	struct jitdump_hit hit;
	struct writer w;

	begin(&w);
	w.bytes[0] ^= 1;
	cr_expect(eq(int, jitdump_find((struct bytes){ w.bytes, w.used }, &address, 1, &hit), 0));
	cr_expect(eq(int, jitdump_find((struct bytes){ 0 }, &address, 1, &hit), 0));
}
