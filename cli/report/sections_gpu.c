// SPDX-License-Identifier: MIT
// All that the report shows of GPUs, one section after the other; and the table of what they ran.
#include "cli/report/sections.h"

#include "cli/report/view.h"
#include "merge/query/query_gpu.h"

REPORT_KEEPS(gpu_facts, struct gpu_facts *);
REPORT_KEEPS(gpu_rows, struct gpu_rows *);

static struct gpu_rows *find_rows(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);

	return keep_gpu_rows(r, query_gpu(r->profile, &query, err), err);
}

static void append(struct section *s, struct section *more)
{
	while (s->next)
		s = s->next;
	s->next = more;
}

// The code that made pages come back stands beside what moved.
static int append_managed(struct section *s, struct error *err)
{
	struct section *managed = section_gpu_managed(s->report, err);

	if (!managed)
		return -1;
	append(s, managed);
	struct section *faults = managed->shown ? section_gpu_faults(s->report, err) : NULL;
	if (managed->shown && !faults)
		return -1;
	append(s, faults);
	return 0;
}

static int append_idle(struct section *s, const struct gpu_facts *facts, struct error *err)
{
	struct section *idle = section_gpu_idle(s->report, facts, err);

	if (!idle)
		return -1;
	append(s, idle);
	return 0;
}

static bool have_streams(const struct gpu_facts *facts)
{
	uint32_t streams = 0;

	for (size_t i = 0; i < facts->device_count; i++)
		streams += facts->devices[i].streams;
	return streams > 1;
}

static int append_streams(struct section *s, struct error *err)
{
	struct section *streams = section_gpu_streams(s->report, err);

	if (!streams)
		return -1;
	append(s, streams);
	return 0;
}

struct section *section_gpu(struct report *r, struct error *err)
{
	const struct query query = view_query(r->view, BY_FUNCTION, SORT_SELF);
	bool filtered = view_is_filtered(r->view), verbose = r->view->verbose;
	const struct gpu_facts *facts =
		keep_gpu_facts(r, query_gpu_facts(r->profile, &query, err), err);
	const struct gpu_rows *rows = facts ? find_rows(r, err) : NULL;

	if (!rows)
		return NULL;
	struct section *s = section_gpu_devices(r, facts);
	if (!rows->count)
		return section_end(s, err);
	append(s, section_gpu_work(r, rows));
	if ((!filtered && append_managed(s, err) < 0) || append_idle(s, facts, err) < 0)
		return NULL;
	if (verbose && !filtered && have_streams(facts) && append_streams(s, err) < 0)
		return NULL;
	if (verbose)
		append(s, section_gpu_launches(r, rows));
	return section_end(s, err);
}

struct section *section_gpu_kernels(struct report *r, struct error *err)
{
	const struct gpu_rows *rows = find_rows(r, err);

	if (!rows)
		return NULL;
	if (!rows->count) {
		struct section *none = section_new(r, "gpu_work", NULL);
		none->shown = true;
		if (view_is_filtered(r->view))
			section_say(none, "no GPU ran anything in this part of the run");
		else
			section_no_gpu(none);
		return section_end(none, err);
	}
	struct section *s = section_gpu_work(r, rows);
	s->next = section_gpu_launches(r, rows);
	return section_end(s, err);
}
