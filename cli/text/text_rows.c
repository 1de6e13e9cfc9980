// SPDX-License-Identifier: MIT
// The rows of a table. A process that waits for its children spends their time a second time: a
// make would rank wait4() above the compiler. And where a thread stood when another took its CPU is
// chance: on a busy machine that would rank whom it hit. So these waits count only where waiting is
// asked for.
#include "cli/text/text.h"

#include "merge/profile/profile.h"

struct rows *text_rows(const struct text *text, enum query_by by, enum query_sort sort,
                       struct error *err)
{
	struct query query = view_query(text->view, by, sort);
	query.without_others = true;
	struct rows *rows = query_run(text->profile, &query, err);

	if (!rows || rows->all)
		return rows;
	// Nothing but that: then it is the answer.
	rows_free(rows);
	query.without_others = false;
	return query_run(text->profile, &query, err);
}

bool text_has_python(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].python)
			return true;
	return false;
}
