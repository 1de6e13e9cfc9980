// SPDX-License-Identifier: MIT
#include "cli/export/exports.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/export/destination.h"
#include "cli/export/exporter.h"
#include "cli/report/cut.h"
#include "cli/report/tables.h"

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

#define PER_CYCLE "%c"

// A schedule has a file for each cycle.
static int check_cycles(const struct request *request, const struct view *view, struct error *err)
{
	bool each = request->path && strstr(request->path, PER_CYCLE);

	if (each && strstr(strstr(request->path, PER_CYCLE) + 1, PER_CYCLE))
		return error_set(err, 0, "--export %s=%s: %%c stands in it twice",
		                 request->exporter->name, request->path);
	if (!view->schedule || view->cycle || each)
		return 0;
	error_set(err, 0, "--export %s: a schedule has several cycles, a file each",
	          request->exporter->name);
	return error_hint(err, "Let its name have %%c, which is the number of the cycle; or "
	                       "choose one: --cycle.");
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
		    check_table(view, &request, err) < 0 || check_cycles(&request, view, err) < 0 ||
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

// What REQUEST asks for of the part of the run that VIEW shows, for which ASKED asks.
static int write_part(const struct request *request, const struct profile *profile,
                      const struct view *asked, const struct view *view,
                      const struct rule_limits *limits, struct error *err)
{
	cleanup_free char *cut = words_of_cut(view, profile);
	struct exporting e = {
		.profile = profile,
		.view = view,
		.asked = asked,
		.facts = answer_facts(profile),
		.limits = limits,
		.table = view->table,
		.cut = cut,
		.path = request->path,
	};

	if (!cut)
		return error_set(err, ENOMEM, "could not write the profile in other formats");
	return write_one(request, &e, err);
}

// What is written for each cycle.
struct per_cycle {
	const struct request *request;
	const struct profile *profile;
	const struct rule_limits *limits;
};

// A file, with the cycle's number in place of PER_CYCLE.
static int write_cycle(void *context, const struct view *cycle, struct error *err)
{
	const struct per_cycle *c = context;
	const char *sign = strstr(c->request->path, PER_CYCLE);
	cleanup_free char *path = NULL;

	if (asprintf(&path, "%.*s%u%s", (int)(sign - c->request->path), c->request->path,
	             cycle->cycle, sign + strlen(PER_CYCLE)) < 0) {
		path = NULL;
		return error_set(err, ENOMEM, "could not write the cycles");
	}
	const struct request one = { c->request->exporter, path };
	return write_part(&one, c->profile, cycle, cycle, c->limits, err);
}

static int write_cycles(const struct request *request, const struct profile *profile,
                        const struct view *view, const struct rule_limits *limits,
                        struct error *err)
{
	struct per_cycle context = { request, profile, limits };

	if (!view->schedule)
		return error_set(err, 0,
		                 "%%c is the cycle of a schedule: there is none (--schedule)");
	return cut_each_cycle(view, profile, write_cycle, &context, err);
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
	for (size_t i = 0; i < view->exports.count; i++) {
		if (parse(view->exports.items[i], &request, err) < 0)
			return -1;
		bool each = request.path && strstr(request.path, PER_CYCLE);
		if ((each ? write_cycles(&request, profile, &window, limits, err)
		          : write_part(&request, profile, view, &window, limits, err)) < 0)
			return error_wrap(err, "--export %s", view->exports.items[i]);
	}
	return 0;
}
