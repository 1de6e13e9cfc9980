// SPDX-License-Identifier: MIT
#include "cli/report/section.h"

#include "base/error.h"
#include "cli/report/view.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES 65536

struct report_block {
	struct report_block *next;
	_Alignas(16) char bytes[];
};

struct report_answer {
	struct report_answer *next;
	void *answer;
	void (*free)(void *answer);
};

struct report report_of(const struct profile *profile, const struct view *view, enum reader reader)
{
	return (struct report){ .profile = profile, .view = view, .reader = reader };
}

void report_free(struct report *r)
{
	// They stand in the blocks.
	for (struct report_answer *a = r->answers; a; a = a->next)
		a->free(a->answer);
	while (r->blocks) {
		struct report_block *next = r->blocks->next;
		free(r->blocks);
		r->blocks = next;
	}
	*r = (struct report){ 0 };
}

void *report_take(struct report *r, size_t size)
{
	size = (size + 15) / 16 * 16;
	if (r->room - r->used < size) {
		size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
		struct report_block *block = calloc(1, sizeof(*block) + room);
		if (!block) {
			r->failed = true;
			return NULL;
		}
		block->next = r->blocks;
		r->blocks = block;
		r->used = 0;
		r->room = room;
	}
	void *taken = r->blocks->bytes + r->used;
	r->used += size;
	return taken;
}

static const char *say(struct report *r, const char *format, va_list args)
{
	va_list again;

	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	char *words = length < 0 ? NULL : report_take(r, (size_t)length + 1);
	if (!words)
		return "";
	vsnprintf(words, (size_t)length + 1, format, args);
	return words;
}

const char *report_say(struct report *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const char *words = say(r, format, args);
	va_end(args);
	return words;
}

void *report_keep(struct report *r, void *answer, void (*free)(void *answer), struct error *err)
{
	if (!answer)
		return NULL;
	struct report_answer *kept = report_take(r, sizeof(*kept));
	if (!kept) {
		free(answer);
		error_set(err, ENOMEM, "could not make the report");
		return NULL;
	}
	*kept = (struct report_answer){ r->answers, answer, free };
	r->answers = kept;
	return answer;
}

struct section *section_new(struct report *r, const char *id, const char *title)
{
	struct section *s = report_take(r, sizeof(*s));

	if (!s)
		s = &r->spare;
	*s = (struct section){ .report = r, .id = id, .title = title };
	s->last_note = &s->notes;
	return s;
}

// A column behind those of its place and of places before it.
static void insert(struct section *s, const struct section_column *column)
{
	enum reader reader = s->report->reader;
	size_t at = s->column_count++;

	while (at && s->columns[at - 1].at[reader] > column->at[reader]) {
		s->columns[at] = s->columns[at - 1];
		at--;
	}
	s->columns[at] = *column;
}

void section_columns(struct section *s, const struct section_column *columns, size_t count)
{
	enum reader reader = s->report->reader;
	struct section_column *all =
		report_take(s->report, (s->column_count + count) * sizeof(*all));

	if (!all)
		return;
	if (s->column_count)
		memcpy(all, s->columns, s->column_count * sizeof(*all));
	s->columns = all;
	for (size_t i = 0; i < count; i++)
		if (columns[i].at[reader])
			insert(s, &columns[i]);
}

struct section_column *section_column(const struct section *s, const char *id)
{
	for (size_t i = 0; i < s->column_count; i++)
		if (s->columns[i].id && strcmp(s->columns[i].id, id) == 0)
			return &s->columns[i];
	return NULL;
}

void section_without(struct section *s, const char *id)
{
	struct section_column *column = section_column(s, id);

	if (!column)
		return;
	size_t behind = (size_t)(s->columns + s->column_count - (column + 1));
	memmove(column, column + 1, behind * sizeof(*column));
	s->column_count--;
}

static int64_t integer_of(const struct section_column *c, const void *field)
{
	uint64_t large;
	uint32_t small;
	int number;

	switch (c->field) {
	case FIELD_U32:
		memcpy(&small, field, sizeof(small));
		return small;
	case FIELD_INT:
		memcpy(&number, field, sizeof(number));
		return number;
	case FIELD_BOOL:
		return *(const bool *)field;
	default:
		memcpy(&large, field, sizeof(large));
		return (int64_t)large;
	}
}

// Of what has no parts, as ns and bytes.
static void take_rounded(double number, struct section_cell *cell)
{
	cell->integer = isfinite(number) ? llround(number) : 0;
	cell->flags = isfinite(number) ? 0 : CELL_UNKNOWN;
}

static void take_field(const struct section *s, const struct section_column *c, const void *row,
                       struct section_cell *cell)
{
	const void *field = (const char *)row + c->offset;

	if (c->type == CELL_TEXT)
		cell->text = c->field == FIELD_CHARS ? field : *(const char *const *)field;
	else if (c->type == CELL_BOOL)
		cell->yes = integer_of(c, field) != 0;
	else if (c->field == FIELD_DOUBLE && c->type == CELL_INTEGER)
		take_rounded(*(const double *)field, cell);
	else if (c->field == FIELD_DOUBLE)
		cell->number = *(const double *)field;
	else
		cell->integer = integer_of(c, field);
	if (c->type == CELL_SHARE)
		cell->share.all = s->all;
	if (c->type == CELL_SHARE && !s->all && cell->share.part)
		cell->flags |= CELL_UNKNOWN; // something, of nothing
}

struct section_row *section_row(struct section *s, const void *row)
{
	struct report *r = s->report;

	if (s->row_count == s->row_capacity) {
		size_t capacity = s->row_capacity ? 2 * s->row_capacity : 16;
		struct section_row *rows = report_take(r, capacity * sizeof(*rows));
		if (!rows)
			return NULL;
		if (s->row_count)
			memcpy(rows, s->rows, s->row_count * sizeof(*rows));
		s->rows = rows;
		s->row_capacity = capacity;
	}
	struct section_row *out = &s->rows[s->row_count];
	out->cells = report_take(r, s->column_count * sizeof(*out->cells));
	if (!out->cells)
		return NULL;
	for (size_t i = 0; i < s->column_count; i++) {
		const struct section_column *c = &s->columns[i];
		if (c->make)
			c->make(s, row, &out->cells[i]);
		else
			take_field(s, c, row, &out->cells[i]);
	}
	s->row_count++;
	return out;
}

void section_rows(struct section *s, const void *rows, size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++)
		section_row(s, (const char *)rows + i * size);
}

void section_page_rows(struct section *s, const void *rows, size_t count, size_t size)
{
	size_t shown = count < SECTION_PAGE_ROWS ? count : SECTION_PAGE_ROWS;

	section_rows(s, rows, shown, size);
	s->left_out = count - shown;
}

void section_all_rows(struct section *s, const void *rows, size_t count, size_t size)
{
	const struct report *r = s->report;

	if (r->reader == READER_PAGE)
		section_page_rows(s, rows, count, size);
	else if (r->reader == READER_TEXT && r->view->top < count)
		section_rows(s, rows, r->view->top, size);
	else
		section_rows(s, rows, count, size);
}

void section_note(struct section *s, enum note_form form, bool above, const char *format, ...)
{
	struct section_note *note = report_take(s->report, sizeof(*note));
	va_list args;

	if (!note)
		return;
	va_start(args, format);
	*note = (struct section_note){ .form = form,
		                       .above = above,
		                       .words = say(s->report, format, args) };
	va_end(args);
	*s->last_note = note;
	s->last_note = &note->next;
}

struct section *section_end(struct section *s, struct error *err)
{
	s->context = NULL;
	if (!s->report->failed)
		return s;
	error_set(err, ENOMEM, "could not make the report");
	return NULL;
}

bool section_cell_is_nothing(const struct section *s, const struct section_column *c,
                             const struct section_cell *cell)
{
	bool none = c->none[s->report->reader];

	if (cell->flags & CELL_UNKNOWN)
		return true;
	switch (c->type) {
	case CELL_TEXT:
		none |= s->report->reader == READER_SHEET;
		return !cell->text || (none && !*cell->text);
	case CELL_PLACE:
		return !cell->place.file && !cell->place.module;
	case CELL_ROWS:
		return !cell->section;
	case CELL_ROW:
		return !cell->section || !cell->section->row_count;
	case CELL_SERIES:
		return false;
	case CELL_BOOL:
		return none && !cell->yes;
	case CELL_NUMBER:
	case CELL_FRACTION:
	case CELL_MARGIN:
		return none && !(cell->number > 0);
	case CELL_SHARE:
		return none && !cell->share.part;
	default:
		return none && !cell->count;
	}
}

size_t section_keep_notes(struct section *s, size_t first, size_t last)
{
	struct section_note **note = &s->notes;
	size_t count = 0;

	for (const struct section_note *n = s->notes; n; n = n->next)
		count++;
	if (count <= first + last)
		return 0;
	for (size_t i = 0; i < first && *note; i++)
		note = &(*note)->next;
	for (size_t i = first; i < count - last && *note; i++)
		*note = (*note)->next;
	while (*note)
		note = &(*note)->next;
	s->last_note = note;
	return count - first - last;
}

void section_no_gpu(struct section *s)
{
	s->title = NULL;
	section_note(s, NOTE_SAY, false,
	             "no GPU: the program ran nothing there, or it could not be seen: "
	             "bottleneck-gpu(7)");
}
