// SPDX-License-Identifier: MIT
/*
 * The cells of a profile file: those of threads, and of GPUs.
 */
#include "base/cleanup.h"
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"

#include <stdlib.h>

struct writing {
	const struct cells *cells;
	uint32_t *order; // indices
	uint64_t sample_ns;
};

/*
 * Cells go by node, metric and bin, so that their numbers grow slowly. What a
 * sample weighs is nearly the same for all, so only the difference to that is stored.
 */
static void fill_cell(const struct file_writer *w, const void *context, uint32_t index,
                      struct columns *c, uint32_t at)
{
	const struct writing *writing = context;
	const struct cell *cell = &writing->cells->cells[writing->order[index]];

	(void)w;
	*columns_at(c, 0, at) = cell->node;
	*columns_at(c, 1, at) = cell->metric;
	*columns_at(c, 2, at) = cell->bin;
	*columns_at(c, 3, at) = cell->samples;
	*columns_at(c, 4, at) = zigzag((int64_t)(cell->ns - cell->samples * writing->sample_ns));
	*columns_at(c, 5, at) = zigzag(cell->rate);
}

static uint64_t cell_order(const struct cell *cell)
{
	return (uint64_t)cell->node << 32 | (uint64_t)cell->metric << 16 | cell->bin;
}

static int compare_cells(const void *a, const void *b, void *context)
{
	const struct cell *cells = context;
	uint64_t left = cell_order(&cells[*(const uint32_t *)a]);
	uint64_t right = cell_order(&cells[*(const uint32_t *)b]);

	return left < right ? -1 : left > right;
}

int write_cell_table(struct file_writer *w, const char *table, const struct cells *cells,
                     uint64_t sample_ns)
{
	cleanup_free uint32_t *order = calloc((size_t)cells->count + 1, sizeof(*order));
	struct writing writing = { cells, order, sample_ns };
	const struct chunked chunked = { table,       cells->count, CELL_WIDTH,
		                         CELL_DELTAS, fill_cell,    &writing };

	if (!order)
		return file_writer_no_memory(w);
	for (uint32_t i = 0; i < cells->count; i++)
		order[i] = i;
	qsort_r(order, cells->count, sizeof(*order), compare_cells, cells->cells);
	return file_writer_chunks(w, &chunked);
}

/*
 * The intervals that are under way after CELL and those before it must be what it says, and no
 * time may be less than nothing, or more than a sum can hold.
 */
static bool add_up_cell(struct file_cells *f, const struct cell *cell)
{
	const struct cell *last = &f->last;
	bool same = last->node == cell->node && last->metric == cell->metric;
	int64_t width = (int64_t)f->cells->width_ns;
	__int128 between = 0;

	if (last->node && cell_order(cell) <= cell_order(last))
		return false;
	if (same)
		between = (__int128)f->under_way * width * (cell->bin - last->bin - 1);
	else if (f->under_way)
		return false; // they never end
	f->under_way += cell->rate;
	__int128 within = (__int128)f->under_way * width + (int64_t)cell->ns;
	if (f->under_way < 0 || within < 0 || between + within > INT64_MAX - f->whole_ns)
		return false;
	f->whole_ns += (int64_t)(between + within);
	f->last = *cell;
	return true;
}

static int take_cell(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct file_cells *f = &r->cells;
	uint64_t node = *columns_at(c, 0, row), metric = *columns_at(c, 1, row);
	uint64_t bin = *columns_at(c, 2, row), samples = *columns_at(c, 3, row);
	int64_t rate = unzigzag(*columns_at(c, 5, row));

	if (!node || node > f->nodes || metric >= f->metrics || bin >= CELLS_BINS ||
	    samples > UINT32_MAX || rate < INT32_MIN || rate > INT32_MAX)
		return file_reader_damaged(r, "a time cannot be");
	struct cell cell = {
		.ns = samples * f->sample_ns + (uint64_t)unzigzag(*columns_at(c, 4, row)),
		.node = (uint32_t)node,
		.samples = (uint32_t)samples,
		.bin = (uint16_t)bin,
		.metric = (uint16_t)metric,
		.rate = (int32_t)rate,
	};
	if (!add_up_cell(f, &cell))
		return file_reader_damaged(r, "a time cannot be");
	return cells_put(f->cells, &cell) ? 0 : file_reader_no_memory(r);
}

int read_cell_table(struct file_reader *r, const char *table, const struct file_cells *wanted)
{
	r->cells = *wanted;
	if (file_reader_chunks(r, table, CELL_WIDTH, CELL_DELTAS, take_cell) < 0)
		return -1;
	return r->cells.under_way ? file_reader_damaged(r, "a time cannot be") : 0;
}
