// SPDX-License-Identifier: MIT
#include "cli/text/ops_layout.h"

#include "cli/format.h"
#include "cli/table.h"
#include "cli/text/text.h"

#include <stdio.h>
#include <string.h>

#define GAP         2
#define RANKS       16
#define NAME_WIDTH  32 /* longer ones do not push numbers out */
#define PLACE_WIDTH 18
#define STACK_WIDTH 48
#define BACKWARD    "backward of "

typedef struct short_text cell_function(const struct ops_layout *layout, const struct op_row *row);

static const struct short_text nothing = { "" };

// A time of one call. They range from nanoseconds to minutes: each has a unit of its own.
static struct short_text call_time(const struct op_row *row, uint64_t ns)
{
	return row->calls > row->untimed && ns ? format_time(ns, format_time_unit(ns)) : nothing;
}

static struct short_text bytes(uint64_t count)
{
	return count ? format_bytes(count) : nothing;
}

static struct short_text self_cell(const struct ops_layout *layout, const struct op_row *row)
{
	return format_time(row->self_ns, layout->unit);
}

static struct short_text self_percent_cell(const struct ops_layout *layout,
                                           const struct op_row *row)
{
	return format_percent(row->self_ns, layout->all->wall_ns);
}

static struct short_text total_cell(const struct ops_layout *layout, const struct op_row *row)
{
	return format_time(row->total_ns, layout->unit);
}

static struct short_text total_percent_cell(const struct ops_layout *layout,
                                            const struct op_row *row)
{
	return format_percent(row->total_ns, layout->all->wall_ns);
}

static struct short_text gpu_cell(const struct ops_layout *layout, const struct op_row *row)
{
	return row->gpu_ns ? format_time(row->gpu_ns, layout->gpu_unit) : nothing;
}

static struct short_text calls_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return row->calls ? format_count(row->calls) : nothing;
}

static struct short_text marks_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return row->marks ? format_count(row->marks) : nothing;
}

static struct short_text average_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return row->calls ? format_time(row->average_ns, format_time_unit(row->average_ns))
	                  : nothing;
}

static struct short_text median_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return call_time(row, row->median_ns);
}

static struct short_text quartile_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return call_time(row, row->q3_ns - row->q1_ns);
}

static struct short_text least_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return call_time(row, row->min_ns);
}

static struct short_text most_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return call_time(row, row->max_ns);
}

static struct short_text first_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return row->first_ns ? call_time(row, row->first_ns) : nothing;
}

static struct short_text self_bytes_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return bytes(row->self_allocated_bytes);
}

static struct short_text bytes_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return bytes(row->allocated_bytes);
}

static struct short_text self_device_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return bytes(row->devices.self_allocated_bytes);
}

static struct short_text device_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return bytes(row->devices.allocated_bytes);
}

static struct short_text flops_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return row->flops ? format_scaled((double)row->flops) : nothing;
}

static struct short_text rate_cell(const struct ops_layout *layout, const struct op_row *row)
{
	struct short_text out = nothing;

	(void)layout;
	if (row->flops && row->total_ns)
		snprintf(out.text, sizeof(out.text), "%.1f",
		         (double)row->flops / (double)row->total_ns);
	return out;
}

static struct short_text moved_cell(const struct ops_layout *layout, const struct op_row *row)
{
	(void)layout;
	return bytes(row->message_bytes);
}

static struct short_text provider_cell(const struct ops_layout *layout, const struct op_row *row)
{
	struct short_text out;

	(void)layout;
	snprintf(out.text, sizeof(out.text), "%s", row->provider);
	return out;
}

// In the order in which they stand. Where the terminal is narrow those of the highest rank are left
// out.
static const struct number_column {
	const char *title;
	cell_function *cell;
	int rank; /* 0: always there */
	int sort; /* enum op_sort that it shows the order of; -1: none */
	enum column_kind kind;
} numbers[] = {
	{ "self", self_cell, 0, OPS_SORT_SELF, COLUMN_NUMBER },
	{ "%", self_percent_cell, 0, OPS_SORT_SELF, COLUMN_NUMBER },
	{ "total", total_cell, 1, OPS_SORT_TOTAL, COLUMN_NUMBER },
	{ "%", total_percent_cell, 9, OPS_SORT_TOTAL, COLUMN_NUMBER },
	{ "calls", calls_cell, 0, OPS_SORT_CALLS, COLUMN_NUMBER },
	{ "marks", marks_cell, 6, -1, COLUMN_NUMBER },
	{ "average", average_cell, 8, OPS_SORT_AVERAGE, COLUMN_NUMBER },
	{ "median", median_cell, 2, -1, COLUMN_NUMBER },
	{ "IQR", quartile_cell, 11, -1, COLUMN_NUMBER },
	{ "min", least_cell, 12, -1, COLUMN_NUMBER },
	{ "max", most_cell, 5, -1, COLUMN_NUMBER },
	{ "first", first_cell, 10, -1, COLUMN_NUMBER },
	{ "allocated", self_bytes_cell, 7, OPS_SORT_MEMORY, COLUMN_NUMBER },
	{ "with callees", bytes_cell, 16, -1, COLUMN_NUMBER },
	{ "on GPUs", self_device_cell, 6, -1, COLUMN_NUMBER },
	{ "with callees", device_cell, 15, -1, COLUMN_NUMBER },
	{ "FLOP", flops_cell, 13, OPS_SORT_FLOPS, COLUMN_NUMBER },
	{ "GFLOP/s", rate_cell, 3, OPS_SORT_FLOPS, COLUMN_NUMBER },
	{ "on GPU", gpu_cell, 3, OPS_SORT_GPU, COLUMN_NUMBER },
	{ "moved", moved_cell, 2, -1, COLUMN_NUMBER },
	{ "kind", provider_cell, 4, -1, COLUMN_WORD },
};

_Static_assert(sizeof(numbers) / sizeof(numbers[0]) == OPS_NUMBERS, "as many as the layout has");

// Whether rows are named by a place, not by an op.
static bool is_by_place(const struct ops_layout *layout)
{
	return layout->query.by == OPS_BY_MODULE || layout->query.by == OPS_BY_LINE;
}

// What names the row: "cuBLAS: gemm [256, 128, 300]".
void ops_layout_name(const struct ops_layout *layout, const struct op_row *row, char *buffer,
                     size_t size)
{
	bool domain = *row->domain && layout->query.by != OPS_BY_DOMAIN;

	snprintf(buffer, size, "%s%s%s%s%s", domain ? row->domain : "", domain ? ": " : "",
	         row->name, *row->shape ? " " : "", row->shape);
}

static void name_line(const struct op_row *row, char *buffer, size_t size)
{
	char place[512];

	place_words(row->file, row->line, row->module, place, sizeof(place));
	snprintf(buffer, size, "%s%s", row->backward ? BACKWARD : "", place);
}

static void name_place(const struct ops_layout *layout, const struct op_row *row, char *buffer,
                       size_t size)
{
	if (layout->query.by == OPS_BY_DOMAIN || is_by_place(layout))
		buffer[0] = '\0';
	else if (layout->query.by == OPS_BY_THREAD)
		snprintf(buffer, size, "%s (%u)", row->thread ? row->thread : "?", row->tid);
	else if (layout->query.by == OPS_BY_STACK)
		snprintf(buffer, size, "%s", row->stack);
	else if (!row->file && row->function)
		snprintf(buffer, size, "%s", row->function);
	else
		name_line(row, buffer, size);
}

static size_t longer(size_t length, const char *text)
{
	size_t width = format_width(text);

	return width > length ? width : length;
}

// How wide a column of numbers is; 0 if nothing stands in it.
static size_t number_width(const struct ops_layout *layout, const struct number_column *column)
{
	size_t widest = 0;

	for (size_t i = 0; i < layout->count; i++)
		widest = longer(widest, column->cell(layout, layout->rows[i]).text);
	return widest ? longer(widest, column->title) : 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static const char *place_title(const struct ops_layout *layout)
{
	return layout->query.by == OPS_BY_THREAD ? "thread" : "called from";
}

// What names should have: all that they need, but for very long ones.
static size_t names_width(const struct ops_layout *layout)
{
	size_t names = 0, places = layout->places ? strlen(place_title(layout)) : 0;
	size_t most = layout->query.by == OPS_BY_STACK ? STACK_WIDTH : PLACE_WIDTH;
	bool backward = false;

	for (size_t i = 0; i < layout->count; i++) {
		char text[1024];
		ops_layout_name(layout, layout->rows[i], text, sizeof(text));
		names = longer(names, text);
		name_place(layout, layout->rows[i], text, sizeof(text));
		places = longer(places, text);
		backward |= layout->rows[i]->backward;
	}
	most += backward ? strlen(BACKWARD) : 0;
	return least(names, is_by_place(layout) ? STACK_WIDTH : NAME_WIDTH) + GAP +
	       least(places, most);
}

static bool has_places(const struct ops_layout *layout)
{
	char place[1024];

	for (size_t i = 0; i < layout->count; i++) {
		name_place(layout, layout->rows[i], place, sizeof(place));
		if (*place)
			return true;
	}
	return false;
}

static uint64_t longest(const struct ops_layout *layout)
{
	uint64_t most = 0;

	for (size_t i = 0; i < layout->count; i++)
		if (layout->rows[i]->total_ns > most)
			most = layout->rows[i]->total_ns;
	return most;
}

static uint64_t longest_on_gpu(const struct ops_layout *layout)
{
	uint64_t most = 0;

	for (size_t i = 0; i < layout->count; i++)
		if (layout->rows[i]->gpu_ns > most)
			most = layout->rows[i]->gpu_ns;
	return most;
}

// A column that is the rank of the rows is there in any case.
void ops_layout_choose(struct ops_layout *layout)
{
	layout->unit = format_time_unit(longest(layout));
	layout->gpu_unit = format_time_unit(longest_on_gpu(layout));
	layout->places = has_places(layout);
	size_t used = OPS_INDENT + names_width(layout);
	size_t room = (size_t)layout->text->terminal.width;

	for (int rank = 0; rank <= RANKS; rank++) {
		for (size_t i = 0; i < OPS_NUMBERS; i++) {
			bool ranks = numbers[i].sort == (int)layout->query.sort;
			size_t width = number_width(layout, &numbers[i]);
			if ((ranks ? 0 : numbers[i].rank) != rank)
				continue;
			layout->shown[i] =
				ranks || (width && (!rank || used + GAP + width <= room));
			used += layout->shown[i] ? GAP + width : 0;
		}
	}
}

static uint64_t rank(const struct ops_layout *layout, const struct op_row *row)
{
	return layout->query.sort == OPS_SORT_SELF ? row->self_ns : row->total_ns;
}

static enum style heat(const struct ops_layout *layout, const struct op_row *row)
{
	double all = (double)layout->all->wall_ns;
	double share = all > 0 ? (double)rank(layout, row) / all : 0;

	return share >= 0.2 ? STYLE_HOT : share >= 0.05 ? STYLE_WARM : STYLE_PLAIN;
}

size_t ops_layout_columns(const struct ops_layout *layout, struct column *columns)
{
	size_t count = 0;

	for (size_t i = 0; i < OPS_NUMBERS; i++)
		if (layout->shown[i])
			columns[count++] =
				(struct column){ numbers[i].title, numbers[i].kind, 0, 0 };
	bool stack = layout->query.by == OPS_BY_STACK;
	bool module = layout->query.by == OPS_BY_MODULE;
	bool line = layout->query.by == OPS_BY_LINE;
	columns[count++] =
		(struct column){ module ? "module"
		                 : line ? "called from"
		                        : "op",
		                 COLUMN_TEXT, module ? CLIP_START : CLIP_MIDDLE, stack ? 2 : 3 };
	if (layout->places)
		columns[count++] = (struct column){ place_title(layout), COLUMN_TEXT,
			                            stack ? CLIP_END : CLIP_START, stack ? 3 : 2 };
	return count;
}

void ops_layout_add_row(struct table *table, const struct ops_layout *layout,
                        const struct op_row *row)
{
	char name[1024], place[1024];

	table_row(table, STYLE_PLAIN);
	for (size_t i = 0; i < OPS_NUMBERS; i++) {
		bool ranks = numbers[i].sort == (int)layout->query.sort;
		if (layout->shown[i])
			table_styled(table, numbers[i].cell(layout, row).text,
			             ranks ? heat(layout, row) : STYLE_PLAIN);
	}
	ops_layout_name(layout, row, name, sizeof(name));
	name_place(layout, row, place, sizeof(place));
	table_cell(table, name);
	table_cell(table, place);
}
