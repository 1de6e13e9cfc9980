/* SPDX-License-Identifier: MIT */
/* A section that a builder makes of a hand-made profile, and what is in it: before any format. */
#pragma once

#include "cli/report/sections.h"
#include "cli/report/view.h"

/* What a report is asked for. made_begin() sets it to what nobody has changed. */
extern struct view made_view;

/* Of a suite: before and after each test. */
void made_begin(void);
void made_end(void);

/* What MAKER makes of P for READER; there until the next call, or the end of the test. */
struct section *made_section(const struct profile *p, enum reader reader, section_maker *maker);

/*
 * Its title and subtitle, a line for each row, with the values of its columns between bars, and one
 * for each note behind a '>'; then those of the sections behind it. Values are as they are kept:
 * ns, bytes, parts of a whole as "1/2". What is not known is "?", what tells people nothing in
 * parentheses, a section within in brackets. In a static buffer that the next call overwrites.
 */
const char *made_text(const struct section *s);
