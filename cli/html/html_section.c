// SPDX-License-Identifier: MIT
// Sections of the report as the page's own tables take them: columns with the kind of their values,
// and rows of values.
#include "cli/html/html_section.h"

#include "base/cleanup.h"
#include "cli/json.h"
#include "cli/report/section.h"

#include <stdarg.h>
#include <stdio.h>

static void put_place(struct json *j, const char *file, int line, const char *module)
{
	if (!file && !module) {
		json_put_null(j, NULL);
		return;
	}
	json_open(j, NULL, '[');
	json_put_text(j, NULL, file);
	if (line > 0)
		json_put_count(j, NULL, (uint64_t)line);
	else
		json_put_null(j, NULL);
	json_put_text(j, NULL, module);
	json_close(j);
}

// Rows whose values have names.
static void put_named(struct json *j, const char *key, const struct section *s)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < s->row_count; i++) {
		json_open(j, NULL, '{');
		html_put_members(j, s, i);
		json_close(j);
	}
	json_close(j);
}

static void put_series(struct json *j, const char *key, const struct section_cell *cell)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < cell->series.count; i++)
		json_put_count(j, NULL, cell->series.values[i]);
	json_close(j);
}

static void put_known(struct json *j, const char *key, const struct section_column *c,
                      const struct section_cell *cell)
{
	uint64_t part = cell->share.part, all = cell->share.all;

	switch (c->type) {
	case CELL_TEXT:
		json_put_text(j, key, cell->text);
		break;
	case CELL_PLACE:
		put_place(j, cell->place.file, cell->place.line, cell->place.module);
		break;
	case CELL_INTEGER:
		json_put_integer(j, key, cell->integer);
		break;
	case CELL_NUMBER:
	case CELL_FRACTION:
		json_put_number(j, key, cell->number);
		break;
	case CELL_MARGIN:
		json_put_number(j, key, cell->flags & CELL_IDLE ? 0 : cell->number);
		break;
	case CELL_SHARE:
		json_put_number(j, key, all ? (double)part / (double)all : 0);
		break;
	case CELL_BOOL:
		json_put_bool(j, key, cell->yes);
		break;
	case CELL_ROWS:
		(c->form == FORM_NAMED ? put_named : html_put_rows)(j, key, cell->section);
		break;
	case CELL_ROW:
		json_open(j, key, '{');
		html_put_members(j, cell->section, 0);
		json_close(j);
		break;
	case CELL_SERIES:
		put_series(j, key, cell);
		break;
	default:
		json_put_count(j, key, cell->count);
		break;
	}
}

static void put_cell(struct json *j, const char *key, const struct section *s,
                     const struct section_row *row, size_t column)
{
	const struct section_column *c = &s->columns[column];
	const struct section_cell *cell = &row->cells[column];

	if (section_cell_is_nothing(s, c, cell))
		json_put_null(j, key);
	else
		put_known(j, key, c, cell);
}

static const char *kind_of(const struct section_column *c)
{
	// Forms that only some sections need.
	if (c->type == CELL_NUMBER && c->form == FORM_ANY)
		return "any";
	if (c->type == CELL_NS && c->form == FORM_MOMENT)
		return "moment";
	if (c->form == FORM_CHANGE)
		return c->type == CELL_NUMBER ? "ratio" : "change";
	if (c->type == CELL_INTEGER && c->form == FORM_DURATION)
		return "ns";
	static const char *const kinds[] = {
		[CELL_TEXT] = "text",     [CELL_NS] = "ns",          [CELL_BYTES] = "bytes",
		[CELL_COUNT] = "count",   [CELL_INTEGER] = "count",  [CELL_LABEL] = "count",
		[CELL_NUMBER] = "number", [CELL_FRACTION] = "share", [CELL_SHARE] = "share",
		[CELL_MARGIN] = "share",  [CELL_BOOL] = "text",      [CELL_PLACE] = "place",
		[CELL_SERIES] = NULL, // of members, which have no kinds
	};

	return kinds[c->type];
}

void html_put_columns(struct json *j, const struct section *s)
{
	json_open(j, "columns", '[');
	for (size_t i = 0; i < s->column_count; i++) {
		const struct section_column *c = &s->columns[i];
		json_open(j, NULL, '[');
		json_put_text(j, NULL, c->page_id ? c->page_id : c->id);
		json_put_text(j, NULL, c->page_heading ? c->page_heading : c->heading);
		json_put_text(j, NULL, kind_of(c));
		json_close(j);
	}
	json_close(j);
}

void html_put_rows(struct json *j, const char *key, const struct section *s)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < s->row_count; i++) {
		json_open(j, NULL, '[');
		for (size_t k = 0; k < s->column_count; k++)
			put_cell(j, NULL, s, &s->rows[i], k);
		json_close(j);
	}
	json_close(j);
}

void html_put_members(struct json *j, const struct section *s, size_t row)
{
	for (size_t k = 0; k < s->column_count; k++) {
		const struct section_column *c = &s->columns[k];
		if (!(s->rows[row].cells[k].flags & CELL_ABSENT))
			put_cell(j, c->page_id ? c->page_id : c->id, s, &s->rows[row], k);
	}
}

__attribute__((format(printf, 2, 3))) static void put_line(struct json *j, const char *format, ...)
{
	cleanup_free char *line = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	va_end(args);
	cleanup_free char *clean = line ? format_clean(line, false) : NULL;
	json_put_text(j, NULL, clean);
}

// Those of a table, which have no heading of their own.
static void put_words(struct json *j, const struct section *s)
{
	if (!s->notes)
		return;
	json_open(j, "words", '[');
	for (const struct section_note *note = s->notes; note; note = note->next)
		put_line(j, "%s", note->words);
	json_close(j);
}

void html_put_table(struct json *j, const char *key, const struct section *s)
{
	json_open(j, key, '{');
	json_put_text(j, "title", s->title);
	json_put_text(j, "note", s->subtitle);
	html_put_columns(j, s);
	html_put_rows(j, "rows", s);
	json_put_count(j, "left_out", s->left_out);
	put_words(j, s);
	json_close(j);
}

void html_put_notes(struct json *j, const struct section *s)
{
	json_open(j, s->id, '[');
	put_line(j, "%s%s%s", s->title, s->subtitle ? "  " : "", s->subtitle ? s->subtitle : "");
	for (const struct section_note *note = s->notes; note; note = note->next)
		put_line(j, "  %s", note->words);
	json_close(j);
}
