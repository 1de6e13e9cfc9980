// SPDX-License-Identifier: MIT
// What is different from another run.
#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"

#include "cli/report/graphs.h"

static void put_table(struct json *j, const struct section *s)
{
	json_open(j, s->id, '{');
	json_put_text(j, "title", s->title);
	html_put_columns(j, s);
	html_put_rows(j, "rows", s);
	json_put_count(j, "left_out", s->left_out);
	json_close(j);
}

// Its call trees: the page compares those of the whole run with them, path by path.
static int put_flames(const struct html *h, const struct profile *base, struct error *err)
{
	struct html of_base = *h;

	of_base.profile = base;
	of_base.whole = true;
	return html_flames(&of_base, err);
}

int html_diff(const struct html *h, const struct profile *base, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);
	const struct section *s = section_diff(&r, base, err);

	if (!s)
		return -1;
	json_open(h->j, s->id, '{');
	html_put_members(h->j, s, 0);
	json_open(h->j, "tables", '{');
	for (const struct section *table = s->next; table; table = table->next)
		put_table(h->j, table);
	json_close(h->j);
	if (put_flames(h, base, err) < 0)
		return -1;
	json_close(h->j);
	return 0;
}
