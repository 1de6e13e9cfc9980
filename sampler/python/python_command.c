// SPDX-License-Identifier: MIT
#include "sampler/python/python_command.h"

#include "base/cleanup.h"
#include "base/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CMDLINE_MAX 4096

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

// As of Python's own reader of its options: letters may stand together, and those that take a value
// have it in the same word or in the next one.
bool python_command_has_file(const char *words, size_t size)
{
	const char *end = words + size, *word = words;

	if (!size || !begins_with(path_base(words), "python"))
		return false;
	for (word += strlen(word) + 1; word < end; word += strlen(word) + 1) {
		if (word[0] != '-' || !word[1])
			return true; // "-" is its standard input, whose code is in "<stdin>"
		const char *takes = word[1] == '-' ? NULL : strpbrk(word + 1, "cmWX");
		bool in_next = takes && !takes[1];
		if (takes && *takes == 'm')
			return true;
		const char *value = in_next ? word + strlen(word) + 1 : takes ? takes + 1 : "";
		if (takes && *takes == 'c')
			return value < end && begins_with(value, "from multiprocessing.");
		if (in_next || strcmp(word, "--check-hash-based-pycs") == 0)
			word += strlen(word) + 1;
		if (word >= end)
			break;
	}
	return true;
}

bool python_has_file(uint32_t pid)
{
	char path[32], words[CMDLINE_MAX + 1];

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, words, CMDLINE_MAX) : -1;
	if (size <= 0)
		return false;
	words[size] = '\0';
	return python_command_has_file(words, (size_t)size);
}
