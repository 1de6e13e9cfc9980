// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "cli/export/exporter.h"
#include "cli/html/html.h"
#include "cli/report/view.h"
#include "cli/saved.h"

// Counts and repeated runs have no threads: there is nothing to draw.
static int check_run(const struct exporting *e, struct error *err)
{
	if (e->facts.totals.threads)
		return 0;
	error_set(err, 0, "the profile holds no samples of a run that a page could show");
	return error_hint(err, "Print it: bottleneck report.");
}

static int check_window(const struct view *view, struct error *err)
{
	if (!view->from_ns && !view->to_ns)
		return 0;
	error_set(err, 0, "--base compares whole runs, and not a part of one");
	return error_hint(err, "Compare parts of runs by bottleneck diff.");
}

static int write_html(const struct exporting *e, struct error *err)
{
	const char *path = e->view->base;
	cleanup(profile) struct profile *base = NULL;

	if (check_run(e, err) < 0 || (path && check_window(e->view, err) < 0) ||
	    (path && !(base = saved_read(path, false, err))))
		return -1;
	return html_write(e->profile, e->view, e->limits, base, e->cut, e->out, err);
}

const struct exporter exporter_html = { .name = "html", .write = write_html };
