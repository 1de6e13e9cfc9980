// SPDX-License-Identifier: MIT
#include "merge/table/slices.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>

// Columns of each kind: those that it has no use for come last.
static const uint32_t widths[SLICE_KINDS] = {
	[SLICE_OP] = 6,
	[SLICE_WAIT] = 5,
	[SLICE_GPU] = SLICES_WIDTH,
};

enum {
	ENDS,
	LASTS,
	THREAD,
	WHAT,
	PLACE,
	NUMBER,
	QUEUED
};

void slices_init(struct slices *s, uint64_t limit)
{
	*s = (struct slices){ .limit = limit };
}

void slices_fini(struct slices *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		free(s->blocks[i].bytes);
	free(s->blocks);
	for (int kind = 0; kind < SLICE_KINDS; kind++)
		for (int i = 0; i < 2; i++)
			columns_fini(&s->filling[kind][i].columns);
	*s = (struct slices){ 0 };
}

bool slices_columns(struct columns *c, uint32_t kind)
{
	if (columns_init(c, widths[kind], SLICES_DELTAS, SLICES_BLOCK))
		return true;
	columns_fini(c);
	return false;
}

bool slices_append(struct slices *s, const struct slice_block *block)
{
	if (!array_reserve(&s->blocks, &s->capacity, (size_t)s->count + 1))
		return false;
	s->blocks[s->count++] = *block;
	s->kept += block->rows;
	return true;
}

static void drop(struct slices *s, uint64_t count, uint64_t end_ns)
{
	s->dropped += count;
	if (!s->cut_ns || end_ns < s->cut_ns)
		s->cut_ns = end_ns;
}

bool slices_close(const struct slice_filling *filling, uint32_t kind, struct slice_block *block)
{
	*block = (struct slice_block){ .kind = kind,
		                       .rows = filling->columns.rows,
		                       .begin_ns = filling->begin_ns,
		                       .end_ns = filling->end_ns };
	if (!block->rows)
		return true;
	block->bytes = columns_encode(&filling->columns, &block->size);
	return block->bytes != NULL;
}

static void seal(struct slices *s, uint32_t kind, struct slice_filling *f)
{
	struct slice_block block;
	bool closed = slices_close(f, kind, &block);

	s->kept -= block.rows;
	f->columns.rows = 0;
	if (closed && slices_append(s, &block))
		return;
	free(block.bytes);
	drop(s, block.rows, block.begin_ns);
}

static uint64_t value(const struct columns *c, uint32_t column, uint32_t row)
{
	return c->values[(size_t)column * c->room + row];
}

static void fill(struct slice_filling *f, const struct slice *slice)
{
	struct columns *c = &f->columns;
	uint32_t row = c->rows++;

	*columns_at(c, ENDS, row) = slice->end_ns;
	*columns_at(c, LASTS, row) = slice->end_ns - slice->begin_ns;
	*columns_at(c, THREAD, row) = slice->thread;
	*columns_at(c, WHAT, row) = slice->what;
	*columns_at(c, PLACE, row) = slice->place;
	if (c->width > NUMBER)
		*columns_at(c, NUMBER, row) = slice->number;
	// Clocks of GPUs may be a little off: zigzag, and 0 where there is no call.
	if (c->width > QUEUED)
		*columns_at(c, QUEUED, row) =
			slice->call_ns ? zigzag((int64_t)(slice->begin_ns - slice->call_ns)) + 1
				       : 0;
	if (!row || slice->begin_ns < f->begin_ns)
		f->begin_ns = slice->begin_ns;
	if (!row || slice->end_ns > f->end_ns)
		f->end_ns = slice->end_ns;
}

struct slice slices_row(const struct columns *c, uint32_t kind, uint32_t row)
{
	struct slice slice = {
		.kind = kind,
		.end_ns = value(c, ENDS, row),
		.begin_ns = value(c, ENDS, row) - value(c, LASTS, row),
		.thread = (uint32_t)value(c, THREAD, row),
		.what = (uint32_t)value(c, WHAT, row),
		.place = (uint32_t)value(c, PLACE, row),
		.number = c->width > NUMBER ? value(c, NUMBER, row) : 0,
	};
	uint64_t queued = c->width > QUEUED ? value(c, QUEUED, row) : 0;

	if (queued)
		slice.call_ns = slice.begin_ns - (uint64_t)unzigzag(queued - 1);
	return slice;
}

void slices_add(struct slices *s, const struct slice *slice)
{
	bool straggles = slice->begin_ns < s->ordered_ns[slice->kind];
	struct slice_filling *f = &s->filling[slice->kind][straggles];

	if (!s->limit)
		return;
	if (s->kept >= s->limit || slice->end_ns < slice->begin_ns ||
	    (!f->columns.width && !slices_columns(&f->columns, slice->kind))) {
		drop(s, 1, slice->end_ns);
		return;
	}
	fill(f, slice);
	s->kept++;
	if (f->columns.rows < SLICES_BLOCK)
		return;
	if (!straggles)
		s->ordered_ns[slice->kind] = f->end_ns;
	seal(s, slice->kind, f);
}

bool slices_unpack(const struct slice_block *block, struct columns *c)
{
	if (block->deflated)
		return columns_unpack(c, block->rows, block->bytes, block->size);
	return columns_decode(c, block->rows, block->bytes, block->size);
}

void *slices_deflate(const struct slice_block *block, int level, size_t *size)
{
	if (!block->deflated)
		return columns_deflate(block->bytes, block->size, level, size);
	void *copy = malloc(block->size);
	*size = block->size;
	return copy ? memcpy(copy, block->bytes, block->size) : NULL;
}

static void move_rows(struct columns *c, const uint32_t *map)
{
	for (uint32_t row = 0; row < c->rows; row++) {
		uint64_t *node = columns_at(c, PLACE, row);
		*node = *node ? map[*node - 1] : 0;
	}
}

static bool move_block(struct slice_block *block, struct columns *c, const uint32_t *map)
{
	size_t size;

	if (!slices_unpack(block, c))
		return false;
	move_rows(c, map);
	void *bytes = columns_encode(c, &size);
	if (!bytes)
		return false;
	free(block->bytes);
	block->bytes = bytes;
	block->size = size;
	block->deflated = false;
	return true;
}

// Those whose nodes could not be moved would name others.
static void drop_block(struct slices *s, uint32_t index)
{
	struct slice_block *block = &s->blocks[index];

	s->kept -= block->rows;
	drop(s, block->rows, block->begin_ns);
	free(block->bytes);
	memmove(block, block + 1, (s->count - index - 1) * sizeof(*block));
	s->count--;
}

void slices_move_nodes(struct slices *s, const uint32_t *map)
{
	cleanup(columns) struct columns c = { 0 };
	bool room = slices_columns(&c, SLICE_WAIT);

	for (int i = 0; i < 2; i++)
		move_rows(&s->filling[SLICE_WAIT][i].columns, map);
	for (uint32_t i = s->count; i-- > 0;)
		if (s->blocks[i].kind == SLICE_WAIT &&
		    (!room || !move_block(&s->blocks[i], &c, map)))
			drop_block(s, i);
}
