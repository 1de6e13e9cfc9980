// SPDX-License-Identifier: MIT
/*
 * op_rows PROFILE: one line for each op of a profile, and first the time of their threads, with all
 * digits; for tests/e2e/ops.py.
 *
 *	wall NS
 *	PROVIDER DOMAIN NAME CALLS TOTAL_NS SELF_NS SAMPLED_NS SAMPLED_SELF_NS LEFT_OPEN UNTIMED
 */
#include "base/error.h"
#include "merge/query_ops.h"

#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct error err;
	struct op_query query = { .by = OPS_BY_OP };

	if (argc != 2)
		return 2;
	cleanup(profile) struct profile *p = profile_read(argv[1], &err);
	cleanup(op_rows) struct op_rows *rows = p ? query_ops(p, &query, &err) : NULL;
	if (!rows) {
		fprintf(stderr, "op_rows: %s\n", err.text);
		return 1;
	}
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
