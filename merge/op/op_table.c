// SPDX-License-Identifier: MIT
#include "merge/op/op_table.h"

#include "base/array.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define BIN_NS      (10 * NS_PER_MS) // the narrowest
#define FOLDED_ROOM 2 // rows that leave everything out go on up to so many times the limit

bool op_table_init(struct op_table *t, uint32_t entries_max, uint32_t bins_max)
{
	*t = (struct op_table){
		.bin_ns = BIN_NS,
		.entries_max = entries_max ? entries_max : OP_TABLE_ENTRIES,
		.bins_max = bins_max ? bins_max : OP_TABLE_BINS,
		.buckets_max = OP_TABLE_BUCKETS,
	};
	return hash_init(&t->index, 64) && hash_init(&t->bin_index, 64);
}

void op_table_fini(struct op_table *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		histogram_fini(&t->entries[i].durations);
		free(t->entries[i].estimate);
	}
	free(t->entries);
	free(t->bins);
	hash_fini(&t->index);
	hash_fini(&t->bin_index);
}

static uint64_t hash_of_key(const struct op_key *key)
{
	uint64_t names = hash_pair((uint64_t)key->op << 32 | key->parent, key->shape);

	uint64_t chains = (uint64_t)key->chain << 32 | key->forward;

	return hash_pair(hash_pair(names, (uint64_t)key->caller << 32 | key->thread), chains) ^
	       key->within_domain;
}

static bool same(const struct op_key *a, const struct op_key *b)
{
	return a->op == b->op && a->parent == b->parent && a->shape == b->shape &&
	       a->caller == b->caller && a->thread == b->thread && a->chain == b->chain &&
	       a->forward == b->forward && a->within_domain == b->within_domain;
}

static uint32_t slot_of(const struct op_table *t, const struct op_key *key)
{
	uint32_t at;

	for (at = hash_start(&t->index, hash_of_key(key)); t->index.slots[at];
	     at = hash_next(&t->index, at))
		if (same(&t->entries[t->index.slots[at] - 1].key, key))
			break;
	return at;
}

struct op_entry *op_table_append(struct op_table *t, const struct op_key *key)
{
	if (!hash_make_room(&t->index) ||
	    !array_reserve(&t->entries, &t->capacity, (size_t)t->count + 1))
		return NULL;
	struct op_entry *entry = &t->entries[t->count++];
	*entry = (struct op_entry){ .key = *key, .min_ns = UINT64_MAX };
	hash_insert(&t->index, slot_of(t, key), hash_of_key(key), t->count);
	return entry;
}

struct op_entry *op_table_find(const struct op_table *t, const struct op_key *key)
{
	uint32_t id = t->index.slots[slot_of(t, key)];

	return id ? &t->entries[id - 1] : NULL;
}

static struct op_entry *find_or_append(struct op_table *t, const struct op_key *key, uint32_t limit)
{
	struct op_entry *known = op_table_find(t, key);

	if (known)
		return known;
	return t->count < limit ? op_table_append(t, key) : NULL;
}

static struct op_entry *entry_of(struct op_table *t, const struct op_key *key)
{
	struct op_key bare = { .op = key->op,
		               .thread = key->thread,
		               .within_domain = key->within_domain };
	struct op_entry *entry = find_or_append(t, key, t->entries_max);

	if (entry)
		return entry;
	t->folded++;
	return find_or_append(t, &bare, FOLDED_ROOM * t->entries_max);
}

void op_table_move_callers(struct op_table *t, const uint32_t *map)
{
	hash_clear(&t->index);
	for (uint32_t id = 1; id <= t->count; id++) {
		struct op_key *key = &t->entries[id - 1].key;
		if (key->caller)
			key->caller = map[key->caller - 1];
		hash_insert(&t->index, slot_of(t, key), hash_of_key(key), id);
	}
}

void op_sums_add(struct op_sums *to, const struct op_sums *from)
{
	to->calls += from->calls;
	to->untimed += from->untimed;
	to->timeless += from->timeless;
	to->left_open += from->left_open;
	to->marks += from->marks;
	to->total_ns += from->total_ns;
	to->sum_ns += from->sum_ns;
	to->self_ns += from->self_ns;
	to->allocated_bytes += from->allocated_bytes;
	to->freed_bytes += from->freed_bytes;
	to->self_allocated_bytes += from->self_allocated_bytes;
	to->self_freed_bytes += from->self_freed_bytes;
	op_device_bytes_add(&to->devices, &from->devices);
	to->flops += from->flops;
	to->message_bytes += from->message_bytes;
	to->others_ns += from->others_ns;
	to->unseen += from->unseen;
	to->calls_error += from->calls_error;
	to->total_error_ns += from->total_error_ns;
}

static uint64_t hash_of_bin(const struct op_bin *bin)
{
	return hash_mix((uint64_t)bin->entry << 32 | bin->bin);
}

bool op_table_append_bin(struct op_table *t, const struct op_bin *bin)
{
	uint32_t at;

	if (!hash_make_room(&t->bin_index))
		return false;
	for (at = hash_start(&t->bin_index, hash_of_bin(bin)); t->bin_index.slots[at];
	     at = hash_next(&t->bin_index, at)) {
		struct op_bin *known = &t->bins[t->bin_index.slots[at] - 1];
		if (known->entry != bin->entry || known->bin != bin->bin)
			continue;
		known->calls += bin->calls;
		known->marks += bin->marks;
		known->total_ns += bin->total_ns;
		known->self_ns += bin->self_ns;
		return true;
	}
	if (!array_reserve(&t->bins, &t->bin_capacity, (size_t)t->bin_count + 1))
		return false;
	t->bins[t->bin_count++] = *bin;
	hash_insert(&t->bin_index, at, hash_of_bin(bin), t->bin_count);
	return true;
}

// Bins of twice the width: what falls together is added up, in place.
static void widen(struct op_table *t)
{
	uint32_t count = t->bin_count;

	t->bin_ns *= 2;
	t->bin_count = 0;
	hash_clear(&t->bin_index);
	for (uint32_t i = 0; i < count; i++) {
		struct op_bin bin = t->bins[i];
		bin.bin /= 2;
		op_table_append_bin(t, &bin); // there is room: it was there
	}
}

// The bin of TIME_NS, widened until there is one.
static uint32_t bin_at(struct op_table *t, uint64_t time_ns)
{
	uint64_t since = time_ns > t->origin_ns ? time_ns - t->origin_ns : 0;

	// When one bin holds all there is nothing left to fall together.
	while (since / t->bin_ns >= OP_TABLE_BINS_OF_RUN ||
	       (t->bin_count >= t->bins_max && since >= t->bin_ns))
		widen(t);
	return (uint32_t)(since / t->bin_ns);
}

static void add_to_bin(struct op_table *t, uint32_t entry, const struct op_call *call,
                       const struct op_sums *sums)
{
	if (!t->origin_ns)
		t->origin_ns = call->begin_ns;
	struct op_bin bin = {
		.entry = entry,
		.bin = bin_at(t, call->begin_ns),
		.calls = sums->calls,
		.marks = sums->marks,
		.total_ns = call->within_itself ? 0 : sums->sum_ns,
		.self_ns = sums->self_ns,
	};
	t->blurred += !op_table_append_bin(t, &bin);
}

// A row has one bucket at least, so that near is somewhere.
static void keep_duration(struct op_table *t, struct histogram *durations, uint64_t ns,
                          uint32_t calls)
{
	uint32_t before = durations->count;

	if ((t->bucket_count < t->buckets_max || !before) && histogram_add(durations, ns, calls)) {
		t->bucket_count += durations->count - before;
		return;
	}
	histogram_add_near(durations, ns, calls);
	t->blurred += calls;
}

static void add_duration(struct op_table *t, struct op_entry *entry, const struct op_call *call,
                         const struct op_sums *sums)
{
	uint64_t ns = call->duration_ns;

	entry->sums.sum_ns += sums->sum_ns;
	if (!call->within_itself)
		entry->sums.total_ns += sums->sum_ns;
	if (!entry->first_begin_ns || call->begin_ns < entry->first_begin_ns) {
		entry->first_begin_ns = call->begin_ns;
		entry->first_ns = ns;
	}
	entry->min_ns = ns < entry->min_ns ? ns : entry->min_ns;
	entry->max_ns = ns > entry->max_ns ? ns : entry->max_ns;
	keep_duration(t, &entry->durations, ns, (uint32_t)sums->calls);
}

static uint64_t scaled(uint64_t all, double by)
{
	return (uint64_t)((double)all * by + 0.5);
}

// The part of the self time that is no op within it that was not recorded.
static double seen_share(const struct op_entry *entry)
{
	double self = (double)entry->sums.self_ns;

	return self > entry->unseen_within ? 1 - entry->unseen_within / self : 0;
}

// Each as many times as CALL stands for. The numbers of calls are whole: what they leave out of one
// is in the next.
static void scale(struct op_sums *sums, struct op_entry *entry, const struct op_call *call)
{
	double weight = call->weight;
	double calls = (double)sums->calls * weight + entry->carry;
	uint64_t seen = sums->calls;

	sums->calls = (uint64_t)calls;
	entry->carry = calls - (double)sums->calls;
	sums->unseen = sums->calls - seen;
	uint64_t *const scaled_sums[] = { &sums->sum_ns,
		                          &sums->self_ns,
		                          &sums->allocated_bytes,
		                          &sums->freed_bytes,
		                          &sums->self_allocated_bytes,
		                          &sums->self_freed_bytes,
		                          &sums->devices.allocated_bytes,
		                          &sums->devices.freed_bytes,
		                          &sums->devices.self_allocated_bytes,
		                          &sums->devices.self_freed_bytes,
		                          &sums->flops };
	sums->sum_ns -= call->stall_ns;
	sums->self_ns -= call->self_stall_ns;
	for (size_t i = 0; i < sizeof(scaled_sums) / sizeof(scaled_sums[0]); i++)
		*scaled_sums[i] = scaled(*scaled_sums[i], weight);
	sums->sum_ns += call->stall_ns;
	sums->self_ns += call->self_stall_ns;
}

// What CALL adds to ENTRY. Of a timed one, sum_ns is what it and those like it took.
static struct op_sums sums_of(struct op_entry *entry, const struct op_call *call)
{
	struct op_sums sums = call->sums;

	entry->unseen_within += call->unseen_within;
	if (sums.calls > sums.untimed)
		sums.sum_ns = call->duration_ns;
	if (!(call->weight > 1))
		return sums;
	if (!entry->estimate)
		entry->estimate = calloc(1, sizeof(*entry->estimate));
	if (entry->estimate)
		op_estimate_add(entry->estimate, call->window, call->weight, (double)sums.calls,
		                call->within_itself ? 0
		                                    : (double)(call->duration_ns - call->stall_ns));
	scale(&sums, entry, call);
	return sums;
}

struct op_entry *op_table_add(struct op_table *t, const struct op_call *call)
{
	struct op_entry *entry = entry_of(t, &call->key);

	t->thinned |= call->window != 0;
	if (!t->thinned && call->begin_ns > t->whole_ns)
		t->whole_ns = call->begin_ns;

	if (!entry) {
		t->lost += call->sums.calls;
		return NULL;
	}
	struct op_sums sums = sums_of(entry, call);
	bool timed = sums.calls > sums.untimed;
	struct op_sums added = sums;
	if (timed)
		added.sum_ns = 0; // with total_ns
	op_sums_add(&entry->sums, &added);
	if (timed)
		add_duration(t, entry, call, &sums);
	else
		sums.sum_ns = call->duration_ns;
	add_to_bin(t, (uint32_t)(entry - t->entries) + 1, call, &sums);
	return entry;
}

// What is known of the time between windows is what an op within windows says of it.
static void settle(struct op_entry *entry)
{
	struct op_estimate *e = entry->estimate;

	if (!e)
		return;
	op_estimate_close(e);
	entry->sums.calls_error = (uint64_t)(op_estimate_calls_error(e) + 0.5);
	entry->sums.total_error_ns = (uint64_t)(op_estimate_ns_error(e) + 0.5);
	free(e);
	entry->estimate = NULL;
}

void op_table_settle(struct op_table *t)
{
	bool moved = false;

	if (!t->thinned)
		t->whole_ns = 0;
	for (uint32_t i = 0; i < t->count; i++) {
		settle(&t->entries[i]);
		moved |= t->entries[i].unseen_within > 0;
	}
	for (uint32_t i = 0; moved && i < t->bin_count; i++) {
		const struct op_entry *entry = &t->entries[t->bins[i].entry - 1];
		t->bins[i].self_ns = scaled(t->bins[i].self_ns, seen_share(entry));
	}
	for (uint32_t i = 0; moved && i < t->count; i++) {
		struct op_entry *entry = &t->entries[i];
		entry->sums.self_ns = scaled(entry->sums.self_ns, seen_share(entry));
		entry->unseen_within = 0;
	}
}

// All at once: where the table is full, so many durations are kept as none.
static void join_durations(struct op_table *t, struct histogram *to, const struct histogram *from)
{
	uint32_t before = to->count;

	if ((before && t->bucket_count + from->count > t->buckets_max) ||
	    !histogram_merge(to, from))
		t->blurred += histogram_calls(from);
	t->bucket_count += to->count - before;
}

struct op_entry *op_table_join(struct op_table *t, const struct op_entry *entry)
{
	struct op_entry *to = entry_of(t, &entry->key);

	if (!to) {
		t->lost += entry->sums.calls;
		return NULL;
	}
	op_sums_add(&to->sums, &entry->sums);
	if (entry->first_begin_ns &&
	    (!to->first_begin_ns || entry->first_begin_ns < to->first_begin_ns)) {
		to->first_begin_ns = entry->first_begin_ns;
		to->first_ns = entry->first_ns;
	}
	to->min_ns = entry->min_ns < to->min_ns ? entry->min_ns : to->min_ns;
	to->max_ns = entry->max_ns > to->max_ns ? entry->max_ns : to->max_ns;
	join_durations(t, &to->durations, &entry->durations);
	return to;
}

void op_table_join_bin(struct op_table *t, const struct op_bin *bin, uint64_t time_ns)
{
	struct op_bin moved = *bin;

	moved.bin = bin_at(t, time_ns);
	t->blurred += !op_table_append_bin(t, &moved);
}
