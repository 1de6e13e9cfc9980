// SPDX-License-Identifier: MIT
#include "cli/run/proc_state.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char proc_state(pid_t pid)
{
	char path[48], stat[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	cleanup_fclose FILE *file = fopen(path, "re");
	size_t size = file ? fread(stat, 1, sizeof(stat) - 1, file) : 0;
	stat[size] = '\0';
	// The name may hold anything, so the state follows the last parenthesis.
	const char *name_end = strrchr(stat, ')');

	if (!name_end || name_end[1] != ' ')
		return '\0';
	return name_end[2];
}

uint64_t proc_signal_mask(pid_t pid, const char *field)
{
	char path[48], line[256];
	uint64_t mask = 0;
	size_t length = strlen(field);

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	cleanup_fclose FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, field, length) == 0 && line[length] == ':')
			mask = strtoull(line + length + 1, NULL, 16);
	return mask;
}
