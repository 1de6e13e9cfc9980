// SPDX-License-Identifier: MIT
// Ops: how often each was called, and how long it took. Exact, where the other tables are sampled.
#include "cli/report/sections.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/function_name.h"
#include "base/op.h"
#include "base/share.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"
#include "merge/query/query_ops.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CALLS    3 /* lines about slow first calls */
#define FIRST_RATIO    5 /* to the median */
#define FIRST_NS_MIN   NS_PER_MS
#define FIRST_OF_CALLS 3

#define BRIEF_SHARE    0.05 /* of the run, by one op: less needs no table in one screen */
#define MARGIN         1.96 /* standard errors: half of a 95 % interval */
#define NAME_WIDTH     32   /* longer ones do not push numbers out */
#define PLACE_WIDTH    18
#define STACK_WIDTH    48
#define SHAPE_WIDTH    60
#define BACKWARD       "backward of "

REPORT_KEEPS(op_rows, struct op_rows *);

struct ops {
	const struct view *view;
	struct op_query query;
	const struct op_rows *all;
	const struct op_row **rows; // those that are shown
	size_t count;
};

static void make_line(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	(void)s;
	cell->count = row->line > 0 ? (uint64_t)row->line : 0;
}

static void make_place(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	(void)s;
	cell->place.file = row->file;
	cell->place.line = row->line;
	cell->place.module = row->module;
}

static void make_average(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	(void)s;
	cell->count = row->average_ns;
	cell->flags = row->calls ? 0 : CELL_IDLE;
}

// A time of one call, of ops whose calls are known one by one.
static void make_call(const struct op_row *row, uint64_t ns, struct section_cell *cell)
{
	cell->count = ns;
	cell->flags = row->calls > row->untimed ? 0 : CELL_IDLE;
}

static void make_median(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	(void)s;
	make_call(row, row->median_ns, cell);
}

static void make_iqr(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	(void)s;
	make_call(row, row->q3_ns - row->q1_ns, cell);
}

static void make_min(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	(void)s;
	make_call(row, row->min_ns, cell);
}

static void make_max(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	(void)s;
	make_call(row, row->max_ns, cell);
}

static void make_first(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	(void)s;
	make_call(row, row->first_ns, cell);
}

static void make_rate(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	(void)s;
	if (row->flops && row->total_ns)
		cell->number = (double)row->flops / (double)row->total_ns;
	else
		cell->flags = CELL_UNKNOWN;
}

// Whether rows are named by a place, not by an op.
static bool is_by_place(const struct ops *ops)
{
	return ops->query.by == OPS_BY_MODULE || ops->query.by == OPS_BY_LINE;
}

// Without the last operands, which are none: "[[5, 64], [64], [], []] float32". What has a shape is
// told, where a line has no room for more.
static void shape_words(const char *shape, char *buffer, size_t size)
{
	static const char none[] = ", []";
	const char *end = strrchr(shape, ']');
	size_t length = strlen(none), kept = end ? (size_t)(end - shape) : strlen(shape);

	while (end && kept > length && strncmp(shape + kept - length, none, length) == 0)
		kept -= length;
	snprintf(buffer, size, "%.*s%s", (int)kept, shape, end ? end : "");
}

// Its name says the file and the line.
static bool is_line(const struct op_row *row)
{
	return strcmp(row->provider, op_provider_name(OP_SHELL)) == 0;
}

// What names the row: "cuBLAS: gemm [256, 128, 300]".
static void name_op(const struct ops *ops, const struct op_row *row, char *buffer, size_t size)
{
	bool domain = *row->domain && !is_line(row) && ops->query.by != OPS_BY_DOMAIN;
	char shape[512];

	shape_words(row->shape, shape, sizeof(shape));
	snprintf(buffer, size, "%s%s%s%s%s", domain ? row->domain : "", domain ? ": " : "",
	         row->name, *shape ? " " : "", shape);
}

static void name_line(const struct op_row *row, char *buffer, size_t size)
{
	char place[512];

	buffer[0] = '\0';
	if (is_line(row))
		return;
	place_words(row->file, row->line, row->module, place, sizeof(place));
	snprintf(buffer, size, "%s%s", row->backward ? BACKWARD : "", place);
}

static void name_function(const struct op_row *row, char *buffer, size_t size)
{
	cleanup_free char *bare = function_name_bare(row->function);

	snprintf(buffer, size, "%s", bare ? bare : row->function);
}

static void name_place(const struct ops *ops, const struct op_row *row, char *buffer, size_t size)
{
	if (ops->query.by == OPS_BY_DOMAIN || is_by_place(ops))
		buffer[0] = '\0';
	else if (ops->query.by == OPS_BY_THREAD)
		snprintf(buffer, size, "%s (%u)", row->thread ? row->thread : "?", row->tid);
	else if (ops->query.by == OPS_BY_STACK)
		snprintf(buffer, size, "%s", row->stack);
	else if (!row->file && row->function)
		name_function(row, buffer, size);
	else
		name_line(row, buffer, size);
}

static void make_op(const struct section *s, const void *row, struct section_cell *cell)
{
	char name[1024];

	name_op(s->context, row, name, sizeof(name));
	cell->text = report_say(s->report, "%s", name);
}

static void make_caller(const struct section *s, const void *row, struct section_cell *cell)
{
	char place[1024];

	name_place(s->context, row, place, sizeof(place));
	cell->text = report_say(s->report, "%s", place);
}

// With its sign, as what was freed may be more than what was allocated.
static void say_net(const struct section *s, int64_t bytes, struct section_cell *cell)
{
	if (bytes)
		cell->text = report_say(
			s->report, "%s%s", bytes < 0 ? "-" : "",
			format_bytes(bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes).text);
}

static void make_self_net(const struct section *s, const void *row, struct section_cell *cell)
{
	say_net(s, ((const struct op_row *)row)->self_net_bytes, cell);
}

static void make_net(const struct section *s, const void *row, struct section_cell *cell)
{
	say_net(s, ((const struct op_row *)row)->net_bytes, cell);
}

static void make_device_self_net(const struct section *s, const void *row,
                                 struct section_cell *cell)
{
	say_net(s, op_device_self_net(&((const struct op_row *)row)->devices), cell);
}

static void make_device_net(const struct section *s, const void *row, struct section_cell *cell)
{
	say_net(s, op_device_net(&((const struct op_row *)row)->devices), cell);
}

// Half the width of the 95 % interval of an estimate.
static void say_margin(const struct section *s, uint64_t error, uint64_t all,
                       struct section_cell *cell)
{
	double percent = all ? 100 * MARGIN * (double)error / (double)all : 0;

	if (percent > 0)
		cell->text = report_say(s->report, "%.*f %%", percent < 10, percent);
}

static void make_margin(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	say_margin(s, row->total_error_ns, row->total_ns, cell);
}

static void make_calls_margin(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct op_row *row = data;

	say_margin(s, row->calls_error, row->calls, cell);
}

static const struct section_column op_columns[] = {
	{ "self_ns", .page_id = "self", .heading = "self", .type = CELL_NS, .at = { 1, 1, 13 },
	  .if_any = true, FIELD(struct op_row, self_ns) },
	{ "self_share", .heading = "%", .page_heading = "self %", .type = CELL_SHARE,
	  .at = { 2, 2, 32 }, .if_any = true, FIELD(struct op_row, self_ns) },
	{ "others_ns", .heading = "in libraries", .type = CELL_NS, .at = { 2, 2, 31 },
	  .none = { 1, 1, 0 }, .priority = 2, FIELD(struct op_row, others_ns) },
	{ "total_ns", .page_id = "total", .heading = "total", .type = CELL_NS, .at = { 3, 3, 14 },
	  .priority = 1, FIELD(struct op_row, total_ns) },
	{ "total_share", .heading = "%", .type = CELL_SHARE, .at = { 4, 0, 33 }, .priority = 9,
	  FIELD(struct op_row, total_ns) },
	{ "total_margin", .heading = "±", .type = CELL_TEXT, .right = true, .at = { 4, 0, 0 },
	  .priority = 2, .if_any = true, .make = make_margin },
	{ "calls", .heading = "calls", .type = CELL_COUNT, .at = { 5, 4, 9 }, .none = { 1, 0, 0 },
	  .if_any = true, FIELD(struct op_row, calls) },
	{ "calls_margin", .heading = "±", .type = CELL_TEXT, .right = true, .at = { 5, 0, 0 },
	  .priority = 3, .if_any = true, .make = make_calls_margin },
	{ "unrecorded_calls", .type = CELL_COUNT, .at = { 0, 0, 34 },
	  FIELD(struct op_row, unseen) },
	{ "calls_error", .type = CELL_COUNT, .at = { 0, 0, 35 },
	  FIELD(struct op_row, calls_error) },
	{ "total_error_ns", .type = CELL_NS, .at = { 0, 0, 36 },
	  FIELD(struct op_row, total_error_ns) },
	{ "untimed_calls", .type = CELL_COUNT, .at = { 0, 0, 10 }, FIELD(struct op_row, untimed) },
	{ "left_open", .type = CELL_COUNT, .at = { 0, 0, 11 }, FIELD(struct op_row, left_open) },
	{ "marks", .heading = "marks", .type = CELL_COUNT, .at = { 6, 0, 12 }, .none = { 1, 0, 0 },
	  .priority = 6, FIELD(struct op_row, marks) },
	{ "average_ns", .heading = "average", .type = CELL_NS, .at = { 7, 0, 15 },
	  .none = { 0, 0, 1 }, .form = FORM_OWN, .priority = 8, .make = make_average },
	{ "median_ns", .page_id = "median", .heading = "median", .type = CELL_NS,
	  .at = { 8, 5, 19 }, .none = { 1, 1, 1 }, .form = FORM_OWN, .priority = 2,
	  .make = make_median },
	{ "iqr", .heading = "IQR", .type = CELL_NS, .at = { 9, 6, 0 }, .none = { 1, 1, 0 },
	  .form = FORM_OWN, .priority = 11, .make = make_iqr },
	{ "min_ns", .heading = "min", .type = CELL_NS, .at = { 10, 0, 17 }, .none = { 1, 0, 1 },
	  .form = FORM_OWN, .priority = 12, .make = make_min },
	{ "q1_ns", .type = CELL_NS, .at = { 0, 0, 18 }, .none = { 0, 0, 1 },
	  FIELD(struct op_row, q1_ns) },
	{ "q3_ns", .type = CELL_NS, .at = { 0, 0, 20 }, .none = { 0, 0, 1 },
	  FIELD(struct op_row, q3_ns) },
	{ "max_ns", .page_id = "max", .heading = "max", .type = CELL_NS, .at = { 11, 8, 21 },
	  .none = { 1, 1, 1 }, .form = FORM_OWN, .priority = 5, .make = make_max },
	{ "first_ns", .page_id = "first", .heading = "first", .type = CELL_NS, .at = { 12, 7, 16 },
	  .none = { 1, 1, 1 }, .form = FORM_OWN, .priority = 10, .make = make_first },
	{ "self_allocated_bytes", .page_id = "bytes", .heading = "allocated", .type = CELL_BYTES,
	  .at = { 14, 10, 25 }, .none = { 1, 1, 0 }, .priority = 8,
	  FIELD(struct op_row, self_allocated_bytes) },
	{ "allocated_bytes", .heading = "with callees", .type = CELL_BYTES, .at = { 14, 0, 24 },
	  .none = { 1, 0, 0 }, .priority = 16, FIELD(struct op_row, allocated_bytes) },
	{ "device_self_bytes", .heading = "on GPUs", .type = CELL_BYTES, .at = { 15, 0, 0 },
	  .none = { 1, 0, 0 }, .priority = 6, FIELD(struct op_row, devices.self_allocated_bytes) },
	{ "device_bytes", .heading = "with callees", .type = CELL_BYTES, .at = { 16, 0, 0 },
	  .none = { 1, 0, 0 }, .priority = 15, FIELD(struct op_row, devices.allocated_bytes) },
	{ "self_net", .heading = "net", .type = CELL_TEXT, .right = true, .at = { 13, 0, 0 },
	  .priority = 7, .if_any = true, .make = make_self_net },
	{ "net", .heading = "with callees", .alone = "net with callees", .type = CELL_TEXT,
	  .right = true, .at = { 13, 0, 0 }, .priority = 10, .if_any = true, .make = make_net },
	{ "device_self_net", .heading = "net on GPUs", .type = CELL_TEXT, .right = true,
	  .at = { 15, 0, 0 }, .priority = 6, .if_any = true, .make = make_device_self_net },
	{ "device_net", .heading = "with callees", .alone = "net on GPUs with callees",
	  .type = CELL_TEXT, .right = true, .at = { 15, 0, 0 }, .priority = 14, .if_any = true,
	  .make = make_device_net },
	{ "flops", .heading = "FLOP", .type = CELL_COUNT, .at = { 17, 0, 22 }, .none = { 1, 0, 1 },
	  .form = FORM_SCALED, .priority = 13, FIELD(struct op_row, flops) },
	{ "rate", .heading = "GFLOP/s", .type = CELL_NUMBER, .at = { 18, 11, 0 },
	  .form = FORM_DECIMAL, .priority = 3, .make = make_rate },
	{ "gpu_ns", .page_id = "gpu", .heading = "on GPU", .type = CELL_NS, .at = { 19, 9, 23 },
	  .none = { 1, 1, 0 }, .form = FORM_BESIDE, .priority = 3, FIELD(struct op_row, gpu_ns) },
	{ "net_bytes", .type = CELL_INTEGER, .at = { 0, 0, 26 }, FIELD(struct op_row, net_bytes) },
	{ "self_net_bytes", .type = CELL_INTEGER, .at = { 0, 0, 27 },
	  FIELD(struct op_row, self_net_bytes) },
	{ "sampled_ns", .type = CELL_NS, .at = { 0, 0, 28 }, FIELD(struct op_row, sampled_ns) },
	{ "sampled_self_ns", .type = CELL_NS, .at = { 0, 0, 29 },
	  FIELD(struct op_row, sampled_self_ns) },
	{ "message_bytes", .heading = "moved", .type = CELL_BYTES, .at = { 20, 0, 30 },
	  .none = { 1, 0, 1 }, .priority = 2, FIELD(struct op_row, message_bytes) },
	{ "provider", .heading = "kind", .page_heading = "by", .type = CELL_TEXT,
	  .at = { 21, 12, 2 }, .priority = 4, FIELD(struct op_row, provider) },
	{ "op", .heading = "op", .type = CELL_TEXT, .at = { 22, 0, 0 }, .clip = CLIP_MIDDLE,
	  .room = 3, .reserve = NAME_WIDTH, .make = make_op },
	{ "caller", .heading = "called from", .type = CELL_TEXT, .at = { 23, 0, 0 },
	  .clip = CLIP_START, .room = 2, .reserve = PLACE_WIDTH, .if_any = true,
	  .make = make_caller },
	{ "name", .page_heading = "op", .type = CELL_TEXT, .at = { 0, 13, 1 },
	  FIELD(struct op_row, name) },
	{ "domain", .type = CELL_TEXT, .at = { 0, 0, 3 }, FIELD(struct op_row, domain) },
	{ "shape", .page_heading = "shape", .type = CELL_TEXT, .at = { 0, 14, 4 },
	  .none = { 0, 1, 0 }, FIELD(struct op_row, shape) },
	{ "place", .page_heading = "called from", .type = CELL_PLACE, .at = { 0, 15, 0 },
	  .make = make_place },
	{ "function", .type = CELL_TEXT, .at = { 0, 0, 5 }, FIELD(struct op_row, function) },
	{ "file", .type = CELL_TEXT, .at = { 0, 0, 6 }, FIELD(struct op_row, file) },
	{ "line", .type = CELL_COUNT, .at = { 0, 0, 7 }, .none = { 0, 0, 1 }, .make = make_line },
	{ "module", .type = CELL_TEXT, .at = { 0, 0, 8 }, FIELD(struct op_row, module) },
};

static struct section *new_section(struct report *r, struct ops *ops, const char *id,
                                   const char *title)
{
	struct section *s = section_new(r, id, title);

	s->context = ops;
	s->all = ops->all->wall_ns;
	SECTION_COLUMNS(s, op_columns);
	return s;
}

static struct section *ops_sheet(struct report *r, const char *id, enum op_by by, struct error *err)
{
	struct ops ops = { .query = view_op_query(r->view) };

	ops.query.by = by;
	ops.query.sort = OPS_SORT_SELF;

	ops.all = keep_op_rows(r, query_ops(r->profile, &ops.query, err), err);
	if (!ops.all)
		return NULL;
	struct section *s = new_section(r, &ops, id, NULL);
	section_rows(s, ops.all->rows, ops.all->count, sizeof(*ops.all->rows));
	return section_end(s, err);
}

struct section *section_sheet_ops(struct report *r, struct error *err)
{
	return ops_sheet(r, "ops", OPS_BY_OP, err);
}

struct section *section_sheet_op_shapes(struct report *r, struct error *err)
{
	return ops_sheet(r, "op_shapes", OPS_BY_SHAPE, err);
}

static bool is_estimated(const struct ops *ops)
{
	for (size_t i = 0; i < ops->all->count; i++)
		if (ops->all->rows[i].unseen)
			return true;
	return false;
}

// Whether any of them is a torch.nn.Module, and not what is in none.
static bool has_modules(const struct op_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].name[0] != '[')
			return true;
	return false;
}

struct section *section_op_modules(struct report *r, struct error *err)
{
	struct ops ops = { .query = view_op_query(r->view) };

	ops.query.by = OPS_BY_MODULE;
	ops.query.sort = r->reader == READER_PAGE ? OPS_SORT_TOTAL : OPS_SORT_SELF;
	ops.all = keep_op_rows(r, query_ops(r->profile, &ops.query, err), err);
	if (!ops.all)
		return NULL;
	struct section *s = new_section(r, &ops, "op_modules", "Modules");
	s->subtitle =
		is_estimated(&ops)
			? "torch.nn.Module, estimated times of their ops; total: with the modules within"
			: "torch.nn.Module, exact times of their ops; total: with the modules within";
	struct section_column *name = section_column(s, "name");
	if (r->reader == READER_PAGE && name)
		name->page_heading = "module";
	if (has_modules(ops.all))
		section_all_rows(s, ops.all->rows, ops.all->count, sizeof(*ops.all->rows));
	return section_end(s, err);
}

// What the table's shares are of, and whose view it is.
static const char *say_whole(struct report *r, const struct ops *ops)
{
	const char *wall = format_duration(ops->all->wall_ns).text, *as = r->view->as;

	return report_say(r, "%s; %% of %s%s %s%s%s%s", is_estimated(ops) ? "estimates" : "exact",
	                  r->view->of ? r->view->of : "their threads'", r->view->of ? "," : "",
	                  wall, as ? "; as " : "", as ? as : "", as ? " has them" : "");
}

struct section *section_page_ops(struct report *r, struct error *err)
{
	struct ops ops = { .query = view_op_query(r->view) };

	ops.query.by = OPS_BY_SHAPE;
	ops.query.sort = OPS_SORT_SELF;
	ops.all = keep_op_rows(r, query_ops(r->profile, &ops.query, err), err);
	if (!ops.all)
		return NULL;
	struct section *s = new_section(r, &ops, "ops", "Ops");
	s->subtitle = r->view->as || r->view->of ? report_say(r, "%s; by shape", say_whole(r, &ops))
	              : is_estimated(&ops)       ? "estimates, by shape"
	                                         : "exact, by shape";
	section_page_rows(s, ops.all->rows, ops.all->count, sizeof(*ops.all->rows));
	return section_end(s, err);
}

// Whoever asks for ops gets all of them; a whole report has those that took a part of the time.
static bool is_worth_a_line(const struct ops *ops, const struct op_row *row)
{
	if (!row->calls && !row->marks && !row->total_ns)
		return false; // a name of a domain or category
	if (ops->query.sort == OPS_SORT_GPU && !row->gpu_ns)
		return false;
	const struct view *view = ops->view;
	double share = view_table(view) == VIEW_TABLE_OPS && view->min_percent < 0
	                       ? 0
	                       : view_min_share(view, false);
	uint64_t least = (uint64_t)(share * (double)ops->all->wall_ns);
	uint64_t most = row->total_ns > row->self_ns ? row->total_ns : row->self_ns;

	return most >= least && (most || share <= 0);
}

static bool choose_rows(struct ops *ops, struct report *r)
{
	ops->rows = report_take(r, (ops->all->count + 1) * sizeof(struct op_row *));
	if (!ops->rows)
		return false;
	for (size_t i = 0; i < ops->all->count; i++)
		if (ops->count < ops->view->top && is_worth_a_line(ops, &ops->all->rows[i]))
			ops->rows[ops->count++] = &ops->all->rows[i];
	return true;
}

// Whether the column shows the order of the rows: then it is there in any case.
static bool is_rank(const struct ops *ops, const struct section_column *c)
{
	static const char *const ranked[][2] = {
		[OPS_SORT_SELF] = { "self_ns", "self_share" },
		[OPS_SORT_TOTAL] = { "total_ns", "total_share" },
		[OPS_SORT_CALLS] = { "calls", "" },
		[OPS_SORT_MEMORY] = { "self_allocated_bytes", "" },
		[OPS_SORT_MEMORY_TOTAL] = { "allocated_bytes", "" },
		[OPS_SORT_NET] = { "self_net", "" },
		[OPS_SORT_NET_TOTAL] = { "net", "" },
		[OPS_SORT_GPU_MEMORY] = { "device_self_net", "" },
		[OPS_SORT_GPU_MEMORY_TOTAL] = { "device_net", "" },
		[OPS_SORT_FLOPS] = { "flops", "rate" },
		[OPS_SORT_AVERAGE] = { "average_ns", "" },
		[OPS_SORT_GPU] = { "gpu_ns", "" },
	};
	const char *const *ids = ranked[ops->query.sort];

	return strcmp(c->id, ids[0]) == 0 || strcmp(c->id, ids[1]) == 0;
}

// What names have of the line: all that they need, but for very long ones.
static void choose_columns(struct section *s, const struct ops *ops)
{
	bool stack = ops->query.by == OPS_BY_STACK, module = ops->query.by == OPS_BY_MODULE;
	bool shape = ops->query.by == OPS_BY_SHAPE;
	struct section_column *op = section_column(s, "op"), *caller = section_column(s, "caller");
	bool backward = false;

	for (size_t i = 0; i < ops->count; i++)
		backward |= ops->rows[i]->backward;
	for (size_t i = 0; i < s->column_count; i++) {
		if (!is_rank(ops, &s->columns[i]))
			continue;
		s->columns[i].priority = 0;
		s->columns[i].if_any = false;
	}
	op->heading = module ? "module" : ops->query.by == OPS_BY_LINE ? "called from" : "op";
	op->clip = module ? CLIP_START : shape ? CLIP_END : CLIP_MIDDLE;
	op->room = stack ? 2 : 3;
	op->reserve = shape ? SHAPE_WIDTH : is_by_place(ops) ? STACK_WIDTH : NAME_WIDTH;
	caller->heading = ops->query.by == OPS_BY_THREAD ? "thread" : "called from";
	caller->clip = stack ? CLIP_END : CLIP_START;
	caller->room = stack ? 3 : 2;
	caller->reserve =
		(uint8_t)((stack ? STACK_WIDTH : PLACE_WIDTH) + (backward ? strlen(BACKWARD) : 0));
}

static enum tone heat(const struct ops *ops, const struct op_row *row)
{
	bool self = ops->query.sort == OPS_SORT_SELF;
	double share = share_of(self ? row->self_ns : row->total_ns, ops->all->wall_ns);

	return share >= 0.2 ? TONE_HOT : share >= 0.05 ? TONE_WARM : TONE_PLAIN;
}

static void add_rows(struct section *s, const struct ops *ops)
{
	for (size_t i = 0; i < ops->count; i++) {
		const struct op_row *row = ops->rows[i];
		struct section_row *out = section_row(s, row);
		for (size_t k = 0; out && k < s->column_count; k++)
			if (is_rank(ops, &s->columns[k]))
				out->cells[k].tone = (uint8_t)heat(ops, row);
		s->unit_ns = row->total_ns > s->unit_ns ? row->total_ns : s->unit_ns;
		s->beside_ns = row->gpu_ns > s->beside_ns ? row->gpu_ns : s->beside_ns;
	}
}

// "sgemm: the first call took 4.5 ms, most take 0.2 ms": what it does once is not what to optimize.
static void note_first_calls(struct section *s, const struct ops *ops)
{
	size_t told = 0;

	for (size_t i = 0; i < ops->count && told < FIRST_CALLS; i++) {
		const struct op_row *row = ops->rows[i];
		char name[256];
		if (row->calls < FIRST_OF_CALLS || !row->median_ns ||
		    row->first_ns < FIRST_NS_MIN || row->first_ns < FIRST_RATIO * row->median_ns)
			continue;
		name_op(ops, row, name, sizeof(name));
		cleanup_free char *clean = format_clean(name, false);
		section_note(s, NOTE_SAY, false,
		             "%s: its first call took %s, then the median is %s",
		             clean ? clean : "?", format_duration(row->first_ns).text,
		             format_duration(row->median_ns).text);
		told++;
	}
}

static void note_troubles(struct section *s, const struct ops *ops)
{
	uint64_t open = 0, untimed = 0;

	for (size_t i = 0; i < ops->all->count; i++) {
		open += ops->all->rows[i].left_open;
		untimed += ops->all->rows[i].untimed;
	}
	if (open)
		section_note(s, NOTE_SAY, false,
		             "%s call%s had not ended: counted until the thread or the process did",
		             format_count(open).text, open == 1 ? "" : "s");
	if (untimed)
		section_note(
			s, NOTE_SAY, false,
			"median, min, max and first exclude %s call%s (%s %%): only their sum is "
			"recorded, as they were too frequent or reported afterwards",
			format_count(untimed).text, untimed == 1 ? "" : "s",
			format_percent(untimed, ops->all->calls).text);
}

static void note_lost(struct section *s, const struct ops *ops)
{
	if (ops->all->folded)
		section_note(s, NOTE_SAY, false,
		             "%s calls had more shapes and callers than are kept apart",
		             format_count(ops->all->folded).text);
	if (ops->all->blurred)
		section_note(
			s, NOTE_SAY, false,
			"%s calls had more different durations than are kept apart: they are in all "
			"sums, but median and IQR are rough",
			format_count(ops->all->blurred).text);
	if (ops->all->lost)
		section_note(s, NOTE_SAY, false, "%s calls are in no row: the table was full",
		             format_count(ops->all->lost).text);
}

// What the program would have had left out of a profile is in it, and is told apart by this.
static void note_pauses(struct section *s, const struct ops *ops)
{
	uint64_t wall_ns = profile_run(s->report->profile)->wall_ns;

	for (size_t i = 0; i < ops->all->count; i++) {
		const struct op_row *row = &ops->all->rows[i];
		char share[48] = "";
		if (strcmp(row->provider, op_provider_name(OP_ITT)) != 0 || *row->domain ||
		    strcmp(row->name, OP_PAUSED) != 0 || !row->calls)
			continue;
		if (row->total_ns <= wall_ns)
			snprintf(share, sizeof(share), ", %s %% of the run",
			         format_percent(row->total_ns, wall_ns).text);
		section_note(
			s, NOTE_SAY, false,
			"the program paused its profilers %s time%s, for %s%s: this report is of "
			"the whole run all the same",
			format_count(row->calls).text, row->calls == 1 ? "" : "s",
			format_duration(row->total_ns).text, share);
	}
}

// One op at least has a part of the time that is worth a table: of the run's, as many threads that
// wait for work make no op cheaper.
static bool matter(const struct report *r, const struct ops *ops)
{
	uint64_t run_ns = profile_run(r->profile)->wall_ns, all_ns = ops->all->wall_ns;

	if (run_ns && run_ns < all_ns)
		all_ns = run_ns;
	for (size_t i = 0; i < ops->count; i++) {
		const struct op_row *row = ops->rows[i];
		uint64_t ns = row->total_ns > row->self_ns ? row->total_ns : row->self_ns;
		if (row->gpu_ns || share_of(ns, all_ns) >= BRIEF_SHARE)
			return true;
	}
	return false;
}

static void say_none(struct section *s, const struct ops *ops)
{
	s->shown = view_table(ops->view) == VIEW_TABLE_OPS;
	if (ops->query.sort == OPS_SORT_GPU && ops->all->count) {
		section_no_gpu(s);
		return;
	}
	s->title = "ops";
	section_note(s, NOTE_SAY, false,
	             "There are none: the program called nothing that bottleneck-ops(7) names.");
}

struct section *section_ops(struct report *r, struct error *err)
{
	static const char *const sorts[] = {
		[OPS_SORT_SELF] = "self time",
		[OPS_SORT_TOTAL] = "total time",
		[OPS_SORT_CALLS] = "calls",
		[OPS_SORT_MEMORY] = "allocated bytes",
		[OPS_SORT_FLOPS] = "FLOP",
		[OPS_SORT_AVERAGE] = "average time",
		[OPS_SORT_GPU] = "GPU time",
		[OPS_SORT_MEMORY_TOTAL] = "allocated bytes, with callees",
		[OPS_SORT_NET] = "net bytes",
		[OPS_SORT_NET_TOTAL] = "net bytes, with callees",
		[OPS_SORT_GPU_MEMORY] = "net bytes on GPUs",
		[OPS_SORT_GPU_MEMORY_TOTAL] = "net bytes on GPUs, with callees",
	};
	struct ops ops = { .view = r->view, .query = view_op_query(r->view) };

	// The times of ops are wall time.
	if (r->view->on_cpu != r->view->off_cpu)
		return section_end(section_new(r, "ops", NULL), err);
	ops.all = keep_op_rows(r, query_ops(r->profile, &ops.query, err), err);
	if (!ops.all)
		return NULL;
	const char *title = report_say(r, "ops by %s", sorts[ops.query.sort]);
	struct section *s = new_section(r, &ops, "ops", title);
	if (r->failed || !choose_rows(&ops, r))
		return section_end(s, err);
	if (!ops.count) {
		say_none(s, &ops);
		return section_end(s, err);
	}
	s->shown = !r->view->brief || matter(r, &ops);
	s->subtitle = say_whole(r, &ops);
	choose_columns(s, &ops);
	add_rows(s, &ops);
	note_first_calls(s, &ops);
	note_pauses(s, &ops);
	note_troubles(s, &ops);
	note_lost(s, &ops);
	return section_end(s, err);
}
