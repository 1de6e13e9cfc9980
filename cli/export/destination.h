/* SPDX-License-Identifier: MIT */
/*
 * Where an export goes: standard output, or a file that is complete or not there.
 *
 *	destination_open() → out → destination_finish()
 *
 * A regular file is written under a temporary name beside its own and renamed at the end; pipes
 * and devices are written as they are. A destination is its caller's, for one thread, and owns out
 * until destination_finish() or destination_close().
 */
#pragma once

#include "base/cleanup.h"
#include "base/new_file.h"

#include <stdbool.h>
#include <stdio.h>

struct error;

struct destination {
	FILE *out;
	int fd;           /* of the file; -1: standard output */
	const char *path; /* borrowed */
	bool shared;      /* a new file is for others, too, as the umask says */
	bool is_new;      /* FILE is there, and not yet in its place */
	struct new_file file;
};

/* Whether PATH, a file or a DIRECTORY, can be written, without doing so. -1 if not. */
int destination_check(const char *path, bool directory, struct error *err);

/*
 * PATH NULL: standard output. Compressed if GZIP, or if PATH ends in ".gz". Who else may read a
 * file that was not there: nobody, or SHARED, whom the umask lets.
 */
int destination_open(struct destination *d, const char *path, bool gzip, bool shared,
                     struct error *err);

/* All has been written to d->out: the file gets its name. */
int destination_finish(struct destination *d, struct error *err);

/* Takes back what was not finished. */
void destination_close(struct destination *d);

static inline void destination_at_scope_end(struct destination *d)
{
	destination_close(d);
}
