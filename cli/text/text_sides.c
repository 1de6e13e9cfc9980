// SPDX-License-Identifier: MIT
// What is measured: the first line of a report, and a line for each side.
#include "cli/text/text.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/report/section.h"

#include <stdio.h>

#define BESIDE 6 /* columns of a line that a command leaves */

// The columns of such a section.
enum {
	LETTER,
	COMMAND
};

void text_sides(const struct text *text, const struct section *s)
{
	const struct terminal *t = &text->terminal;
	size_t room = (size_t)t->width - BESIDE;

	fprintf(text->out, "%s%s%s %s %s\n", terminal_style(t, STYLE_BOLD), s->title,
	        terminal_style(t, STYLE_PLAIN), t->dot, s->subtitle);
	for (size_t i = 0; i < s->row_count; i++) {
		const struct section_cell *cells = s->rows[i].cells;
		cleanup_free char *clean = format_clean(cells[COMMAND].text, t->ascii);
		cleanup_free char *command =
			clean ? format_clip(clean, room, CLIP_MIDDLE, t->ascii) : NULL;
		fprintf(text->out, "  %s%s%s\n", cells[LETTER].text,
		        *cells[LETTER].text ? "  " : "", command ? command : "?");
	}
}
