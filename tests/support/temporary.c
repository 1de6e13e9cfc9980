// SPDX-License-Identifier: MIT
#include "tests/support/temporary.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>

void temporary_make(char *path, size_t size)
{
	snprintf(path, size, "/tmp/bottleneck-test-XXXXXX");
	if (!mkdtemp(path)) {
		perror(path);
		abort();
	}
}

void temporary_remove(const char *path)
{
	DIR *directory = opendir(path);

	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory));)
		unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
	rmdir(path);
}

bool temporary_mount_small(const char *path, unsigned kib)
{
	char options[32];

	snprintf(options, sizeof(options), "size=%uk", kib);
	return mount("none", path, "tmpfs", 0, options) == 0;
}

void temporary_unmount(const char *path)
{
	umount2(path, MNT_DETACH);
}
