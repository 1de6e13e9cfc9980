/* SPDX-License-Identifier: MIT */
/*
 * What short processes, which have no rings, say at their end of the memory that they allocated,
 * and what processes say that cannot make any: they append it to one file for each user.
 *
 * Nothing in it is trusted. What has been read is given back to the file system. One thread at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct record;

struct totals_file {
	char name[32];
	int fd;
	uid_t user;
	off_t at, freed; /* read so far; given back to the file system */
};

/* Opens NAME of DIRECTORY. False if it is no such file. */
bool totals_file_open(struct totals_file *t, int directory, const char *name);
void totals_file_close(struct totals_file *t);

/* GIVE gets each record that has come to the file since the last call. */
void totals_file_read(struct totals_file *t, void give(void *context, const struct record *record),
                      void *context);
