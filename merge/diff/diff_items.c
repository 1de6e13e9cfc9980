// SPDX-License-Identifier: MIT
#include "merge/diff/diff_items.h"

#include "base/array.h"
#include "base/error.h"
#include "base/path.h"
#include "merge/diff/visits.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_wall.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define QUARTILES_APART 1.349 /* of a normal distribution, in standard deviations */

void diff_items_fini(struct diff_items *items)
{
	free(items->items);
}

// What compilers put behind the names of clones and parts of functions.
static size_t plain_length(const char *name)
{
	static const char *const suffixes[] = { ".constprop", ".isra", ".part",
		                                ".cold",      ".llvm", ".lto_priv" };
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		const char *at = strstr(name, suffixes[i]);
		const char *end = at ? at + strlen(suffixes[i]) : NULL;
		if (at > name && (*end == '.' || !*end) && (size_t)(at - name) < length)
			length = (size_t)(at - name);
	}
	return length;
}

struct diff_item *diff_items_add(struct diff_items *items, const char *name, const char *module,
                                 const char *file)
{
	struct strings *texts = items->texts;

	if (!array_reserve(&items->items, &items->capacity, items->count + 1))
		return NULL;
	struct diff_item *item = &items->items[items->count];
	*item = (struct diff_item){
		.name = strings_add(texts, name),
		.module = strings_add(texts, module),
		.file = strings_add(texts, file),
		.plain = strings_add_bytes(texts, name, plain_length(name)),
		.module_base = strings_add(texts, path_base(module)),
		.file_base = strings_add(texts, path_base(file)),
	};
	if (!item->name || !item->plain || (module && !item->module) || (file && !item->file))
		return NULL;
	items->count++;
	return item;
}

static int no_memory(struct error *err)
{
	return error_set(err, ENOMEM, "could not compare the profiles");
}

static enum query_by query_by_of(enum diff_by by)
{
	static const enum query_by bys[DIFF_TABLES] = {
		[DIFF_FUNCTION] = BY_FUNCTION, [DIFF_LINE] = BY_LINE,
		[DIFF_MODULE] = BY_MODULE,     [DIFF_FILE] = BY_FILE,
		[DIFF_THREAD] = BY_THREAD,     [DIFF_PROCESS] = BY_PROCESS,
	};

	return bys[by];
}

// Waits that end when somebody else is ready are as many as they are, and each may be as long as
// two others; sleeps are as long as they were asked to be. All of them may end late.
static double waits_variance(const struct diff_items *items, const struct diff_item *item,
                             const uint64_t ns[METRIC_COUNT], double samples)
{
	double on = item->ns - item->waiting_ns, sleep = (double)ns[METRIC_OFF_SLEEP];
	double off = item->waiting_ns > sleep ? item->waiting_ns - sleep : 0;
	double waits = samples - (items->sample_ns > 0 ? on / items->sample_ns : 0);
	double late = items->noise.wake_ns;

	if (item->waiting_ns <= 0)
		return 0;
	waits = waits > 1 ? waits : 1;
	return 2 * off * off / waits + waits * late * late;
}

static int take_row(struct diff_items *items, const struct row *row, const struct diff_query *query,
                    bool on_cpu, double samples_variance)
{
	const uint64_t *ns = query->total ? row->total_ns : row->self_ns;
	struct diff_item *item = diff_items_add(items, row->name, row->module, row->file);

	if (!item)
		return -1;
	item->line = row->line;
	item->ns = (double)(query->total ? row->total : row->self);
	item->calls = (double)row->calls;
	item->python = row->python;
	item->kernel = row->kernel;
	// What was not asked for is in the row's sum no more than here.
	double on = on_cpu ? (double)ns[METRIC_ON_CPU] : 0;
	item->waiting_ns = item->ns > on ? item->ns - on : 0;
	item->variance = waits_variance(
		items, item, ns, (double)(query->total ? row->total_samples : row->self_samples));
	item->counted = samples_variance * items->sample_ns * items->sample_ns;
	item->variance += item->counted;
	if (query->by == DIFF_LINE && item->file_base) {
		item->plain = item->file_base;
		item->key_line = item->line;
	} else if (query->by != DIFF_FUNCTION) {
		item->plain = strings_add(items->texts, path_base(row->name));
	}
	return item->plain ? 0 : -1;
}

// Times of samples. As in the tables of the report, waits that are in no row of it do not count.
static int take_rows(struct diff_items *items, const struct diff_part *part,
                     const struct diff_query *query, struct error *err)
{
	struct query asked = part->query;

	asked.by = query_by_of(query->by);
	asked.sort = query->total ? SORT_TOTAL : SORT_SELF;
	asked.without_others = asked.on_cpu == asked.off_cpu;
	cleanup(rows) struct rows *rows = query_run(part->profile, &asked, err);
	if (!rows)
		return -1;
	bool on_cpu = asked.on_cpu || !asked.off_cpu;
	bool owners = query->by == DIFF_THREAD || query->by == DIFF_PROCESS;
	cleanup_free double *variance = calloc(rows->count + 1, sizeof(*variance));
	if (!variance)
		return no_memory(err);
	if (!owners && !query->total &&
	    visits_of_rows(part->profile, &asked, rows, variance, err) < 0)
		return -1;
	items->all_ns = (double)rows->all;
	for (size_t i = 0; i < rows->count; i++) {
		// Of times with callees Poisson's is no less than what is right.
		if (query->total && on_cpu && items->sample_ns > 0)
			variance[i] =
				(double)rows->rows[i].total_ns[METRIC_ON_CPU] / items->sample_ns;
		if (take_row(items, &rows->rows[i], query, on_cpu, on_cpu ? variance[i] : 0) < 0)
			return no_memory(err);
	}
	return 0;
}

// Of COUNT calls that took NS, by the quartiles of one; without those, each may be as long as two.
static double calls_variance(double count, double ns, uint64_t q1, uint64_t q3)
{
	if (count <= 0)
		return 0;
	double deviation = q3 ? (double)(q3 - q1) / QUARTILES_APART : ns / count;
	return count * deviation * deviation;
}

static int take_op(struct diff_items *items, const struct op_row *row, bool total)
{
	struct diff_item *item = diff_items_add(items, row->name, NULL, row->file);

	if (!item)
		return -1;
	item->domain = strings_add(items->texts, *row->domain ? row->domain : row->provider);
	item->shape = strings_add(items->texts, row->shape);
	item->module_base = item->domain;
	item->by_clock = true;
	item->line = row->line;
	item->ns = (double)(total ? row->total_ns : row->self_ns);
	item->calls = (double)row->calls;
	item->median_ns = (double)row->median_ns;
	item->bytes = (double)(total ? row->allocated_bytes : row->self_allocated_bytes);
	item->variance = calls_variance(item->calls, item->ns, row->q1_ns, row->q3_ns);
	item->counted = item->variance;
	return 0;
}

static int take_ops(struct diff_items *items, const struct diff_part *part,
                    const struct diff_query *query, struct error *err)
{
	const struct op_query asked = {
		.by = query->by == DIFF_SHAPE ? OPS_BY_SHAPE : OPS_BY_OP,
		.sort = query->total ? OPS_SORT_TOTAL : OPS_SORT_SELF,
		.stack_frames = 1,
		.thread = part->query.thread,
		.process = part->query.process,
		.from_ns = part->query.from_ns,
		.to_ns = part->query.to_ns,
	};
	cleanup(op_rows) struct op_rows *rows = query_ops(part->profile, &asked, err);

	if (!rows)
		return -1;
	items->all_ns = (double)rows->wall_ns;
	for (size_t i = 0; i < rows->count; i++)
		if (take_op(items, &rows->rows[i], query->total) < 0)
			return no_memory(err);
	return 0;
}

static int take_kernels(struct diff_items *items, const struct diff_part *part, struct error *err)
{
	cleanup(gpu_rows) struct gpu_rows *rows = query_gpu(part->profile, &part->query, err);

	if (!rows)
		return -1;
	items->all_ns = (double)rows->total_ns;
	for (size_t i = 0; i < rows->count; i++) {
		const struct gpu_row *row = &rows->rows[i];
		struct diff_item *item = diff_items_add(items, row->name, NULL, row->file);
		if (!item)
			return no_memory(err);
		item->line = row->line;
		item->ns = (double)row->total_ns;
		item->calls = (double)row->calls;
		item->median_ns = (double)row->median_ns;
		item->variance = calls_variance(item->calls, item->ns, row->q1_ns, row->q3_ns);
		item->counted = item->variance;
	}
	return 0;
}

// What was waited for a free CPU is one row, and as much as others took.
static int take_contention(struct diff_items *items, double ns, struct error *err)
{
	struct diff_item *item =
		ns > 0 ? diff_items_add(items, "[waiting for a free CPU]", NULL, NULL) : NULL;

	if (ns <= 0)
		return 0;
	if (!item)
		return no_memory(err);
	item->ns = item->waiting_ns = ns;
	item->variance = item->counted = ns * ns;
	item->by_clock = true;
	return 0;
}

// A second of it has as many samples as one of a single thread, whoever ran.
static int take_owners(struct diff_items *items, const struct diff_part *part, struct error *err)
{
	cleanup(rows) struct rows *rows = query_wall_owners(part->profile, &part->query, err);
	double contention = 0;

	if (!rows)
		return -1;
	items->all_ns = rows->count ? (double)rows->all : 0;
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		double ready = (double)row->self_ns[METRIC_OFF_RUNNABLE];
		double on = (double)row->self_ns[METRIC_ON_CPU];
		contention += ready;
		if ((double)row->self <= ready)
			continue;
		struct diff_item *item = diff_items_add(items, row->name, row->module, row->file);
		if (!item)
			return no_memory(err);
		item->line = row->line;
		item->python = row->python;
		item->kernel = row->kernel;
		item->ns = (double)row->self - ready;
		item->waiting_ns = item->ns - on;
		item->counted = on * items->sample_ns;
		item->variance = item->counted + waits_variance(items, item, row->self_ns,
		                                                (double)row->self_samples);
	}
	return take_contention(items, contention, err);
}

int diff_items_take(struct diff_items *items, const struct diff_part *part,
                    const struct diff_query *query, struct error *err)
{
	const struct run *run = profile_run(part->profile);
	struct totals totals;

	query_totals(part->profile, &totals);
	items->noise = noise_of_run(run, &totals);
	items->sample_ns = run->samples ? (double)totals.on_cpu_ns / (double)run->samples : 0;
	switch (query->by) {
	case DIFF_RUN:
		return diff_items_take_run(items, part, err);
	case DIFF_OP:
	case DIFF_SHAPE:
		return take_ops(items, part, query, err);
	case DIFF_KERNEL:
		return take_kernels(items, part, err);
	case DIFF_OWNER:
		return take_owners(items, part, err);
	default:
		return take_rows(items, part, query, err);
	}
}

int diff_has_owners(const struct diff_side *base, const struct diff_side *next, struct error *err)
{
	bool ranks = false;

	for (size_t i = 0; i < base->count + next->count; i++) {
		const struct diff_part *part =
			i < base->count ? &base->parts[i] : &next->parts[i - base->count];
		struct wall_account account;
		if (query_wall_account(part->profile, &part->query, &account, err) < 0)
			return -1;
		if (!account.all_ns)
			return 0;
		ranks |= account.ranks;
	}
	return ranks;
}
