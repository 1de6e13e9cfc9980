// SPDX-License-Identifier: MIT
/*
 * Whole files of profiles, read by SQLite: profile_read() refuses them with a reason or takes them.
 *
 * An input is a file, or what differs from a sound one: pieces of a u24 of where, a length and so
 * many bytes. Nothing that changes a value gets past the checksum: profile_read has the values, and
 * all tables. A file gets the schema of today, so that stored ones are read at all.
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

#define FILE_ROOM 262144
#define SCHEMA_AT 60 // where SQLite has the number that is the schema: big-endian

static uint8_t sound[FILE_ROOM], file[FILE_ROOM];
static size_t sound_size;

// False if it is refused.
static bool read_file(size_t size)
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
	if (!p && !*err.text)
		abort(); // it must say why
	return p != NULL;
}

// It must be read: or else nothing is ever tried.
static void make_sound(void)
{
	char path[] = "/tmp/profile_file_fuzz.XXXXXX";

	close(mkstemp(path));
	profile_base_write(path, BASE_PLAIN);
	cleanup_fclose FILE *written = fopen(path, "rb");
	unlink(path);
	sound_size = written ? fread(sound, 1, sizeof(sound), written) : 0;
	memcpy(file, sound, sound_size);
	if (sound_size == sizeof(sound) || !read_file(sound_size))
		abort();
}

static size_t change_sound(const uint8_t *data, size_t size)
{
	const uint8_t *at = data, *end = data + size;

	memcpy(file, sound, sound_size);
	while (end - at > 4) {
		size_t where = (at[0] | (size_t)at[1] << 8 | (size_t)at[2] << 16) % sound_size;
		size_t length = at[3] < end - at - 4 ? at[3] : (size_t)(end - at - 4);
		length = length < sound_size - where ? length : sound_size - where;
		memcpy(file + where, at + 4, length);
		at += 4 + length;
	}
	return sound_size;
}

static size_t take_file(const uint8_t *data, size_t size)
{
	size = size < FILE_ROOM ? size : FILE_ROOM;
	memcpy(file, data, size);
	for (size_t i = 0; i < 4 && SCHEMA_AT + i < size; i++)
		file[SCHEMA_AT + i] = (uint8_t)(FILE_SCHEMA >> (24 - 8 * i));
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!sound_size)
		make_sound();
	bool whole = size >= 16 && memcmp(data, "SQLite format 3", 16) == 0;
	read_file(whole ? take_file(data, size) : change_sound(data, size));
	return 0;
}
