// SPDX-License-Identifier: MIT
#include "cli/table.h"

#include "base/array.h"

#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#define GAP            2 /* blanks between columns */
#define COLUMNS_MAX    24
#define TEXT_WIDTH_MIN 10 /* no narrower, rather a longer line */

struct cell {
	char *text; /* clean; NULL if empty */
	enum style style;
};

struct table {
	const struct column *columns;
	size_t column_count;
	const struct terminal *terminal;
	struct cell *cells; /* row after row */
	size_t cell_count, cell_capacity;
	size_t row_count;
	size_t next; /* column of the next cell */
	enum style row_style;
};

struct table *table_new(const struct column *columns, size_t count, const struct terminal *t)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->columns = columns;
	table->column_count = count;
	table->terminal = t;
	return table;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->cell_count; i++)
		free(table->cells[i].text);
	free(table->cells);
	free(table);
}

void table_row(struct table *table, enum style style)
{
	size_t wanted = table->cell_count + table->column_count;

	table->next = table->column_count;
	if (!array_reserve(&table->cells, &table->cell_capacity, wanted))
		return; // its cells have nowhere to go
	memset(table->cells + table->cell_count, 0, table->column_count * sizeof(*table->cells));
	table->cell_count = wanted;
	table->row_count++;
	table->row_style = style;
	table->next = 0;
}

void table_styled(struct table *table, const char *text, enum style style)
{
	if (table->next >= table->column_count)
		return;

	size_t row = (table->row_count - 1) * table->column_count;
	struct cell *cell = &table->cells[row + table->next++];
	cell->text = format_clean(text, table->terminal->ascii);
	cell->style = style;
}

void table_cell(struct table *table, const char *text)
{
	table_styled(table, text, table->row_style);
}

static const struct cell *cell_at(const struct table *table, size_t row, size_t column)
{
	return &table->cells[row * table->column_count + column];
}

static size_t natural_width(const struct table *table, size_t column)
{
	size_t widest = format_width(table->columns[column].title);

	for (size_t row = 0; row < table->row_count; row++) {
		const char *text = cell_at(table, row, column)->text;
		size_t width = text ? format_width(text) : 0;
		if (width > widest)
			widest = width;
	}
	return widest;
}

// Settles one text column that needs no more than its share of ROOM, so that the others get the
// rest. False if every open column needs more than its share.
static bool settle_one(const struct table *table, const size_t *widths, bool *settled, long *room,
                       long *shares)
{
	for (size_t i = 0; i < table->column_count; i++) {
		long share = table->columns[i].share;
		if (settled[i] || (long)widths[i] * *shares > *room * share)
			continue;
		settled[i] = true;
		*room -= (long)widths[i];
		*shares -= share;
		return true;
	}
	return false;
}

static void fit(const struct table *table, int indent, size_t *widths)
{
	bool settled[COLUMNS_MAX] = { false };
	long room = table->terminal->width - indent - GAP * (long)(table->column_count - 1);
	long shares = 0;

	for (size_t i = 0; i < table->column_count; i++) {
		widths[i] = natural_width(table, i);
		settled[i] = table->columns[i].kind != COLUMN_TEXT;
		if (settled[i])
			room -= (long)widths[i];
		else
			shares += table->columns[i].share;
	}
	while (settle_one(table, widths, settled, &room, &shares))
		;
	for (size_t i = 0; i < table->column_count; i++) {
		if (settled[i])
			continue;
		long width = room * table->columns[i].share / shares;
		widths[i] = width > TEXT_WIDTH_MIN ? (size_t)width : TEXT_WIDTH_MIN;
	}
}

static int add_row(const struct table *table, struct libscols_table *out, size_t row,
                   const size_t *widths)
{
	struct libscols_line *line = scols_table_new_line(out, NULL);

	if (!line)
		return -1;
	for (size_t i = 0; i < table->column_count; i++) {
		const struct cell *cell = cell_at(table, row, i);
		const char *color = terminal_style(table->terminal, cell->style);
		cleanup_free char *text =
			format_clip(cell->text ? cell->text : "", widths[i], table->columns[i].clip,
		                    table->terminal->ascii);
		if (!text || scols_line_set_data(line, i, text) != 0)
			return -1;
		if (cell->style != STYLE_PLAIN && *color)
			scols_cell_set_color(scols_line_get_cell(line, i), color);
	}
	return 0;
}

static int add_columns(const struct table *table, struct libscols_table *out)
{
	for (size_t i = 0; i < table->column_count; i++) {
		int right = table->columns[i].kind == COLUMN_NUMBER ? SCOLS_FL_RIGHT : 0;
		struct libscols_column *column =
			scols_table_new_column(out, table->columns[i].title, 0, right);
		const char *dim = terminal_style(table->terminal, STYLE_DIM);
		if (!column)
			return -1;
		if (*dim)
			scols_cell_set_color(scols_column_get_header(column), dim);
	}
	return 0;
}

static struct libscols_table *lay_out(const struct table *table, const size_t *widths)
{
	struct libscols_table *out = scols_new_table();

	if (!out)
		return NULL;
	// The widths are settled here: the library is to align and to colour.
	scols_table_set_termforce(out, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(out, (size_t)10 * TERMINAL_WIDTH_MAX);
	scols_table_enable_noencoding(out, 1);
	scols_table_enable_minout(out, 1);
	scols_table_enable_colors(out, table->terminal->color);
	scols_table_set_column_separator(out, "  ");
	int failed = add_columns(table, out);
	for (size_t row = 0; !failed && row < table->row_count; row++)
		failed = add_row(table, out, row, widths);
	if (!failed)
		return out;
	scols_unref_table(out);
	return NULL;
}

// A column at the right end may be padded: no line ends in blanks.
static void print_lines(const char *lines, FILE *out, int indent)
{
	while (*lines) {
		size_t length = strcspn(lines, "\n"), used = length;
		while (used && lines[used - 1] == ' ')
			used--;
		fprintf(out, "%*s%.*s\n", indent, "", (int)used, lines);
		lines += length + (lines[length] == '\n');
	}
}

int table_print(const struct table *table, FILE *out, int indent)
{
	size_t widths[COLUMNS_MAX];
	cleanup_free char *lines = NULL;

	fit(table, indent, widths);
	struct libscols_table *laid_out = lay_out(table, widths);
	if (!laid_out)
		return -1;
	int failed = scols_print_table_to_string(laid_out, &lines);
	scols_unref_table(laid_out);
	if (failed)
		return -1;
	print_lines(lines, out, indent);
	return 0;
}
