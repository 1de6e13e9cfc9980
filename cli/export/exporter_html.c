// SPDX-License-Identifier: MIT
#include "cli/export/exporter.h"
#include "cli/html.h"

static int write_html(const struct exporting *e, struct error *err)
{
	return html_write(e->profile, e->view, e->limits, e->cut, e->out, err);
}

const struct exporter exporter_html = { .name = "html", .write = write_html };
