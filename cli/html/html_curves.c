// SPDX-License-Identifier: MIT
// Memory that was in use over the run, and what was alive when there was most.
#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"

#include "cli/report/curves.h"
#include "merge/query/query_curves.h"

static void put_curve(struct json *j, const struct memory_curve *c)
{
	static const char *const kinds[CURVE_KINDS] = { [CURVE_ALLOCATED] = "allocated",
		                                        [CURVE_RSS] = "RSS",
		                                        [CURVE_DEVICE] = "tensors",
		                                        [CURVE_RESERVED] = "reserved",
		                                        [CURVE_PACKAGE] = "sampled" };

	json_open(j, NULL, '{');
	json_put_text(j, "name", c->name);
	json_put_text(j, "kind", kinds[c->kind]);
	json_put_count(j, "bin_ns", c->bin_ns);
	json_put_count(j, "peak_bytes", c->peak_bytes);
	json_put_count(j, "peak_at_ns", c->peak_ns);
	json_open(j, "kb", '[');
	for (uint32_t i = 0; i < c->count; i++)
		json_put_count(j, NULL, c->most_kb[i]);
	json_close(j);
	json_close(j);
}

int html_curves(const struct html *h, struct error *err)
{
	cleanup(memory_curves) struct memory_curves *all = query_curves(h->profile, err);
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);

	if (!all)
		return -1;
	const char *lines = memory_alive(&r, MEMORY_BY_LINE, err);
	const char *ops = lines ? memory_alive(&r, MEMORY_BY_OP, err) : NULL;
	if (!ops)
		return -1;
	json_open(h->j, "memory", '{');
	json_put_text(h->j, "lines", lines);
	json_put_text(h->j, "ops", ops);
	json_open(h->j, "curves", '[');
	for (uint32_t i = 0; i < all->count; i++)
		put_curve(h->j, &all->of[i]);
	json_close(h->j);
	json_close(h->j);
	return 0;
}
