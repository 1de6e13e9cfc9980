// SPDX-License-Identifier: MIT
#include "symbolize/elf/debug_package.h"

#include "base/cleanup.h"
#include "symbolize/elf/read_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTS_MAX  64
#define LIST_BYTES ((size_t)4 << 20)
#define STEM_MAX   64
#define STEM_MIN   6 // characters, of a name that is made shorter,
#define CUT_MAX    4 // by so many at most
#define SUFFIX     ".list"
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789+.-" // deb-control(5)

// Files whose packages are called otherwise.
static const struct {
	const char *stem, *package;
} others[] = {
	{ "ld-linux-x86-64", "libc6" }, { "libc", "libc6" },       { "libcrypto", "libssl" },
	{ "libdl", "libc6" },           { "libm", "libc6" },       { "libmpi", "libopenmpi" },
	{ "libmvec", "libc6" },         { "libpthread", "libc6" }, { "librt", "libc6" },
	{ "libz", "zlib1g" },           { "node", "nodejs" },      { "redis-server", "redis" },
};

// "libopenblas" of "/usr/lib/libopenblas.so.0": how the package's name begins.
static void find_stem(const char *path, char *stem)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t length = strcspn(base, ".");

	snprintf(stem, STEM_MAX, "%.*s", (int)(length < STEM_MAX ? length : STEM_MAX - 1), base);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(stem, others[i].stem) == 0) {
			snprintf(stem, STEM_MAX, "%s", others[i].package);
			return;
		}
	// "libpython3.11.so.1.0", "libfoo-1.2.so"
	length = strcspn(stem, "0123456789");
	while (length > 0 && strchr("-_", stem[length - 1]))
		length--;
	if (length > 2)
		stem[length] = '\0';
}

static bool has_line(const char *text, const char *line)
{
	size_t length = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at += length)
		if ((at == text || at[-1] == '\n') && (at[length] == '\n' || !at[length]))
			return true;
	return false;
}

// Where /lib is a link to /usr/lib, a list may have either.
static bool owns(const char *list, const char *path)
{
	char other[PATH_MAX];

	if (has_line(list, path))
		return true;
	if (strncmp(path, "/usr/", 5) == 0)
		return has_line(list, path + 4);
	snprintf(other, sizeof(other), "/usr%s", path);
	return has_line(list, other);
}

// "libc6" of "libc6:amd64.list"; false: it is no such name.
static bool package_of(const char *file, char *package, size_t size)
{
	size_t length = strspn(file, NAME_CHARS), all = strlen(file);

	if (all <= strlen(SUFFIX) || strcmp(file + all - strlen(SUFFIX), SUFFIX) != 0)
		return false;
	if (file[length] != ':' && file[length])
		return false;
	length = file[length] ? length : all - strlen(SUFFIX);
	return (size_t)snprintf(package, size, "%.*s", (int)length, file) < size;
}

static bool list_owns(const char *directory, const char *file, const char *path)
{
	char list[PATH_MAX];
	size_t size;

	if ((size_t)snprintf(list, sizeof(list), "%s/%s", directory, file) >= sizeof(list))
		return false;
	cleanup_free char *text = read_file(list, LIST_BYTES, &size, NULL);
	return text && owns(text, path);
}

static void close_lists(DIR *directory)
{
	if (directory)
		closedir(directory);
}

CLEANUP(lists, DIR *, close_lists)

// In lists whose names begin with STEM; *READ counts all that were read.
static bool find_owner(const char *lists, const char *stem, const char *path, char *package,
                       size_t size, int *read)
{
	cleanup(lists) DIR *directory = opendir(lists);
	const struct dirent *entry;

	while (directory && *read < LISTS_MAX && (entry = readdir(directory))) {
		if (strncmp(entry->d_name, stem, strlen(stem)) != 0 ||
		    !package_of(entry->d_name, package, size))
			continue;
		++*read;
		if (list_owns(lists, entry->d_name, path))
			return true;
	}
	return false;
}

bool debug_package_find(const char *root, const char *path, char *name, size_t size)
{
	char lists[PATH_MAX], stem[STEM_MAX], package[128];
	int read = 0;

	if ((size_t)snprintf(lists, sizeof(lists), "%s/var/lib/dpkg/info", root) >= sizeof(lists))
		return false;
	find_stem(path, stem);
	// "libopenblasp-r0.3.21.so" is of libopenblas0-pthread.
	for (size_t length = strlen(stem), cut = 0; cut <= CUT_MAX; cut++) {
		if (find_owner(lists, stem, path, package, sizeof(package), &read)) {
			// The C library's are a package of the distribution proper.
			bool libc = strcmp(package, "libc6") == 0;
			return (size_t)snprintf(name, size, "%s%s", package,
			                        libc ? "-dbg" : "-dbgsym") < size;
		}
		if (length - cut <= STEM_MIN)
			break;
		stem[length - cut - 1] = '\0';
	}
	return false;
}
