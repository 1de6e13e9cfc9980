// SPDX-License-Identifier: MIT
#include "cli/report/graphs.h"

#include "cli/report/sections.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "merge/query/query_curves.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS      40 // of a curve
#define LEVELS       8
#define PACKAGES_MAX 4 // those with the highest peaks
#define PART_LEAST   0.02

REPORT_KEEPS(memory_curves, struct memory_curves *);

static bool is_of_host(const struct memory_curve *c)
{
	return c->kind == CURVE_ALLOCATED || c->kind == CURVE_RSS || c->kind == CURVE_PACKAGE;
}

// Curves of the host are drawn to one scale, and those of each device.
static uint64_t scale_of(const struct memory_curves *all, const struct memory_curve *c)
{
	uint64_t most = 1;

	for (uint32_t i = 0; i < all->count; i++) {
		const struct memory_curve *other = &all->of[i];
		bool same = is_of_host(c) ? is_of_host(other)
		                          : !is_of_host(other) && strcmp(other->name, c->name) == 0;
		if (same && other->peak_bytes / 1024 > most)
			most = other->peak_bytes / 1024;
	}
	return most;
}

// The most of a column's bins, which are of the whole run.
static uint64_t most_in(const struct memory_curve *c, uint32_t column)
{
	uint32_t first = column * c->count / COLUMNS, end = (column + 1) * c->count / COLUMNS;
	uint64_t most = 0;

	for (uint32_t i = first; i < c->count && (i < end || i == first); i++)
		most = c->most_kb[i] > most ? c->most_kb[i] : most;
	return most;
}

static const char *draw(struct report *r, const struct memory_curve *c, uint64_t scale)
{
	static const char *const signs[LEVELS + 1] = { " ",      "\u2581", "\u2582",
		                                       "\u2583", "\u2584", "\u2585",
		                                       "\u2586", "\u2587", "\u2588" };
	char line[COLUMNS * 3 + 1], *end = line;

	for (uint32_t i = 0; i < COLUMNS; i++) {
		uint64_t kb = most_in(c, i);
		uint64_t level = (kb * LEVELS + scale - 1) / scale;
		end = stpcpy(end, signs[level < LEVELS ? level : LEVELS]);
	}
	return report_say(r, "%s", line);
}

uint32_t curves_processes(const struct report *r)
{
	struct totals totals;

	query_totals(r->profile, &totals);
	return totals.processes;
}

// The sum of several processes says so: the peak of one of them stands elsewhere.
static void say_curve(struct section *s, const struct memory_curves *all,
                      const struct memory_curve *c)
{
	static const char *const kinds[CURVE_KINDS] = {
		[CURVE_ALLOCATED] = "allocated", [CURVE_RSS] = "RSS", [CURVE_RESERVED] = " reserved"
	};
	bool several = curves_processes(s->report) > 1;
	bool sum = is_of_host(c) && c->kind != CURVE_PACKAGE;
	const char *label =
		report_say(s->report, "%s%s%s", sum ? "" : c->name,
	                   kinds[c->kind] ? kinds[c->kind] : "", sum && several ? ", sum" : "");

	section_note(s, NOTE_LINE, true, "%-16.16s %s peak %s%s at %s", label,
	             draw(s->report, c, scale_of(all, c)), c->kind == CURVE_PACKAGE ? "about " : "",
	             format_bytes(c->peak_bytes).text, format_duration(c->peak_ns).text);
}

static uint64_t peak_of(const struct memory_curves *all, enum curve_kind kind)
{
	for (uint32_t i = 0; i < all->count; i++)
		if (all->of[i].kind == kind)
			return all->of[i].peak_bytes;
	return 0;
}

// Those packages that had a part of all that was allocated, the largest first.
static void say_packages(struct section *s, const struct memory_curves *all)
{
	double least = PART_LEAST * (double)peak_of(all, CURVE_ALLOCATED);
	bool told[CURVES_MAX] = { false };

	for (uint32_t n = 0; n < PACKAGES_MAX; n++) {
		uint32_t best = CURVES_MAX;
		for (uint32_t i = 0; i < all->count; i++)
			if (all->of[i].kind == CURVE_PACKAGE && !told[i] &&
			    (best == CURVES_MAX ||
			     all->of[i].peak_bytes > all->of[best].peak_bytes))
				best = i;
		if (best == CURVES_MAX || (double)all->of[best].peak_bytes < least)
			return;
		told[best] = true;
		say_curve(s, all, &all->of[best]);
	}
}

int curves_say(struct section *s, struct error *err)
{
	const struct memory_curves *all =
		keep_memory_curves(s->report, query_curves(s->report->profile, err), err);

	if (!all)
		return -1;
	for (int kind = 0; kind < CURVE_PACKAGE; kind++)
		for (uint32_t i = 0; i < all->count; i++)
			if (all->of[i].kind == (enum curve_kind)kind)
				say_curve(s, all, &all->of[i]);
	say_packages(s, all);
	if (peak_of(all, CURVE_RSS) && curves_processes(s->report) > 1)
		section_note(s, NOTE_SAY, true,
		             "sum: of all %u processes at one moment, with what they share in each "
		             "of them",
		             curves_processes(s->report));
	return 0;
}

// For programs.

struct bin {
	const struct memory_curve *curve;
	uint32_t number;
};

static const char *const kind_names[CURVE_KINDS] = { [CURVE_ALLOCATED] = "allocated",
	                                             [CURVE_RSS] = "rss",
	                                             [CURVE_DEVICE] = "device",
	                                             [CURVE_RESERVED] = "reserved",
	                                             [CURVE_PACKAGE] = "package" };

static void make_name(const struct section *s, const void *bin, struct section_cell *cell)
{
	(void)s;
	cell->text = ((const struct bin *)bin)->curve->name;
}

static void make_kind(const struct section *s, const void *bin, struct section_cell *cell)
{
	(void)s;
	cell->text = kind_names[((const struct bin *)bin)->curve->kind];
}

static void make_begin(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct bin *bin = data;

	(void)s;
	cell->count = bin->number * bin->curve->bin_ns;
}

static void make_end(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct bin *bin = data;

	(void)s;
	cell->count = (bin->number + 1) * bin->curve->bin_ns;
}

static void make_bytes(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct bin *bin = data;

	(void)s;
	cell->count = bin->curve->most_kb[bin->number] * 1024;
}

static void make_peak(const struct section *s, const void *bin, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct bin *)bin)->curve->peak_bytes;
}

static void make_peak_at(const struct section *s, const void *bin, struct section_cell *cell)
{
	(void)s;
	cell->count = ((const struct bin *)bin)->curve->peak_ns;
}

struct section *section_memory_curves(struct report *r, struct error *err)
{
	static const struct section_column columns[] = {
		{ "name", .type = CELL_TEXT, .at = { 0, 1, 1 }, .make = make_name },
		{ "kind", .type = CELL_TEXT, .at = { 0, 2, 2 }, .make = make_kind },
		{ "begin_ns", .type = CELL_NS, .at = { 0, 3, 3 }, .make = make_begin },
		{ "end_ns", .type = CELL_NS, .at = { 0, 4, 4 }, .make = make_end },
		{ "most_bytes", .type = CELL_BYTES, .at = { 0, 5, 5 }, .make = make_bytes },
		{ "peak_bytes", .type = CELL_BYTES, .at = { 0, 6, 6 }, .make = make_peak },
		{ "peak_at_ns", .type = CELL_NS, .at = { 0, 7, 7 }, .make = make_peak_at },
	};
	const struct memory_curves *all = keep_memory_curves(r, query_curves(r->profile, err), err);
	size_t count = 0;

	if (!all)
		return NULL;
	struct bin *bins = report_take(r, sizeof(*bins) * CURVES_MAX * CURVE_BINS);
	struct section *s = section_new(r, "memory_curves", NULL);
	SECTION_COLUMNS(s, columns);
	for (uint32_t i = 0; bins && i < all->count; i++)
		for (uint32_t k = 0; k < all->of[i].count; k++)
			bins[count++] = (struct bin){ &all->of[i], k };
	section_rows(s, bins, count, sizeof(*bins));
	return section_end(s, err);
}

// For the page.

#define PAGE(place) .at = { [READER_PAGE] = (place) }

static void make_page_kind(const struct section *s, const void *curve, struct section_cell *cell)
{
	static const char *const kinds[CURVE_KINDS] = { [CURVE_ALLOCATED] = "allocated",
		                                        [CURVE_RSS] = "RSS",
		                                        [CURVE_DEVICE] = "tensors",
		                                        [CURVE_RESERVED] = "reserved",
		                                        [CURVE_PACKAGE] = "sampled" };

	(void)s;
	cell->text = kinds[((const struct memory_curve *)curve)->kind];
}

static void make_series(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct memory_curve *curve = data;
	uint64_t *kb = report_take(s->report, (curve->count + UINT64_C(1)) * sizeof(*kb));

	for (uint32_t i = 0; kb && i < curve->count; i++)
		kb[i] = curve->most_kb[i];
	cell->series.values = kb;
	cell->series.count = kb ? curve->count : 0;
}

static const struct section_column curve_columns[] = {
	{ "name", .type = CELL_TEXT, PAGE(1), FIELD(struct memory_curve, name) },
	{ "kind", .type = CELL_TEXT, PAGE(2), .make = make_page_kind },
	{ "bin_ns", .type = CELL_NS, PAGE(3), FIELD(struct memory_curve, bin_ns) },
	{ "peak_bytes", .type = CELL_BYTES, PAGE(4), FIELD(struct memory_curve, peak_bytes) },
	{ "peak_at_ns", .type = CELL_NS, PAGE(5), FIELD(struct memory_curve, peak_ns) },
	{ "kb", .type = CELL_SERIES, PAGE(6), .make = make_series },
};

struct drawn_curves {
	const char *lines, *ops; // what was alive when there was most
	const struct memory_curves *all;
};

static void make_curves(const struct section *s, const void *drawn, struct section_cell *cell)
{
	const struct memory_curves *all = ((const struct drawn_curves *)drawn)->all;
	struct section *curves = section_new(s->report, "curves", NULL);

	SECTION_COLUMNS(curves, curve_columns);
	section_rows(curves, all->of, all->count, sizeof(*all->of));
	cell->section = curves;
}

struct section *section_curves(struct report *r, struct error *err)
{
	static const struct section_column columns[] = {
		{ "lines", .type = CELL_TEXT, PAGE(1), FIELD(struct drawn_curves, lines) },
		{ "ops", .type = CELL_TEXT, PAGE(2), FIELD(struct drawn_curves, ops) },
		{ "curves", .type = CELL_ROWS, .form = FORM_NAMED, PAGE(3), .make = make_curves },
	};
	struct drawn_curves drawn = {
		.all = keep_memory_curves(r, query_curves(r->profile, err), err),
	};

	if (!drawn.all || section_memory_alive(r, &drawn.lines, &drawn.ops, err) < 0)
		return NULL;
	struct section *s = section_new(r, "memory", NULL);
	SECTION_COLUMNS(s, columns);
	section_row(s, &drawn);
	return section_end(s, err);
}
