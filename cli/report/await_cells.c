// SPDX-License-Identifier: MIT
#include "cli/report/await_cells.h"

#include "cli/report/section.h"
#include "merge/query/query_awaits.h"

#include <stddef.h>

static void put_text(struct section_cell *cell, const char *text)
{
	cell->text = text;
	cell->flags = text ? 0 : CELL_UNKNOWN;
}

void await_cell_place(struct section_cell *cell, const struct await_function *at)
{
	cell->place.file = at ? at->file : NULL;
	cell->place.line = at ? at->line : 0;
}

void await_cell_name(struct section_cell *cell, const struct await_function *at)
{
	put_text(cell, at ? at->name : NULL);
}

void await_cell_file(struct section_cell *cell, const struct await_function *at)
{
	put_text(cell, at ? at->file : NULL);
}

void await_cell_line(struct section_cell *cell, const struct await_function *at)
{
	cell->count = at && at->line > 0 ? (uint64_t)at->line : 0;
	cell->flags = cell->count ? 0 : CELL_UNKNOWN;
}
