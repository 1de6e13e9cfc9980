// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "cli/export/exporter.h"
#include "cli/export/other_run.h"
#include "cli/html/html.h"
#include "cli/report/view.h"

static int check_window(const struct view *view, struct error *err)
{
	if (!view->base || (!view->from_ns && !view->to_ns))
		return 0;
	error_set(err, 0, "--base compares whole runs in a page, and not a part of one");
	return error_hint(err, "Compare parts of runs by bottleneck diff, or --export markdown.");
}

static int write_html(const struct exporting *e, struct error *err)
{
	cleanup(profile) struct profile *base = NULL;

	if (other_run_check(e, "a page", err) < 0 || check_window(e->view, err) < 0 ||
	    other_run_read(e, &base, err) < 0)
		return -1;
	return html_write(e->profile, e->view, e->limits, base, e->cut, e->out, err);
}

const struct exporter exporter_html = { .name = "html", .write = write_html };
