// SPDX-License-Identifier: MIT
#include "tracer/reader/totals_file.h"

#include "base/cleanup.h"
#include "base/record.h"
#include "tracer/protocol.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT_ONCE 64
#define KEPT    ((off_t)1 << 20)

bool totals_file_open(struct totals_file *t, int directory, const char *name)
{
	struct stat status;

	if (strlen(name) >= sizeof(t->name))
		return false;
	cleanup_close int fd =
		openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	// A link may lead to a file of somebody else's, in which holes are made below.
	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1)
		return false;
	*t = (struct totals_file){ .fd = steal_fd(&fd), .user = status.st_uid };
	strcpy(t->name, name);
	return true;
}

void totals_file_close(struct totals_file *t)
{
	close(t->fd);
}

// Writers append to the file at any moment, so it is never cut: it becomes hollow.
static void free_read(struct totals_file *t)
{
	if (t->at - t->freed < KEPT)
		return;
	fallocate(t->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, t->freed, t->at - t->freed);
	t->freed = t->at;
}

void totals_file_read(struct totals_file *t, void give(void *context, const struct record *record),
                      void *context)
{
	struct record_memory some[AT_ONCE];
	ssize_t got;

	while ((got = pread(t->fd, some, sizeof(some), t->at)) >= (ssize_t)sizeof(some[0])) {
		size_t count = (size_t)got / sizeof(some[0]);
		for (size_t i = 0; i < count; i++)
			if (some[i].head.size == sizeof(some[i]) &&
			    (some[i].head.type == RECORD_MEMORY ||
			     some[i].head.type == RECORD_LOST))
				give(context, &some[i].head);
		t->at += (off_t)(count * sizeof(some[0]));
	}
	free_read(t);
}
