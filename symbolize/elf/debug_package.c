// SPDX-License-Identifier: MIT
#include "symbolize/elf/debug_package.h"

#include "base/array.h"
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

// A list that may have the file: the more characters of its name are those of the file's, the
// sooner it is read.
struct candidate {
	size_t alike;
	char file[NAME_MAX + 1];
};

struct candidates {
	struct candidate *all;
	size_t count, capacity;
};

static void candidates_at_scope_end(struct candidates *c)
{
	free(c->all);
}

static size_t count_alike(const char *a, const char *b)
{
	size_t count = 0;

	while (a[count] && a[count] == b[count])
		count++;
	return count;
}

// The closest first, and of those the one that has least besides: "python3.11-minimal" comes before
// "python3-yaml" for "python3.11".
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a, *right = b;
	size_t left_length = strlen(left->file), right_length = strlen(right->file);

	if (left->alike != right->alike)
		return left->alike > right->alike ? -1 : 1;
	if (left_length != right_length)
		return left_length < right_length ? -1 : 1;
	return strcmp(left->file, right->file);
}

// Lists whose names begin with LEAST characters of STEM at least. BASE: of the file.
static void find_candidates(const char *lists, const char *stem, size_t least, const char *base,
                            struct candidates *c)
{
	cleanup(lists) DIR *directory = opendir(lists);
	const struct dirent *entry;
	char package[NAME_MAX + 1];

	while (directory && (entry = readdir(directory))) {
		size_t alike = count_alike(entry->d_name, stem);
		if (alike < least || !package_of(entry->d_name, package, sizeof(package)))
			continue;
		size_t longer = count_alike(entry->d_name, base);
		if (!array_reserve(&c->all, &c->capacity, c->count + 1))
			break;
		struct candidate *candidate = &c->all[c->count++];
		candidate->alike = longer > alike ? longer : alike;
		snprintf(candidate->file, sizeof(candidate->file), "%s", entry->d_name);
	}
	if (c->count)
		qsort(c->all, c->count, sizeof(*c->all), compare_candidates);
}

#ifdef __x86_64__
#define ARCHITECTURE "amd64"
#elif defined(__aarch64__)
#define ARCHITECTURE "arm64"
#else
#define ARCHITECTURE "all"
#endif

// The list of the package that is called STEM, where it has PATH: to go through the directory takes
// a millisecond where a thousand packages are installed.
static bool find_directly(const char *lists, const char *stem, const char *path, char *package,
                          size_t size)
{
	static const char *const ends[] = { ":" ARCHITECTURE SUFFIX, SUFFIX };
	char file[STEM_MAX + 16];

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		snprintf(file, sizeof(file), "%s%s", stem, ends[i]);
		if (package_of(file, package, size) && list_owns(lists, file, path))
			return true;
	}
	return false;
}

// The closest names first, as far as they are read at all.
static bool find_owner(const char *lists, const char *stem, const char *path, char *package,
                       size_t size)
{
	cleanup(candidates) struct candidates c = { 0 };
	const char *slash = strrchr(path, '/');

	// "libopenblasp-r0.3.21.so" is of libopenblas0-pthread.
	size_t length = strlen(stem), least = length > STEM_MIN ? STEM_MIN : length;
	if (length > STEM_MIN + CUT_MAX)
		least = length - CUT_MAX;
	find_candidates(lists, stem, least, slash ? slash + 1 : path, &c);
	for (size_t i = 0; i < c.count && i < LISTS_MAX; i++)
		if (list_owns(lists, c.all[i].file, path))
			return package_of(c.all[i].file, package, size);
	return false;
}

bool debug_package_find(const char *root, const char *path, char *name, size_t size)
{
	char lists[PATH_MAX], stem[STEM_MAX], package[NAME_MAX + 1];

	if ((size_t)snprintf(lists, sizeof(lists), "%s/var/lib/dpkg/info", root) >= sizeof(lists))
		return false;
	find_stem(path, stem);
	if (!find_directly(lists, stem, path, package, sizeof(package)) &&
	    !find_owner(lists, stem, path, package, sizeof(package)))
		return false;
	// The C library's are a package of the distribution proper.
	bool libc = strcmp(package, "libc6") == 0;
	return (size_t)snprintf(name, size, "%s%s", package, libc ? "-dbg" : "-dbgsym") < size;
}
