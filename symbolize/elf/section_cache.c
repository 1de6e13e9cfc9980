// SPDX-License-Identifier: MIT
#include "symbolize/elf/section_cache.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/new_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUILD_ID_LEAST 8
#define BUILD_ID_MOST  64
#define END_BYTES      64 // of what is compressed, with its checksum

// Whoever wrote the ELF file chose the name.
static bool is_plain(const char *name)
{
	return name[0] == '.' && name[1] &&
	       !name[1 + strspn(name + 1, "abcdefghijklmnopqrstuvwxyz_")] && strlen(name) < 64;
}

bool section_cache_key(const char *directory, struct bytes build_id, const char *name,
                       struct bytes compressed, uint64_t size, struct section_key *key)
{
	char id[2 * BUILD_ID_MOST + 1] = "";

	if (size < SECTION_CACHE_LEAST || compressed.size < END_BYTES || !is_plain(name) ||
	    build_id.size < BUILD_ID_LEAST || build_id.size > BUILD_ID_MOST)
		return false;
	for (size_t i = 0; i < build_id.size; i++)
		snprintf(id + 2 * i, 3, "%02x", build_id.data[i]);
	uint64_t what =
		hash_pair(hash_pair(compressed.size, size),
	                  hash_bytes(compressed.data + compressed.size - END_BYTES, END_BYTES));
	return snprintf(key->path, sizeof(key->path), "%s/%s-%s-%016llx", directory, id, name + 1,
	                (unsigned long long)what) < (int)sizeof(key->path);
}

bool section_cache_read(const struct section_key *key, uint64_t size, struct mapped *out)
{
	cleanup_close int fd = open(key->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct error err;
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 077) && (uint64_t)st.st_size == size &&
	       mapped_open(out, fd, size, MAPPED_READ, &err) == 0;
}

// The last two directories of PATH, which may be there.
static void make_directories(const char *path)
{
	char directory[PATH_MAX];
	char *slash;

	snprintf(directory, sizeof(directory), "%s", path);
	if (!(slash = strrchr(directory, '/')))
		return;
	*slash = '\0';
	char *parent = strrchr(directory, '/');
	if (parent) {
		*parent = '\0';
		mkdir(directory, 0700);
		*parent = '/';
	}
	mkdir(directory, 0700);
}

void section_cache_write(const struct section_key *key, struct bytes section)
{
	struct new_file new;

	make_directories(key->path);
	if (new_file_open(&new, key->path, 0600) < 0)
		return;
	if (new_file_write(&new, section.data, section.size) == 0)
		new_file_commit_unsynced(&new);
	else
		new_file_discard(&new);
}
