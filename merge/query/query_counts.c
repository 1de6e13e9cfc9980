// SPDX-License-Identifier: MIT
#include "merge/query/query_counts.h"

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/strings.h"
#include "merge/profile/counts.h"
#include "merge/profile/profile_parts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_NAME "[unknown]"

struct key {
	uint32_t name, file, module; /* texts of the answer */
	uint32_t line;
};

// What is being asked: rows by their keys.
struct tally {
	const struct counts_query *query;
	struct count_rows *answer;
	struct key *keys; /* [row] */
	size_t key_capacity, row_capacity;
	struct hash index;
};

bool profile_has_counts(const struct profile *p)
{
	return profile_counts(p)->all > 0;
}

static uint64_t hash_key(const struct key *k)
{
	return hash_pair(hash_pair(k->name, k->file), hash_pair(k->module, k->line));
}

static struct count_row *append(struct tally *t, const struct key *key, uint32_t at)
{
	struct count_rows *a = t->answer;

	if (!array_reserve(&t->keys, &t->key_capacity, a->count + 1) ||
	    !array_reserve(&a->rows, &t->row_capacity, a->count + 1))
		return NULL;
	t->keys[a->count] = *key;
	a->rows[a->count++] = (struct count_row){
		.name = strings_get(a->texts, key->name),
		.file = strings_get(a->texts, key->file),
		.line = (int)key->line,
		.module = strings_get(a->texts, key->module),
	};
	hash_insert(&t->index, at, hash_key(key), (uint32_t)a->count);
	if (!hash_make_room(&t->index))
		return NULL;
	return &a->rows[a->count - 1];
}

static struct count_row *row_of(struct tally *t, const struct key *key)
{
	uint32_t at;

	for (at = hash_start(&t->index, hash_key(key)); t->index.slots[at];
	     at = hash_next(&t->index, at)) {
		const struct key *k = &t->keys[t->index.slots[at] - 1];
		if (k->name == key->name && k->file == key->file && k->module == key->module &&
		    k->line == key->line)
			return &t->answer->rows[t->index.slots[at] - 1];
	}
	return append(t, key, at);
}

// TEXT with every FROM of the transforms replaced: fresh.
static char *transform(const struct counts_query *query, const char *text)
{
	char *now = strdup(text);

	for (size_t i = 0; now && i < query->transform_count; i++) {
		const char *rule = query->transforms[i], *to = strchr(rule, '=');
		size_t from_size = to ? (size_t)(to - rule) : 0, size, at = 0;
		char *next = NULL;
		FILE *out = from_size ? open_memstream(&next, &size) : NULL;
		if (!out)
			continue;
		while (now[at]) {
			bool here = strncmp(now + at, rule, from_size) == 0;
			if (here)
				fputs(to + 1, out);
			else
				fputc(now[at], out);
			at += here ? from_size : 1;
		}
		fclose(out);
		free(now);
		now = next;
	}
	return now;
}

static uint32_t add_text(struct tally *t, const char *text)
{
	if (!text)
		return 0;
	if (!t->query->transform_count)
		return strings_add(t->answer->texts, text);
	cleanup_free char *changed = transform(t->query, text);
	return changed ? strings_add(t->answer->texts, changed) : 0;
}

static bool is_noise(const struct profile *p, const struct count_function *f)
{
	const char *module = path_base(profile_string(p, f->module));
	const char *name = profile_string(p, f->name);

	return (module &&
	        (strncmp(module, "ld-linux", 8) == 0 || strncmp(module, "ld-2.", 5) == 0 ||
	         strncmp(module, "ld-musl", 7) == 0)) ||
	       (name && (strncmp(name, "lookdict", 8) == 0 ||
	                 strncmp(name, "unicodekeys_lookup", 18) == 0));
}

static bool is_wanted(const struct tally *t, const char *name)
{
	return !t->query->filter || fnmatch(t->query->filter, name ? name : NO_NAME, 0) == 0;
}

static uint64_t total_of(const struct profile *p, const struct count_function *f)
{
	uint64_t total = f->called ? f->called : f->self + f->callees;

	return total < profile_counts(p)->all ? total : profile_counts(p)->all;
}

// What a row has of one function, or line; with a SIGN of -1 it is the baseline's.
static void add_to_row(struct tally *t, struct count_row *row, const struct count_row *by,
                       int64_t sign)
{
	row->self += sign * by->self;
	row->total += sign * by->total;
	row->calls += sign * by->calls;
	t->answer->self += sign * by->self;
	if (sign > 0)
		return;
	row->base_self += by->self;
	row->base_total += by->total;
	row->base_calls += by->calls;
}

static int add_function(struct tally *t, const struct profile *p, const struct count_function *f,
                        int64_t sign)
{
	bool by_module = t->query->by == COUNTS_BY_MODULE;
	const char *name = profile_string(p, f->name);
	const char *module = path_base(profile_string(p, f->module));
	const char *shown = by_module ? module : name;
	struct key key = { .name = add_text(t, shown ? shown : NO_NAME) };

	if (!by_module) {
		key.module = add_text(t, module);
		key.file = add_text(t, profile_string(p, f->file));
	}
	struct count_row *row = key.name ? row_of(t, &key) : NULL;
	if (!row)
		return -1;
	const struct count_row by = {
		.self = (int64_t)f->self,
		.total = (int64_t)(by_module ? f->self : total_of(p, f)),
		.calls = (int64_t)f->calls,
	};
	add_to_row(t, row, &by, sign);
	return 0;
}

static int add_functions(struct tally *t, const struct profile *p, int64_t sign)
{
	for (uint32_t i = 0; i < profile_counts(p)->function_count; i++) {
		const struct count_function *f = &profile_counts(p)->functions[i];
		if (!is_wanted(t, profile_string(p, f->name)))
			continue;
		if (!t->query->noise && is_noise(p, f))
			t->answer->noise += sign * (int64_t)f->self;
		else if (add_function(t, p, f, sign) < 0)
			return -1;
	}
	return 0;
}

static int add_lines(struct tally *t, const struct profile *p, int64_t sign)
{
	const struct counts *counts = profile_counts(p);
	bool by_file = t->query->by == COUNTS_BY_FILE;

	for (uint32_t i = 0; i < counts->line_count; i++) {
		const struct count_line *l = &counts->lines[i];
		const struct count_function *f = &counts->functions[l->function - 1];
		const char *file = profile_string(p, l->file);
		if (!is_wanted(t, profile_string(p, f->name)))
			continue;
		if (!t->query->noise && is_noise(p, f)) {
			t->answer->noise += sign * (int64_t)l->self;
			continue;
		}
		struct key key = { .name = add_text(t, file ? file : NO_NAME),
			           .file = by_file ? 0 : add_text(t, file),
			           .line = by_file ? 0 : l->line };
		struct count_row *row = key.name ? row_of(t, &key) : NULL;
		if (!row)
			return -1;
		const struct count_row by = { .self = (int64_t)l->self, .total = (int64_t)l->self };
		add_to_row(t, row, &by, sign);
	}
	return 0;
}

static int add(struct tally *t, const struct profile *p, int64_t sign)
{
	return t->query->by == COUNTS_BY_LINE || t->query->by == COUNTS_BY_FILE
	               ? add_lines(t, p, sign)
	               : add_functions(t, p, sign);
}

// The module of most of what SEEN says, and how much that is in all.
static const char *most_of(const struct profile *p, const uint64_t *by_string, uint64_t *sum)
{
	uint32_t best = 0;

	for (uint32_t id = 0; id <= strings_count(profile_strings(p)); id++) {
		*sum += by_string[id];
		if (by_string[id] > by_string[best])
			best = id;
	}
	return path_base(profile_string(p, best));
}

static int find_nameless(struct count_rows *a, const struct profile *p)
{
	const struct counts *counts = profile_counts(p);
	size_t strings = (size_t)strings_count(profile_strings(p)) + 1;
	cleanup_free uint64_t *unnamed = calloc(strings, sizeof(*unnamed));
	cleanup_free uint64_t *unlined = calloc(strings, sizeof(*unlined));

	if (!unnamed || !unlined)
		return -1;
	for (uint32_t i = 0; i < counts->line_count; i++) {
		const struct count_line *l = &counts->lines[i];
		const struct count_function *f = &counts->functions[l->function - 1];
		const char *name = profile_string(p, f->name);
		if (!name || strncmp(name, "0x", 2) == 0)
			unnamed[f->module] += l->self;
		if (!l->line || !l->file)
			unlined[f->module] += l->self;
	}
	a->unnamed_module = most_of(p, unnamed, &a->unnamed);
	a->unlined_module = most_of(p, unlined, &a->unlined);
	return 0;
}

static int64_t amount(int64_t value)
{
	return value < 0 ? -value : value;
}

static int by_order(const struct count_row *x, const struct count_row *y)
{
	int order = strcmp(x->name, y->name);

	return order ? order : x->line - y->line;
}

static int by_self(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;

	return amount(x->self) != amount(y->self) ? (amount(x->self) < amount(y->self) ? 1 : -1)
	                                          : by_order(x, y);
}

static int by_total(const void *a, const void *b)
{
	const struct count_row *x = a, *y = b;

	return amount(x->total) != amount(y->total) ? (amount(x->total) < amount(y->total) ? 1 : -1)
	                                            : by_self(a, b);
}

// Rows that the baseline has taken away wholly are no news.
static void drop_empty(struct count_rows *a)
{
	size_t kept = 0;

	for (size_t i = 0; i < a->count; i++)
		if (a->rows[i].self || a->rows[i].total)
			a->rows[kept++] = a->rows[i];
	a->count = kept;
}

static int ask(struct tally *t, const struct profile *p)
{
	const struct counts_query *query = t->query;
	struct count_rows *a = t->answer;

	a->all = profile_counts(p)->all;
	if (add(t, p, 1) < 0 || find_nameless(a, p) < 0)
		return -1;
	if (query->baseline) {
		a->baseline_all = profile_counts(query->baseline)->all;
		if (add(t, query->baseline, -1) < 0)
			return -1;
	}
	drop_empty(a);
	if (a->count)
		qsort(a->rows, a->count, sizeof(*a->rows),
		      query->sort == COUNTS_SORT_TOTAL ? by_total : by_self);
	return 0;
}

struct count_rows *query_counts(const struct profile *p, const struct counts_query *query,
                                struct error *err)
{
	cleanup(count_rows) struct count_rows *answer = calloc(1, sizeof(*answer));
	struct tally t = { .query = query, .answer = answer };
	int failed = -1;

	if (answer)
		answer->texts = strings_new();
	if (answer && answer->texts && hash_init(&t.index, 256))
		failed = ask(&t, p);
	hash_fini(&t.index);
	free(t.keys);
	if (failed) {
		error_set(err, ENOMEM, "could not rank the counts");
		return NULL;
	}
	return steal(answer);
}

void count_rows_free(struct count_rows *rows)
{
	if (!rows)
		return;
	strings_free(rows->texts);
	free(rows->rows);
	free(rows);
}
