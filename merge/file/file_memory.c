// SPDX-License-Identifier: MIT
/*
 * What a profile file has of memory. A profile that knows nothing of that has no such tables.
 */
#include "base/cleanup.h"
#include "merge/file/file_reader.h"
#include "merge/file/file_writer.h"
#include "merge/query/query_ops.h"

#include <stddef.h>
#include <string.h>

static const char schema[] =
	"CREATE TABLE site_chunk(id INTEGER PRIMARY KEY, rows INTEGER, data BLOB);"
	"CREATE TABLE allocation_row(id INTEGER PRIMARY KEY, name INTEGER, label TEXT, file INTEGER,"
	" line INTEGER, module INTEGER, samples INTEGER, allocated_bytes INTEGER,"
	" total_allocated_bytes INTEGER, live_at_peak_bytes INTEGER, live_at_end_bytes INTEGER);"
	"CREATE VIEW allocation(id, function, file, line, module, samples, allocated_bytes,"
	" total_allocated_bytes, live_at_peak_bytes, live_at_end_bytes) AS"
	" SELECT r.id, coalesce(n.text, r.label), f.text, r.line, m.path, r.samples,"
	" r.allocated_bytes, r.total_allocated_bytes, r.live_at_peak_bytes, r.live_at_end_bytes"
	" FROM allocation_row r LEFT JOIN string n ON n.id = r.name"
	" LEFT JOIN string f ON f.id = r.file LEFT JOIN module m ON m.id = r.module;";

static const struct {
	const char *key;
	size_t offset; // in struct allocations
} facts[] = {
	{ "allocations", offsetof(struct allocations, allocations) },
	{ "frees", offsetof(struct allocations, frees) },
	{ "allocated_bytes", offsetof(struct allocations, allocated_bytes) },
	{ "freed_bytes", offsetof(struct allocations, freed_bytes) },
	{ "allocations_variance", offsetof(struct allocations, allocations_variance) },
	{ "allocated_bytes_variance", offsetof(struct allocations, bytes_variance) },
	{ "peak_bytes", offsetof(struct allocations, peak_bytes) },
	{ "peak_ns", offsetof(struct allocations, peak_ns) },
	{ "untracked_bytes", offsetof(struct allocations, untracked_bytes) },
	{ "allocations_lost", offsetof(struct allocations, lost) },
};

#define FACTS (sizeof(facts) / sizeof(facts[0]))

static uint64_t *fact_at(const struct allocations *a, size_t i)
{
	return (uint64_t *)((char *)a + facts[i].offset);
}

int write_memory_facts(struct file_writer *w)
{
	const struct allocations *a = &w->profile->allocations;

	if (allocations_is_empty(a))
		return 0;
	for (size_t i = 0; i < FACTS; i++)
		if (file_writer_fact(w, facts[i].key, (int64_t)*fact_at(a, i)) < 0)
			return -1;
	if (file_writer_fact(w, "allocations_exact", a->exact) < 0 ||
	    file_writer_fact(w, "end_bytes", (int64_t)allocations_end_bytes(a)) < 0)
		return -1;
	return file_writer_fact(w, "allocation_sites", a->site_count);
}

static void fill_site(const struct file_writer *w, const void *context, uint32_t index,
                      struct columns *c, uint32_t at)
{
	const struct allocations *a = &w->profile->allocations;
	const struct allocation_site *site = &a->sites[index];

	(void)context;
	*columns_at(c, 0, at) = site->node;
	*columns_at(c, 1, at) = site->samples;
	*columns_at(c, 2, at) = site->allocated_bytes;
	*columns_at(c, 3, at) = allocations_site_peak(a, site);
	*columns_at(c, 4, at) = allocations_site_end(site);
}

int write_memory(struct file_writer *w)
{
	const struct allocations *a = &w->profile->allocations;
	const struct chunked sites = { "site_chunk", a->site_count, SITE_WIDTH,
		                       SITE_DELTAS,  fill_site,     NULL };

	if (allocations_is_empty(a))
		return 0;
	return file_writer_sql(w, schema) < 0 ? -1 : file_writer_chunks(w, &sites);
}

// Any of that path: a row says no more of it.
static uint32_t module_id(const struct profile *p, const char *path)
{
	for (uint32_t id = 1; path && id <= modules_count(p->modules); id++)
		if (strcmp(modules_get(p->modules, id)->path, path) == 0)
			return id;
	return 0;
}

// Texts by number: names of templates are long, and the profile holds them anyway.
static int put_memory_row(struct file_writer *w, const struct memory_row *row, size_t id)
{
	uint32_t name = strings_find(w->profile->strings, row->name);

	file_writer_int(w, (int64_t)id);
	file_writer_id(w, name);
	file_writer_text(w, name ? NULL : row->name);
	file_writer_id(w, strings_find(w->profile->strings, row->file));
	file_writer_id(w, (uint32_t)row->line);
	file_writer_id(w, module_id(w->profile, row->module));
	file_writer_int(w, (int64_t)row->samples);
	file_writer_int(w, (int64_t)row->allocated_bytes);
	file_writer_int(w, (int64_t)row->total_allocated_bytes);
	file_writer_int(w, (int64_t)row->live_at_peak_bytes);
	file_writer_int(w, (int64_t)row->live_at_end_bytes);
	return file_writer_row(w);
}

int write_memory_rows(struct file_writer *w)
{
	if (allocations_is_empty(&w->profile->allocations))
		return 0;
	cleanup(memory_rows) struct memory_rows *rows =
		query_memory(w->profile, MEMORY_BY_FUNCTION, false, w->err);
	if (!rows || file_writer_begin(w, "allocation_row", 11, false) < 0)
		return -1;
	for (size_t i = 0; i < rows->count; i++)
		if (put_memory_row(w, &rows->rows[i], i + 1) < 0)
			return -1;
	return 0;
}

bool take_memory_fact(struct file_reader *r, const char *key, int64_t value)
{
	struct allocations *a = &r->profile->allocations;

	for (size_t i = 0; i < FACTS; i++)
		if (strcmp(facts[i].key, key) == 0) {
			*fact_at(a, i) = (uint64_t)value;
			return true;
		}
	if (strcmp(key, "allocations_exact") == 0) {
		a->exact = value != 0;
	} else if (strcmp(key, "end_bytes") == 0) {
		a->end_bytes = value;
	} else if (strcmp(key, "allocation_sites") == 0) {
		r->has_memory = true;
		r->sites = (uint64_t)value;
	} else {
		return false;
	}
	return true;
}

static bool get_site(struct file_reader *r, struct columns *c, uint32_t row,
                     struct allocation_site *site)
{
	struct allocation_site *all = &r->all_sites;

	*site = (struct allocation_site){
		.node = (uint32_t)*columns_at(c, 0, row),
		.samples = *columns_at(c, 1, row),
		.allocated_bytes = *columns_at(c, 2, row),
		.peak_bytes = *columns_at(c, 3, row),
		.end_bytes = *columns_at(c, 4, row),
	};
	return site->node && site->node == *columns_at(c, 0, row) &&
	       site->node <= r->profile->paths.count &&
	       file_reader_add(&all->samples, site->samples) &&
	       file_reader_add(&all->allocated_bytes, site->allocated_bytes) &&
	       file_reader_add(&all->peak_bytes, site->peak_bytes) &&
	       file_reader_add(&all->end_bytes, site->end_bytes);
}

static int take_site(struct file_reader *r, struct columns *c, uint32_t row)
{
	struct allocations *a = &r->profile->allocations;
	struct allocation_site site;

	if (!get_site(r, c, row, &site))
		return file_reader_damaged(r, "an allocation cannot be");
	if (allocations_find(a, site.node))
		return file_reader_damaged(r, "an allocation is there twice");
	struct allocation_site *added = allocations_append(a, site.node);
	if (!added)
		return file_reader_no_memory(r);
	*added = site;
	return 0;
}

int read_memory(struct file_reader *r)
{
	if (!r->has_memory)
		return 0;
	if (r->profile->allocations.end_bytes < 0)
		return file_reader_damaged(r, "its memory cannot be");
	if (file_reader_chunks(r, "site_chunk", SITE_WIDTH, SITE_DELTAS, take_site) < 0)
		return -1;
	return r->profile->allocations.site_count == r->sites
	               ? 0
	               : file_reader_damaged(r, "an allocation is missing");
}
