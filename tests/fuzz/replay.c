// SPDX-License-Identifier: MIT
// Runs a fuzz target over stored inputs, so that a plain build tests with every corpus.
#include "base/cleanup.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *path)
{
	cleanup_fclose FILE *file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return -1;
	}
	fseek(file, 0, SEEK_END);
	long size = ftell(file);
	rewind(file);
	// Exactly SIZE bytes, so that the sanitizer sees a read beyond the end.
	cleanup_free uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
	if (!data || size < 0 || fread(data, 1, (size_t)size, file) != (size_t)size) {
		fprintf(stderr, "%s: could not be read\n", path);
		return -1;
	}
	LLVMFuzzerTestOneInput(data, (size_t)size);
	return 0;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++) {
		DIR *directory = opendir(argv[i]);
		if (!directory) {
			perror(argv[i]);
			return 1;
		}
		for (struct dirent *entry; (entry = readdir(directory));) {
			char path[4096];
			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			if (replay(path) < 0)
				return 1;
			count++;
		}
		closedir(directory);
	}
	printf("%d inputs\n", count);
	return count ? 0 : 1; // an empty corpus tests nothing
}
