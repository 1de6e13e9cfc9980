// SPDX-License-Identifier: MIT
#include "cli/report/cell_words.h"

#include "base/format.h"
#include "cli/report/row_words.h"

#include <math.h>
#include <stdio.h>

#define COMMAS_MAX 1e8  /* whole numbers up to here are printed as they are */
#define PREFIX_MAX 1e18 /* and up to here with a prefix */

static struct short_text format_ns(const struct section *s, const struct section_column *c,
                                   uint64_t ns)
{
	struct short_text out;

	switch (c->form) {
	case FORM_OWN:
		return format_time(ns, format_time_unit(ns));
	case FORM_DURATION:
		return format_duration(ns);
	case FORM_MOMENT:
		snprintf(out.text, sizeof(out.text), "%.3f s", (double)ns / 1e9);
		return out;
	case FORM_BESIDE:
		return format_time(ns, format_time_unit(s->beside_ns));
	default:
		return format_time(ns, format_time_unit(s->unit_ns));
	}
}

static struct short_text format_size(double size)
{
	struct short_text out;

	if (size < COMMAS_MAX && size == floor(size))
		return format_count((uint64_t)size);
	if (size >= COMMAS_MAX && size < PREFIX_MAX)
		return format_scaled(size);
	snprintf(out.text, sizeof(out.text), "%.4g", size);
	return out;
}

static struct short_text format_number(const struct section_column *c, double number)
{
	struct short_text out;

	if (c->form == FORM_ANY)
		snprintf(out.text, sizeof(out.text), "%s%.30s", number < 0 ? "-" : "",
		         format_size(fabs(number)).text);
	else
		snprintf(out.text, sizeof(out.text), c->form == FORM_DECIMAL ? "%.1f" : "%.3g",
		         number);
	return out;
}

static void put_margin(const struct section_column *c, const struct section_cell *cell,
                       const struct cell_style *style, char *buffer, size_t size)
{
	snprintf(buffer, size, "%s%s%.1f", cell->flags & CELL_TIED ? "~" : "",
	         c->form == FORM_DECIMAL ? "" : style->plus_minus, 100 * cell->number);
}

void cell_value_words(const struct section *s, const struct section_column *c,
                      const struct section_cell *cell, const struct cell_style *style, char *buffer,
                      size_t size)
{
	struct short_text out = { "" };

	switch (c->type) {
	case CELL_TEXT: // it is its own words
	case CELL_ROWS:
	case CELL_ROW:
	case CELL_SERIES:
		break;
	case CELL_PLACE:
		place_words(cell->place.file, cell->place.line, cell->place.module, buffer, size);
		return;
	case CELL_MARGIN:
		put_margin(c, cell, style, buffer, size);
		return;
	case CELL_NS:
		out = format_ns(s, c, cell->count);
		break;
	case CELL_BYTES:
		out = format_bytes(cell->count);
		break;
	case CELL_COUNT:
		out = c->form == FORM_SCALED ? format_scaled((double)cell->count)
		                             : format_count(cell->count);
		break;
	case CELL_INTEGER:
		snprintf(out.text, sizeof(out.text), "%lld", (long long)cell->integer);
		break;
	case CELL_LABEL:
		snprintf(out.text, sizeof(out.text), "%llu", (unsigned long long)cell->count);
		break;
	case CELL_NUMBER:
		out = format_number(c, cell->number);
		break;
	case CELL_FRACTION:
		snprintf(out.text, sizeof(out.text), "%.0f %%", cell->number * 100);
		break;
	case CELL_SHARE:
		out = format_percent(cell->share.part, cell->share.all);
		break;
	case CELL_BOOL:
		snprintf(out.text, sizeof(out.text), "%s", cell->yes ? "yes" : "no");
		break;
	}
	snprintf(buffer, size, "%s", out.text);
}

bool cell_is_number(const struct section_column *c)
{
	return c->right || (c->type != CELL_TEXT && c->type != CELL_PLACE && c->type != CELL_BOOL);
}
