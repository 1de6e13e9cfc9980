// SPDX-License-Identifier: MIT
#include "cli/export/sheet.h"

#include "base/cleanup.h"
#include "cli/format.h"
#include "cli/json.h"
#include "cli/report/section.h"
#include "cli/report/section_json.h"

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
static void put_field(struct sheet *s, const char *text)
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

static void begin_field(struct sheet *s)
{
	if (s->any)
		fputc(',', s->out);
	s->any = true;
}

static void put_name(struct sheet *s, const char *column)
{
	begin_field(s);
	put_field(s, column);
}

// True if the value is to follow, in CSV.
static bool begin(struct sheet *s, const char *column)
{
	if (s->names)
		put_name(s, column);
	else
		begin_field(s);
	return !s->names;
}

void sheet_text(struct sheet *s, const char *column, const char *text)
{
	if (text && !*text)
		text = NULL;
	if (s->json) {
		json_put_text(s->json, column, text);
		return;
	}
	if (!begin(s, column) || !text)
		return;
	cleanup_free char *clean = format_clean(text, false);
	put_field(s, clean ? clean : "");
}

void sheet_count(struct sheet *s, const char *column, uint64_t number)
{
	if (s->json)
		json_put_count(s->json, column, number);
	else if (begin(s, column))
		fprintf(s->out, "%" PRIu64, number);
}

void sheet_known(struct sheet *s, const char *column, uint64_t number)
{
	if (number)
		sheet_count(s, column, number);
	else
		sheet_text(s, column, NULL);
}

void sheet_integer(struct sheet *s, const char *column, int64_t number)
{
	if (s->json)
		json_put_integer(s->json, column, number);
	else if (begin(s, column))
		fprintf(s->out, "%" PRId64, number);
}

void sheet_number(struct sheet *s, const char *column, double number)
{
	if (s->json)
		json_put_number(s->json, column, number);
	else if (begin(s, column) && isfinite(number))
		fprintf(s->out, "%.6g", number);
}

void sheet_share(struct sheet *s, const char *column, uint64_t part, uint64_t all)
{
	sheet_number(s, column, all ? (double)part / (double)all : NAN);
}

void sheet_bool(struct sheet *s, const char *column, bool value)
{
	if (s->json)
		json_put_bool(s->json, column, value);
	else if (begin(s, column))
		fputs(value ? "true" : "false", s->out);
}

static void end_line(struct sheet *s)
{
	fputs("\r\n", s->out);
	s->any = false;
}

void sheet_rows(struct sheet *s, sheet_put *put, const void *rows, size_t count, size_t size,
                const void *none)
{
	s->any = false;
	s->names = true;
	if (!s->json) {
		put(s, none);
		end_line(s);
	}
	s->names = false;
	for (size_t i = 0; i < count; i++) {
		if (s->json)
			json_open(s->json, NULL, '{');
		put(s, (const char *)rows + i * size);
		if (s->json)
			json_close(s->json);
		else
			end_line(s);
	}
}

static void put_known(struct sheet *s, const struct section_column *c,
                      const struct section_cell *cell)
{
	switch (c->type) {
	case CELL_TEXT:
		sheet_text(s, c->id, cell->text);
		break;
	case CELL_INTEGER:
		sheet_integer(s, c->id, cell->integer);
		break;
	case CELL_NUMBER:
	case CELL_FRACTION:
	case CELL_MARGIN:
		sheet_number(s, c->id, cell->number);
		break;
	case CELL_SHARE:
		sheet_share(s, c->id, cell->share.part, cell->share.all);
		break;
	case CELL_BOOL:
		sheet_bool(s, c->id, cell->yes);
		break;
	case CELL_PLACE: // a program takes its parts
		sheet_text(s, c->id, cell->place.file);
		break;
	case CELL_ROWS: // have no place in a field
	case CELL_ROW:
		sheet_text(s, c->id, NULL);
		break;
	default:
		sheet_count(s, c->id, cell->count);
		break;
	}
}

static void put_row(struct sheet *s, const struct section *section,
                    const struct section_cell *cells)
{
	for (size_t i = 0; i < section->column_count; i++) {
		const struct section_column *c = &section->columns[i];
		if (section_cell_is_nothing(section, c, &cells[i]))
			sheet_text(s, c->id, NULL);
		else
			put_known(s, c, &cells[i]);
	}
}

void sheet_section(struct sheet *s, const struct section *section)
{
	if (s->json) {
		section_json_rows(s->json, section);
		return;
	}
	s->any = false;
	for (size_t i = 0; i < section->column_count; i++)
		put_name(s, section->columns[i].id);
	end_line(s);
	for (size_t i = 0; i < section->row_count; i++) {
		put_row(s, section, section->rows[i].cells);
		end_line(s);
	}
}
