// SPDX-License-Identifier: MIT
// The first line of a report: what was run, and facts.
#include "cli/text/text.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/report/section.h"

#include <stdio.h>
#include <string.h>

#define COMMAND_WIDTH_MIN 20

// The columns of such a section.
enum {
	COMMAND,
	FACTS
};

void text_header(const struct text *text, const struct section *s)
{
	const struct section_cell *cells = s->rows[0].cells;
	const struct terminal *t = &text->terminal;
	cleanup_free char *facts = text_signs(t, cells[FACTS].text);

	// Where both do not fit into a line, the facts get one of their own, as prose always does.
	size_t head = strlen(s->title) + 2, taken = format_width(facts ? facts : "") + 3;
	bool one_line =
		!s->columns[FACTS].prose && (size_t)t->width >= head + taken + COMMAND_WIDTH_MIN;
	size_t room = (size_t)t->width - head - (one_line ? taken : 0);
	cleanup_free char *clean = format_clean(cells[COMMAND].text, t->ascii);
	if (clean && text->view && text->view->verbose && format_width(clean) > room) {
		fprintf(text->out, "%s%s: ", terminal_style(t, STYLE_BOLD), s->title);
		terminal_wrap(t, text->out, clean, (int)head, 2);
		fprintf(text->out, "%s  ", terminal_style(t, STYLE_PLAIN));
		terminal_print(t, text->out, "%s", facts ? facts : "");
		fputc('\n', text->out);
		return;
	}
	cleanup_free char *command = clean ? format_clip(clean, room, CLIP_MIDDLE, t->ascii) : NULL;
	fprintf(text->out, "%s%s: %s%s", terminal_style(t, STYLE_BOLD), s->title,
	        command ? command : "?", terminal_style(t, STYLE_PLAIN));
	if (one_line)
		fprintf(text->out, " %s ", t->dot);
	else
		fputs("\n  ", text->out);
	terminal_print(t, text->out, "%s", facts ? facts : "");
	fputc('\n', text->out);
}
