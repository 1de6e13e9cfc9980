// SPDX-License-Identifier: MIT
#include "merge/query/self_total.h"

#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/kept.h"

#include <errno.h>
#include <stdlib.h>

// What one walk needs beside its results.
struct walk {
	const struct scope *scope;
	const struct keys *keys;
	struct self_totals *tallies;
	uint32_t *owners;
	uint32_t *roots;   // [slot - 1]: the key of a thread or its process; NULL if not by those
	uint32_t homeless; // the key of time that no frame owns
};

static void add_sums(struct sums *to, const struct sums *by)
{
	for (int i = 0; i < METRIC_COUNT; i++)
		to->ns[i] += by->ns[i];
	to->counted += by->counted;
	to->samples += by->samples;
	to->on_cpu_samples += by->on_cpu_samples;
}

static void subtract_sums(struct sums *from, const struct sums *by)
{
	for (int i = 0; i < METRIC_COUNT; i++)
		from->ns[i] -= by->ns[i];
	from->counted -= by->counted;
	from->samples -= by->samples;
	from->on_cpu_samples -= by->on_cpu_samples;
}

static void open_key(struct walk *w, uint32_t key)
{
	struct self_total *tally = &w->tallies->keys[key - 1];

	if (tally->open++ == 0)
		tally->before = w->tallies->all;
}

static void close_key(struct walk *w, uint32_t key)
{
	struct self_total *tally = &w->tallies->keys[key - 1];

	if (--tally->open)
		return;
	add_sums(&tally->total, &w->tallies->all);
	subtract_sums(&tally->total, &tally->before);
}

static void open_line(struct walk *w, const struct key_frame *frame)
{
	struct line_total *line = &w->tallies->lines[frame->line - 1];

	w->tallies->line_keys[frame->line - 1] = frame->key;
	if (line->open++ == 0)
		line->before = w->tallies->all.counted;
}

static void close_line(struct walk *w, uint32_t id)
{
	struct line_total *line = &w->tallies->lines[id - 1];

	if (--line->open == 0)
		line->total += w->tallies->all.counted - line->before;
}

static void visit_frames(struct walk *w, const struct path_node *node, bool entering)
{
	for (uint32_t at = w->keys->first[node->location - 1]; at < w->keys->first[node->location];
	     at++) {
		const struct key_frame *frame = &w->keys->frames[at];
		if (frame->hidden)
			continue;
		if (entering)
			open_key(w, frame->key);
		else
			close_key(w, frame->key);
		if (frame->line && entering)
			open_line(w, frame);
		else if (frame->line)
			close_line(w, frame->line);
	}
}

static struct sums own_sums(const struct walk *w, uint32_t node)
{
	const struct scope *scope = w->scope;
	struct sums own = { 0 };

	for (uint32_t i = scope->first_cell[node - 1]; i < scope->first_cell[node]; i++) {
		const struct cell *cell = &scope->table->cells[scope->cells[i]];
		uint32_t samples = scope_samples(scope, cell);
		enum metric metric = scope_metric(cell);
		uint64_t ns = scope_ns(scope, cell);
		bool counts = scope_counts(scope, cell);
		own.ns[metric] += ns;
		own.counted += counts ? ns : 0;
		own.samples += counts ? samples : 0;
		own.on_cpu_samples += metric == METRIC_ON_CPU ? samples : 0;
	}
	return own;
}

static void give_self(struct walk *w, uint32_t node, uint32_t root_key)
{
	struct sums own = own_sums(w, node);
	uint32_t owner = w->owners[node - 1];
	uint32_t key = root_key;

	if (!key && owner != OWNER_NONE)
		key = w->keys->frames[owner].key;
	if (!key) {
		key = w->homeless;
		add_sums(&w->tallies->keys[key - 1].total, &own); // it is never open
	}
	add_sums(&w->tallies->keys[key - 1].self, &own);
	if (owner != OWNER_NONE && w->keys->frames[owner].line)
		w->tallies->lines[w->keys->frames[owner].line - 1].self += own.counted;
	add_sums(&w->tallies->all, &own);
}

static void walk(struct walk *w)
{
	const struct scope *scope = w->scope;
	uint32_t root_key = 0;

	for (struct step step = scope_first(scope); step.node; step = scope_next(scope, step)) {
		const struct path_node *node = profile_node(scope->profile, step.node);
		if (!node->parent && w->roots) {
			root_key = w->roots[node->location - 1];
			if (step.entering)
				open_key(w, root_key);
			else
				close_key(w, root_key);
		} else if (node->parent && !w->roots) {
			visit_frames(w, node, step.entering);
		}
		if (step.entering &&
		    scope->first_cell[step.node - 1] < scope->first_cell[step.node])
			give_self(w, step.node, root_key);
	}
}

static bool add_root_keys(struct walk *w, struct keys *keys, enum query_by by)
{
	const struct threads *t = profile_threads(w->scope->profile);

	w->roots = calloc(t->thread_count + 1, sizeof(*w->roots));
	for (size_t i = 0; w->roots && i < t->thread_count; i++) {
		struct key key = {
			.group = by == BY_THREAD ? KEY_THREAD : KEY_PROCESS,
			.module = by == BY_THREAD ? (uint32_t)i + 1 : t->threads[i].process,
		};
		w->roots[i] = key_table_add(&keys->keys, &key);
		if (!w->roots[i])
			return false;
	}
	return w->roots != NULL;
}

static void release(struct self_totals *t)
{
	free(t->keys);
	free(t->lines);
	free(t->line_keys);
}

static void release_kept(void *totals)
{
	release(totals);
	free(totals);
}

// The walk of the same nodes and cells, for the same keys, has the same sums. Of a scope or of keys
// that are not kept nothing is known.
static struct kept_key key_of(const struct walk *w, const struct query *query)
{
	const struct keys *keys = w->keys;

	if (!w->scope->borrowed || !keys->kept)
		return (struct kept_key){ .works = false };
	return kept_key(keys->profile, "totals %p %p %u %u %u %d",
	                (const void *)w->scope->first_cell, (const void *)keys->kept,
	                keys->keys.count, keys->lines.count, w->homeless, query->by);
}

static void keep(const struct kept_key *key, struct self_totals *t)
{
	struct self_totals *copy = key->works ? malloc(sizeof(*copy)) : NULL;

	if (!copy)
		return;
	*copy = *t;
	t->borrowed = kept_add(key, copy, release_kept);
	if (!t->borrowed)
		free(copy);
}

static bool sum_up(struct walk *w, const struct query *query)
{
	const struct keys *keys = w->keys;
	struct self_totals *t = w->tallies;

	w->owners = scope_owners(w->scope, keys, query->user_code ? scope_user_code : scope_shown);
	t->keys = calloc((size_t)keys->keys.count + 1, sizeof(*t->keys));
	t->lines = calloc((size_t)keys->lines.count + 1, sizeof(*t->lines));
	t->line_keys = calloc((size_t)keys->lines.count + 1, sizeof(*t->line_keys));
	if (!w->owners || !t->keys || !t->lines || !t->line_keys)
		return false;
	walk(w);
	return true;
}

int self_totals_init(struct self_totals *t, const struct scope *scope, struct keys *keys,
                     const struct query *query, struct error *err)
{
	struct walk w = { .scope = scope, .keys = keys, .tallies = t };
	struct key homeless = { .group = query->user_code ? KEY_OUTSIDE : KEY_HIDDEN };
	bool ok = true;

	*t = (struct self_totals){ 0 };
	if (query->by == BY_THREAD || query->by == BY_PROCESS)
		ok = add_root_keys(&w, keys, query->by);
	w.homeless = key_table_add(&keys->keys, &homeless);
	const struct kept_key key = key_of(&w, query);
	const struct self_totals *kept = ok && w.homeless ? kept_find(&key) : NULL;
	if (kept) {
		*t = *kept;
		t->borrowed = true;
	} else if (ok && w.homeless && (ok = sum_up(&w, query))) {
		keep(&key, t);
	}
	free(w.owners);
	free(w.roots);
	if (ok && w.homeless)
		return 0;
	self_totals_fini(t);
	return error_set(err, ENOMEM, "could not rank the profile");
}

void self_totals_fini(struct self_totals *t)
{
	if (!t->borrowed)
		release(t);
	*t = (struct self_totals){ 0 };
}
