// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/package.h"

#include "base/cleanup.h"
#include "symbolize/elf/read_file.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>

#define LIST_BYTES_MAX ((size_t)16 << 20)

static void close_directory(DIR *directory)
{
	if (directory)
		closedir(directory);
}

CLEANUP(directory, DIR *, close_directory)

static bool has_line(const char *list, const char *line)
{
	size_t length = strlen(line);

	for (const char *at = list; (at = strstr(at, line)); at += length)
		if ((at == list || at[-1] == '\n') && at[length] == '\n')
			return true;
	return false;
}

// "libz1:amd64.list" → "libz1". False if it is another sort of file.
static bool package_name(const char *file, char *name, size_t size)
{
	size_t length = strlen(file);

	if (length <= 5 || strcmp(file + length - 5, ".list") != 0)
		return false;
	snprintf(name, size, "%.*s", (int)strcspn(file, ":"), file);
	if (strlen(name) == length)
		name[length - 5] = '\0';
	return true;
}

bool package_of(const char *directory, const char *path, char *name, size_t size)
{
	const char *info = directory ? directory : "/var/lib/dpkg/info";
	cleanup(directory) DIR *lists = opendir(info);
	// Since /lib is a link to /usr/lib, packages still list the one or the other.
	const char *old_path = strncmp(path, "/usr/", 5) == 0 ? path + 4 : path;
	char list_path[PATH_MAX], candidate[NAME_MAX + 1];

	for (struct dirent *entry; lists && (entry = readdir(lists));) {
		size_t list_size;
		if (!package_name(entry->d_name, candidate, sizeof(candidate)))
			continue;
		snprintf(list_path, sizeof(list_path), "%s/%s", info, entry->d_name);
		cleanup_free char *list = read_file(list_path, LIST_BYTES_MAX, &list_size, NULL);
		if (!list || (!has_line(list, path) && !has_line(list, old_path)))
			continue;
		snprintf(name, size, "%s", candidate);
		return true;
	}
	return false;
}

void package_debug_name(const char *package, char *name, size_t size)
{
	// Older than -dbgsym packages, and still made by hand.
	static const char *const by_hand[] = { "libc6", "libc6-i386", "libc6-x32" };

	for (size_t i = 0; i < sizeof(by_hand) / sizeof(by_hand[0]); i++) {
		if (strcmp(package, by_hand[i]) == 0) {
			snprintf(name, size, "libc6-dbg");
			return;
		}
	}
	snprintf(name, size, "%s-dbgsym", package);
}
