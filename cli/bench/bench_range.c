// SPDX-License-Identifier: MIT
#include "cli/bench/bench_range.h"

#include "base/error.h"
#include "base/temporary.h"
#include "merge/profile/profile.h"
#include "merge/profile/repeats.h"
#include "merge/query/query_ops.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SELF "/proc/self/exe"

int bench_range_open(struct bench_range *range, const char *glob, const struct option_list *trace,
                     struct error *err)
{
	const char *directory = getenv("TMPDIR");
	int length = snprintf(range->path, sizeof(range->path), "%s/bottleneck-bench-XXXXXX",
	                      directory && *directory ? directory : "/tmp");

	range->glob = glob;
	range->trace = trace;
	int fd = length < (int)sizeof(range->path) ? mkstemp(range->path) : -1;
	if (fd < 0) {
		range->path[0] = '\0';
		error_set(err, errno, "could not make a temporary file");
		return error_hint(err, "Name another directory in TMPDIR.");
	}
	close(fd);
	temporary_add(range->path);
	return 0;
}

void bench_range_close(struct bench_range *range)
{
	if (range->path[0]) {
		unlink(range->path);
		temporary_forget(range->path);
	}
	range->path[0] = '\0';
}

char **bench_range_command(const struct bench_range *range, char *const *argv, struct error *err)
{
	// One sample a second: the calls of ops are what counts, and they are exact without.
	static const char *const head[] = { SELF,  "run",         "--no-report",  "--no-off-cpu",
		                            "-F1", "--no-malloc", "--budget=none" };
	size_t heads = sizeof(head) / sizeof(head[0]), count = 0, words = 0;

	while (argv[words])
		words++;
	char **command = calloc(heads + 2 * range->trace->count + 3 + words + 1, sizeof(*command));
	if (!command) {
		error_set(err, ENOMEM, "could not make the command");
		return NULL;
	}
	for (size_t i = 0; i < heads; i++)
		command[count++] = (char *)head[i];
	for (size_t i = 0; i < range->trace->count; i++) {
		command[count++] = "--trace";
		command[count++] = (char *)range->trace->items[i];
	}
	command[count++] = "-o";
	command[count++] = (char *)range->path;
	command[count++] = "--";
	for (size_t i = 0; i < words; i++)
		command[count++] = argv[i];
	return command;
}

static int too_many(const char *glob, const struct op_row *a, const struct op_row *b,
                    struct error *err)
{
	error_set(err, 0, "\"%s\" means several ops, as \"%s\" and \"%s\"", glob, a->name, b->name);
	return error_hint(err, "Name one of them with --range.");
}

static int none(const char *glob, const struct op_rows *rows, struct error *err)
{
	error_set(err, 0, "the program has no op \"%s\"", glob);
	if (rows->count)
		return error_hint(err,
		                  "It has %zu others, as \"%.100s\"; bottleneck --ops shows "
		                  "them. Functions become ops with --trace.",
		                  rows->count, rows->rows[0].name);
	return error_hint(err, "It has none at all. Functions become ops with --trace.");
}

int bench_range_read(const struct bench_range *range, struct repeat *repeat, struct error *err)
{
	const struct op_query query = { .by = OPS_BY_OP, .sort = OPS_SORT_TOTAL };
	cleanup(profile) struct profile *profile = profile_read(range->path, err);
	cleanup(op_rows) struct op_rows *rows = profile ? query_ops(profile, &query, err) : NULL;
	const struct op_row *found = NULL;

	if (!rows)
		return -1;
	for (size_t i = 0; i < rows->count; i++) {
		const struct op_row *row = &rows->rows[i];
		if (!row->calls || fnmatch(range->glob, row->name, 0) != 0)
			continue;
		if (found)
			return too_many(range->glob, found, row, err);
		found = row;
	}
	if (!found)
		return none(range->glob, rows, err);
	repeat->calls = found->calls;
	repeat->calls_ns = found->total_ns;
	repeat->call_ns = found->median_ns ? found->median_ns : found->average_ns;
	return 0;
}
