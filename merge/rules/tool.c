// SPDX-License-Identifier: MIT
#include "merge/rules/tool.h"

#include "base/error.h"
#include "base/known_work.h"
#include "base/origin.h"
#include "base/path.h"
#include "merge/query/query.h"

#include <stdio.h>
#include <string.h>

// A title is a program's name, and what tells its processes apart.
static size_t program_length(const char *title)
{
	return strcspn(title, " :");
}

static bool is_of(const char *title, const char *name, size_t length)
{
	return program_length(title) == length && strncmp(title, name, length) == 0;
}

// The program whose processes have more than half of the time that was not spent waiting for
// others; NULL: there is none.
static const char *busiest(const struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++) {
		const char *name = rows->rows[i].name;
		size_t length = program_length(name);
		uint64_t ns = 0;
		for (size_t j = 0; j < rows->count; j++)
			if (is_of(rows->rows[j].name, name, length))
				ns += rows->rows[j].self;
		if (2 * ns > rows->all)
			return name;
	}
	return NULL;
}

bool tool_of(const struct profile *p, char *name, size_t size)
{
	const struct query query = { .by = BY_PROCESS, .sort = SORT_SELF, .without_others = true };
	struct error err = { 0 };
	cleanup(rows) struct rows *rows = query_run(p, &query, &err);
	cleanup(module_rows) struct module_rows *modules = rows ? query_modules(p, &err) : NULL;
	const char *title = modules ? busiest(rows) : NULL;

	for (size_t i = 0; title && i < modules->count; i++) {
		const char *path = modules->rows[i].path;
		const char *base = path_base(path);
		size_t length = program_length(title);
		// The kernel keeps the first 15 bytes of a name.
		bool same = strncmp(base, title, length) == 0 && (!base[length] || length >= 15);
		if (!same || !origin_is_installed(path) || origin_is_interpreter(path) ||
		    origin_is_python(path) || origin_is_foreign(path, NULL))
			continue;
		snprintf(name, size, "%.*s", (int)length, title);
		return true;
	}
	return false;
}

void tool_advise(const char *name, char *advice, size_t size)
{
	const struct known_work *work = known_work_of_program(name);

	if (work)
		snprintf(advice, size, "%s", work->advice);
	else
		snprintf(advice, size,
		         "What %.60s works on is up to its options and input: give it fewer files "
		         "or less data, or share the work among several processes (xargs -P).",
		         name);
}
