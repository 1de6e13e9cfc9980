// SPDX-License-Identifier: MIT
#include "cli/batch/batch_done.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/batch/batch_file.h"
#include "cli/batch/batch_run.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES 512

static FILE *open_list(const char *directory, const char *mode, struct error *err)
{
	char path[PATH_MAX];
	FILE *list = NULL;

	if (snprintf(path, sizeof(path), "%s/batch.done", directory) < (int)sizeof(path))
		list = fopen(path, mode);
	else
		errno = ENAMETOOLONG;
	if (!list)
		error_set(err, errno, "could not write \"%s/batch.done\"", directory);
	return list;
}

int batch_done_clear(const char *directory, struct error *err)
{
	cleanup_fclose FILE *list = open_list(directory, "we", err);

	return list ? 0 : -1;
}

int batch_done_add(const char *directory, const struct batch_job *job,
                   const struct batch_result *result, struct error *err)
{
	FILE *list = open_list(directory, "ae", err);

	if (!list)
		return -1;
	fprintf(list, "%016" PRIx64 " %u %" PRIu64 " %" PRIu64 " %s\n", batch_job_fingerprint(job),
	        result->runs, result->wall_ns, result->sum_ns, job->name);
	if (fclose(list) == 0)
		return 0;
	return error_set(err, errno, "could not write \"%s/batch.done\"", directory);
}

static bool has_profiles(const char *directory, const struct batch_job *job)
{
	char path[PATH_MAX];

	for (uint32_t i = 1; i <= job->repeat; i++) {
		int length = job->repeat > 1 ? snprintf(path, sizeof(path), "%s/%s.%u.bneck",
		                                        directory, job->name, i)
		                             : snprintf(path, sizeof(path), "%s/%s.bneck",
		                                        directory, job->name);
		if (length >= (int)sizeof(path) || access(path, R_OK) < 0)
			return false;
	}
	return true;
}

// Whether LINE is about the command NAME; then its numbers.
static bool parse(const char *line, const char *name, uint64_t *fingerprint,
                  struct batch_result *result)
{
	int at = 0;

	return sscanf(line, "%16" SCNx64 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %n", fingerprint,
	              &result->runs, &result->wall_ns, &result->sum_ns, &at) == 4 &&
	       at && strncmp(line + at, name, strlen(name)) == 0 &&
	       strcmp(line + at + strlen(name), "\n") == 0;
}

bool batch_done_find(const char *directory, const struct batch_job *job,
                     struct batch_result *result)
{
	struct error ignored;
	cleanup_fclose FILE *list = open_list(directory, "re", &ignored);
	uint64_t fingerprint, found = 0;
	char line[LINE_BYTES];

	while (list && fgets(line, sizeof(line), list)) {
		struct batch_result one = { .outcome = BATCH_PASSED, .kept = true };
		if (!parse(line, job->name, &fingerprint, &one))
			continue;
		found = fingerprint;
		*result = one;
	}
	return found && found == batch_job_fingerprint(job) && has_profiles(directory, job);
}
