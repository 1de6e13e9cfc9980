/* SPDX-License-Identifier: MIT */
/*
 * Files whose names or contents somebody else has chosen.
 *
 * A path from a memory map, from debug information or in /tmp can lead to a device, whose mere
 * opening may do something, to a FIFO that nobody writes, or to a file of another user. What a path
 * leads to is examined first, and only a regular file is opened; nothing waits. Functions without
 * state, for any thread; what they open is the caller's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct error;

/* What a regular file must be besides. */
struct foreign_rules {
	/* Links are not followed, and the file has one name. For directories that anybody can write
	   to: a link there can lead to a file of whoever follows it. */
	bool no_links;
	/* It belongs to USER or to root. */
	bool owned;
	uid_t user;
	uint64_t max_bytes; /* 0: of any size */
	/* It has been written to since then: CLOCK_REALTIME; 0: at any time. */
	uint64_t not_before_ns;
};

/* Opens PATH to be read. RULES may be NULL; ST, which may be NULL, is what fstat() says. -1 with
   ERR: the path is quoted in it, and its errnum is ENOENT only where there is no such file. */
int foreign_open(const char *path, const struct foreign_rules *rules, struct stat *st,
                 struct error *err);

/* The same of FD, which is open to be read, and stays so: another descriptor of it. */
int foreign_open_again(int fd, const char *path, const struct foreign_rules *rules, struct stat *st,
                       struct error *err);
