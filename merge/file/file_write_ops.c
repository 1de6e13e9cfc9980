// SPDX-License-Identifier: MIT
/*
 * The tables of ops. A profile without ops has none of them.
 */
#include "base/cleanup.h"
#include "merge/file/file_ops.h"
#include "merge/file/file_writer.h"
#include "merge/query/query_ops.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(FILE_OP_KEYS + FILE_OP_SUMS + FILE_OP_TIMES == OP_WIDTH, "the columns of a row");
_Static_assert(OP_WIDTH <= COLUMNS_WIDTH, "bits of struct columns");
_Static_assert(UINT64_C(1) << (FILE_OP_KEYS + FILE_OP_SUMS) == OP_DELTAS, "first_begin_ns");

static const char schema[] =
	"CREATE TABLE op_name(id INTEGER PRIMARY KEY, provider INTEGER, domain TEXT, category TEXT,"
	" name TEXT);"
	"CREATE TABLE chain_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE op_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE op_bin_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE op_duration_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE op(id INTEGER PRIMARY KEY, name TEXT, provider TEXT, domain TEXT, file TEXT,"
	" line INTEGER, backward INTEGER, calls INTEGER, marks INTEGER, self_ns INTEGER, total_ns INTEGER,"
	" average_ns INTEGER, median_ns INTEGER, q1_ns INTEGER, q3_ns INTEGER, min_ns INTEGER,"
	" max_ns INTEGER, first_ns INTEGER, allocated_bytes INTEGER, self_allocated_bytes INTEGER,"
	" device_bytes INTEGER, self_device_bytes INTEGER, flops INTEGER, message_bytes INTEGER, sampled_ns INTEGER, sampled_self_ns INTEGER);";

static uint32_t name_count(const struct file_writer *w)
{
	return w->profile->ops ? ops_count(w->profile->ops) : 0;
}

int write_op_facts(struct file_writer *w)
{
	const struct op_table *t = &w->profile->op_table;

	if (!name_count(w))
		return 0;
	if (file_writer_fact(w, "ops", name_count(w)) < 0 ||
	    file_writer_fact(w, "op_origin_ns", (int64_t)t->origin_ns) < 0 ||
	    file_writer_fact(w, "op_bin_ns", (int64_t)t->bin_ns) < 0 ||
	    file_writer_fact(w, "ops_folded", (int64_t)t->folded) < 0)
		return -1;
	if (file_writer_fact(w, "ops_blurred", (int64_t)t->blurred) < 0 ||
	    (t->whole_ns && file_writer_fact(w, "ops_whole_ns", (int64_t)t->whole_ns) < 0))
		return -1;
	return file_writer_fact(w, "ops_lost", (int64_t)t->lost);
}

int write_op_names(struct file_writer *w)
{
	if (!name_count(w))
		return 0;
	if (file_writer_sql(w, schema) < 0 || file_writer_begin(w, "op_name", 5, true) < 0)
		return -1;
	for (uint32_t id = 1; id <= name_count(w); id++) {
		const struct op *op = ops_get(w->profile->ops, id);
		file_writer_int(w, id);
		file_writer_int(w, op->provider);
		file_writer_text(w, op->domain);
		file_writer_text(w, op->category);
		file_writer_text(w, op->name);
		if (file_writer_row(w) < 0)
			return -1;
	}
	return 0;
}

static void fill_op(const struct file_writer *w, const void *context, uint32_t index,
                    struct columns *c, uint32_t at)
{
	struct op_entry entry = w->profile->op_table.entries[index];
	const uint32_t keys[FILE_OP_KEYS] = { entry.key.op,     entry.key.parent,
		                              entry.key.shape,  entry.key.caller,
		                              entry.key.thread, entry.key.within_domain,
		                              entry.key.chain,  entry.key.forward };

	(void)context;
	if (entry.min_ns == UINT64_MAX)
		entry.min_ns = 0;
	for (uint32_t i = 0; i < FILE_OP_KEYS; i++)
		*columns_at(c, i, at) = keys[i];
	for (uint32_t i = 0; i < FILE_OP_SUMS; i++)
		*columns_at(c, FILE_OP_KEYS + i, at) = *file_op_sum(&entry.sums, i);
	for (uint32_t i = 0; i < FILE_OP_TIMES; i++)
		*columns_at(c, FILE_OP_KEYS + FILE_OP_SUMS + i, at) = *file_op_time(&entry, i);
}

// As in the call tree: a caller by its distance. The first, which is none, is not written.
static void fill_chain(const struct file_writer *w, const void *context, uint32_t index,
                       struct columns *c, uint32_t at)
{
	const struct path_node *node = &w->profile->chains.nodes[index + 1];

	(void)context;
	*columns_at(c, 0, at) = node->parent == PROFILE_CHAIN_ROOT ? 0 : index + 2 - node->parent;
	*columns_at(c, 1, at) = node->location;
}

static int compare_bins(const void *a, const void *b, void *context)
{
	const struct op_bin *bins = context;
	const struct op_bin *left = &bins[*(const uint32_t *)a];
	const struct op_bin *right = &bins[*(const uint32_t *)b];

	if (left->entry != right->entry)
		return left->entry < right->entry ? -1 : 1;
	return (left->bin > right->bin) - (left->bin < right->bin);
}

static void fill_bin(const struct file_writer *w, const void *context, uint32_t index,
                     struct columns *c, uint32_t at)
{
	const uint32_t *order = context;
	const struct op_bin *bin = &w->profile->op_table.bins[order[index]];

	*columns_at(c, 0, at) = bin->entry;
	*columns_at(c, 1, at) = bin->bin;
	*columns_at(c, 2, at) = bin->calls;
	*columns_at(c, 3, at) = bin->marks;
	*columns_at(c, 4, at) = bin->total_ns;
	*columns_at(c, 5, at) = bin->self_ns;
}

static int write_bins(struct file_writer *w)
{
	const struct op_table *t = &w->profile->op_table;
	cleanup_free uint32_t *order = calloc((size_t)t->bin_count + 1, sizeof(*order));
	const struct chunked bins = { "op_bin_chunk", t->bin_count, OP_BIN_WIDTH,
		                      OP_BIN_DELTAS,  fill_bin,     order };

	if (!order)
		return file_writer_no_memory(w);
	for (uint32_t i = 0; i < t->bin_count; i++)
		order[i] = i;
	if (t->bin_count)
		qsort_r(order, t->bin_count, sizeof(*order), compare_bins, t->bins);
	return file_writer_chunks(w, &bins);
}

// Which bucket of which entry a row is.
struct bucket_id {
	uint32_t entry, bucket; // indices
};

static void fill_duration(const struct file_writer *w, const void *context, uint32_t index,
                          struct columns *c, uint32_t at)
{
	const struct bucket_id *id = &((const struct bucket_id *)context)[index];
	const struct op_entry *entry = &w->profile->op_table.entries[id->entry];
	const struct histogram_bucket *bucket = &entry->durations.buckets[id->bucket];

	*columns_at(c, 0, at) = id->entry + 1;
	*columns_at(c, 1, at) = bucket->bucket;
	*columns_at(c, 2, at) = bucket->count;
}

static int write_durations(struct file_writer *w)
{
	const struct op_table *t = &w->profile->op_table;
	size_t count = 0;

	for (uint32_t i = 0; i < t->count; i++)
		count += t->entries[i].durations.count;
	cleanup_free struct bucket_id *ids = calloc(count + 1, sizeof(*ids));
	const struct chunked durations = { "op_duration_chunk", (uint32_t)count, DURATION_WIDTH,
		                           DURATION_DELTAS,     fill_duration,   ids };
	if (!ids)
		return file_writer_no_memory(w);
	count = 0;
	for (uint32_t i = 0; i < t->count; i++)
		for (uint32_t b = 0; b < t->entries[i].durations.count; b++)
			ids[count++] = (struct bucket_id){ i, b };
	return file_writer_chunks(w, &durations);
}

int write_ops(struct file_writer *w)
{
	const struct chunked ops = { "op_chunk", w->profile->op_table.count,
		                     OP_WIDTH,   OP_DELTAS,
		                     fill_op,    NULL };

	if (!name_count(w))
		return 0;
	const uint32_t chain_count = w->profile->chains.count;
	const struct chunked chains = { "chain_chunk", chain_count ? chain_count - 1 : 0,
		                        CHAIN_WIDTH,   CHAIN_DELTAS,
		                        fill_chain,    NULL };
	if (file_writer_chunks(w, &chains) < 0 || file_writer_chunks(w, &ops) < 0 ||
	    write_bins(w) < 0)
		return -1;
	return write_durations(w);
}

static int put_op_row(struct file_writer *w, const struct op_row *row, size_t id)
{
	const uint64_t numbers[] = {
		row->calls,
		row->marks,
		row->self_ns,
		row->total_ns,
		row->average_ns,
		row->median_ns,
		row->q1_ns,
		row->q3_ns,
		row->min_ns,
		row->max_ns,
		row->first_ns,
		row->allocated_bytes,
		row->self_allocated_bytes,
		row->devices.allocated_bytes,
		row->devices.self_allocated_bytes,
		row->flops,
		row->message_bytes,
		row->sampled_ns,
		row->sampled_self_ns,
	};

	file_writer_int(w, (int64_t)id);
	file_writer_text(w, row->name);
	file_writer_text(w, row->provider);
	file_writer_text(w, row->domain);
	file_writer_text(w, row->file);
	file_writer_id(w, (uint32_t)row->line);
	file_writer_int(w, row->backward);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		file_writer_int(w, (int64_t)numbers[i]);
	return file_writer_row(w);
}

int write_op_rows(struct file_writer *w)
{
	const struct op_query by_op = { .by = OPS_BY_OP };

	if (!name_count(w))
		return 0;
	cleanup(op_rows) struct op_rows *rows = query_ops(w->profile, &by_op, w->err);
	if (!rows || file_writer_begin(w, "op", 26, false) < 0)
		return -1;
	for (size_t i = 0; i < rows->count; i++)
		if (put_op_row(w, &rows->rows[i], i + 1) < 0)
			return -1;
	return 0;
}
