/* SPDX-License-Identifier: MIT */
/*
 * The report for people: the answer, the rows, the limits.
 *
 * It prints the sections that cli/report/ builds, and knows what each form of them looks like on a
 * terminal. All of them are of one profile, so a saved run reports like a fresh one.
 */
#pragma once

#include "cli/report/row_words.h"
#include "cli/report/sections.h"
#include "cli/report/view.h"
#include "cli/terminal.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct called_list;
struct error;
struct rule_limits;

struct text {
	FILE *out;
	const struct profile *profile;
	const struct view *view;
	struct terminal terminal;
	const struct rule_limits *limits; /* of findings; NULL: the rules' own */
};

/* A report that has nothing in it yet, for TEXT's terminal. */
struct report text_report(const struct text *text);

/* Prints a section that was made for READER_TEXT, and those behind it. -1 if there is no memory. */
int text_section(const struct text *text, const struct section *s, struct error *err);

/* The same of one that MAKE builds. */
int text_made(const struct text *text, section_maker *make, struct error *err);

/* What is special to those whose form is SECTION_HEADER, SECTION_SIDES, or SECTION_PARTS: title and
   rows of the first two, rows of the last. */
void text_header(const struct text *text, const struct section *s);
void text_sides(const struct text *text, const struct section *s);
void text_parts(const struct text *text, const struct section *s);

/* WORDS, which have \u00b7, \u00b1, \u00d7 and \u2581 to \u2588, in signs that the terminal has;
   the caller frees it. NULL if there is no memory. */
char *text_signs(const struct terminal *t, const char *words);

/* How a terminal shows what is worth that much attention. */
enum style text_style(enum tone tone);

/* Prints what the view asks for. -1 if a question could not be answered. */
int text_print(const struct text *text, struct error *err);

/* Functions by their calls, as cProfile prints them. */
int text_called(const struct text *text, const struct called_list *list, struct error *err);

/* A paragraph of a section: a note, or one of the limits, which come last. */
__attribute__((format(printf, 2, 3))) void text_say(const struct text *text, const char *format,
                                                    ...);

/* Prints the heading of a section: NAME in bold, NOTE behind it in pale. */
void text_heading(const struct text *text, const char *name, const char *note);
