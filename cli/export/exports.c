// SPDX-License-Identifier: MIT
#include "cli/export/exports.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/export/destination.h"
#include "cli/export/exporter.h"
#include "cli/export/tables.h"
#include "cli/report/cut.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define POINTER(name) &exporter_##name,

static const struct exporter *const exporters[] = { EXPORTERS(POINTER) };

#define EXPORTER_COUNT (sizeof(exporters) / sizeof(exporters[0]))

// "FORMAT[=FILE]", taken apart.
struct request {
	const struct exporter *exporter;
	const char *path; // NULL: standard output
};

static int unknown_format(const char *text, size_t length, struct error *err)
{
	char names[200] = "";
	size_t used = 0;

	for (size_t i = 0; i < EXPORTER_COUNT && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
		                         exporters[i]->name);
	return error_set(err, 0, "--export \"%.*s\": not one of %s", (int)length, text, names);
}

static int parse(const char *text, struct request *out, struct error *err)
{
	size_t length = strcspn(text, "=");
	const char *path = text[length] ? text + length + 1 : NULL;

	for (size_t i = 0; i < EXPORTER_COUNT; i++) {
		if (strlen(exporters[i]->name) != length ||
		    strncmp(exporters[i]->name, text, length) != 0)
			continue;
		if (path && !*path)
			return error_set(err, 0, "--export %s: its file has no name", text);
		if (path && strcmp(path, "-") == 0)
			path = NULL;
		*out = (struct request){ exporters[i], path };
		return 0;
	}
	return unknown_format(text, length, err);
}

// Standard output takes one, and not of a run: that is the program's own.
static int check_stdout(const struct request *request, bool to_stdout, unsigned *users,
                        const struct view *view, struct error *err)
{
	const char *name = request->exporter->name;

	if (request->path)
		return 0;
	if (!to_stdout) {
		error_set(err, 0,
		          "--export %s: no file is named, and standard output is the program's",
		          name);
		return error_hint(
			err, "Name one: --export %s=FILE. Or later: bottleneck report --export %s",
			name, name);
	}
	if (request->exporter->many && !view->table) {
		error_set(err, 0, "--export %s: it is several tables, a file each", name);
		return error_hint(
			err, "Name a directory: --export %s=DIRECTORY. Or one of them: --table.",
			name);
	}
	if ((*users)++)
		return error_set(err, 0, "--export %s: standard output is taken by another export",
		                 name);
	return 0;
}

static int check_table(const struct view *view, const struct request *request, struct error *err)
{
	if (!view->table)
		return 0;
	if (!request->exporter->tables)
		return error_set(err, 0, "--table is for csv and json: %s has none",
		                 request->exporter->name);
	return tables_find(view->table, err) ? 0 : -1;
}

int exports_check(const struct view *view, bool to_stdout, struct error *err)
{
	struct request request;
	unsigned users = 0;

	if (view->table && !view->exports.count)
		return error_set(err, 0, "--table is for --export: no format is named");

	for (size_t i = 0; i < view->exports.count; i++) {
		if (parse(view->exports.items[i], &request, err) < 0 ||
		    check_table(view, &request, err) < 0 ||
		    check_stdout(&request, to_stdout, &users, view, err) < 0)
			return -1;
		bool directory = request.exporter->many && !view->table;
		if (request.path && destination_check(request.path, directory, err) < 0)
			return -1;
	}
	return 0;
}

static int write_one(const struct request *request, struct exporting *e, struct error *err)
{
	cleanup(destination) struct destination destination = { .fd = -1 };

	if (request->exporter->many && !e->table) {
		e->directory = request->path;
		return request->exporter->write(e, err);
	}
	if (destination_open(&destination, request->path, request->exporter->gzip, e->view->shared,
	                     err) < 0)
		return -1;
	e->out = destination.out;
	if (request->exporter->write(e, err) < 0)
		return -1;
	return destination_finish(&destination, err);
}

// What the view leaves out, in words. NULL if there is no memory.
static char *words_of_cut(const struct view *view, const struct profile *profile)
{
	char *words = cut_words(view, profile), *both = NULL;
	const char *missed = cut_missed(view);

	if (!words || !missed)
		return words;
	if (asprintf(&both, "%s%s%s", words, *words ? "; " : "", missed) < 0)
		both = NULL;
	free(words);
	return both;
}

int exports_write(const struct profile *profile, const struct view *view,
                  const struct rule_limits *limits, struct error *err)
{
	struct view window = *view;
	struct request request;

	if (!view->exports.count)
		return 0;
	if (cut_resolve(&window, profile, err) < 0)
		return -1;
	cleanup_free char *cut = words_of_cut(&window, profile);
	if (!cut)
		return error_set(err, ENOMEM, "could not write the profile in other formats");
	for (size_t i = 0; i < view->exports.count; i++) {
		struct exporting e = {
			.profile = profile,
			.view = &window,
			.limits = limits,
			.table = view->table,
			.cut = cut,
		};
		if (parse(view->exports.items[i], &request, err) < 0)
			return -1;
		if (write_one(&request, &e, err) < 0)
			return error_wrap(err, "--export %s", view->exports.items[i]);
	}
	return 0;
}
