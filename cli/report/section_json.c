// SPDX-License-Identifier: MIT
#include "cli/report/section_json.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/json.h"
#include "cli/report/section.h"

static void put_value(struct json *j, const struct section_column *c,
                      const struct section_cell *cell)
{
	uint64_t part = cell->share.part, all = cell->share.all;

	switch (c->type) {
	case CELL_TEXT:
		json_put_text(j, c->id, cell->text);
		break;
	case CELL_INTEGER:
		json_put_integer(j, c->id, cell->integer);
		break;
	case CELL_NUMBER:
	case CELL_FRACTION:
	case CELL_MARGIN:
		json_put_number(j, c->id, cell->number);
		break;
	case CELL_SHARE:
		if (all)
			json_put_number(j, c->id, (double)part / (double)all);
		else
			json_put_null(j, c->id);
		break;
	case CELL_BOOL:
		json_put_bool(j, c->id, cell->yes);
		break;
	case CELL_PLACE: // a program takes its parts
		json_put_text(j, c->id, cell->place.file);
		break;
	case CELL_ROWS:
		json_open(j, c->id, '[');
		section_json_rows(j, cell->section);
		json_close(j);
		break;
	case CELL_ROW:
		section_json_row(j, c->id, cell->section, 0);
		break;
	case CELL_SERIES:
		json_open(j, c->id, '[');
		for (size_t i = 0; i < cell->series.count; i++)
			json_put_count(j, NULL, cell->series.values[i]);
		json_close(j);
		break;
	default:
		json_put_count(j, c->id, cell->count);
		break;
	}
}

void section_json_members(struct json *j, const struct section *s, size_t index)
{
	const struct section_row *row = &s->rows[index];

	for (size_t i = 0; i < s->column_count; i++) {
		const struct section_column *c = &s->columns[i];
		if (section_cell_is_nothing(s, c, &row->cells[i]))
			json_put_null(j, c->id);
		else
			put_value(j, c, &row->cells[i]);
	}
	if (row->below)
		section_json(j, row->below);
}

void section_json_row(struct json *j, const char *key, const struct section *s, size_t index)
{
	json_open(j, key, '{');
	section_json_members(j, s, index);
	json_close(j);
}

void section_json_rows(struct json *j, const struct section *s)
{
	for (size_t i = 0; i < s->row_count; i++)
		section_json_row(j, NULL, s, i);
}

void section_json(struct json *j, const struct section *s)
{
	json_open(j, s->id, '[');
	section_json_rows(j, s);
	json_close(j);
}

void section_json_notes(struct json *j, const struct section *s)
{
	json_open(j, s->id, '[');
	for (const struct section_note *note = s->notes; note; note = note->next) {
		cleanup_free char *clean = format_clean(note->words, false);
		json_put_text(j, NULL, clean);
	}
	json_close(j);
}
