// SPDX-License-Identifier: MIT
// What is counted, not timed: bytes and calls that differ.
#include "cli/report/diff_report.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "cli/short_name.h"
#include "merge/profile/profile.h"
#include "merge/query/query_ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNTED_SHARE  0.01  // counts are exact: a difference of so much is one
#define RESIDENT_SHARE 0.05  // pages come and go with the machine's memory
#define OP_SHARE       0.005 // of wall time, or of all bytes: an op with less is not worth a line

enum measured {
	PEAK,
	ALLOCATED,
	ALLOCATIONS
};

// -1 on error; 0 where nothing is known.
static int measure(const struct diff_part *part, enum measured what, double *value,
                   struct error *err)
{
	*value = 0;
	if (what == PEAK) {
		*value = (double)profile_run(part->profile)->peak_rss_bytes;
		return 0;
	}
	cleanup(memory_rows) struct memory_rows *rows =
		query_memory(part->profile, MEMORY_BY_FUNCTION, false, err);
	if (!rows)
		return -1;
	*value = (double)(what == ALLOCATED ? rows->allocated_bytes : rows->allocations);
	return 0;
}

static int mean_of(const struct diff_side *side, enum measured what, double *mean,
                   struct error *err)
{
	*mean = 0;
	for (size_t i = 0; i < side->count; i++) {
		double value;
		if (measure(&side->parts[i], what, &value, err) < 0)
			return -1;
		if (value <= 0) {
			*mean = 0;
			return 0;
		}
		*mean += value / (double)side->count;
	}
	return 0;
}

static bool differ(double base, double next, double share)
{
	return fabs(next - base) > share * fmax(base, next);
}

static void add(struct diff_report *report, const char *name, bool bytes, double base, double next)
{
	struct diff_amount *amount;

	if (report->amount_count == DIFF_AMOUNTS)
		return;
	amount = &report->amounts[report->amount_count++];
	*amount = (struct diff_amount){ .bytes = bytes, .base = base, .next = next };
	snprintf(amount->name, sizeof(amount->name), "%s", name);
}

static int add_run(struct diff_report *report, enum measured what, const char *name, bool bytes,
                   struct error *err)
{
	double base, next;

	if (mean_of(report->base, what, &base, err) < 0 ||
	    mean_of(report->next, what, &next, err) < 0)
		return -1;
	// What one side does not know is no difference.
	if (base > 0 && next > 0 &&
	    differ(base, next, what == PEAK ? RESIDENT_SHARE : COUNTED_SHARE))
		add(report, name, bytes, base, next);
	return 0;
}

static void add_op(struct diff_report *report, const struct diff_row *row, const char *what,
                   bool bytes, double base, double next)
{
	char name[sizeof(report->amounts[0].name)];

	snprintf(name, sizeof(name), "%s of %.150s%s%.50s", what, row->name, *row->shape ? " " : "",
	         row->shape);
	if (differ(base, next, COUNTED_SHARE))
		add(report, name, bytes, base, next);
}

static void add_ops(struct diff_report *report, const struct diff *ops)
{
	double bytes = 0;

	for (size_t i = 0; i < ops->count; i++)
		bytes += fmax(ops->rows[i].base.bytes, ops->rows[i].next.bytes);
	for (size_t i = 0; i < ops->count; i++) {
		const struct diff_row *row = &ops->rows[i];
		double most = fmax(row->base.ns, row->next.ns);
		double more = fmax(row->base.bytes, row->next.bytes);
		if (most > OP_SHARE * fmax(ops->base_ns, ops->next_ns))
			add_op(report, row, "calls", false, row->base.calls, row->next.calls);
		if (more > OP_SHARE * bytes)
			add_op(report, row, "bytes", true, row->base.bytes, row->next.bytes);
	}
}

int diff_report_count(struct diff_report *report, struct error *err)
{
	bool whole = true;

	for (size_t i = 0; i < report->base->count; i++)
		whole &= !report->base->parts[i].query.from_ns &&
		         !report->base->parts[i].query.to_ns;
	// Of a part of the run these are not known.
	if (whole && (add_run(report, PEAK, "peak RSS, of the largest process", true, err) < 0 ||
	              add_run(report, ALLOCATED, "allocated bytes", true, err) < 0 ||
	              add_run(report, ALLOCATIONS, "allocations", false, err) < 0))
		return -1;
	if (report->tables[DIFF_OP])
		add_ops(report, report->tables[DIFF_OP]);
	return 0;
}

struct short_text diff_amount_words(const struct diff_amount *amount, double value)
{
	uint64_t whole = value > 0 ? (uint64_t)(value + 0.5) : 0;

	return amount->bytes ? format_bytes(whole) : format_count(whole);
}
