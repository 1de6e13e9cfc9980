// SPDX-License-Identifier: MIT
// The tables of a phase: sections of the report, all of one form.
#include "cli/html/html_parts.h"
#include "cli/html/html_section.h"

#include "cli/report/sections.h"

static int put_made(const struct html *h, section_maker *make, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);
	const struct section *s = make(&r, err);

	if (!s)
		return -1;
	html_put_table(h->j, s->id, s);
	return 0;
}

// Nothing where it is no news.
static int put_shown(const struct html *h, section_maker *make, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);
	const struct section *s = make(&r, err);

	if (s && s->shown)
		html_put_table(h->j, s->id, s);
	return s ? 0 : -1;
}

int html_steps(const struct html *h, struct error *err)
{
	cleanup(report) struct report r = report_of(h->profile, h->view, READER_PAGE);
	const struct section *series = section_step_series(&r, err);
	const struct section *steps = series ? section_all_steps(&r, err) : NULL;
	const struct section *slowest = steps ? section_steps(&r, err) : NULL;

	if (!slowest)
		return -1;
	if (!series->row_count || !steps->row_count)
		return 0;
	json_open(h->j, "steps", '{');
	html_put_members(h->j, series, 0);
	html_put_rows(h->j, "items", steps);
	html_put_table(h->j, "slowest", slowest);
	json_close(h->j);
	return 0;
}

static int put_whole(const struct html *h, struct error *err)
{
	return put_made(h, section_page_memory, err) < 0 ||
	                       put_made(h, section_counters, err) < 0 ||
	                       put_made(h, section_device_memory, err) < 0 ||
	                       put_made(h, section_gpu_managed, err) < 0 ||
	                       put_made(h, section_gpu_faults, err) < 0 ||
	                       put_made(h, section_environment, err) < 0
	               ? -1
	               : put_made(h, section_all_gpu_lines, err);
}

int html_tables(const struct html *h, struct error *err)
{
	int failed = 0;

	json_open(h->j, "tables", '{');
	if (put_made(h, section_page_functions, err) < 0 ||
	    put_made(h, section_page_lines, err) < 0 || put_shown(h, section_wall, err) < 0 ||
	    (h->whole &&
	     (put_shown(h, section_waits, err) < 0 || put_shown(h, section_parallel, err) < 0)) ||
	    put_made(h, section_page_ops, err) < 0 || put_made(h, section_op_modules, err) < 0 ||
	    put_made(h, section_all_gpu_work, err) < 0 ||
	    put_made(h, section_all_gpu_devices, err) < 0 ||
	    put_made(h, section_all_threads, err) < 0 ||
	    put_made(h, section_all_processes, err) < 0 || put_made(h, section_workers, err) < 0 ||
	    put_made(h, section_tasks, err) < 0 || put_made(h, section_goroutines, err) < 0 ||
	    put_made(h, section_imports, err) < 0 || put_made(h, section_compiling, err) < 0 ||
	    (h->whole && put_whole(h, err) < 0))
		failed = -1;
	json_close(h->j);
	return failed;
}
