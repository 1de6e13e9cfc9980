// SPDX-License-Identifier: MIT
#include "tests/unit/made_section.h"

#include "base/error.h"
#include "tests/support/expect.h"

#include <inttypes.h>
#include <stdio.h>

struct view made_view;
static struct report report;

void made_begin(void)
{
	made_view = view_default();
}

void made_end(void)
{
	report_free(&report);
}

struct section *made_section(const struct profile *p, enum reader reader, section_maker *maker)
{
	struct error err = { 0 };

	report_free(&report);
	report = report_of(p, &made_view, reader);
	struct section *s = maker(&report, &err);
	cr_assert(s != NULL, "%s", err.text);
	return s;
}

static void put_rows(FILE *out, const struct section *s, const char *end);

static void put_value(FILE *out, const struct section_column *c, const struct section_cell *cell)
{
	switch (c->type) {
	case CELL_TEXT:
		fputs(cell->text, out);
		break;
	case CELL_INTEGER:
		fprintf(out, "%" PRId64, cell->integer);
		break;
	case CELL_NUMBER:
	case CELL_FRACTION:
	case CELL_MARGIN:
		fprintf(out, "%g", cell->number);
		break;
	case CELL_BOOL:
		fputs(cell->yes ? "yes" : "no", out);
		break;
	case CELL_SHARE:
		fprintf(out, "%" PRIu64 "/%" PRIu64, cell->share.part, cell->share.all);
		break;
	case CELL_PLACE:
		fprintf(out, "%s:%d", cell->place.file, cell->place.line);
		break;
	case CELL_ROWS:
	case CELL_ROW:
		fputc('[', out);
		put_rows(out, cell->section, "; ");
		fputc(']', out);
		break;
	default:
		fprintf(out, "%" PRIu64, cell->count);
		break;
	}
}

static void put_row(FILE *out, const struct section *s, const struct section_row *row)
{
	for (size_t i = 0; i < s->column_count; i++) {
		const struct section_cell *cell = &row->cells[i];
		bool idle = cell->flags & CELL_IDLE;
		fputs(i ? " | " : "", out);
		if (section_cell_is_nothing(s, &s->columns[i], cell)) {
			fputc('?', out);
			continue;
		}
		fputs(idle ? "(" : "", out);
		put_value(out, &s->columns[i], cell);
		fputs(idle ? ")" : "", out);
	}
}

static void put_rows(FILE *out, const struct section *s, const char *end)
{
	for (size_t i = 0; i < s->row_count; i++) {
		put_row(out, s, &s->rows[i]);
		fputs(end, out);
	}
}

static void put_notes(FILE *out, const struct section *s, bool above)
{
	for (const struct section_note *note = s->notes; note; note = note->next)
		if (note->above == above)
			fprintf(out, "> %s\n", note->words);
}

const char *made_text(const struct section *s)
{
	static char buffer[16384];
	FILE *out = fmemopen(buffer, sizeof(buffer), "w");

	for (; s; s = s->next) {
		if (s->report->reader == READER_TEXT && !s->shown)
			continue;
		if (s->title && *s->title)
			fprintf(out, "%s%s%s\n", s->title, s->subtitle ? ": " : "",
			        s->subtitle ? s->subtitle : "");
		put_notes(out, s, true);
		put_rows(out, s, "\n");
		put_notes(out, s, false);
	}
	fputc('\0', out);
	fclose(out);
	return buffer;
}
