/* SPDX-License-Identifier: MIT */
/*
 * What short processes, which have no rings, say at their end of the memory that they allocated,
 * and what processes say that cannot make any: they append it to one file.
 *
 * Nothing in it is trusted. What has been read is given back to the file system. One thread at a
 * time.
 */
#pragma once

#include <sys/types.h>

struct record;

struct totals_file {
	int fd;          /* -1: it is not there yet */
	off_t at, freed; /* read so far; given back to the file system */
};

#define TOTALS_FILE_NONE ((struct totals_file){ .fd = -1 })

void totals_file_fini(struct totals_file *t);

/* GIVE gets each record that has come to the file of DIRECTORY since the last call. */
void totals_file_read(struct totals_file *t, int directory,
                      void give(void *context, const struct record *record), void *context);
