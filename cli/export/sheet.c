// SPDX-License-Identifier: MIT
#include "cli/export/sheet.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/export/exporter.h"
#include "cli/json.h"
#include "cli/report/section.h"
#include "cli/report/section_json.h"
#include "cli/report/tables.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

// Spreadsheets compute what begins like this, which can send the table to somebody: OWASP, CSV
// Injection. The last four are the same in full width.
static bool is_formula(const char *text)
{
	static const char *const beginnings[] = { "=",  "+",      "-",      "@",      "\t",    "\r",
		                                  "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20" };

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

// Quoted where it has to be, and where a reader might take blanks away. A formula begins with an
// apostrophe, which makes it text.
static void put_field(const struct sheet *s, const char *text)
{
	size_t length = strlen(text);

	if (is_formula(text)) {
		fputs("\"'", s->out);
	} else if (!strpbrk(text, "\",\r\n") && *text != ' ' &&
	           (!length || text[length - 1] != ' ')) {
		fputs(text, s->out);
		return;
	} else {
		fputc('"', s->out);
	}
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', s->out);
		fputc(*text, s->out);
	}
	fputc('"', s->out);
}

static void put_text(const struct sheet *s, const char *text)
{
	cleanup_free char *clean = format_clean(text, false);

	put_field(s, clean ? clean : "");
}

static void put_number(const struct sheet *s, double number)
{
	if (isfinite(number))
		fprintf(s->out, "%.6g", number);
}

static void put_value(const struct sheet *s, const struct section_column *c,
                      const struct section_cell *cell)
{
	uint64_t part = cell->share.part, all = cell->share.all;

	switch (c->type) {
	case CELL_TEXT:
		put_text(s, cell->text);
		break;
	case CELL_INTEGER:
		fprintf(s->out, "%" PRId64, cell->integer);
		break;
	case CELL_NUMBER:
	case CELL_FRACTION:
	case CELL_MARGIN:
		put_number(s, cell->number);
		break;
	case CELL_SHARE:
		put_number(s, all ? (double)part / (double)all : NAN);
		break;
	case CELL_BOOL:
		fputs(cell->yes ? "true" : "false", s->out);
		break;
	case CELL_PLACE: // a program takes its parts
		put_text(s, cell->place.file ? cell->place.file : "");
		break;
	case CELL_ROWS: // have no place in a field
	case CELL_ROW:
	case CELL_SERIES:
		break;
	default:
		fprintf(s->out, "%" PRIu64, cell->count);
		break;
	}
}

static void put_row(const struct sheet *s, const struct section *section,
                    const struct section_cell *cells)
{
	for (size_t i = 0; i < section->column_count; i++) {
		const struct section_column *c = &section->columns[i];
		fputs(i ? "," : "", s->out);
		if (!section_cell_is_nothing(section, c, &cells[i]))
			put_value(s, c, &cells[i]);
	}
	fputs("\r\n", s->out);
}

void sheet_section(const struct sheet *s, const struct section *section)
{
	if (s->json) {
		section_json_rows(s->json, section);
		return;
	}
	for (size_t i = 0; i < section->column_count; i++) {
		fputs(i ? "," : "", s->out);
		put_field(s, section->columns[i].id);
	}
	fputs("\r\n", s->out);
	for (size_t i = 0; i < section->row_count; i++)
		put_row(s, section, section->rows[i].cells);
}

int sheet_table(const struct sheet *s, const struct report_table *table, const struct exporting *e,
                struct error *err)
{
	cleanup(report) struct report report = report_of(e->profile, e->view, READER_SHEET);
	report.limits = e->limits;
	report.cut = e->cut;
	const struct section *section = table->make(&report, err);
	if (!section)
		return -1;
	sheet_section(s, section);
	return 0;
}
