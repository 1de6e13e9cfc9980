// SPDX-License-Identifier: MIT
// Parts of a whole in one line, in tenths that sum to 100.0 %.
#include "cli/text/text.h"

#include "base/format.h"
#include "cli/report/section.h"

#include <stdio.h>
#include <string.h>

#define PARTS_MAX 32

// The columns of such a section.
enum {
	GROUP,
	NAME,
	AMOUNT
};

// Words of one line of numbers, which goes on below where the terminal ends.
struct line {
	const struct text *text;
	size_t column;
};

static void print_word(struct line *line, const char *word, const char *number, enum style style)
{
	const struct terminal *t = &line->text->terminal;
	size_t width = format_width(word) + (*number ? 1 + strlen(number) : 0);
	const char *gap = "  ";

	if (line->column + strlen(gap) + width > (size_t)t->width) {
		gap = "\n    ";
		line->column = 0;
	}
	line->column += strlen(gap) + width;
	fprintf(line->text->out, "%s%s", gap, word);
	if (*number)
		fprintf(line->text->out, " %s%s%s", terminal_style(t, style), number,
		        terminal_style(t, STYLE_PLAIN));
}

static void print_group(struct line *line, const char *group, bool first)
{
	char words[64];

	if (!first)
		print_word(line, line->text->terminal.bar, "", STYLE_PLAIN);
	snprintf(words, sizeof(words), "%s:", group);
	print_word(line, words, "", STYLE_PLAIN);
}

void text_parts(const struct text *text, const struct section *s)
{
	size_t count = s->row_count < PARTS_MAX ? s->row_count : PARTS_MAX;
	struct line line = { text, 0 };
	uint64_t parts[PARTS_MAX] = { 0 };
	unsigned tenths[PARTS_MAX];
	const char *group = NULL;

	for (size_t i = 0; i < count; i++)
		parts[i] = s->rows[i].cells[AMOUNT].count;
	format_tenths(parts, count, tenths);
	for (size_t i = 0; i < count; i++) {
		const struct section_cell *cells = s->rows[i].cells;
		bool first = strcmp(cells[GROUP].text, s->rows[0].cells[GROUP].text) == 0;
		char number[16];
		if (!first && !tenths[i])
			continue;
		if (!group || strcmp(cells[GROUP].text, group) != 0)
			print_group(&line, cells[GROUP].text, first);
		group = cells[GROUP].text;
		snprintf(number, sizeof(number), "%u.%u", tenths[i] / 10, tenths[i] % 10);
		print_word(&line, cells[NAME].text, number, text_style(s->rows[i].tone));
	}
	if (line.column + strlen("  = 100 %") <= (size_t)text->terminal.width)
		print_word(&line, "= 100 %", "", STYLE_PLAIN); // no line of its own
	fputc('\n', text->out);
}
