// SPDX-License-Identifier: MIT
#include "base/kallsyms_cache.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC      "kallsym1"
#define COUNT_MAX  ((uint64_t)1 << 24)
#define BYTES_MAX  ((uint64_t)1 << 30)
#define FIRST_PART 4096 /* of the list: as much as the kernel writes in one go */

struct header {
	char magic[8];
	uint64_t key;
	uint64_t count;
	uint64_t text_bytes;
};

_Static_assert(sizeof(struct header) == 32, "what is in the files");
_Static_assert(sizeof(struct kallsyms_function) == 16, "what is in the files");

static ssize_t read_start(const char *path, char *buffer, size_t size)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	return fd < 0 ? -1 : read(fd, buffer, size);
}

// "ext4 1155072 2 mbcache,jbd2 Live 0xffffffffc0a00000": all but how many use it, and which.
static uint64_t hash_modules(uint64_t key)
{
	enum {
		NAME,
		SIZE,
		USES,
		USERS,
		STATE,
		ADDRESS,
		FIELDS
	};
	cleanup_fclose FILE *file = fopen("/proc/modules", "re");
	char line[4096];

	while (file && fgets(line, sizeof(line), file)) {
		char *rest = line;
		for (int i = 0; i < FIELDS; i++) {
			const char *field = strsep(&rest, " \n");
			if (!field)
				return 0;
			if (i != USES && i != USERS)
				key = hash_pair(key, hash_bytes(field, strlen(field)));
		}
	}
	return key;
}

uint64_t kallsyms_cache_key(const char *path)
{
	char boot[64], first[FIRST_PART];
	ssize_t boot_bytes = read_start("/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	ssize_t first_bytes = read_start(path, first, sizeof(first));

	if (boot_bytes < 32 || first_bytes <= 0)
		return 0;
	uint64_t key = hash_bytes(boot, (size_t)boot_bytes);
	return hash_modules(hash_pair(key, hash_bytes(first, (size_t)first_bytes)));
}

static bool read_all(int fd, void *buffer, size_t size)
{
	char *at = buffer;

	while (size) {
		ssize_t got = read(fd, at, size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

static bool fits(const struct header *header, const struct stat *st)
{
	return header->count && header->count <= COUNT_MAX && header->text_bytes &&
	       header->text_bytes <= BYTES_MAX &&
	       (uint64_t)st->st_size == sizeof(*header) +
	                                        header->count * sizeof(struct kallsyms_function) +
	                                        header->text_bytes;
}

static bool map_table(int fd, const struct header *header, const struct stat *st,
                      struct kallsyms_table *t)
{
	if (mapped_open(&t->file, fd, (size_t)st->st_size, MAPPED_READ, NULL) < 0)
		return false;
	t->count = (size_t)header->count;
	t->text_bytes = (size_t)header->text_bytes;
	t->functions = (struct kallsyms_function *)(void *)(t->file.data + sizeof(*header));
	t->text = (char *)(t->functions + t->count);
	return t->text[t->text_bytes - 1] == '\0';
}

void kallsyms_table_fini(struct kallsyms_table *t)
{
	if (!t->file.data) {
		free(t->functions);
		free(t->text);
	}
	mapped_close(&t->file);
	*t = (struct kallsyms_table){ 0 };
}

const char *kallsyms_table_name(const struct kallsyms_table *t, size_t index)
{
	uint32_t name = t->functions[index].name;

	return name < t->text_bytes ? t->text + name : "";
}

bool kallsyms_cache_read(const char *file, uint64_t key, struct kallsyms_table *table)
{
	cleanup_close int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	struct header header;
	struct stat st;

	if (!key || fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || (st.st_mode & 077))
		return false;
	if (!read_all(fd, &header, sizeof(header)) ||
	    memcmp(header.magic, MAGIC, sizeof(header.magic)) != 0 || header.key != key ||
	    !fits(&header, &st))
		return false;
	if (map_table(fd, &header, &st, table))
		return true;
	kallsyms_table_fini(table);
	return false;
}

// "name [bpf]", "name [__builtin__ftrace]": not from a module, so nothing says when it goes.
static bool comes_and_goes(const char *name)
{
	const char *owner = strchr(name, '[');

	return owner && (strcmp(owner, "[bpf]") == 0 || strncmp(owner, "[__builtin__", 12) == 0);
}

static size_t choose(const struct kallsyms_table *t, struct kallsyms_function *chosen)
{
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		if (!comes_and_goes(kallsyms_table_name(t, i)))
			chosen[count++] = t->functions[i];
	return count;
}

static bool write_all(FILE *out, const struct header *header,
                      const struct kallsyms_function *functions, const char *text)
{
	return fwrite(header, sizeof(*header), 1, out) == 1 &&
	       fwrite(functions, sizeof(*functions), header->count, out) == header->count &&
	       fwrite(text, 1, header->text_bytes, out) == header->text_bytes && fflush(out) == 0;
}

void kallsyms_cache_write(const char *file, uint64_t key, const struct kallsyms_table *t)
{
	cleanup_free struct kallsyms_function *chosen = calloc(t->count + 1, sizeof(*chosen));
	struct new_file new;

	if (!key || !chosen || !t->text_bytes || new_file_open(&new, file, 0600) < 0)
		return;
	struct header header = { .key = key, .text_bytes = t->text_bytes };
	memcpy(header.magic, MAGIC, sizeof(header.magic));
	header.count = choose(t, chosen);
	int fd = fcntl(new.fd, F_DUPFD_CLOEXEC, 0); // a stream closes its own
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	bool written = out && write_all(out, &header, chosen, t->text);
	if (out)
		fclose(out);
	else if (fd >= 0)
		close(fd);
	if (written)
		new_file_commit_unsynced(&new);
	else
		new_file_discard(&new);
}
