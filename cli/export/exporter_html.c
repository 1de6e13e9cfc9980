// SPDX-License-Identifier: MIT
#include "cli/export/exporter.h"
#include "cli/export/other_run.h"
#include "cli/html/html.h"

static int write_html(const struct exporting *e, struct error *err)
{
	cleanup(profile) struct profile *base = NULL;

	if (other_run_check(e, "a page", err) < 0 || other_run_read(e, &base, err) < 0)
		return -1;
	return html_write(e->profile, e->view, e->limits, base, e->cut, e->out, err);
}

const struct exporter exporter_html = { .name = "html", .write = write_html };
