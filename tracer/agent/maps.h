/* SPDX-License-Identifier: MIT */
/*
 * The mappings of this process, by /proc/self/maps.
 *
 * For any thread, and for handlers: it takes no lock, and neither allocates nor opens a stream.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAPS_PATH_MAX 512

struct map {
	uint64_t start, end, file_offset, inode;
	uint32_t device_major, device_minor;
	uint32_t protection;      /* PROT_* */
	char path[MAPS_PATH_MAX]; /* "" if anonymous; cut if longer */
};

/* False if LINE (LENGTH bytes, no newline) is not one of /proc/PID/maps. */
bool map_parse(const char *line, size_t length, struct map *out);

/* Calls VISIT for each mapping; false if the file cannot be read. Uses 1.5 KB of stack. */
bool maps_each(void (*visit)(void *context, const struct map *map), void *context);

/*
 * Whether SIZE more bytes of address space are little beside what the process may still take of it
 * (RLIMIT_AS, ulimit -v): that is meant for the program.
 */
bool maps_allow(size_t size);
