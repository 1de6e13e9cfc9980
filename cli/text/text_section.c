// SPDX-License-Identifier: MIT
// Sections of the report as tables on a terminal, with their sentences.
#include "cli/text/text.h"

#include "base/error.h"
#include "cli/report/cell_words.h"
#include "cli/report/section.h"
#include "cli/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDENT      2
#define GAP         2 /* blanks between columns */
#define COLUMNS_MAX 32
#define LIST_INDENT 5    /* of paragraphs, where the terminal is too narrow for columns */
#define PROSE_WIDTH 40   /* that a paragraph has beside columns at least */
#define WORDS_BYTES 2048 /* of a number, a place, parts, or a name in a tree */

struct layout {
	const struct text *text;
	const struct section *s;
	bool shown[COLUMNS_MAX];
	bool ties[COLUMNS_MAX]; // a mark of a tied cell was printed there
};

// As many of its parts as have room in the line, but one at least.
static void put_parts(const struct layout *layout, const struct section_column *c, const char *text,
                      char *buffer, size_t size)
{
	int width = layout->text->terminal.width;
	size_t used = 0, room = width > c->parts ? (size_t)(width - c->parts) : 0;

	buffer[0] = '\0';
	while (*text) {
		int length = (int)strcspn(text, "\n");
		cleanup_free char *part = strndup(text, (size_t)length);
		if (!part || (used && used + 2 + format_width(part) > room))
			break;
		int put = snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", part);
		used += (size_t)put < size - used ? (size_t)put : size - used - 1;
		text += length + (text[length] == '\n');
	}
}

// Names need room, too.
static void put_stem(const struct layout *layout, const char *text, char *buffer, size_t size)
{
	size_t most = (size_t)layout->text->terminal.width / 4, length = strcspn(text, "\n");
	cleanup_free char *stem = strndup(text, length);
	const char *shown = stem ? stem : "";

	for (size_t width = format_width(shown); width > most; width--)
		for (shown++; (*shown & 0xc0) == 0x80;)
			shown++;
	snprintf(buffer, size, "%s%s", shown, text + length + (text[length] == '\n'));
}

// "" for what is not known, or tells nothing; in BUFFER, but for texts, which may be of any length.
static const char *cell_words(const struct layout *layout, const struct section_column *c,
                              const struct section_cell *cell, char *buffer, size_t size)
{
	if (cell->flags & CELL_IDLE || section_cell_is_nothing(layout->s, c, cell))
		return c->nothing ? c->nothing : "";
	if (c->parts)
		put_parts(layout, c, cell->text, buffer, size);
	else if (c->stem)
		put_stem(layout, cell->text, buffer, size);
	else if (c->type == CELL_TEXT)
		return cell->text;
	else
		cell_value_words(layout->s, c, cell,
		                 &(struct cell_style){ layout->text->terminal.plus_minus }, buffer,
		                 size);
	return buffer;
}

char *text_signs(const struct terminal *t, const char *words)
{
	const char *const signs[][2] = { { "\u00b7", t->dot }, { "\u00b1", t->plus_minus },
		                         { "\u00d7", "x" },    { "\u2581", "_" },
		                         { "\u2582", "." },    { "\u2583", ":" },
		                         { "\u2584", "-" },    { "\u2585", "=" },
		                         { "\u2586", "+" },    { "\u2587", "*" },
		                         { "\u2588", "#" } };
	const size_t count = sizeof(signs) / sizeof(signs[0]);
	char *out = malloc(2 * strlen(words) + 1), *end = out;

	while (out && *words) {
		size_t i = 0, length = 1;
		while (i < count &&
		       (!t->ascii || strncmp(words, signs[i][0], strlen(signs[i][0])) != 0))
			i++;
		if (i < count) {
			end = stpcpy(end, signs[i][1]);
			length = strlen(signs[i][0]);
		} else {
			*end++ = *words;
		}
		words += length;
	}
	if (out)
		*end = '\0';
	return out;
}

static void put_heading(const struct layout *layout, size_t column, char *buffer, size_t size)
{
	const struct section_column *c = &layout->s->columns[column];
	const char *heading =
		c->alone && column && !layout->shown[column - 1] ? c->alone : c->heading;
	cleanup_free char *words = text_signs(&layout->text->terminal, heading);

	snprintf(buffer, size, "%s", words ? words : "");
}

// How wide the cells of a column are; 0 if nothing stands in them.
static size_t cells_width(const struct layout *layout, size_t column)
{
	const struct section_column *c = &layout->s->columns[column];
	size_t widest = 0;

	for (size_t i = 0; i < layout->s->row_count; i++) {
		char buffer[WORDS_BYTES];
		const char *text = cell_words(layout, c, &layout->s->rows[i].cells[column], buffer,
		                              sizeof(buffer));
		size_t width = format_width(text);
		widest = width > widest ? width : widest;
	}
	return widest;
}

// The same with the heading.
static size_t column_width(const struct layout *layout, size_t column)
{
	size_t cells = cells_width(layout, column);
	size_t heading = format_width(layout->s->columns[column].heading);

	return cells && heading > cells ? heading : cells;
}

// The columns of the line that names need.
static size_t reserved(const struct layout *layout)
{
	size_t used = INDENT + GAP;

	for (size_t i = 0; i < layout->s->column_count; i++) {
		const struct section_column *c = &layout->s->columns[i];
		size_t width = !c->reserve || !layout->shown[i] ? 0
		               : c->if_any                      ? column_width(layout, i)
		                                                : cells_width(layout, i);
		used += width < c->reserve ? width : c->reserve;
	}
	return used;
}

// A share says nothing without the amount before it.
static bool lacks_amount(const struct layout *layout, size_t column)
{
	const char *heading = layout->s->columns[column].heading;

	return column && heading && strcmp(heading, "%") == 0 && !layout->shown[column - 1];
}

static void choose_columns(struct layout *layout)
{
	const struct section *s = layout->s;
	int width = layout->text->terminal.width, last = 0;

	for (size_t i = 0; i < s->column_count && i < COLUMNS_MAX; i++) {
		const struct section_column *c = &s->columns[i];
		layout->shown[i] = width >= c->width_min && !c->priority &&
		                   (!c->if_any || cells_width(layout, i));
		last = c->priority > last ? c->priority : last;
	}
	if (!last)
		return;
	size_t used = reserved(layout);
	for (size_t i = 0; i < s->column_count && i < COLUMNS_MAX; i++)
		if (layout->shown[i] && !s->columns[i].reserve)
			used += GAP + column_width(layout, i);
	for (int priority = 1; priority <= last; priority++) {
		for (size_t i = 0; i < s->column_count && i < COLUMNS_MAX; i++) {
			size_t needed =
				s->columns[i].priority == priority ? column_width(layout, i) : 0;
			if (!needed || used + GAP + needed > (size_t)width ||
			    lacks_amount(layout, i))
				continue;
			layout->shown[i] = true;
			used += GAP + needed;
		}
	}
}

enum style text_style(enum tone tone)
{
	static const enum style styles[] = {
		[TONE_PLAIN] = STYLE_PLAIN, [TONE_DIM] = STYLE_DIM, [TONE_WAIT] = STYLE_WAIT,
		[TONE_WARM] = STYLE_WARM,   [TONE_HOT] = STYLE_HOT,
	};

	return styles[tone];
}

static void add_row(struct table *table, struct layout *layout, const struct section_row *row)
{
	table_row(table, text_style(row->tone));
	for (size_t i = 0; i < layout->s->column_count; i++) {
		const struct section_column *c = &layout->s->columns[i];
		const struct section_cell *cell = &row->cells[i];
		char buffer[WORDS_BYTES];
		if (!layout->shown[i])
			continue;
		const char *text = cell_words(layout, c, cell, buffer, sizeof(buffer));
		layout->ties[i] |= *text && cell->flags & CELL_TIED;
		table_styled(table, text, text_style(cell->tone ? cell->tone : row->tone));
	}
}

static int print_table(struct layout *layout, struct error *err)
{
	const struct section *s = layout->s;
	struct column columns[COLUMNS_MAX];
	char headings[COLUMNS_MAX][32];
	size_t count = 0;

	for (size_t i = 0; i < s->column_count && i < COLUMNS_MAX; i++) {
		const struct section_column *c = &s->columns[i];
		if (!layout->shown[i])
			continue;
		put_heading(layout, i, headings[count], sizeof(headings[count]));
		columns[count] = (struct column){ .title = headings[count],
			                          .kind = cell_is_number(c) ? COLUMN_NUMBER
			                                  : c->room         ? COLUMN_TEXT
			                                                    : COLUMN_WORD,
			                          .clip = c->clip,
			                          .share = c->room };
		count++;
	}
	cleanup(table) struct table *table = table_new(columns, count, &layout->text->terminal);
	if (!table)
		return error_set(err, ENOMEM, "could not print the report");
	for (size_t i = 0; i < s->row_count; i++)
		add_row(table, layout, &s->rows[i]);
	if (table_print(table, layout->text->out, INDENT) < 0)
		return error_set(err, ENOMEM, "could not print the report");
	return 0;
}

// Of a list: the widths of what stands beside paragraphs, and where those begin.
struct list {
	const struct layout *layout;
	size_t widths[COLUMNS_MAX];
	int indent;
	bool narrow; // then paragraphs are below
};

static struct list fit_list(const struct layout *layout)
{
	const struct section *s = layout->s;
	struct list list = { .layout = layout, .indent = LIST_INDENT };

	for (size_t i = 0; i < s->column_count && i < COLUMNS_MAX; i++) {
		list.widths[i] = s->columns[i].prose ? 0 : cells_width(layout, i);
		list.indent += (int)(list.widths[i] ? list.widths[i] + GAP : 0);
	}
	list.narrow = layout->text->terminal.width - list.indent < PROSE_WIDTH;
	if (list.narrow)
		list.indent = LIST_INDENT;
	return list;
}

static void print_item_cell(const struct list *list, const char *words, size_t column,
                            const struct section_cell *cell)
{
	const struct text *text = list->layout->text;
	int missing = list->narrow ? 0 : (int)(list->widths[column] - format_width(words));
	enum style style = text_style(cell->tone);

	fputs(style != STYLE_PLAIN ? terminal_style(&text->terminal, style) : "", text->out);
	terminal_print(&text->terminal, text->out, "%s", words);
	fprintf(text->out, "%*s", missing, "");
	if (style != STYLE_PLAIN)
		fputs(terminal_style(&text->terminal, STYLE_PLAIN), text->out);
}

// Where the line has got to.
static int print_item_head(const struct list *list, const struct section_row *row)
{
	const struct section *s = list->layout->s;
	FILE *out = list->layout->text->out;
	const char *gap = "";

	for (size_t i = 0; i < s->column_count && i < COLUMNS_MAX; i++) {
		char buffer[WORDS_BYTES];
		const char *words = cell_words(list->layout, &s->columns[i], &row->cells[i], buffer,
		                               sizeof(buffer));
		if (!list->widths[i] || (list->narrow && !*words))
			continue;
		fputs(gap, out);
		print_item_cell(list, words, i, &row->cells[i]);
		gap = "  ";
	}
	fputs(list->narrow ? "\n" : gap, out);
	return list->narrow ? 0 : list->indent;
}

static void print_item(const struct list *list, const struct section_row *row)
{
	const struct section *s = list->layout->s;
	const struct text *text = list->layout->text;
	int at = print_item_head(list, row);

	for (size_t i = 0; i < s->column_count; i++) {
		const char *words = row->cells[i].text;
		if (!s->columns[i].prose || !words)
			continue;
		fprintf(text->out, "%*s", list->indent - at, "");
		terminal_wrap(&text->terminal, text->out, words, list->indent, list->indent);
		at = 0;
	}
}

static void print_list(const struct layout *layout)
{
	const struct list list = fit_list(layout);

	for (size_t i = 0; i < layout->s->row_count; i++) {
		fprintf(layout->text->out, "%3zu  ", i + 1);
		print_item(&list, &layout->s->rows[i]);
	}
}

// The subtitle, with what the columns that are there add to it.
static int print_heading(const struct layout *layout, struct error *err)
{
	const struct section *s = layout->s;
	cleanup_free char *note = NULL;
	size_t size;
	FILE *out = open_memstream(&note, &size);

	if (!out)
		return error_set(err, errno, "could not print the report");
	fputs(s->subtitle ? s->subtitle : "", out);
	for (size_t i = 0; i < s->column_count && i < COLUMNS_MAX; i++) {
		const char *legend = s->columns[i].legend;
		if (!layout->shown[i] || !legend)
			continue;
		cleanup_free char *words = text_signs(&layout->text->terminal, legend);
		fprintf(out, "; %s", words ? words : "");
	}
	if (fclose(out) != 0)
		return error_set(err, errno, "could not print the report");
	text_heading(layout->text, s->title, note);
	return 0;
}

static void print_notes(const struct text *text, const struct section *s, bool above)
{
	for (const struct section_note *note = s->notes; note; note = note->next) {
		if (note->above != above)
			continue;
		cleanup_free char *words = text_signs(&text->terminal, note->words);
		if (note->form == NOTE_SAY) {
			text_say(text, "%s", words ? words : "");
		} else if (note->form == NOTE_LINE) {
			fputs("  ", text->out);
			terminal_print(&text->terminal, text->out, "%s", words ? words : "");
			fputc('\n', text->out);
		} else {
			fputs("  ", text->out);
			terminal_wrap(&text->terminal, text->out, words ? words : "", INDENT,
			              INDENT);
		}
	}
}

static void print_ties(const struct layout *layout)
{
	for (size_t i = 0; i < layout->s->column_count && i < COLUMNS_MAX; i++)
		if (layout->ties[i] && layout->s->columns[i].tied)
			fprintf(layout->text->out, "  %s\n", layout->s->columns[i].tied);
}

static int print_section(const struct text *text, const struct section *s, struct error *err)
{
	struct layout layout = {
		.text = text,
		.s = s,
	};

	if (!s->shown)
		return 0;
	choose_columns(&layout);
	if (s->form == SECTION_HEADER)
		text_header(text, s);
	else if (s->form == SECTION_SIDES)
		text_sides(text, s);
	else if (!s->title)
		fputc('\n', text->out);
	else if (*s->title && print_heading(&layout, err) < 0)
		return -1;
	print_notes(text, s, true);
	if (s->form == SECTION_LIST)
		print_list(&layout);
	else if (s->form == SECTION_PARTS)
		text_parts(text, s);
	else if (s->form == SECTION_TABLE && s->row_count && print_table(&layout, err) < 0)
		return -1;
	print_ties(&layout);
	print_notes(text, s, false);
	return 0;
}

int text_section(const struct text *text, const struct section *s, struct error *err)
{
	for (; s; s = s->next)
		if (print_section(text, s, err) < 0)
			return -1;
	return 0;
}

struct report text_report(const struct text *text)
{
	struct report r = report_of(text->profile, text->view, READER_TEXT);

	r.ascii = text->terminal.ascii;
	return r;
}

int text_made(const struct text *text, section_maker *make, struct error *err)
{
	cleanup(report) struct report r = text_report(text);
	const struct section *s = make(&r, err);

	return s ? text_section(text, s, err) : -1;
}
