// SPDX-License-Identifier: MIT
/*
 * Whole files of profiles, read by SQLite: profile_read() refuses them with a reason or they
 * answer.
 *
 * An input is a file, or what differs from a sound one: which one, and pieces of a u24 of where, a
 * length and so many bytes. Nothing that changes a value gets past the checksum: profile_read has
 * the values. A file gets the schema of today, so that stored ones are read at all.
 */
#include "tests/fuzz/profile_base.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "merge/file/file.h"
#include "merge/profile/profile_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BASE_BYTES 262144
#define SCHEMA_AT  60 // where SQLite has the number that is the schema: big-endian

static struct base {
	uint8_t bytes[BASE_BYTES];
	size_t size;
} bases[BASES];

static uint8_t file[BASE_BYTES];

// False if it is refused.
static bool read_and_ask(size_t size)
{
	// One file for all inputs: making one takes longer than reading it.
	static int fd = -1;
	char path[64];
	struct error err = { 0 };

	if (fd < 0)
		fd = memfd_create("profile", MFD_CLOEXEC);
	if (fd < 0 || pwrite(fd, file, size, 0) != (ssize_t)size || ftruncate(fd, (off_t)size) < 0)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cleanup(profile) struct profile *p = profile_read(path, &err);
	if (p)
		profile_base_ask(p);
	else if (!*err.text)
		abort(); // it must say why
	return p != NULL;
}

// A sound one must be read: or else nothing is ever tried.
static void make_bases(void)
{
	char path[] = "/tmp/profile_file_fuzz.XXXXXX";

	close(mkstemp(path));
	for (int kind = 0; kind < BASES; kind++) {
		struct base *base = &bases[kind];
		profile_base_write(path, (enum profile_base)kind);
		cleanup_fclose FILE *written = fopen(path, "rb");
		base->size = written ? fread(base->bytes, 1, BASE_BYTES, written) : 0;
		memcpy(file, base->bytes, base->size);
		if (base->size == BASE_BYTES || !read_and_ask(base->size))
			abort();
	}
	unlink(path);
}

static size_t change_base(const uint8_t *data, size_t size)
{
	const struct base *base = &bases[size ? data[0] % BASES : 0];
	const uint8_t *at = data + 1, *end = data + size;

	memcpy(file, base->bytes, base->size);
	while (size && end - at > 4) {
		size_t where = at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16;
		size_t length = at[3] < end - at - 4 ? at[3] : (size_t)(end - at - 4);
		where %= base->size;
		length = length < base->size - where ? length : base->size - where;
		memcpy(file + where, at + 4, length);
		at += 4 + length;
	}
	return base->size;
}

static size_t take_file(const uint8_t *data, size_t size)
{
	size = size < BASE_BYTES ? size : BASE_BYTES;
	memcpy(file, data, size);
	for (size_t i = 0; i < 4 && SCHEMA_AT + i < size; i++)
		file[SCHEMA_AT + i] = (uint8_t)(FILE_SCHEMA >> (24 - 8 * i));
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!bases[0].size)
		make_bases();
	bool whole = size >= 16 && memcmp(data, "SQLite format 3", 16) == 0;
	read_and_ask(whole ? take_file(data, size) : change_base(data, size));
	return 0;
}
