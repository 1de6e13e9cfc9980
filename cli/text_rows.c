// SPDX-License-Identifier: MIT
// The rows of a table. A process that waits for its children spends their time a second time: a
// make would rank wait4() above the compiler. So that wait counts only where waiting is asked for.
#include "cli/text.h"

#include <stdlib.h>

static int compare_self(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return left->self < right->self ? 1 : left->self > right->self ? -1 : 0;
}

static int compare_total(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	return left->total < right->total ? 1 : left->total > right->total ? -1 : 0;
}

static uint64_t child_waits(const struct rows *rows)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < rows->count; i++)
		sum += rows->rows[i].self_ns[METRIC_OFF_CHILD];
	return sum;
}

static void leave_out_child_waits(struct rows *rows, enum query_sort sort)
{
	uint64_t waits = child_waits(rows);

	if (!waits || waits >= rows->all)
		return; // nothing but that: then it is the answer
	for (size_t i = 0; i < rows->count; i++) {
		struct row *row = &rows->rows[i];
		row->self -= row->self_ns[METRIC_OFF_CHILD];
		row->total -= row->total_ns[METRIC_OFF_CHILD];
		row->self_margin *= (double)rows->all / (double)(rows->all - waits);
	}
	rows->all -= waits;
	qsort(rows->rows, rows->count, sizeof(*rows->rows),
	      sort == SORT_SELF ? compare_self : compare_total);
}

struct rows *text_rows(const struct text *text, enum query_by by, enum query_sort sort,
                       struct error *err)
{
	struct query query = view_query(text->view, by, sort);
	struct rows *rows = query_run(text->profile, &query, err);

	if (rows && text->view->on_cpu == text->view->off_cpu)
		leave_out_child_waits(rows, sort);
	return rows;
}

bool text_has_python(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].python)
			return true;
	return false;
}
