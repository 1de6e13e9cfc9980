// SPDX-License-Identifier: MIT
// Ops with their callers, counters, series, calls of Python functions, and memory of one part.
#include "merge/join/merger_data.h"

#include <stdlib.h>

bool merger_add_op_names(struct merger *m)
{
	for (uint32_t id = 1; m->part->ops && id <= ops_count(m->part->ops); id++) {
		const struct op *op = ops_add(m->profile->own_ops, ops_get(m->part->ops, id));
		if (!op)
			return false;
		m->ops[id - 1] = op->id;
	}
	return true;
}

bool merger_add_chains(struct merger *m)
{
	const struct paths *from = &m->part->chains;
	struct paths *to = &m->profile->chains;

	if (!from->count)
		return true;
	if (!to->count && !paths_child(to, 0, PROFILE_CHAIN_ROOT))
		return false;
	m->chains[PROFILE_CHAIN_ROOT - 1] = PROFILE_CHAIN_ROOT;
	for (uint32_t id = PROFILE_CHAIN_ROOT + 1; id <= from->count; id++) {
		const struct path_node *node = paths_node(from, id);
		m->chains[id - 1] = paths_child(to, m->chains[node->parent - 1],
		                                m->locations[node->location - 1]);
		if (!m->chains[id - 1])
			return false;
	}
	return true;
}

static bool translate_key(struct merger *m, const struct op_key *from, struct op_key *key)
{
	*key = (struct op_key){
		.op = merger_number(m->ops, from->op),
		.parent = merger_number(m->ops, from->parent),
		.caller = merger_number(m->locations, from->caller),
		.thread = merger_number(m->threads, from->thread),
		.chain = merger_number(m->chains, from->chain),
		.forward = merger_number(m->chains, from->forward),
		.within_domain = from->within_domain,
	};
	return merger_text(m, from->shape, &key->shape);
}

// ENTRIES: which entry each of the part's has become, its index + 1.
static bool add_entries(struct merger *m, uint32_t *entries)
{
	const struct op_table *from = &m->part->op_table;
	struct op_table *to = &m->profile->op_table;

	for (uint32_t i = 0; i < from->count; i++) {
		struct op_entry entry = from->entries[i];
		if (!translate_key(m, &from->entries[i].key, &entry.key))
			return false;
		entry.first_begin_ns = merger_time(m, entry.first_begin_ns);
		struct op_entry *kept = op_table_join(to, &entry);
		if (kept)
			entries[i] = (uint32_t)(kept - to->entries) + 1;
	}
	if (from->whole_ns && (!to->whole_ns || merger_time(m, from->whole_ns) < to->whole_ns))
		to->whole_ns = merger_time(m, from->whole_ns);
	to->thinned |= from->whole_ns != 0;
	to->folded += from->folded;
	to->lost += from->lost;
	to->blurred += from->blurred;
	return true;
}

static bool add_bins(struct merger *m, const uint32_t *entries)
{
	const struct op_table *from = &m->part->op_table;

	for (uint32_t i = 0; i < from->bin_count; i++) {
		struct op_bin bin = from->bins[i];
		uint64_t middle = from->origin_ns + bin.bin * from->bin_ns + from->bin_ns / 2;
		bin.entry = entries[bin.entry - 1];
		if (bin.entry)
			op_table_join_bin(&m->profile->op_table, &bin, merger_time(m, middle));
	}
	return true;
}

// Calls one after the other: those of several processes in one row would be in no order.
static bool add_series(struct merger *m)
{
	bool left_out = false;

	for (uint32_t i = 0; i < m->part->series.count; i++) {
		const struct series *from = &m->part->series.series[i];
		uint32_t shape, id = 0;
		if (!merger_text(m, from->shape, &shape))
			return false;
		if (merger_is_apart(m))
			id = series_get(&m->profile->series, m->ops[from->op - 1], shape,
			                merger_number(m->processes, from->process));
		struct series *to = id ? &m->profile->series.series[id - 1] : NULL;
		if (!to || to->count) {
			left_out = true;
			continue;
		}
		for (uint32_t k = 0; k < from->count; k++) {
			struct series_item item = from->items[k];
			item.begin_ns = merger_time(m, item.begin_ns);
			if (!series_append(to, &item))
				return false;
		}
		to->calls = from->calls;
		to->block_calls = from->block_calls;
	}
	m->profile->series.lost += m->part->series.lost;
	m->unmerged_series += left_out;
	return true;
}

static bool add_counters(struct merger *m)
{
	const struct counters *from = &m->part->counters;

	for (uint32_t i = 0; i < from->count; i++) {
		const struct counter_entry *entry = &from->entries[i];
		struct counter_entry *to =
			counters_get(&m->profile->counters, merger_number(m->ops, entry->op),
		                     merger_number(m->threads, entry->thread));
		if (!to)
			return false;
		struct counter_sums sums = entry->sums;
		sums.last_ns = merger_time(m, sums.last_ns);
		counter_sums_add(&to->sums, &sums);
	}
	m->profile->counters.lost += from->lost;
	return true;
}

static bool add_call_counts(struct merger *m)
{
	const struct call_counts *from = &m->part->call_counts;

	cleanup_free uint32_t *ids = calloc((size_t)from->count + 1, sizeof(*ids));

	for (uint32_t i = 0; i < from->count; i++) {
		struct call_count count = from->all[i];
		if (!ids || !merger_text(m, from->all[i].function, &count.function) ||
		    !merger_text(m, from->all[i].file, &count.file))
			return false;
		ids[i] = call_counts_add(&m->profile->call_counts, &count);
		if (!ids[i])
			return false;
	}
	for (uint32_t i = 0; i < from->edge_count; i++) {
		struct call_edge edge = from->edges[i];
		edge.caller = ids[edge.caller - 1];
		edge.callee = ids[edge.callee - 1];
		if (!call_counts_add_edge(&m->profile->call_counts, &edge))
			return false;
	}
	m->profile->call_counts.begun += from->begun;
	m->profile->call_counts.ended += from->ended;
	return true;
}

static bool add_awaits(struct merger *m)
{
	const struct awaits *from = &m->part->awaits;

	for (size_t i = 0; i < from->count; i++) {
		const struct await_row *row = &from->rows[i];
		struct await_place places[AWAIT_PLACES_MAX];
		for (uint32_t k = 0; k < row->place_count; k++) {
			places[k] = from->places[row->first + k];
			if (!merger_text(m, places[k].function, &places[k].function) ||
			    !merger_text(m, places[k].file, &places[k].file))
				return false;
		}
		if (!awaits_add(&m->profile->awaits, row, places))
			return false;
	}
	return true;
}

bool merger_add_ops(struct merger *m)
{
	cleanup_free uint32_t *entries =
		calloc((size_t)m->part->op_table.count + 1, sizeof(*entries));

	return entries && add_entries(m, entries) && add_bins(m, entries) && add_series(m) &&
	       add_counters(m) && add_call_counts(m) && add_awaits(m);
}

bool merger_add_memory(struct merger *m)
{
	const struct allocations *from = &m->part->allocations;
	struct allocations *to = &m->profile->allocations;

	for (uint32_t i = 0; i < from->site_count; i++) {
		const struct allocation_site *site = &from->sites[i];
		struct allocation_site *kept = allocations_site(to, m->nodes[site->node - 1]);
		if (!kept)
			return false;
		kept->samples += site->samples;
		kept->allocated_bytes += site->allocated_bytes;
		kept->peak_bytes += allocations_site_peak(from, site);
		kept->end_bytes += allocations_site_end(site);
	}
	to->exact |= from->exact;
	to->allocations += from->allocations;
	to->allocations_variance += from->allocations_variance;
	to->bytes_variance += from->bytes_variance;
	to->frees += from->frees;
	to->allocated_bytes += from->allocated_bytes;
	to->freed_bytes += from->freed_bytes;
	to->untracked_bytes += from->untracked_bytes;
	to->lost += from->lost;
	to->end_bytes += (int64_t)allocations_end_bytes(from);
	if (from->peak_bytes > to->noted_bytes) { // the largest says when
		to->noted_bytes = from->peak_bytes;
		to->peak_ns = merger_time(m, from->peak_ns);
	}
	to->peak_bytes += from->peak_bytes;
	return true;
}
