// SPDX-License-Identifier: MIT
// query_memory(): the sites of memory by what they are part of.
#include "base/error.h"
#include "merge/numbers/statistics.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/answer.h"
#include "merge/query/query_ops.h"
#include "merge/scope/keys.h"
#include "merge/scope/scope.h"
#include "merge/table/allocations.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tally {
	struct allocation_site self;
	uint64_t total_bytes, before_bytes;
	uint32_t open;
};

struct asking {
	const struct profile *profile;
	struct scope scope;
	struct keys keys;
	uint32_t *owners;      // [node - 1]: see scope_owners()
	struct tally *tallies; // [key - 1]
	uint64_t *line_bytes;  // [line - 1]: allocated by itself
	uint32_t *lines;       // [key - 1]: the line of most of that
	uint32_t homeless;     // the key of what no frame owns
	uint64_t all_bytes;    // that the walk has come by
};

void memory_rows_free(struct memory_rows *rows)
{
	if (!rows)
		return;
	strings_free(rows->texts);
	free(rows->rows);
	free(rows);
}

static void asking_at_scope_end(struct asking *a)
{
	scope_fini(&a->scope);
	keys_fini(&a->keys);
	free(a->owners);
	free(a->tallies);
	free(a->line_bytes);
	free(a->lines);
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not rank the memory");
}

// Functions that allocate for others: what they allocate is their callers'.
static bool is_allocator(const char *function)
{
	static const char *const whole[] = { "malloc",       "calloc",   "realloc",
		                             "reallocarray", "memalign", "posix_memalign",
		                             "aligned_alloc" };
	static const char *const beginnings[] = { "operator new", "__gnu_cxx::new_allocator",
		                                  "std::__new_allocator", "std::allocator",
		                                  "__libc_" };

	for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (strcmp(function, whole[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (strncmp(function, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

static void hide_allocators(struct keys *keys)
{
	const struct profile *p = keys->profile;

	for (uint32_t i = 0; i < profile_locations(p)->count; i++) {
		const struct location *location = &profile_locations(p)->locations[i];
		const struct place *places = profile_places(p, location);
		uint32_t first = keys->first[i], count = keys->first[i + 1] - first;
		if (count != location->place_count)
			continue; // an op, or code without a name
		for (uint32_t at = 0; at < count; at++) {
			const char *name = profile_string(p, places[count - 1 - at].function);
			keys->frames[first + at].hidden |= name && is_allocator(name);
		}
	}
}

static bool is_python(const struct keys *keys, uint32_t frame)
{
	return frame != OWNER_NONE && keys->keys.keys[keys->frames[frame].key - 1].python;
}

// Whether FRAME takes over what its caller's OWNER has. What libraries allocate for Python is that
// of the user's own line, or else of the innermost line there is.
static bool takes_bytes(const struct keys *keys, uint32_t owner, uint32_t frame)
{
	if (keys->frames[frame].hidden)
		return false;
	if (!is_python(keys, owner))
		return true;
	return is_python(keys, frame) && (keys->frames[frame].user || !keys->frames[owner].user);
}

static void add_site(struct allocation_site *to, const struct allocations *m,
                     const struct allocation_site *by)
{
	to->samples += by->samples;
	to->allocated_bytes += by->allocated_bytes;
	to->peak_bytes += allocations_site_peak(m, by);
	to->end_bytes += allocations_site_end(by);
}

static void give_self(struct asking *a, uint32_t node)
{
	const struct allocations *m = profile_allocations(a->profile);
	uint32_t site = allocations_find(m, node), owner = a->owners[node - 1];
	uint32_t key = owner == OWNER_NONE ? a->homeless : a->keys.frames[owner].key;

	if (!site)
		return;
	uint64_t bytes = m->sites[site - 1].allocated_bytes;
	add_site(&a->tallies[key - 1].self, m, &m->sites[site - 1]);
	if (owner == OWNER_NONE)
		a->tallies[key - 1].total_bytes += bytes; // it is never open
	else if (a->keys.frames[owner].line)
		a->line_bytes[a->keys.frames[owner].line - 1] += bytes;
	a->all_bytes += bytes;
}

static void open_key(struct asking *a, uint32_t key)
{
	struct tally *tally = &a->tallies[key - 1];

	if (tally->open++ == 0)
		tally->before_bytes = a->all_bytes;
}

static void close_key(struct asking *a, uint32_t key)
{
	struct tally *tally = &a->tallies[key - 1];

	if (--tally->open == 0)
		tally->total_bytes += a->all_bytes - tally->before_bytes;
}

static void walk(struct asking *a)
{
	const struct scope *scope = &a->scope;

	for (struct step step = scope_first(scope); step.node; step = scope_next(scope, step)) {
		const struct path_node *node = profile_node(a->profile, step.node);
		uint32_t first = node->parent ? a->keys.first[node->location - 1] : 0;
		uint32_t end = node->parent ? a->keys.first[node->location] : 0;
		for (uint32_t at = first; at < end; at++) {
			if (a->keys.frames[at].hidden)
				continue;
			if (step.entering)
				open_key(a, a->keys.frames[at].key);
			else
				close_key(a, a->keys.frames[at].key);
		}
		if (step.entering)
			give_self(a, step.node);
	}
}

// The line of each function where most of its own was allocated.
static void choose_lines(struct asking *a)
{
	size_t frames = a->keys.first[profile_locations(a->profile)->count];

	for (size_t i = 0; i < frames; i++) {
		const struct key_frame *frame = &a->keys.frames[i];
		if (!frame->line || !a->keys.lines.keys[frame->line - 1].line)
			continue;
		uint32_t *best = &a->lines[frame->key - 1];
		if (!*best || a->line_bytes[frame->line - 1] > a->line_bytes[*best - 1])
			*best = frame->line;
	}
}

static bool prepare(struct asking *a, enum memory_by by, struct error *err)
{
	static const struct {
		enum query_by by;
		unsigned wanted;
	} kinds[] = {
		[MEMORY_BY_FUNCTION] = { BY_FUNCTION, KEYS_CODE | KEYS_LINES },
		[MEMORY_BY_LINE] = { BY_LINE, KEYS_CODE },
		[MEMORY_BY_MODULE] = { BY_MODULE, KEYS_CODE },
		[MEMORY_BY_OP] = { BY_FUNCTION, KEYS_OPS },
	};
	const struct query query = { .by = kinds[by].by, .user_code = QUERY_OWN_CODE };
	struct key homeless = { .group = by == MEMORY_BY_OP ? KEY_NO_OP : KEY_HIDDEN };

	if (scope_init(&a->scope, a->profile, &query, err) < 0 ||
	    keys_init(&a->keys, a->profile, &query, kinds[by].wanted, err) < 0)
		return false;
	hide_allocators(&a->keys);
	a->homeless = key_table_add(&a->keys.keys, &homeless);
	a->owners = scope_owners(&a->scope, &a->keys, takes_bytes);
	a->tallies = calloc((size_t)a->keys.keys.count + 1, sizeof(*a->tallies));
	a->line_bytes = calloc((size_t)a->keys.lines.count + 1, sizeof(*a->line_bytes));
	a->lines = calloc((size_t)a->keys.keys.count + 1, sizeof(*a->lines));
	if (a->homeless && a->owners && a->tallies && a->line_bytes && a->lines)
		return true;
	no_memory(err);
	return false;
}

static bool fill_row(const struct asking *a, uint32_t id, struct strings *texts,
                     struct memory_row *row)
{
	const struct key *key = &a->keys.keys.keys[id - 1];
	const struct key *line = a->lines[id - 1] ? &a->keys.lines.keys[a->lines[id - 1] - 1] : key;
	const struct tally *tally = &a->tallies[id - 1];

	*row = (struct memory_row){
		.name = key_name(a->profile, key, texts),
		.file = profile_string(a->profile, line->file),
		.line = (int)line->line,
		.module = key_module(a->profile, key),
		.allocated_bytes = tally->self.allocated_bytes,
		.total_allocated_bytes = tally->total_bytes,
		.live_at_peak_bytes = tally->self.peak_bytes,
		.live_at_end_bytes = tally->self.end_bytes,
		.samples = tally->self.samples,
	};
	return row->name != NULL;
}

// Total: the same profile gives the same order on every machine.
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct memory_row *left = a, *right = b;
	bool at_peak = *(const bool *)context;
	const uint64_t ranks[][2] = {
		{ at_peak ? left->live_at_peak_bytes : 0, at_peak ? right->live_at_peak_bytes : 0 },
		{ left->allocated_bytes, right->allocated_bytes },
		{ left->total_allocated_bytes, right->total_allocated_bytes },
	};

	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
		if (ranks[i][0] != ranks[i][1])
			return ranks[i][0] < ranks[i][1] ? 1 : -1;
	int order = compare_names(left->name, right->name);
	order = order ? order : compare_names(left->file, right->file);
	order = order ? order : left->line - right->line;
	return order ? order : compare_names(left->module, right->module);
}

static void judge_rows(const struct asking *a, struct memory_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		rows->samples += rows->rows[i].samples;
	for (size_t i = 0; i < rows->count && a->all_bytes; i++) {
		double share = (double)rows->rows[i].allocated_bytes / (double)a->all_bytes;
		rows->rows[i].margin = statistics_wilson(share, rows->samples).half;
	}
}

// 1.96 standard deviations of what is estimated; UNIT is that of the deviation.
static uint64_t margin_of(uint64_t variance, double unit)
{
	return (uint64_t)(1.96 * sqrt((double)variance) * unit + 0.5);
}

static void fill_totals(const struct allocations *m, struct memory_rows *rows)
{
	rows->allocations = m->allocations;
	rows->frees = m->frees;
	rows->allocated_bytes = m->allocated_bytes;
	rows->freed_bytes = m->freed_bytes;
	rows->allocations_margin = margin_of(m->allocations_variance, 1);
	rows->allocated_margin_bytes = margin_of(m->bytes_variance, 1024);
	rows->peak_bytes = m->peak_bytes;
	rows->end_bytes = allocations_end_bytes(m);
	rows->untracked_bytes = m->untracked_bytes;
	rows->lost = m->lost;
}

void query_memory_doubts(const struct profile *p, struct memory_doubts *out)
{
	const struct allocations *m = profile_allocations(p);

	*out = (struct memory_doubts){
		.allocations = m->allocations,
		.allocations_margin = margin_of(m->allocations_variance, 1),
		.untracked_bytes = m->untracked_bytes,
		.lost = m->lost,
	};
	for (uint32_t i = 0; i < m->site_count; i++) {
		out->sampled_bytes += m->sites[i].allocated_bytes;
		out->samples += m->sites[i].samples;
	}
}

static bool answer_all(struct asking *a, bool at_peak, struct memory_rows *rows)
{
	uint64_t start_ns = profile_start_ns(a->profile),
		 peak_ns = profile_allocations(a->profile)->peak_ns;

	walk(a);
	choose_lines(a);
	rows->texts = strings_new();
	rows->rows = calloc((size_t)a->keys.keys.count + 1, sizeof(*rows->rows));
	if (!rows->texts || !rows->rows)
		return false;
	for (uint32_t id = 1; id <= a->keys.keys.count; id++) {
		if (!a->tallies[id - 1].total_bytes)
			continue;
		if (!fill_row(a, id, rows->texts, &rows->rows[rows->count++]))
			return false;
	}
	qsort_r(rows->rows, rows->count, sizeof(*rows->rows), compare_rows, &at_peak);
	judge_rows(a, rows);
	fill_totals(profile_allocations(a->profile), rows);
	rows->peak_ns = peak_ns > start_ns ? peak_ns - start_ns : 0;
	return true;
}

struct memory_rows *query_memory(const struct profile *p, enum memory_by by, bool at_peak,
                                 struct error *err)
{
	cleanup(asking) struct asking a = { .profile = p };

	if (!prepare(&a, by, err))
		return NULL;
	cleanup(memory_rows) struct memory_rows *rows = calloc(1, sizeof(*rows));
	if (rows && answer_all(&a, at_peak, rows))
		return steal(rows);
	no_memory(err);
	return NULL;
}
