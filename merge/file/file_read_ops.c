// SPDX-License-Identifier: MIT
// The tables of ops, see merge/file/file_write_ops.c and merge/file/file_read.c.
#include "merge/file/file_ops.h"
#include "merge/file/file_reader.h"

#include <string.h>

bool take_op_fact(struct file_reader *r, const char *key, int64_t value)
{
	struct op_table *t = &r->profile->op_table;
	const struct {
		const char *key;
		uint64_t *to;
	} facts[] = {
		{ "ops", &r->ops },
		{ "op_origin_ns", &t->origin_ns },
		{ "op_bin_ns", &t->bin_ns },
		{ "ops_folded", &t->folded },
		{ "ops_lost", &t->lost },
		{ "ops_blurred", &t->blurred },
		{ "ops_whole_ns", &t->whole_ns },
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (strcmp(facts[i].key, key) == 0) {
			*facts[i].to = (uint64_t)value;
			return true;
		}
	return false;
}

int check_op_facts(struct file_reader *r)
{
	struct op_table *t = &r->profile->op_table;

	t->thinned = t->whole_ns != 0;
	// Times of bins must not overflow.
	if (!t->bin_ns || t->bin_ns > INT64_MAX / 2 / OP_TABLE_BINS_OF_RUN ||
	    t->origin_ns > INT64_MAX / 2)
		return file_reader_damaged(r, "the times of its ops cannot be");
	return 0;
}

static int take_op_name(struct file_reader *r)
{
	uint32_t expected = ops_count(r->profile->own_ops) + 1;
	bool ok = file_reader_int(r, 0) == expected && expected <= r->ops &&
	          expected <= FILE_ROWS_MAX;
	struct op wanted = {
		.provider = (enum op_provider)file_reader_id(r, 1, OP_PROVIDERS - 1, &ok),
		.domain = file_reader_text(r, 2),
		.category = file_reader_text(r, 3),
		.name = file_reader_text(r, 4),
	};

	if (!ok || !wanted.provider || !wanted.domain || !wanted.category || !wanted.name)
		return file_reader_damaged(r, "an op cannot be");
	const struct op *op = ops_add(r->profile->own_ops, &wanted);
	if (op && op->id != expected)
		return file_reader_damaged(r, "an op is there twice");
	return op ? 0 : file_reader_no_memory(r);
}

int read_op_names(struct file_reader *r)
{
	struct profile *p = r->profile;

	if (!r->ops)
		return 0;
	p->ops = p->own_ops = ops_new();
	if (!p->own_ops)
		return file_reader_no_memory(r);
	if (file_reader_rows(r, "op_name", 5, take_op_name) < 0)
		return -1;
	return ops_count(p->own_ops) == r->ops ? 0 : file_reader_damaged(r, "an op is missing");
}

static bool get_op_key(struct file_reader *r, struct columns *c, uint32_t row, struct op_key *key)
{
	const struct profile *p = r->profile;
	const uint64_t most[FILE_OP_KEYS] = { r->ops,
		                              r->ops,
		                              strings_count(p->strings),
		                              p->locations.count,
		                              p->threads.thread_count,
		                              1,
		                              p->chains.count,
		                              p->chains.count };
	uint32_t within_domain;
	uint32_t *const to[FILE_OP_KEYS] = { &key->op,     &key->parent, &key->shape,
		                             &key->caller, &key->thread, &within_domain,
		                             &key->chain,  &key->forward };

	for (uint32_t i = 0; i < FILE_OP_KEYS; i++) {
		if (*columns_at(c, i, row) > most[i])
			return false;
		*to[i] = (uint32_t)*columns_at(c, i, row);
	}
	key->within_domain = within_domain;
	return key->op && key->thread && key->chain != PROFILE_CHAIN_ROOT &&
	       key->forward != PROFILE_CHAIN_ROOT;
}

static bool get_op(struct file_reader *r, struct columns *c, uint32_t row, struct op_entry *entry)
{
	if (!get_op_key(r, c, row, &entry->key))
		return false;
	for (uint32_t i = 0; i < FILE_OP_SUMS; i++) {
		*file_op_sum(&entry->sums, i) = *columns_at(c, FILE_OP_KEYS + i, row);
		if (!file_reader_add(file_op_sum(&r->op_sums, i), *file_op_sum(&entry->sums, i)))
			return false;
	}
	for (uint32_t i = 0; i < FILE_OP_TIMES; i++) {
		*file_op_time(entry, i) = *columns_at(c, FILE_OP_KEYS + FILE_OP_SUMS + i, row);
		if (*file_op_time(entry, i) > INT64_MAX)
			return false;
	}
	return entry->sums.untimed <= entry->sums.calls &&
	       entry->sums.unseen <= entry->sums.calls &&
	       entry->sums.timeless <= entry->sums.untimed;
}

static int take_op(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct op_table *t = &r->profile->op_table;
	struct op_entry entry = { 0 };

	if (!get_op(r, c, row, &entry))
		return file_reader_damaged(r, "an op's times cannot be");
	if (entry.sums.untimed == entry.sums.calls)
		entry.min_ns = UINT64_MAX;
	if (op_table_find(t, &entry.key))
		return file_reader_damaged(r, "an op's times are there twice");
	struct op_entry *added = op_table_append(t, &entry.key);
	if (!added)
		return file_reader_no_memory(r);
	*added = entry;
	return 0;
}

static bool get_bin(struct file_reader *r, struct columns *c, uint32_t row, struct op_bin *bin)
{
	uint64_t entry = *columns_at(c, 0, row), number = *columns_at(c, 1, row);
	struct op_bin *last = &r->last_bin;

	if (!entry || entry > r->profile->op_table.count || number >= OP_TABLE_BINS_OF_RUN)
		return false;
	*bin = (struct op_bin){
		.entry = (uint32_t)entry,
		.bin = (uint32_t)number,
		.calls = *columns_at(c, 2, row),
		.marks = *columns_at(c, 3, row),
		.total_ns = *columns_at(c, 4, row),
		.self_ns = *columns_at(c, 5, row),
	};
	if (entry < last->entry || (entry == last->entry && number <= last->bin))
		return false;
	*last = *bin;
	return file_reader_add(&r->op_bin_sums.calls, bin->calls) &&
	       file_reader_add(&r->op_bin_sums.marks, bin->marks) &&
	       file_reader_add(&r->op_bin_sums.total_ns, bin->total_ns) &&
	       file_reader_add(&r->op_bin_sums.self_ns, bin->self_ns);
}

static int take_bin(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct op_bin bin;

	if (!get_bin(r, c, row, &bin))
		return file_reader_damaged(r, "the time of an op cannot be");
	return op_table_append_bin(&r->profile->op_table, &bin) ? 0 : file_reader_no_memory(r);
}

static int take_duration(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct op_table *t = &r->profile->op_table;
	uint64_t entry = *columns_at(c, 0, row), bucket = *columns_at(c, 1, row);
	uint64_t count = *columns_at(c, 2, row);

	if (!entry || entry > t->count || bucket >= HISTOGRAM_BUCKETS || !count ||
	    count > UINT32_MAX || entry < r->last_entry ||
	    (entry == r->last_entry && bucket <= r->last_bucket))
		return file_reader_damaged(r, "the durations of an op cannot be");
	r->last_entry = (uint32_t)entry;
	r->last_bucket = (uint32_t)bucket;
	return histogram_add_bucket(&t->entries[entry - 1].durations, (uint32_t)bucket,
	                            (uint32_t)count)
	               ? 0
	               : file_reader_no_memory(r);
}

static bool is_in_chains(const struct location *location)
{
	return location->kind == FRAME_PYTHON || location->kind == FRAME_MODULE;
}

static int take_chain(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct profile *p = r->profile;
	uint64_t distance = *columns_at(c, 0, row), location = *columns_at(c, 1, row);

	if (!p->chains.count && !paths_child(&p->chains, 0, PROFILE_CHAIN_ROOT))
		return file_reader_no_memory(r);
	uint32_t id = p->chains.count + 1;
	// Callers come first, so nothing can be its own caller.
	if (distance >= id - PROFILE_CHAIN_ROOT || !location || location > p->locations.count ||
	    !is_in_chains(locations_get(&p->locations, (uint32_t)location)))
		return file_reader_damaged(r, "a chain of calls cannot be");
	uint32_t caller = distance ? id - (uint32_t)distance : PROFILE_CHAIN_ROOT;
	uint32_t added = paths_child(&p->chains, caller, (uint32_t)location);
	if (!added)
		return file_reader_no_memory(r);
	return added == id ? 0 : file_reader_damaged(r, "a chain of calls is there twice");
}

int read_ops(struct file_reader *r)
{
	if (!r->ops)
		return 0;
	if (file_reader_chunks(r, "chain_chunk", CHAIN_WIDTH, CHAIN_DELTAS, take_chain) < 0 ||
	    file_reader_chunks(r, "op_chunk", OP_WIDTH, OP_DELTAS, take_op) < 0 ||
	    file_reader_chunks(r, "op_bin_chunk", OP_BIN_WIDTH, OP_BIN_DELTAS, take_bin) < 0)
		return -1;
	return file_reader_chunks(r, "op_duration_chunk", DURATION_WIDTH, DURATION_DELTAS,
	                          take_duration);
}
