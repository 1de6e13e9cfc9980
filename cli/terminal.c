// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include "base/cleanup.h"
#include "base/format.h"

#include <ctype.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// The value of an environment variable, NULL if it is unset or empty.
static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

void terminal_set_locale(void)
{
	// Minimal containers set nothing at all, and their terminals show UTF-8.
	bool named = setting("LC_ALL") || setting("LC_CTYPE") || setting("LANG");

	if (!setlocale(LC_CTYPE, named ? "" : "C.UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8"); // the one it names is not installed
}

static int clamp_width(long width)
{
	if (width < TERMINAL_WIDTH_MIN)
		return TERMINAL_WIDTH_MIN;
	return width > TERMINAL_WIDTH_MAX ? TERMINAL_WIDTH_MAX : (int)width;
}

static int find_width(FILE *out, bool is_tty)
{
	const char *columns = setting("COLUMNS");
	char *end = NULL;
	long width = columns ? strtol(columns, &end, 10) : 0;
	struct winsize size;

	if (columns && !*end && width > 0)
		return clamp_width(width);
	if (is_tty && ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col)
		return clamp_width(size.ws_col);
	return TERMINAL_WIDTH_DEFAULT;
}

static bool wants_color(bool is_tty, enum color_when when)
{
	const char *term = setting("TERM");
	const char *force = setting("CLICOLOR_FORCE");

	if (when != COLOR_AUTO)
		return when == COLOR_ALWAYS;
	if (setting("NO_COLOR"))
		return false;
	if (force && strcmp(force, "0") != 0)
		return true;
	return is_tty && term && strcmp(term, "dumb") != 0;
}

struct terminal terminal_of(FILE *out, int width, enum color_when color)
{
	bool is_tty = fileno(out) >= 0 && isatty(fileno(out));
	bool ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;

	return (struct terminal){
		.width = width ? clamp_width(width) : find_width(out, is_tty),
		.color = wants_color(is_tty, color),
		.ascii = ascii,
		.is_tty = is_tty,
		.dot = ascii ? "-" : "\u00b7",
		.bar = ascii ? "|" : "\u2502",
		.dash = ascii ? "-" : "\u2013",
		.plus_minus = ascii ? "+-" : "\u00b1",
	};
}

static const char *const sequences[STYLE_COUNT] = {
	[STYLE_PLAIN] = "\033[0m",  [STYLE_BOLD] = "\033[1m",  [STYLE_DIM] = "\033[2m",
	[STYLE_HOT] = "\033[1;31m", [STYLE_WARM] = "\033[33m", [STYLE_WAIT] = "\033[36m",
};

const char *terminal_style(const struct terminal *t, enum style style)
{
	return t->color ? sequences[style] : "";
}

void terminal_print(const struct terminal *t, FILE *out, const char *format, ...)
{
	cleanup_free char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	// Without memory nothing is shown: what was not checked must not get through.
	cleanup_free char *clean = text ? format_clean(text, t->ascii) : NULL;
	fputs(clean ? clean : "", out);
}

// Bytes of the style that TEXT begins with; 0: it begins with none.
static size_t style_length(const struct terminal *t, const char *text)
{
	for (size_t i = 0; t->color && i < STYLE_COUNT; i++)
		if (strncmp(text, sequences[i], strlen(sequences[i])) == 0)
			return strlen(sequences[i]);
	return 0;
}

void terminal_put(const struct terminal *t, FILE *out, const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		size_t length = *text == '\n' ? 1 : style_length(t, text);
		if (length) {
			fwrite(text, 1, length, out);
			text += length;
			continue;
		}
		const char *from = text++;
		while (text < end && *text != '\n' && !style_length(t, text))
			text++;
		terminal_print(t, out, "%.*s", (int)(text - from), from);
	}
}

// A number and its unit stay together.
static size_t word_length(const char *words)
{
	static const char *const units[] = {
		"%", "s", "ms", "us", "ns", "B", "KB", "MB", "GB", "Hz"
	};
	size_t length = strcspn(words, " ");

	if (!length || !isdigit((unsigned char)words[length - 1]) || words[length] != ' ')
		return length;
	const char *next = words + length + 1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strncmp(next, units[i], strlen(units[i])) == 0 &&
		    !isalnum((unsigned char)next[strlen(units[i])]))
			return length + 1 + strcspn(next, " ");
	return length;
}

void terminal_wrap(const struct terminal *t, FILE *out, const char *words, int column, int indent)
{
	cleanup_free char *clean = format_clean(words, t->ascii);
	size_t at = (size_t)column;

	// Without memory they are not shown: they may hold names of the program's own.
	words = clean ? clean : "";
	while (*words) {
		size_t blanks = strspn(words, " "), length = word_length(words + blanks);
		char *word = strndup(words + blanks, length);
		size_t width = word ? format_width(word) : length;

		if (at > (size_t)indent && at + blanks + width > (size_t)t->width) {
			fprintf(out, "\n%*s", indent, "");
			at = (size_t)indent;
			blanks = 0;
		}
		fprintf(out, "%*s%.*s", (int)blanks, "", (int)length, word ? word : "");
		at += blanks + width;
		words += strspn(words, " ");
		words += length;
		free(word);
	}
	fputc('\n', out);
}

void terminal_say(const struct terminal *t, FILE *out, const char *format, va_list args)
{
	cleanup_free char *words = NULL;

	if (vasprintf(&words, format, args) < 0)
		words = NULL;
	fputs("  ", out);
	terminal_wrap(t, out, words ? words : "", 2, 4);
}
