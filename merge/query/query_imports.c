// SPDX-License-Identifier: MIT
#include "merge/query/query_imports.h"

#include "base/array.h"
#include "base/error.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/answer.h"
#include "merge/scope/scope.h"
#include "merge/table/cells.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What a location is to the import system.
enum role {
	ROLE_OTHER, // not Python
	ROLE_CODE,  // a Python function like any other
	ROLE_FIND,  // the outermost frame of an import
	ROLE_LOAD,  // runs the code of a module
	ROLE_MODULE // is a module's code
};

struct file {
	uint32_t text; // string
	uint64_t self, total, before;
	uint32_t open;
	uint64_t longest;  // of what one line of an importer took
	uint32_t importer; // location; 0: unknown
};

struct open {
	uint32_t node, file;
	uint64_t before;
};

struct asking {
	const struct profile *profile;
	struct scope scope;
	uint8_t *roles;     // [location - 1]
	uint32_t *file_ids; // [location - 1]; 0: none
	struct file *files; // [id - 1]
	uint32_t file_count;
	uint64_t *imports;    // [slot - 1]
	uint64_t *times;      // [slot - 1]
	struct open *modules; // on the path, outermost first
	size_t module_count, module_capacity;
	uint32_t finds; // imports on the path
	uint32_t slot;  // of the path's thread
	uint32_t only;  // the slot whose files are looked at; 0: none yet
	uint64_t sum;   // of the imports that the walk has come by
	bool no_memory;
};

static void asking_at_scope_end(struct asking *a)
{
	scope_fini(&a->scope);
	free(a->roles);
	free(a->file_ids);
	free(a->files);
	free(a->imports);
	free(a->times);
	free(a->modules);
}

void import_rows_free(struct import_rows *rows)
{
	if (!rows)
		return;
	free(rows->rows);
	free(rows);
}

static bool starts(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool ends(const char *text, const char *with)
{
	size_t length = strlen(text), end = strlen(with);

	return length >= end && strcmp(text + length - end, with) == 0;
}

// Other importers (of zip files, of test frameworks) have an exec_module(), too.
static enum role role_of(const char *function, const char *file)
{
	if (!function || !file)
		return ROLE_CODE;
	if (starts(file, "<frozen importlib"))
		return strcmp(function, "_find_and_load") == 0 ? ROLE_FIND : ROLE_LOAD;
	if (ends(function, "exec_module") || starts(file, "<frozen zipimport"))
		return ROLE_LOAD;
	// "<string>" and its like are exec()'s.
	if (strcmp(function, "<module>") == 0 && (file[0] != '<' || starts(file, "<frozen ")))
		return ROLE_MODULE;
	return ROLE_CODE;
}

static const struct place *place_of(const struct profile *p, uint32_t location)
{
	const struct location *l = profile_location(p, location);

	return l->place_count ? profile_places(p, l) : NULL;
}

static int compare_texts(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

// The files of all modules' code, each once, sorted by its text.
static bool add_files(struct asking *a)
{
	uint32_t count = profile_locations(a->profile)->count, found = 0;
	cleanup_free uint32_t *texts = calloc((size_t)count + 1, sizeof(*texts));

	if (!texts)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (a->roles[i] == ROLE_MODULE)
			texts[found++] = place_of(a->profile, i + 1)->file;
	qsort(texts, found, sizeof(*texts), compare_texts);
	a->files = calloc((size_t)found + 1, sizeof(*a->files));
	if (!a->files)
		return false;
	for (uint32_t i = 0; i < found; i++)
		if (i == 0 || texts[i] != texts[i - 1])
			a->files[a->file_count++].text = texts[i];
	return true;
}

static uint32_t find_file(const struct asking *a, uint32_t text)
{
	const struct file wanted = { .text = text };
	// The text is the first member.
	const struct file *file =
		bsearch(&wanted, a->files, a->file_count, sizeof(*a->files), compare_texts);

	return file ? (uint32_t)(file - a->files) + 1 : 0;
}

static bool sort_out_locations(struct asking *a)
{
	const struct profile *p = a->profile;
	const struct locations *locations = profile_locations(p);

	for (uint32_t i = 0; i < locations->count; i++) {
		const struct place *place = place_of(p, i + 1);
		if (locations->locations[i].kind == FRAME_PYTHON)
			a->roles[i] = place ? (uint8_t)role_of(profile_string(p, place->function),
			                                       profile_string(p, place->file))
			                    : ROLE_CODE;
	}
	if (!add_files(a))
		return false;
	for (uint32_t i = 0; i < locations->count; i++)
		if (a->roles[i] == ROLE_MODULE)
			a->file_ids[i] = find_file(a, place_of(p, i + 1)->file);
	return true;
}

// The Python frame right above NODE; 0: none.
static uint32_t python_above(const struct asking *a, uint32_t node)
{
	const struct paths *paths = profile_paths(a->profile);

	for (node = paths_node(paths, node)->parent; node && paths_node(paths, node)->parent;
	     node = paths_node(paths, node)->parent)
		if (a->roles[paths_node(paths, node)->location - 1] != ROLE_OTHER)
			return node;
	return 0;
}

static enum role role_at(const struct asking *a, uint32_t node)
{
	return node ? a->roles[profile_node(a->profile, node)->location - 1] : ROLE_OTHER;
}

// The location of the line that asked for the module whose code NODE is.
static uint32_t importer_of(const struct asking *a, uint32_t node)
{
	node = python_above(a, node);
	while (role_at(a, node) == ROLE_FIND || role_at(a, node) == ROLE_LOAD)
		node = python_above(a, node);
	return node ? profile_node(a->profile, node)->location : 0;
}

static bool is_imported(const struct asking *a, uint32_t node)
{
	enum role above = role_at(a, python_above(a, node));

	return a->finds && (above == ROLE_FIND || above == ROLE_LOAD);
}

static void enter_module(struct asking *a, uint32_t node, uint32_t id)
{
	struct file *file = &a->files[id - 1];

	if (!array_reserve(&a->modules, &a->module_capacity, a->module_count + 1)) {
		a->no_memory = true;
		return;
	}
	a->modules[a->module_count++] = (struct open){ node, id, a->sum };
	if (file->open++ == 0)
		file->before = a->sum;
}

static void leave_module(struct asking *a, uint32_t node)
{
	if (!a->module_count || a->modules[a->module_count - 1].node != node)
		return;
	const struct open *open = &a->modules[--a->module_count];
	struct file *file = &a->files[open->file - 1];
	if (--file->open)
		return;
	file->total += a->sum - file->before;
	if (a->sum - open->before > file->longest) {
		file->longest = a->sum - open->before;
		file->importer = importer_of(a, node);
	}
}

static uint64_t own_time(const struct asking *a, uint32_t node)
{
	const struct scope *scope = &a->scope;
	uint64_t ns = 0;

	for (uint32_t i = scope->first_cell[node - 1]; i < scope->first_cell[node]; i++) {
		const struct cell *cell = &profile_cells(a->profile)->cells[scope->cells[i]];
		if (scope_counts(scope, cell))
			ns += scope_ns(scope, cell);
	}
	return ns;
}

static void visit(struct asking *a, struct step step)
{
	uint32_t location = profile_node(a->profile, step.node)->location;
	enum role role = a->roles[location - 1];

	if (role == ROLE_FIND)
		a->finds += step.entering ? 1 : UINT32_MAX;
	else if (role == ROLE_MODULE && step.entering && a->only == a->slot &&
	         is_imported(a, step.node))
		enter_module(a, step.node, a->file_ids[location - 1]);
	else if (role == ROLE_MODULE && !step.entering)
		leave_module(a, step.node);
}

static void give(struct asking *a, uint32_t node)
{
	uint64_t ns = own_time(a, node);

	if (!a->only)
		a->times[a->slot - 1] += ns;
	if (!a->finds)
		return;
	a->sum += ns;
	if (!a->only)
		a->imports[a->slot - 1] += ns;
	if (a->module_count)
		a->files[a->modules[a->module_count - 1].file - 1].self += ns;
}

static void walk(struct asking *a)
{
	const struct paths *paths = profile_paths(a->profile);

	a->sum = 0;
	for (struct step step = scope_first(&a->scope); step.node;
	     step = scope_next(&a->scope, step)) {
		if (!paths_node(paths, step.node)->parent)
			a->slot = paths_node(paths, step.node)->location;
		else
			visit(a, step);
		if (step.entering)
			give(a, step.node);
	}
}

static bool prepare(struct asking *a, const struct query *query, struct error *err)
{
	size_t locations = (size_t)profile_locations(a->profile)->count + 1;
	size_t threads = profile_threads(a->profile)->thread_count + 1;

	if (scope_init(&a->scope, a->profile, query, err) < 0)
		return false;
	a->roles = calloc(locations, sizeof(*a->roles));
	a->file_ids = calloc(locations, sizeof(*a->file_ids));
	a->imports = calloc(threads, sizeof(*a->imports));
	a->times = calloc(threads, sizeof(*a->times));
	if (a->roles && a->file_ids && a->imports && a->times && sort_out_locations(a))
		return true;
	error_set(err, ENOMEM, "could not rank the imports");
	return false;
}

static void choose_thread(struct asking *a, struct import_rows *rows)
{
	const struct threads *t = profile_threads(a->profile);

	for (uint32_t i = 0; i < t->thread_count; i++) {
		rows->others += a->imports[i];
		if (a->imports[i] > rows->all) {
			rows->all = a->imports[i];
			a->only = i + 1;
		}
	}
	if (!a->only)
		return;
	const struct thread_info *thread = threads_get(t, a->only);
	const struct process_info *process = threads_process(t, thread->process);
	rows->others -= rows->all;
	rows->time = a->times[a->only - 1];
	rows->tid = thread->tid;
	rows->thread = profile_string(a->profile, thread->name);
	rows->pid = process ? process->pid : 0;
	rows->process = process ? profile_string(a->profile, process->command) : NULL;
}

// What follows the folder that libraries are installed in; NULL: it is in none.
static const char *below_library(const char *path)
{
	static const char *const roots[] = { "/site-packages/", "/dist-packages/",
		                             "/lib-dynload/" };
	const char *below = NULL;

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && !below; i++) {
		const char *root = strstr(path, roots[i]);
		below = root ? root + strlen(roots[i]) : NULL;
	}
	const char *python = path;
	while (!below && (python = strstr(python, "/python"))) {
		const char *slash = strchr(++python, '/');
		bool versioned = python[6] >= '2' && python[6] <= '9';
		below = versioned && slash ? slash + 1 : NULL;
	}
	return below;
}

void import_name(const char *file, char *name, size_t size)
{
	const char *slash = strrchr(file, '/');
	const char *below = below_library(file);

	if (starts(file, "<frozen "))
		below = file + strlen("<frozen ");
	else if (!below && slash && ends(file, "/__init__.py")) {
		while (slash > file && slash[-1] != '/')
			slash--; // the package's folder
		below = slash;
	} else if (!below)
		below = slash ? slash + 1 : file;
	snprintf(name, size, "%s", below);
	size_t length = strlen(name);
	static const char *const tails[] = { "/__init__.py", ".__init__", ".py", ".pyc", ">" };
	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++)
		if (ends(name, tails[i]))
			name[length - strlen(tails[i])] = '\0', length = strlen(name);
	for (char *c = name; *c; c++)
		*c = *c == '/' ? '.' : *c;
}

static int compare_rows(const void *a, const void *b)
{
	const struct import_row *left = a, *right = b;

	if (left->total != right->total)
		return left->total < right->total ? 1 : -1;
	if (left->self != right->self)
		return left->self < right->self ? 1 : -1;
	return compare_names(left->file, right->file);
}

static void fill_row(const struct profile *p, const struct file *file, struct import_row *row)
{
	const struct place *importer = file->importer ? place_of(p, file->importer) : NULL;

	*row = (struct import_row){ .file = profile_string(p, file->text),
		                    .self = file->self,
		                    .total = file->total };
	import_name(row->file, row->name, sizeof(row->name));
	if (importer) {
		row->importer = profile_string(p, importer->file);
		row->importer_line = (int)importer->line;
	}
}

static bool fill_rows(const struct asking *a, struct import_rows *rows)
{
	rows->rows = calloc((size_t)a->file_count + 1, sizeof(*rows->rows));
	if (!rows->rows)
		return false;
	for (uint32_t i = 0; i < a->file_count; i++)
		if (a->files[i].total)
			fill_row(a->profile, &a->files[i], &rows->rows[rows->count++]);
	qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_rows);
	return true;
}

struct import_rows *query_imports(const struct profile *p, const struct query *query,
                                  struct error *err)
{
	cleanup(asking) struct asking a = { .profile = p };

	if (!prepare(&a, query, err))
		return NULL;
	cleanup(import_rows) struct import_rows *rows = calloc(1, sizeof(*rows));
	if (rows) {
		walk(&a);
		choose_thread(&a, rows);
		if (a.only)
			walk(&a);
	}
	if (rows && !a.no_memory && fill_rows(&a, rows))
		return steal(rows);
	error_set(err, ENOMEM, "could not rank the imports");
	return NULL;
}
