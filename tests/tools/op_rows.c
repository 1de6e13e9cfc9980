// SPDX-License-Identifier: MIT
/*
 * op_rows PROFILE: one line for each op of a profile, and first the time of their threads, with all
 * digits; for tests/e2e/ops.py.
 *
 *	wall NS
 *	PROVIDER DOMAIN NAME CALLS TOTAL_NS SELF_NS SAMPLED_NS SAMPLED_SELF_NS LEFT_OPEN UNTIMED
 *
 * op_rows -s PROFILE: by shape, total and bytes of each call by itself.
 *
 *	PROVIDER NAME SHAPE CALLS TOTAL_NS SELF_NS NET_BYTES SELF_NET_BYTES FLOPS
 *
 * op_rows -c PROFILE: by what calls them, up to 64 frames of it.
 *
 *	PROVIDER NAME CALLS STACK
 *
 * op_rows -t PROFILE: by module of PyTorch.
 *
 *	NAME CALLS SELF_NS TOTAL_NS
 *
 * op_rows -m PROFILE: the same of its memory.
 *
 *	all ALLOCATIONS ALLOCATED_BYTES PEAK_BYTES END_BYTES
 *	FUNCTION TOTAL_ALLOCATED_BYTES LIVE_AT_PEAK_BYTES LIVE_AT_END_BYTES
 */
#include "base/error.h"
#include "merge/query/query_ops.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int print_memory(const struct profile *p, struct error *err)
{
	cleanup(memory_rows) struct memory_rows *rows =
		query_memory(p, MEMORY_BY_FUNCTION, false, err);

	if (!rows)
		return -1;
	printf("all\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", rows->allocations,
	       rows->allocated_bytes, rows->peak_bytes, rows->end_bytes);
	for (size_t i = 0; i < rows->count; i++) {
		const struct memory_row *row = &rows->rows[i];
		printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", row->name,
		       row->total_allocated_bytes, row->live_at_peak_bytes, row->live_at_end_bytes);
	}
	return 0;
}

static int print_ops(const struct profile *p, struct error *err)
{
	struct op_query query = { .by = OPS_BY_OP };
	cleanup(op_rows) struct op_rows *rows = query_ops(p, &query, err);

	if (!rows)
		return -1;
	printf("wall\t%" PRIu64 "\n", rows->wall_ns);
	for (size_t i = 0; i < rows->count; i++) {
		const struct op_row *row = &rows->rows[i];
		printf("%s\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		       "\t%" PRIu64 "\t%" PRIu64 "\n",
		       row->provider, row->domain, row->name, row->calls, row->total_ns,
		       row->self_ns, row->sampled_ns, row->sampled_self_ns, row->left_open,
		       row->untimed);
	}
	return 0;
}

static int print_shapes(const struct profile *p, struct error *err)
{
	struct op_query query = { .by = OPS_BY_SHAPE };
	cleanup(op_rows) struct op_rows *rows = query_ops(p, &query, err);

	if (!rows)
		return -1;
	for (size_t i = 0; i < rows->count; i++) {
		const struct op_row *row = &rows->rows[i];
		printf("%s\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRId64 "\t%" PRId64
		       "\t%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\n",
		       row->provider, row->name, row->shape, row->calls,
		       row->average_ns * row->calls, row->self_ns, row->net_bytes,
		       row->self_net_bytes, row->flops,
		       (int64_t)(row->devices.allocated_bytes - row->devices.freed_bytes),
		       (int64_t)(row->devices.self_allocated_bytes -
		                 row->devices.self_freed_bytes));
	}
	return 0;
}

static int print_modules(const struct profile *p, struct error *err)
{
	struct op_query query = { .by = OPS_BY_MODULE };
	cleanup(op_rows) struct op_rows *rows = query_ops(p, &query, err);

	if (!rows)
		return -1;
	for (size_t i = 0; i < rows->count; i++)
		printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", rows->rows[i].name,
		       rows->rows[i].calls, rows->rows[i].self_ns, rows->rows[i].total_ns);
	return 0;
}

static int print_callers(const struct profile *p, struct error *err)
{
	struct op_query query = { .by = OPS_BY_STACK, .stack_frames = 64 };
	cleanup(op_rows) struct op_rows *rows = query_ops(p, &query, err);

	if (!rows)
		return -1;
	for (size_t i = 0; i < rows->count; i++)
		printf("%s\t%s\t%" PRIu64 "\t%s\n", rows->rows[i].provider, rows->rows[i].name,
		       rows->rows[i].calls, rows->rows[i].stack);
	return 0;
}

int main(int argc, char **argv)
{
	typedef int print(const struct profile *p, struct error *err);
	const char *option = argc == 3 ? argv[1] : "";
	print *what = strcmp(option, "-m") == 0   ? print_memory
	              : strcmp(option, "-s") == 0 ? print_shapes
	              : strcmp(option, "-c") == 0 ? print_callers
	              : strcmp(option, "-t") == 0 ? print_modules
	                                          : print_ops;
	struct error err;

	if (argc != 2 && what == print_ops)
		return 2;
	cleanup(profile) struct profile *p = profile_read(argv[argc - 1], &err);
	if (p && what(p, &err) == 0)
		return 0;
	fprintf(stderr, "op_rows: %s\n", err.text);
	return 1;
}
