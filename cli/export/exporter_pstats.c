// SPDX-License-Identifier: MIT
/*
 * The statistics of Python's cProfile, for pstats and what reads its files: a dictionary in the
 * format of the module marshal.
 *
 *	{(file, line, name): (primitive calls, calls, self s, total s,
 *	                      {caller: (calls, primitive calls, self s, total s), ...}), ...}
 *
 * C functions are ("~", 0, "<built-in method ...>"). All that differ only in what such a key does
 *not say, as functions of one name on one line, are one entry there.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/export/exporter.h"
#include "cli/report/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 15 // of a long

// The types of marshal.
#define NULL_TYPE  '0'
#define INT_TYPE   'i'
#define LONG_TYPE  'l'
#define FLOAT_TYPE 'g'
#define TEXT_TYPE  'u'
#define TUPLE_TYPE '('
#define DICT_TYPE  '{'

static void put_word(FILE *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		fputc((int)(value >> 8 * i & 0xff), out);
}

static void put_tuple(FILE *out, uint32_t items)
{
	fputc(TUPLE_TYPE, out);
	put_word(out, items, 4);
}

static void put_count(FILE *out, uint64_t value)
{
	uint32_t digits = 0;

	if (value <= INT32_MAX) {
		fputc(INT_TYPE, out);
		put_word(out, value, 4);
		return;
	}
	for (uint64_t rest = value; rest; rest >>= DIGIT_BITS)
		digits++;
	fputc(LONG_TYPE, out);
	put_word(out, digits, 4);
	for (; digits; digits--, value >>= DIGIT_BITS)
		put_word(out, value & ((1u << DIGIT_BITS) - 1), 2);
}

static void put_seconds(FILE *out, uint64_t ns)
{
	double seconds = (double)ns / 1e9;
	uint64_t bits;

	memcpy(&bits, &seconds, sizeof(bits));
	fputc(FLOAT_TYPE, out);
	put_word(out, bits, sizeof(bits));
}

// Readers take no text that is not UTF-8. FIRST and LAST stand in place of its ends, unless 0.
static void put_text(FILE *out, const char *text, char first, char last)
{
	cleanup_free char *clean = format_clean(text, false);
	size_t length = clean ? strlen(clean) : 0;

	if (first && length >= 2) {
		clean[0] = first;
		clean[length - 1] = last;
	}
	fputc(TEXT_TYPE, out);
	put_word(out, length, 4);
	fwrite(clean ? clean : "", 1, length, out);
}

// The name without what it is in: cProfile knows it so.
static const char *own_name(const struct called *row)
{
	const char *dot = strrchr(row->name, '.');

	return row->file && dot && dot[1] ? dot + 1 : row->name;
}

static void put_key(FILE *out, const struct called *row)
{
	const char *name = own_name(row);
	bool braces = !row->file && *name == '{';

	put_tuple(out, 3);
	put_text(out, row->file ? row->file : "~", 0, 0);
	put_count(out, row->file ? row->line : 0);
	put_text(out, name, braces ? '<' : 0, '>');
}

// Rows and edges of the same keys become one.
struct pstats {
	struct called *rows;
	size_t count;
	struct called_edge *edges; // indices are of ROWS here
	size_t edge_count;
};

static void pstats_at_scope_end(struct pstats *p)
{
	free(p->rows);
	free(p->edges);
}

static int compare_texts(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_keys(const struct called *a, const struct called *b)
{
	int order = compare_texts(a->file, b->file);

	order = order ? order : (a->line > b->line) - (a->line < b->line);
	return order ? order : strcmp(own_name(a), own_name(b));
}

static int compare_rows(const void *a, const void *b)
{
	return compare_keys(*(const struct called *const *)a, *(const struct called *const *)b);
}

static int compare_edges(const void *a, const void *b)
{
	const struct called_edge *x = a, *y = b;

	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	return (x->caller > y->caller) - (x->caller < y->caller);
}

// Fills PLACES: [row of FROM]: row of P.
static void join_rows(struct pstats *p, const struct called_rows *from,
                      const struct called **sorted, size_t *places)
{
	for (size_t i = 0; i < from->count; i++)
		sorted[i] = &from->rows[i];
	qsort(sorted, from->count, sizeof(*sorted), compare_rows);
	for (size_t i = 0; i < from->count; i++) {
		struct called *last = p->count ? &p->rows[p->count - 1] : NULL;
		if (!last || compare_keys(last, sorted[i]) != 0) {
			p->rows[p->count++] = *sorted[i];
		} else {
			last->calls += sorted[i]->calls;
			last->primitive += sorted[i]->primitive;
			last->self_ns += sorted[i]->self_ns;
			last->total_ns += sorted[i]->total_ns;
		}
		places[sorted[i] - from->rows] = p->count - 1;
	}
}

static void join_edges(struct pstats *p, const struct called_rows *from, const size_t *places)
{
	for (size_t i = 0; i < from->edge_count; i++) {
		p->edges[i] = from->edges[i];
		p->edges[i].caller = places[from->edges[i].caller];
		p->edges[i].callee = places[from->edges[i].callee];
	}
	qsort(p->edges, from->edge_count, sizeof(*p->edges), compare_edges);
	for (size_t i = 0; i < from->edge_count; i++) {
		struct called_edge *last = p->edge_count ? &p->edges[p->edge_count - 1] : NULL;
		if (!last || compare_edges(last, &p->edges[i]) != 0) {
			p->edges[p->edge_count++] = p->edges[i];
			continue;
		}
		last->calls += p->edges[i].calls;
		last->primitive += p->edges[i].primitive;
		last->self_ns += p->edges[i].self_ns;
		last->total_ns += p->edges[i].total_ns;
	}
}

static int pstats_init(struct pstats *p, const struct called_rows *from, struct error *err)
{
	cleanup_free const struct called **sorted = calloc(from->count + 1, sizeof(*sorted));
	cleanup_free size_t *places = calloc(from->count + 1, sizeof(*places));

	p->rows = calloc(from->count + 1, sizeof(*p->rows));
	p->edges = calloc(from->edge_count + 1, sizeof(*p->edges));
	if (!sorted || !places || !p->rows || !p->edges)
		return error_set(err, ENOMEM, "could not collect the calls");
	join_rows(p, from, sorted, places);
	join_edges(p, from, places);
	return 0;
}

static void put_row(FILE *out, const struct pstats *p, size_t row, size_t *edge)
{
	const struct called *r = &p->rows[row];

	put_key(out, r);
	put_tuple(out, 5);
	put_count(out, r->primitive);
	put_count(out, r->calls);
	put_seconds(out, r->self_ns);
	put_seconds(out, r->total_ns);
	fputc(DICT_TYPE, out);
	for (; *edge < p->edge_count && p->edges[*edge].callee == row; ++*edge) {
		const struct called_edge *e = &p->edges[*edge];
		put_key(out, &p->rows[e->caller]);
		put_tuple(out, 4);
		put_count(out, e->calls);
		put_count(out, e->primitive);
		put_seconds(out, e->self_ns);
		put_seconds(out, e->total_ns);
	}
	fputc(NULL_TYPE, out);
}

static int write_pstats(const struct exporting *e, struct error *err)
{
	cleanup(called_rows) struct called_rows *rows = answer_called(e->profile, e->view, err);
	cleanup(pstats) struct pstats p = { 0 };
	size_t edge = 0;

	if (view_is_filtered(e->view))
		return error_set(err, 0,
		                 "--export pstats is about the whole run: calls are not "
		                 "kept by time or thread");
	if (!rows)
		return -1;
	if (!rows->count) {
		error_set(err, 0, "--export pstats: no calls were counted");
		return error_hint(err, "Record with --count-calls.");
	}
	if (pstats_init(&p, rows, err) < 0)
		return -1;
	fputc(DICT_TYPE, e->out);
	for (size_t i = 0; i < p.count; i++)
		put_row(e->out, &p, i, &edge);
	fputc(NULL_TYPE, e->out);
	return 0;
}

const struct exporter exporter_pstats = { .name = "pstats", .write = write_pstats };
