/* SPDX-License-Identifier: MIT */
/*
 * The table of ops: which columns it has where the terminal is as wide as it is, and what stands in
 * them.
 *
 * Columns in which nothing would stand are left out, and those of the highest rank where there is
 * no room for all. The layout borrows all that it points to, and is its caller's.
 */
#pragma once

#include "cli/format.h"
#include "merge/query/query_ops.h"

#include <stdbool.h>
#include <stddef.h>

struct column;
struct table;
struct text;

#define OPS_NUMBERS 21 /* columns of numbers */
#define OPS_TEXTS   2  /* behind them: what the row is, and where it was called */
#define OPS_INDENT  2  /* of the table */

struct ops_layout {
	const struct text *text;
	struct op_query query;
	const struct op_rows *all;
	const struct op_row **rows; /* those that are shown */
	size_t count;
	/* These are for ops_layout_choose() to set. */
	struct time_unit unit, gpu_unit;
	bool shown[OPS_NUMBERS];
	bool places; /* at least one row has one */
};

/* Chooses units and columns for the rows that are shown. */
void ops_layout_choose(struct ops_layout *layout);

/* Fills COLUMNS, of OPS_NUMBERS + OPS_TEXTS at most; returns how many there are. */
size_t ops_layout_columns(const struct ops_layout *layout, struct column *columns);

void ops_layout_add_row(struct table *table, const struct ops_layout *layout,
                        const struct op_row *row);

/* What names the row: "cuBLAS: gemm [256, 128, 300]". Cut where SIZE ends. */
void ops_layout_name(const struct ops_layout *layout, const struct op_row *row, char *buffer,
                     size_t size);
