/* SPDX-License-Identifier: MIT */
/*
 * What the stream that the report goes to can show: how wide, in colour, in
 * which characters.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TERMINAL_WIDTH_DEFAULT 100
#define TERMINAL_WIDTH_MIN     40
#define TERMINAL_WIDTH_MAX     1000

enum color_when {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER
};

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_HOT,
	STYLE_WARM,
	STYLE_WAIT,
	STYLE_COUNT
};

struct terminal {
	int width; /* columns that a line may take */
	bool color;
	bool ascii; /* no UTF-8 */
	bool is_tty;
	const char *dot, *bar, *dash, *plus_minus; /* in this terminal's characters */
};

/*
 * Looks at OUT and the environment. WIDTH 0: COLUMNS, else the terminal's own,
 * else 100. COLOR_AUTO: a terminal, unless NO_COLOR is set or TERM is dumb;
 * CLICOLOR_FORCE asks for it anywhere.
 */
struct terminal terminal_of(FILE *out, int width, enum color_when color);

/* Takes the character set of the environment; UTF-8 where it names none. Call once. */
void terminal_set_locale(void);

/* The escape sequence that begins STYLE, "" without colour. STYLE_PLAIN ends them all. */
const char *terminal_style(const struct terminal *t, enum style style);

/*
 * The three ways in which text that may hold foreign names (of programs, files, functions, hosts,
 * devices) gets to a terminal. None of them passes on what a terminal obeys: control characters,
 * C1, broken UTF-8, marks that hide text or change its direction.
 */

/* What FORMAT makes, within one line: line ends are replaced, too. FORMAT itself has none. */
__attribute__((format(printf, 3, 4))) void terminal_print(const struct terminal *t, FILE *out,
                                                          const char *format, ...);

/* A finished text of SIZE bytes: its lines and the sequences of terminal_style() stay. */
void terminal_put(const struct terminal *t, FILE *out, const char *text, size_t size);

/*
 * Prints WORDS, without what a terminal would obey, broken at blanks, from COLUMN on, where the
 * caller has got to; lines after the first are indented by INDENT.
 */
void terminal_wrap(const struct terminal *t, FILE *out, const char *words, int column, int indent);

/* A paragraph of a section, as vprintf() would print it: two columns in, four from line two on. */
__attribute__((format(printf, 3, 0))) void terminal_say(const struct terminal *t, FILE *out,
                                                        const char *format, va_list args);
