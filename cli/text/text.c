// SPDX-License-Identifier: MIT
#include "cli/text/text.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/report/outline.h"
#include "cli/report/verdict.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void text_heading(const struct text *text, const char *name, const char *note)
{
	const struct terminal *t = &text->terminal;

	fprintf(text->out, "\n%s", terminal_style(t, STYLE_BOLD));
	terminal_print(t, text->out, "%s", name);
	fputs(terminal_style(t, STYLE_PLAIN), text->out);
	if (note && *note) {
		// A note that does not fit beside the name stands below it.
		bool fits = format_width(name) + 2 + format_width(note) <= (size_t)t->width;
		fprintf(text->out, "%s  %s", fits ? "" : "\n", terminal_style(t, STYLE_DIM));
		if (fits)
			terminal_print(t, text->out, "%s", note);
		else
			terminal_wrap(t, text->out, note, 2, 4);
		fputs(terminal_style(t, STYLE_PLAIN), text->out);
		if (!fits)
			return;
	}
	fputc('\n', text->out);
}

void text_say(const struct text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	terminal_say(&text->terminal, text->out, format, args);
	va_end(args);
}

static int print_section(void *context, const struct section *s, struct error *err)
{
	return text_section(context, s, err);
}

static int print_verdict(void *context, const struct verdict *v, struct error *err)
{
	const struct text *text = context;
	const struct terminal *t = &text->terminal;

	(void)err;
	if (text->view->brief)
		fputc('\n', text->out); // sections are above it
	fprintf(text->out, "%s  ", terminal_style(t, STYLE_BOLD));
	terminal_wrap(t, text->out, v->sentence, 2, 2);
	fprintf(text->out, "%s  ", terminal_style(t, STYLE_PLAIN));
	terminal_wrap(t, text->out, v->next, 2, 2);
	return 0;
}

// As many as are printed.
static int count_lines(void *context, const struct section *s, const struct verdict *v,
                       struct error *err)
{
	struct text text = *(const struct text *)context;
	cleanup_free char *words = NULL;
	size_t size;
	int lines = 0;

	text.out = open_memstream(&words, &size);
	if (!text.out)
		return error_set(err, errno, "could not print the report");
	int failed = s ? print_section(&text, s, err) : print_verdict(&text, v, err);
	if (fclose(text.out) != 0 && !failed)
		return error_set(err, errno, "could not print the report");
	for (const char *c = words; !failed && (c = strchr(c, '\n')); c++)
		lines++;
	return failed ? -1 : lines;
}

static int print_called(void *context, const struct called_list *list, struct error *err)
{
	return text_called(context, list, err);
}

int text_print(const struct text *text, struct error *err)
{
	const struct outline_format format = {
		.context = (void *)text,
		.ascii = text->terminal.ascii,
		.section = print_section,
		.verdict = print_verdict,
		.lines = count_lines,
		.called = print_called,
	};

	return outline_print(&format, text->profile, text->view, text->limits, err);
}
