/* SPDX-License-Identifier: MIT */
/*
 * What stands in a cell, in words for people: numbers with as many figures as tell something, times
 * in the unit of their table. How wide it may be, and what marks it, is the format's own.
 */
#pragma once

#include "cli/report/section.h"

#include <stddef.h>

/* How a format writes what sections leave to it. */
struct cell_style {
	const char *plus_minus; /* "±" */
};

/* Of C's cell in S into BUFFER; "" for texts, which are their own words and may be of any length,
   and for what has no words. */
void cell_value_words(const struct section *s, const struct section_column *c,
                      const struct section_cell *cell, const struct cell_style *style, char *buffer,
                      size_t size);

/* Whether it stands on the right, as numbers do. */
bool cell_is_number(const struct section_column *c);
