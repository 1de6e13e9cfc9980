// SPDX-License-Identifier: MIT
#include "cli/html/html.h"

#include "base/error.h"
#include "cli/html/html_assets.h"
#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"
#include "cli/report/cut.h"
#include "cli/report/graph_frames.h"
#include "cli/report/graphs.h"
#include "cli/report/sections.h"

#include <errno.h>

struct phase {
	const char *key, *title;
	enum view_phase phase;
};

static const struct phase phases[] = {
	{ "all", "whole run", PHASE_ALL },
	{ "startup", "start", PHASE_STARTUP },
	{ "warmup", "warm-up", PHASE_WARMUP },
	{ "steady", "steady state", PHASE_STEADY },
};

static int put_phase(const struct html *page, const struct phase *phase, const struct view *view,
                     struct error *err)
{
	struct html part = *page, *h = &part;

	h->view = view;
	h->whole = phase->phase == PHASE_ALL;
	json_open(h->j, NULL, '{');
	json_put_text(h->j, "key", phase->key);
	json_put_text(h->j, "title", phase->title);
	json_put_count(h->j, "from_ns", view->from_ns);
	json_put_count(h->j, "to_ns", cut_end(view, h->profile));
	if (html_summary(h, err) < 0 || html_notes(h, err) < 0 || html_tables(h, err) < 0 ||
	    html_flames(h, err) < 0 || html_steps(h, err) < 0)
		return -1;
	json_close(h->j);
	return 0;
}

// Where a window is asked for it is all there is.
static bool may_be_switched(const struct view *view)
{
	return !view->from_ns && !view->to_ns && !view->skip_first && !view->from_steady &&
	       view->phase == PHASE_ALL;
}

static int put_phases(const struct html *h, const struct view *view, struct error *err)
{
	struct view whole = *view;

	if (cut_resolve(&whole, h->profile, err) < 0)
		return -1;
	json_open(h->j, "phases", '[');
	if (put_phase(h, &phases[0], &whole, err) < 0)
		return -1;
	for (size_t i = 1; i < sizeof(phases) / sizeof(phases[0]) && may_be_switched(view); i++) {
		struct view part = *view;
		part.phase = phases[i].phase;
		part.resolved = false;
		if (cut_resolve(&part, h->profile, err) < 0)
			return -1;
		if (!part.miss && put_phase(h, &phases[i], &part, err) < 0)
			return -1;
	}
	json_close(h->j);
	struct html run = *h;
	run.view = &whole;
	run.whole = true;
	return html_sources(&run, err) < 0 ? -1 : html_graphs(&run, err);
}

static int put_header(const struct html *h, const struct view *view, const char *cut,
                      struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, view, READER_PAGE);
	r.cut = cut;
	const struct section *s = section_page_header(&r, err);

	if (!s)
		return -1;
	html_put_members(h->j, s, 0);
	return 0;
}

static int put_data(struct html *h, const struct view *view, const struct profile *base,
                    const char *cut, struct error *err)
{
	json_open(h->j, NULL, '{');
	if (put_header(h, view, cut, err) < 0 || put_phases(h, view, err) < 0)
		return -1;
	h->view = view;
	if (base && html_diff(h, base, err) < 0)
		return -1;
	html_frames(h);
	json_close(h->j);
	return 0;
}

int html_write(const struct profile *profile, const struct view *view,
               const struct rule_limits *limits, const struct profile *base, const char *cut,
               FILE *out, struct error *err)
{
	struct json j = json_start_in_page(out);
	cleanup(graph_frames) struct graph_frames *frames = graph_frames_new();
	struct html h = {
		.j = &j,
		.profile = profile,
		.limits = limits,
		.frames = frames,
		.by_process =
			flames_have_processes(profile) || (base && flames_have_processes(base)),
	};

	if (!frames)
		return error_set(err, ENOMEM, "could not write the page");
	fwrite(html_page_head, 1, html_page_head_bytes, out);
	if (put_data(&h, view, base, cut, err) < 0)
		return -1;
	fwrite(html_page_tail, 1, html_page_tail_bytes, out);
	return 0;
}
