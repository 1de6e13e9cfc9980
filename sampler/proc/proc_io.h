/* SPDX-License-Identifier: MIT */
/*
 * How much a process has read and written by system calls, and by how many, as /proc/PID/io counts
 * it: files, pipes and terminals, whether the data came from a device or not; sockets only by
 * read() and write(). Functions without state; every text is checked.
 *
 * The kernel adds what a process has counted to its parent when that waits for it. So what a child
 * of ours has counted when it has ended, and is not waited for yet, is of its whole tree, but for
 * processes that nobody has waited for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct proc_io {
	uint64_t read_bytes, read_calls;
	uint64_t write_bytes, write_calls;
};

/* TEXT is the file's. False if it is not of that form. */
bool proc_io_parse(const char *text, struct proc_io *out);

/* False if we may not know. */
bool proc_io_read(uint32_t pid, struct proc_io *out);
