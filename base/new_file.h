/* SPDX-License-Identifier: MIT */
/*
 * A file that comes to be as a whole, or not at all: it is written beside its place, under another
 * name, and takes that place when it is complete.
 *
 *	struct new_file f;
 *	int failed = new_file_open(&f, path, 0600);
 *	if (!failed)
 *		failed = new_file_write(&f, bytes, size) < 0 || new_file_commit(&f) < 0;
 *
 * The directory is opened once, and all else is done by its descriptor: nobody who may rename
 * things meanwhile leads us elsewhere. A symbolic link at the place itself is followed if its owner
 * is the caller or root; what it leads to is replaced. One thread at a time.
 *
 * What returns an int is -1 on failure, with the reason in errno; then there is nothing left of it.
 * ELOOP: a link that is not to be followed. EINVAL: what is there is no regular file, and stays.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct new_file {
	int fd; /* to write to; the file's own */
	int directory;
	char name[NAME_MAX + 1]; /* of its place, in the directory */
	char temporary[NAME_MAX + 1];
	char path[PATH_MAX]; /* the temporary file's; "" when that is gone */
};

/* MODE is that of a file that was not there; of one that was, the mode stays. */
int new_file_open(struct new_file *f, const char *path, mode_t mode);

/*
 * Opens what is at PATH for writing, or a new file, with the same care for links: for what is
 * written in place, and for terminals and pipes. Never a disk.
 */
int new_file_open_in_place(const char *path, mode_t mode);

int new_file_write(struct new_file *f, const void *bytes, size_t size);

/* Syncs it to the disk and puts it in its place. Ends F in any case. */
int new_file_commit(struct new_file *f);

/* The same without a wait for the disk: of what can be made again. */
int new_file_commit_unsynced(struct new_file *f);

/* Removes what there is. Ends F. Keeps errno. */
void new_file_discard(struct new_file *f);
