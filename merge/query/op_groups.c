// SPDX-License-Identifier: MIT
#include "merge/query/op_groups.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/numbers/histogram.h"
#include "merge/op/op_table.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_slices.h"
#include "merge/scope/window.h"
#include "merge/table/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_MAX 64 // of ops that are not shown, one within the other

// What a series tells of the calls that began in a window: exactly, as far as they are kept one by
// one.

struct series_window {
	uint64_t calls, ns, min_ns, max_ns;
	bool averaged; /* some of them are kept as blocks: then there are no durations of those */
};

// Adds the calls of S from FROM_NS up to, but without, TO_NS (CLOCK_MONOTONIC) to W and DURATIONS,
// which began as zeros. False if there is no memory.
static bool series_window_add(struct series_window *w, struct histogram *durations,
                              const struct series *s, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct series_item *item = &s->items[i];
		uint64_t calls = series_item_calls(s, i);
		if (item->begin_ns < from_ns || item->begin_ns >= to_ns)
			continue;
		uint64_t ns = item->ns / calls;
		w->min_ns = !w->calls || ns < w->min_ns ? ns : w->min_ns;
		w->max_ns = ns > w->max_ns ? ns : w->max_ns;
		w->calls += calls;
		w->ns += item->ns;
		w->averaged |= calls > 1;
		if (calls == 1 && !histogram_add(durations, ns, 1))
			return false;
	}
	return true;
}

int op_groups_init(struct op_groups *a, const struct profile *p, const struct op_query *query,
                   struct strings *texts, struct error *err)
{
	const struct query scoped = { .thread = query->thread,
		                      .process = query->process,
		                      .from_ns = query->from_ns,
		                      .to_ns = query->to_ns };

	*a = (struct op_groups){ .profile = p, .query = query, .texts = texts };
	if (scope_init(&a->scope, p, &scoped, err) < 0)
		return -1;
	if (hash_init(&a->index, 64) &&
	    op_callers_init(&a->callers, &a->scope, texts,
	                    query->by == OPS_BY_STACK ? query->stack_frames : 1))
		return 0;
	return error_set(err, ENOMEM, "could not rank the ops");
}

void op_groups_fini(struct op_groups *a)
{
	for (uint32_t i = 0; i < a->count; i++)
		histogram_fini(&a->groups[i].durations);
	free(a->groups);
	free(a->sums);
	free(a->called);
	hash_fini(&a->index);
	op_callers_fini(&a->callers);
	scope_fini(&a->scope);
}

static uint64_t hash_of(const struct op_group *group)
{
	return hash_pair((uint64_t)group->op << 32 | group->thread, group->text);
}

static bool same(const struct op_group *a, const struct op_group *b)
{
	return a->op == b->op && a->thread == b->thread && a->text == b->text;
}

// The id of what equals WANTED, added if it is new. 0 if there is no memory.
static uint32_t add_group(struct op_groups *a, const struct op_group *wanted)
{
	uint32_t at;

	if (!hash_make_room(&a->index))
		return 0;
	for (at = hash_start(&a->index, hash_of(wanted)); a->index.slots[at];
	     at = hash_next(&a->index, at)) {
		struct op_group *known = &a->groups[a->index.slots[at] - 1];
		if (!same(known, wanted))
			continue;
		known->mixed |= known->provider != wanted->provider;
		return a->index.slots[at];
	}
	if (!array_reserve(&a->groups, &a->capacity, (size_t)a->count + 1))
		return 0;
	a->groups[a->count++] = *wanted;
	hash_insert(&a->index, at, hash_of(wanted), a->count);
	return a->count;
}

static uint32_t chain_of(const struct op_key *key)
{
	return key->forward ? key->forward : key->chain;
}

static uint32_t stack_of(struct op_groups *a, const struct op_key *key)
{
	if (key->forward || key->chain)
		return op_callers_chain_text(&a->callers, chain_of(key), key->forward != 0);
	return op_callers_text(&a->callers, key);
}

// The line that has called an op, and of the backward pass, the one that has called what it is the
// derivative of. Caller 0: unknown.
static struct op_called called_by(const struct profile *p, const struct op_key *key)
{
	uint32_t chain = chain_of(key);

	if (!chain || op_caller_is_own(p, key->caller))
		return (struct op_called){ .caller = op_caller_of(p, key) };
	return (struct op_called){ .caller = op_chain_own(p, chain), .forward = key->forward != 0 };
}

// Of the module at NODE of a chain; 0: of none.
static uint32_t module_group(struct op_groups *a, uint32_t node, enum op_provider provider)
{
	const char *name = node ? op_module_name(a->profile, node) : "[in no module]";
	struct op_group group = { .provider = provider, .min_ns = UINT64_MAX };

	group.text = strings_add(a->texts, name);
	return group.text ? add_group(a, &group) : 0;
}

static uint32_t line_of(struct op_groups *a, const struct op_key *key)
{
	struct op_called called = called_by(a->profile, key);

	return op_callers_line_text(&a->callers, key, called.caller, called.forward);
}

static uint32_t group_of(struct op_groups *a, const struct op_key *key)
{
	const struct profile *p = a->profile;
	const struct op *op = profile_op(p, key->op);
	struct op_group group = { .op = a->query->by == OPS_BY_LINE ? 0 : key->op,
		                  .provider = op->provider,
		                  .min_ns = UINT64_MAX };
	const char *shape = profile_string(p, key->shape);

	switch (a->query->by) {
	case OPS_BY_SHAPE:
		group.text = strings_add(a->texts, shape ? shape : "");
		break;
	case OPS_BY_STACK:
		group.text = stack_of(a, key);
		break;
	case OPS_BY_DOMAIN:
		group.op = 0;
		group.text = strings_add(a->texts, op_domain(op));
		break;
	case OPS_BY_THREAD:
		group.thread = key->thread;
		return add_group(a, &group);
	case OPS_BY_LINE:
		group.text = line_of(a, key);
		break;
	case OPS_BY_MODULE:
		return module_group(a, op_module_next(p, chain_of(key)), op->provider);
	default:
		return add_group(a, &group);
	}
	return group.text ? add_group(a, &group) : 0;
}

bool op_groups_is_windowed(const struct op_groups *a)
{
	return !a->scope.whole_run;
}

static bool is_in_window(const struct op_groups *a, uint64_t time_ns)
{
	const struct window_limits limits =
		window_limits(a->profile, a->query->from_ns, a->query->to_ns);
	int64_t since = (int64_t)(time_ns - profile_start_ns(a->profile));
	uint64_t at = since > 0 ? (uint64_t)since : 0;

	return at >= limits.from_ns && (!limits.to_ns || at < limits.to_ns);
}

// As with samples, a bin is in the window as a whole, or not at all: its start decides.
static void add_bins(struct op_groups *a)
{
	const struct op_table *t = profile_op_table(a->profile);

	for (uint32_t i = 0; i < t->bin_count; i++) {
		const struct op_bin *bin = &t->bins[i];
		struct op_sums *sums = &a->sums[bin->entry - 1];
		if (!is_in_window(a, t->origin_ns + bin->bin * t->bin_ns))
			continue;
		sums->calls += bin->calls;
		sums->marks += bin->marks;
		sums->total_ns += bin->total_ns;
		sums->self_ns += bin->self_ns;
	}
}

static uint64_t part_of(uint64_t all, double share)
{
	return share == 1 ? all : (uint64_t)(share * (double)all + 0.5);
}

// What bins do not hold: all calls of one entry are for as many FLOPs, as far as shapes are kept.
static void finish_window(struct op_sums *sums, const struct op_entry *entry)
{
	double share = entry->sums.calls ? (double)sums->calls / (double)entry->sums.calls : 0;

	// Calls within themselves are taken to have had the same part everywhere.
	sums->sum_ns = entry->sums.total_ns
	                       ? (uint64_t)((double)sums->total_ns * (double)entry->sums.sum_ns /
	                                    (double)entry->sums.total_ns)
	                       : (uint64_t)((double)entry->sums.sum_ns * share);
	sums->timeless = (uint64_t)((double)entry->sums.timeless * share + 0.5);
	sums->untimed = entry->sums.untimed == entry->sums.calls ? sums->calls : 0;
	if (sums->calls == entry->sums.calls)
		share = 1;
	sums->flops = part_of(entry->sums.flops, share);
	sums->message_bytes = part_of(entry->sums.message_bytes, share);
}

static bool find_sums(struct op_groups *a)
{
	const struct op_table *t = profile_op_table(a->profile);

	a->sums = calloc((size_t)t->count + 1, sizeof(*a->sums));
	a->called = calloc((size_t)t->count + 1, sizeof(*a->called));
	if (!a->sums || !a->called)
		return false;
	if (op_groups_is_windowed(a))
		add_bins(a);
	for (uint32_t i = 0; i < t->count; i++) {
		if (op_groups_is_windowed(a))
			finish_window(&a->sums[i], &t->entries[i]);
		else
			a->sums[i] = t->entries[i].sums;
	}
	return true;
}

// What has been taken out of ops that are not shown, and is on its way to those that are.
struct carried {
	uint64_t ns, allocated_bytes, freed_bytes;
};

struct by_op {
	uint32_t op, thread, entry; // index
};

static int compare_by_op(const void *a, const void *b)
{
	const struct by_op *left = a, *right = b;

	if (left->op != right->op)
		return left->op < right->op ? -1 : 1;
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	return (left->entry > right->entry) - (left->entry < right->entry);
}

static bool is_shown(const struct op_groups *a, const struct op_key *key)
{
	return !a->query->as || profile_op(a->profile, key->op)->provider == a->query->as;
}

static void take_carried(struct carried *to, const struct carried *from, double share)
{
	to->ns += part_of(from->ns, share);
	to->allocated_bytes += part_of(from->allocated_bytes, share);
	to->freed_bytes += part_of(from->freed_bytes, share);
}

// CARRIED goes to the entries of the op around KEY, by the time that each took; to NEXT where these
// are not shown either.
static void hand_up(struct op_groups *a, const struct by_op *index, const struct op_key *key,
                    const struct carried *carried, struct carried *next)
{
	const struct op_table *t = profile_op_table(a->profile);
	uint32_t count = t->count;
	size_t first = array_search(count, i,
	                            index[i].op < key->parent || (index[i].op == key->parent &&
	                                                          index[i].thread < key->thread));
	size_t end = first;
	uint64_t all = 0;

	for (; end < count && index[end].op == key->parent && index[end].thread == key->thread;
	     end++)
		all += a->sums[index[end].entry].total_ns;
	for (size_t i = first; i < end; i++) {
		struct op_sums *sums = &a->sums[index[i].entry];
		double share =
			all ? (double)sums->total_ns / (double)all : 1 / (double)(end - first);
		struct carried part = { 0 };
		take_carried(&part, carried, share);
		if (!is_shown(a, &t->entries[index[i].entry].key)) {
			take_carried(&next[index[i].entry], &part, 1);
			continue;
		}
		sums->self_ns += part.ns;
		sums->others_ns += part.ns;
		sums->self_allocated_bytes += part.allocated_bytes;
		sums->self_freed_bytes += part.freed_bytes;
	}
}

// The time of ops that are not shown goes to those around them, level by level.
static bool fold_others(struct op_groups *a)
{
	const struct op_table *t = profile_op_table(a->profile);
	size_t count = (size_t)t->count + 1;
	cleanup_free struct by_op *index = calloc(count, sizeof(*index));
	cleanup_free struct carried *carried = calloc(count, sizeof(*carried));
	cleanup_free struct carried *next = calloc(count, sizeof(*next));

	if (!index || !carried || !next)
		return false;
	for (uint32_t i = 0; i < t->count; i++) {
		const struct op_key *key = &t->entries[i].key;
		index[i] = (struct by_op){ key->op, key->thread, i };
		if (!is_shown(a, key))
			carried[i] = (struct carried){ a->sums[i].self_ns,
				                       a->sums[i].self_allocated_bytes,
				                       a->sums[i].self_freed_bytes };
	}
	qsort(index, t->count, sizeof(*index), compare_by_op);
	for (int level = 0; level < LEVELS_MAX; level++) {
		bool any = false;
		memset(next, 0, count * sizeof(*next));
		for (uint32_t i = 0; i < t->count; i++) {
			if (!carried[i].ns && !carried[i].allocated_bytes &&
			    !carried[i].freed_bytes)
				continue;
			any = true;
			if (t->entries[i].key.parent)
				hand_up(a, index, &t->entries[i].key, &carried[i], next);
		}
		if (!any)
			break;
		memcpy(carried, next, count * sizeof(*next));
	}
	for (uint32_t i = 0; i < t->count; i++)
		if (!is_shown(a, &t->entries[i].key))
			a->sums[i] = (struct op_sums){ 0 };
	return true;
}

static bool add_durations(const struct op_groups *a, struct op_group *group,
                          const struct op_entry *entry)
{
	bool has_first = entry->first_begin_ns && is_in_window(a, entry->first_begin_ns);

	if (has_first &&
	    (!group->first_begin_ns || entry->first_begin_ns < group->first_begin_ns)) {
		group->first_begin_ns = entry->first_begin_ns;
		group->first_ns = entry->first_ns;
	}
	if (op_groups_is_windowed(a))
		return true;
	group->min_ns = entry->min_ns < group->min_ns ? entry->min_ns : group->min_ns;
	group->max_ns = entry->max_ns > group->max_ns ? entry->max_ns : group->max_ns;
	return histogram_merge(&group->durations, &entry->durations);
}

// What is an op's own, as all that it has had.
static struct op_device_bytes own_devices(const struct op_device_bytes *devices)
{
	return (struct op_device_bytes){ .allocated_bytes = devices->self_allocated_bytes,
		                         .freed_bytes = devices->self_freed_bytes };
}

// Self times do not overlap: what a module takes in all is those of its ops, and of its modules'.
static bool add_to_modules(struct op_groups *a, const struct op_key *key,
                           const struct op_sums *sums)
{
	const struct op_sums whole = { .total_ns = sums->self_ns,
		                       .allocated_bytes = sums->self_allocated_bytes,
		                       .freed_bytes = sums->self_freed_bytes,
		                       .devices = own_devices(&sums->devices) };
	enum op_provider provider = profile_op(a->profile, key->op)->provider;
	uint32_t node = op_module_next(a->profile, chain_of(key)), last = 0;

	do {
		uint32_t id = module_group(a, node, provider);
		if (!id)
			return false;
		if (id != last) // one that calls itself
			op_sums_add(&a->groups[id - 1].sums, &whole);
		last = id;
		node = node ? op_module_next(a->profile, profile_chain_caller(a->profile, node))
		            : 0;
	} while (node);
	return true;
}

bool op_groups_is_by_place(const struct op_groups *a)
{
	return a->query->by == OPS_BY_MODULE || a->query->by == OPS_BY_LINE;
}

// Ops within ops are called in the same place: what is theirs counts once.
static void leave_self(const struct op_groups *a, struct op_sums *sums)
{
	bool whole = a->query->by == OPS_BY_LINE; // a module's total has been added

	sums->sum_ns = sums->self_ns;
	sums->total_ns = whole ? sums->self_ns : 0;
	sums->allocated_bytes = whole ? sums->self_allocated_bytes : 0;
	sums->freed_bytes = whole ? sums->self_freed_bytes : 0;
	sums->devices.allocated_bytes = whole ? sums->devices.self_allocated_bytes : 0;
	sums->devices.freed_bytes = whole ? sums->devices.self_freed_bytes : 0;
}

static bool add_entry(struct op_groups *a, uint32_t index)
{
	const struct op_entry *entry = &profile_op_table(a->profile)->entries[index];
	struct op_sums sums = a->sums[index];
	uint32_t id = group_of(a, &entry->key);

	if (!id)
		return false;
	// What lies within another op of the domain has been counted with that.
	if (a->query->by == OPS_BY_DOMAIN && entry->key.within_domain)
		sums.total_ns = sums.allocated_bytes = sums.freed_bytes =
			sums.devices.allocated_bytes = sums.devices.freed_bytes = 0;
	if (a->query->by == OPS_BY_MODULE && !add_to_modules(a, &entry->key, &sums))
		return false;
	if (op_groups_is_by_place(a))
		leave_self(a, &sums);
	op_sums_add(&a->groups[id - 1].sums, &sums);
	struct op_called called = called_by(a->profile, &entry->key);
	called.group = id;
	called.ns = a->sums[index].sum_ns;
	if (called.caller)
		a->called[a->called_count++] = called;
	return op_groups_is_by_place(a) || add_durations(a, &a->groups[id - 1], entry);
}

static bool add_entries(struct op_groups *a)
{
	const struct op_table *t = profile_op_table(a->profile);

	for (uint32_t i = 0; i < t->count; i++) {
		if (!a->scope.threads[t->entries[i].key.thread - 1])
			continue;
		if (!a->sums[i].calls && !a->sums[i].marks)
			continue;
		if (!add_entry(a, i))
			return false;
	}
	return true;
}

// What the series of one group's calls tell of the window.
struct told {
	uint64_t calls, series_calls; // of the run: by the entries, and by their series
	bool unfit;                   // some calls are in no series, or within themselves
	struct series_window in;
	struct histogram durations;
	struct series_window single; // by slices, where the series has averages
	struct histogram single_durations;
};

// Bins cut calls where they begin and end; series know when each began.
static void take_told(struct op_group *group, struct told *told)
{
	struct op_sums *sums = &group->sums;
	double share = sums->total_ns ? (double)told->in.ns / (double)sums->total_ns : 1;
	double calls = sums->calls ? (double)told->in.calls / (double)sums->calls : 0;

	if (told->unfit || told->calls != told->series_calls)
		return;
	sums->self_ns = (uint64_t)(share * (double)sums->self_ns);
	sums->others_ns = (uint64_t)(share * (double)sums->others_ns);
	sums->flops = part_of(sums->flops, calls);
	sums->message_bytes = part_of(sums->message_bytes, calls);
	sums->calls = told->in.calls;
	sums->total_ns = sums->sum_ns = told->in.ns;
	if (told->in.averaged || !told->in.calls)
		return;
	group->min_ns = told->in.min_ns;
	group->max_ns = told->in.max_ns;
	histogram_fini(&group->durations);
	group->durations = told->durations;
	told->durations = (struct histogram){ 0 };
}

// Profiles from files and merged ones do not say which series an entry's calls are in.
static uint32_t series_of(const struct profile *p, const struct op_key *key)
{
	uint32_t process = profile_thread(p, key->thread)->process;

	return series_find(profile_series(p), key->op, key->shape, process);
}

static bool add_told(const struct op_groups *a, const struct op_entry *entry, bool *seen,
                     struct told *told)
{
	const struct series_table *t = profile_series(a->profile);
	uint32_t series = series_of(a->profile, &entry->key);
	uint64_t start = profile_start_ns(a->profile);
	uint64_t to = a->query->to_ns ? start + a->query->to_ns : UINT64_MAX;

	told->calls += entry->sums.calls;
	told->unfit |= entry->sums.sum_ns != entry->sums.total_ns || entry->sums.untimed ||
	               entry->sums.unseen || (entry->sums.calls && !series);
	if (!series || seen[series - 1])
		return true;
	seen[series - 1] = true;
	told->series_calls += t->series[series - 1].calls;
	return series_window_add(&told->in, &told->durations, &t->series[series - 1],
	                         start + a->query->from_ns, to);
}

// Whether each call that began in the window was kept by itself.
static bool has_slices(const struct op_groups *a)
{
	const struct slices *slices = profile_slices(a->profile);
	uint64_t start = profile_start_ns(a->profile);

	return slices->kept &&
	       (!slices->cut_ns || (a->query->to_ns && start + a->query->to_ns <= slices->cut_ns));
}

// Of the groups, TOLD by id, whose series keep some calls of the window in blocks alone: their
// single calls instead. OF_SERIES: the group of each series. -1 on error.
static int look_at_slices(const struct op_groups *a, struct told *told, const uint32_t *of_series,
                          struct error *err)
{
	const struct profile *p = a->profile;
	uint64_t from = profile_start_ns(p) + a->query->from_ns;
	uint64_t to = a->query->to_ns ? profile_start_ns(p) + a->query->to_ns : UINT64_MAX;
	const struct slice_query query = { .from_ns = a->query->from_ns,
		                           .to_ns = a->query->to_ns,
		                           .kinds = 1u << SLICE_OP };
	cleanup(slice_reader) struct slice_reader *reader = slice_reader_new(p, &query, err);
	struct slice slice;
	int more = -1;

	while (reader && (more = slice_reader_next_slice(reader, &slice, err)) > 0) {
		const struct thread_info *info = profile_thread(p, slice.thread);
		uint32_t series =
			series_find(profile_series(p), slice.what, slice.place, info->process);
		uint32_t group = series ? of_series[series - 1] : 0; // 0: it is not shown
		struct told *of = group ? &told[group - 1] : NULL;
		const struct series_item item = { slice.begin_ns, slice.end_ns - slice.begin_ns };
		const struct series one = { .count = 1, .calls = 1, .items = (void *)&item };
		if (!of || !of->in.averaged || slice.number & (SLICE_MARK | SLICE_LEFT_OPEN))
			continue;
		if (!series_window_add(&of->single, &of->single_durations, &one, from, to))
			return error_set(err, ENOMEM, "could not rank the ops");
	}
	return more;
}

static void take_slices(struct told *told)
{
	if (!told->in.averaged || !told->single.calls)
		return;
	told->in = told->single;
	histogram_fini(&told->durations);
	told->durations = told->single_durations;
	told->single_durations = (struct histogram){ 0 };
}

static bool refine_window(struct op_groups *a)
{
	const struct op_table *t = profile_op_table(a->profile);
	bool whole = (a->query->by == OPS_BY_OP || a->query->by == OPS_BY_SHAPE) &&
	             !a->query->thread && !a->query->process;
	cleanup_free bool *seen =
		calloc((size_t)profile_series(a->profile)->count + 1, sizeof(*seen));
	cleanup_free uint32_t *ids = calloc((size_t)t->count + 1, sizeof(*ids));
	cleanup_free uint32_t *of_series =
		calloc((size_t)profile_series(a->profile)->count + 1, sizeof(*of_series));
	bool ok = seen && ids && of_series, averaged = false;
	struct error err;

	if (ok && (!op_groups_is_windowed(a) || !whole))
		return true;
	for (uint32_t i = 0; ok && i < t->count; i++)
		ok = !is_shown(a, &t->entries[i].key) ||
		     (ids[i] = group_of(a, &t->entries[i].key)) != 0;
	struct told *told = ok ? calloc((size_t)a->count + 1, sizeof(*told)) : NULL;
	for (uint32_t i = 0; told && ok && i < t->count; i++)
		ok = !ids[i] || add_told(a, &t->entries[i], seen, &told[ids[i] - 1]);
	for (uint32_t i = 0; told && ok && i < t->count; i++) {
		uint32_t series = series_of(a->profile, &t->entries[i].key);
		if (!ids[i])
			continue; // of another kind than the one that is shown
		of_series[series ? series - 1 : profile_series(a->profile)->count] = ids[i];
		averaged |= told[ids[i] - 1].in.averaged;
	}
	// Damaged slices leave the window as series tell it.
	if (told && ok && averaged && has_slices(a) &&
	    look_at_slices(a, told, of_series, &err) == 0)
		for (uint32_t i = 0; i < a->count; i++)
			take_slices(&told[i]);
	for (uint32_t i = 0; told && i < a->count; i++) {
		if (ok)
			take_told(&a->groups[i], &told[i]);
		histogram_fini(&told[i].durations);
		histogram_fini(&told[i].single_durations);
	}
	ok = ok && told;
	free(told);
	return ok;
}

static int compare_called(const void *a, const void *b)
{
	const struct op_called *left = a, *right = b;

	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	if (left->forward != right->forward)
		return left->forward < right->forward ? -1 : 1;
	return (left->caller > right->caller) - (left->caller < right->caller);
}

/* A line of the user's own says more than what libraries call in threads of theirs, unless next to
   nothing is called from there. */
#define OWN_CALLS_SHARE 0.1

static bool is_better(const struct op_group *group, bool own, uint64_t ns)
{
	if (!group->caller || own == group->caller_own)
		return !group->caller || ns > group->caller_ns;
	uint64_t of_own = own ? ns : group->caller_ns, of_other = own ? group->caller_ns : ns;
	return own == ((double)of_own >= OWN_CALLS_SHARE * (double)of_other);
}

// The caller of most of each group's time.
static void choose_callers(struct op_groups *a)
{
	struct op_called *called = a->called;

	if (a->called_count)
		qsort(called, a->called_count, sizeof(*called), compare_called);
	for (size_t first = 0, end; first < a->called_count; first = end) {
		uint64_t ns = 0;
		for (end = first; end < a->called_count; end++) {
			if (compare_called(&called[first], &called[end]) != 0)
				break;
			ns += called[end].ns;
		}
		struct op_group *group = &a->groups[called[first].group - 1];
		bool own = op_caller_is_own(a->profile, called[first].caller);
		if (!is_better(group, own, ns))
			continue;
		group->caller = called[first].caller;
		group->caller_own = own;
		group->forward = called[first].forward;
		group->caller_ns = ns;
	}
}

bool op_groups_make(struct op_groups *a)
{
	if (!find_sums(a) || (a->query->as && !fold_others(a)) || !add_entries(a) ||
	    !refine_window(a))
		return false;
	choose_callers(a);
	return true;
}

uint32_t op_groups_find(const struct op_groups *a, const struct op_group *wanted)
{
	uint32_t at = hash_start(&a->index, hash_of(wanted));

	while (a->index.slots[at] && !same(&a->groups[a->index.slots[at] - 1], wanted))
		at = hash_next(&a->index, at);
	return a->index.slots[at];
}
