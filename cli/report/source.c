// SPDX-License-Identifier: MIT
#include "cli/report/source.h"

#include "base/cleanup.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SOURCE_BYTES_MAX (64 << 20)

static FILE *open_source(const char *path, const char *directory, struct stat *st)
{
	cleanup_free char *full = NULL;
	cleanup_close int fd = -1;
	FILE *file;

	if (path[0] != '/') {
		if (!directory || asprintf(&full, "%s/%s", directory, path) < 0)
			return NULL;
		path = full;
	}
	// O_NONBLOCK: the path may lead to a pipe that nobody writes.
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_size > SOURCE_BYTES_MAX)
		return NULL;
	file = fdopen(fd, "r");
	if (file)
		steal_fd(&fd);
	return file;
}

static bool is_newer(const struct stat *source, const char *module)
{
	struct stat st;

	return module && stat(module, &st) == 0 && source->st_mtim.tv_sec > st.st_mtim.tv_sec;
}

// Reads up to the end of the line, whatever its length. False at the end of the file.
static bool read_line(FILE *file, char *buffer, size_t size, bool indented)
{
	size_t used = 0;
	int c = getc_unlocked(file);

	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc_unlocked(file)) {
		bool leading = !indented && !used && (c == ' ' || c == '\t');
		if (!leading && used + 1 < size)
			buffer[used++] = (char)(c == '\t' && !indented ? ' ' : c);
	}
	while (used && (buffer[used - 1] == '\r' || buffer[used - 1] == ' '))
		used--;
	buffer[used] = '\0';
	return true;
}

bool source_line(const char *path, const char *directory, int line, const char *module,
                 char *buffer, size_t size, bool *newer)
{
	struct stat st;
	cleanup_fclose FILE *file = open_source(path, directory, &st);

	if (!file || line <= 0)
		return false;
	while (line > 0 && read_line(file, buffer, size, false))
		line--;
	if (line > 0)
		return false;
	*newer = is_newer(&st, module);
	return true;
}

FILE *source_open(const char *path, const char *directory, const char *module, bool *newer)
{
	struct stat st;
	FILE *file = open_source(path, directory, &st);

	if (file)
		*newer = is_newer(&st, module);
	return file;
}

bool source_next(FILE *source, char *buffer, size_t size)
{
	return read_line(source, buffer, size, true);
}
