// SPDX-License-Identifier: MIT
/*
 * What a profile file has of single calls, waits and works of GPUs. Blocks are taken as they are,
 * and looked into when a timeline is asked for. A profile without has no such table.
 */
#include "base/cleanup.h"
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH 6
#define LEVEL 1 // of zlib: there are many, and they are small already

static const char schema[] =
	"CREATE TABLE slice_chunk(id INTEGER PRIMARY KEY, kind INTEGER, rows INTEGER,"
	" begin_ns INTEGER, end_ns INTEGER, data BLOB);";

int write_slice_facts(struct file_writer *w)
{
	const struct slices *s = &w->profile->slices;

	if (!s->kept && !s->dropped)
		return 0;
	if (file_writer_fact(w, "slices", (int64_t)s->kept) < 0 ||
	    file_writer_fact(w, "slices_dropped", (int64_t)s->dropped) < 0)
		return -1;
	return file_writer_fact(w, "slices_cut_ns", (int64_t)s->cut_ns);
}

static int write_block(struct file_writer *w, uint32_t id, const struct slice_block *block)
{
	size_t size;
	cleanup_free void *bytes = slices_deflate(block, LEVEL, &size);

	if (!bytes)
		return file_writer_no_memory(w);
	file_writer_int(w, id);
	file_writer_int(w, block->kind);
	file_writer_int(w, block->rows);
	file_writer_int(w, (int64_t)block->begin_ns);
	file_writer_int(w, (int64_t)block->end_ns);
	file_writer_bytes(w, SQLITE_BLOB, bytes, size);
	return file_writer_row(w);
}

// Those that are not full yet.
static int write_fillings(struct file_writer *w, uint32_t id)
{
	const struct slices *s = &w->profile->slices;

	for (uint32_t i = 0; i < 2 * SLICE_KINDS; i++) {
		struct slice_block block;
		bool closed = slices_close(&s->filling[i / 2][i % 2], i / 2, &block);
		int failed = !closed      ? file_writer_no_memory(w)
		             : block.rows ? write_block(w, ++id, &block)
		                          : 0;
		free(block.bytes);
		if (failed)
			return -1;
	}
	return 0;
}

int write_slices(struct file_writer *w)
{
	const struct slices *s = &w->profile->slices;

	if (!s->kept && !s->dropped)
		return 0;
	if (file_writer_sql(w, schema) < 0 || file_writer_begin(w, "slice_chunk", WIDTH, true) < 0)
		return -1;
	for (uint32_t i = 0; i < s->count; i++)
		if (write_block(w, i + 1, &s->blocks[i]) < 0)
			return -1;
	return write_fillings(w, s->count);
}

bool take_slice_fact(struct file_reader *r, const char *key, int64_t value)
{
	struct slices *s = &r->profile->slices;

	if (strcmp(key, "slices") == 0)
		r->slices = (uint64_t)value;
	else if (strcmp(key, "slices_dropped") == 0)
		s->dropped = (uint64_t)value;
	else if (strcmp(key, "slices_cut_ns") == 0)
		s->cut_ns = (uint64_t)value;
	else
		return false;
	return true;
}

static bool block_can_be(const struct file_reader *r, const struct slice_block *block)
{
	return block->rows && block->size && block->end_ns <= INT64_MAX &&
	       block->begin_ns <= block->end_ns &&
	       r->profile->slices.kept + block->rows <= r->slices;
}

static int take_block(struct file_reader *r)
{
	struct slices *s = &r->profile->slices;
	bool ok = file_reader_int(r, 0) == (int64_t)s->count + 1;
	const void *bytes = sqlite3_column_blob(r->select, 5);
	struct slice_block block = {
		.kind = file_reader_id(r, 1, SLICE_KINDS - 1, &ok),
		.rows = file_reader_id(r, 2, SLICES_BLOCK, &ok),
		.begin_ns = (uint64_t)file_reader_int(r, 3),
		.end_ns = (uint64_t)file_reader_int(r, 4),
		.size = bytes ? (size_t)sqlite3_column_bytes(r->select, 5) : 0,
		.deflated = true,
	};

	if (!ok || !block_can_be(r, &block))
		return file_reader_damaged(r, "a block of its timeline cannot be");
	block.bytes = malloc(block.size);
	if (!block.bytes || !slices_append(s, &block)) {
		free(block.bytes);
		return file_reader_no_memory(r);
	}
	memcpy(block.bytes, bytes, block.size);
	return 0;
}

int read_slices(struct file_reader *r)
{
	const struct slices *s = &r->profile->slices;

	if (s->dropped > INT64_MAX || s->cut_ns > INT64_MAX || r->slices > PROFILE_TIMELINE_MAX)
		return file_reader_damaged(r, "its timeline cannot be");
	if (!r->slices && !s->dropped)
		return 0;
	if (file_reader_rows(r, "slice_chunk", WIDTH, take_block) < 0)
		return -1;
	return s->kept == r->slices ? 0
	                            : file_reader_damaged(r, "a part of its timeline is missing");
}
