// SPDX-License-Identifier: MIT
#include "cli/export/other_run.h"

#include "base/error.h"
#include "cli/export/exporter.h"
#include "cli/report/view.h"
#include "cli/saved.h"

int other_run_check(const struct exporting *e, const char *what, struct error *err)
{
	if (e->facts.totals.threads)
		return 0;
	error_set(err, 0, "the profile holds no samples of a run that %s could show", what);
	return error_hint(err, "Print it: bottleneck report.");
}

int other_run_read(const struct exporting *e, struct profile **base, struct error *err)
{
	*base = NULL;
	if (!e->view->base)
		return 0;
	if (e->view->cycle)
		return error_set(err, 0, "--base compares runs, and not a cycle of a schedule");
	*base = saved_read(e->view->base, false, err);
	return *base ? 0 : -1;
}
