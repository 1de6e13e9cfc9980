// SPDX-License-Identifier: MIT
#include "cli/report/source.h"

#include "base/cleanup.h"
#include "base/foreign_file.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"

#include <sys/stat.h>
#include <unistd.h>

#define SOURCE_BYTES_MAX (64 << 20)

struct source_scope source_scope_of(const struct profile *profile, const struct view *view)
{
	return (struct source_scope){ profile, profile_run(profile)->directory, view->source,
		                      NULL };
}

// What root may read need not be what the program's author, who wrote its debug information, may.
static bool may_be_shown(const struct source_scope *scope, enum source_trust trust,
                         const struct stat *st)
{
	if (scope->all)
		return true;
	if (geteuid() == 0 && !(st->st_mode & S_IROTH))
		return false;
	return trust != SOURCE_FOREIGN;
}

static bool is_newer_than(const struct stat *source, const char *module)
{
	struct stat st;

	return module && stat(module, &st) == 0 && source->st_mtim.tv_sec > st.st_mtim.tv_sec;
}

FILE *source_open(const struct source_scope *scope, const char *path, const char *module,
                  bool *newer)
{
	static const struct foreign_rules rules = { .max_bytes = SOURCE_BYTES_MAX };
	cleanup_free char *full = NULL;
	struct stat st;

	if (path[0] != '/' &&
	    (!scope->directory || asprintf(&full, "%s/%s", scope->directory, path) < 0))
		return NULL;
	cleanup_close int fd = foreign_open(full ? full : path, &rules, &st, NULL);
	if (fd < 0)
		return NULL;
	enum source_trust trust =
		scope->profile ? profile_trusts_source(scope->profile, path, &st) : SOURCE_UNKNOWN;
	if (!may_be_shown(scope, trust, &st)) {
		if (scope->kept_back)
			*scope->kept_back = true;
		return NULL;
	}
	FILE *file = fdopen(fd, "r");
	if (!file)
		return NULL;
	steal_fd(&fd);
	*newer = trust == SOURCE_CHANGED || is_newer_than(&st, module);
	return file;
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

bool source_line(const struct source_scope *scope, const char *path, int line, const char *module,
                 char *buffer, size_t size, bool *newer)
{
	cleanup_fclose FILE *file = line > 0 ? source_open(scope, path, module, newer) : NULL;

	if (!file)
		return false;
	while (line > 0 && read_line(file, buffer, size, false))
		line--;
	return line == 0;
}

bool source_next(FILE *source, char *buffer, size_t size)
{
	return read_line(source, buffer, size, true);
}
