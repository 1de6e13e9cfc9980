// SPDX-License-Identifier: MIT
#include "merge/query/query_awaits.h"

#include "base/error.h"
#include "base/go_function.h"
#include "base/origin.h"
#include "merge/op/awaits.h"
#include "merge/profile/profile_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_BYTES 2048

struct asking {
	const struct profile *profile;
	const struct awaits *awaits;
	struct await_rows *rows;
	bool go;                    // goroutines are asked for, and not tasks of event loops
	struct await_place library; // of goroutines; function 0: there are none
	bool no_memory;
};

void await_rows_free(struct await_rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; i < rows->text_count; i++)
		free(rows->texts[i]);
	free(rows->texts);
	free(rows->tasks);
	free(rows->waits);
	free(rows->blocks);
	free(rows->delays);
	free(rows->held);
	free(rows);
}

static struct await_function function_of(const struct asking *a, const struct await_place *place)
{
	const char *name = profile_string(a->profile, place->function);

	return (struct await_function){
		.name = name ? name : "?",
		.file = profile_string(a->profile, place->file),
		.line = (int)place->line,
	};
}

static bool is_same(const struct await_function *a, const struct await_function *b)
{
	return a->name == b->name && a->file == b->file && a->line == b->line;
}

static const struct await_row *row_of(const struct asking *a, enum await_kind kind,
                                      const struct await_place *coroutine)
{
	static const struct await_row none;
	const struct await_row *row = awaits_find(a->awaits, kind, coroutine, 1);

	return row ? row : &none;
}

static void add_tasks(struct asking *a, const struct await_row *row)
{
	const struct await_place *coroutine = &a->awaits->places[row->first];
	const struct await_row *run = row_of(a, AWAIT_RUN, coroutine);
	const struct await_row *ready = row_of(a, AWAIT_READY, coroutine);

	a->rows->tasks[a->rows->task_count++] = (struct await_tasks){
		.coroutine = function_of(a, coroutine),
		.tasks = row->count,
		.steps = run->count,
		.total_ns = row->ns,
		.running_ns = run->ns,
		.ready_ns = ready->ns,
		.longest_ns = row->longest_ns,
		.longest_ready_ns = ready->longest_ns,
		.longest_step_ns = run->longest_ns,
		.library = "",
	};
}

static int compare_tasks(const void *left, const void *right)
{
	const struct await_tasks *a = left, *b = right;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	int names = strcmp(a->coroutine.name, b->coroutine.name);
	return names ? names
	             : (a->coroutine.line > b->coroutine.line) -
	                       (a->coroutine.line < b->coroutine.line);
}

static const char *base_of(const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	return slash ? slash + 1 : file;
}

static const char *chain_text(struct asking *a, const struct await_row *row)
{
	char text[CHAIN_BYTES];
	size_t used = 0;

	for (uint32_t i = 1; i < row->place_count && used < sizeof(text); i++) {
		struct await_function f = function_of(a, &a->awaits->places[row->first + i]);
		const char *to = i > 1 ? " > " : "";
		// Why a goroutine waits is no place.
		if (a->go && !f.file && !f.line)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", to,
			                         f.name);
		else
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (%s:%d)",
			                         to, f.name, f.file ? base_of(f.file) : "?",
			                         f.line);
	}
	if (!used)
		return "";
	char *kept = strdup(text);
	if (!kept) {
		a->no_memory = true;
		return "";
	}
	a->rows->texts[a->rows->text_count++] = kept;
	return kept;
}

static size_t find_tasks(const struct asking *a, const struct await_function *coroutine)
{
	for (size_t i = 0; i < a->rows->task_count; i++)
		if (is_same(&a->rows->tasks[i].coroutine, coroutine))
			return i;
	return a->rows->task_count;
}

static bool is_of_library(const char *file)
{
	static const char *const folders[] = { "/asyncio/", "/trio/", "/anyio/", "/gevent/" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strstr(file, folders[i]))
			return true;
	return false;
}

// The innermost place that is the user's own, or else not the library's; 0: the chain is unknown.
static uint32_t place_of(const struct asking *a, const struct await_row *row)
{
	for (uint32_t i = row->place_count; i-- > 1;) {
		struct await_function f = function_of(a, &a->awaits->places[row->first + i]);
		if (f.file && !origin_is_foreign(NULL, f.file))
			return i;
	}
	for (uint32_t i = row->place_count; i-- > 1;) {
		struct await_function f = function_of(a, &a->awaits->places[row->first + i]);
		if (f.file && !is_of_library(f.file))
			return i;
	}
	return row->place_count - 1;
}

// The same of a goroutine, whose last place is the reason. 0: its stack is unknown.
static uint32_t place_of_goroutine(const struct asking *a, const struct await_row *row)
{
	uint32_t last = row->place_count - 1;

	for (uint32_t i = last; i-- > 1;) {
		struct await_function f = function_of(a, &a->awaits->places[row->first + i]);
		if (!go_function_is_standard(f.name) && f.file && !origin_is_foreign(NULL, f.file))
			return i;
	}
	for (uint32_t i = last; i-- > 1;)
		if (!go_function_is_standard(
			    function_of(a, &a->awaits->places[row->first + i]).name))
			return i;
	return last > 1 ? last - 1 : 0;
}

static const char *awaited_of(const struct asking *a, const struct await_row *row, uint32_t at)
{
	uint32_t awaited = a->go ? row->place_count - 1 : at + 1;

	return awaited > at && awaited < row->place_count
	               ? function_of(a, &a->awaits->places[row->first + awaited]).name
	               : NULL;
}

// Where the chain is unknown: of a task of an event loop it is the coroutine, where it begins.
static struct await_function unknown_of(const struct asking *a,
                                        const struct await_function *coroutine)
{
	return a->go ? (struct await_function){ .name = "?" } : *coroutine;
}

static void add_wait(struct asking *a, const struct await_row *row)
{
	const struct await_place *places = &a->awaits->places[row->first];
	const struct await_function coroutine = function_of(a, &places[0]);
	size_t tasks = find_tasks(a, &coroutine);
	uint32_t at = a->go ? place_of_goroutine(a, row) : place_of(a, row);

	if (tasks == a->rows->task_count)
		return; // a damaged profile: of no task
	a->rows->tasks[tasks].waits += row->count;
	a->rows->tasks[tasks].waiting_ns += row->ns;
	a->rows->waits[a->rows->wait_count++] = (struct await_wait){
		.tasks = tasks,
		.place = at ? function_of(a, &places[at]) : unknown_of(a, &coroutine),
		.awaited = awaited_of(a, row, at),
		.chain = chain_text(a, row),
		.count = row->count,
		.ns = row->ns,
		.longest_ns = row->longest_ns,
	};
}

static int compare_waits(const void *left, const void *right)
{
	const struct await_wait *a = left, *b = right;

	if (a->tasks != b->tasks)
		return a->tasks < b->tasks ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return strcmp(a->chain, b->chain);
}

static void add_delay(struct asking *a, const struct await_row *row)
{
	const struct await_place *places = &a->awaits->places[row->first];

	if (row->place_count > 1)
		a->rows->delays[a->rows->delay_count++] = (struct await_delay){
			.blocker = function_of(a, &places[0]),
			.victim = function_of(a, &places[1]),
			.count = row->count,
			.ns = row->ns,
			.longest_ns = row->longest_ns,
		};
}

static int compare_delays(const void *left, const void *right)
{
	const struct await_delay *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	int names = strcmp(a->blocker.name, b->blocker.name);
	return names ? names : strcmp(a->victim.name, b->victim.name);
}

// After all delays.
static void add_block(struct asking *a, const struct await_row *row)
{
	struct await_block block = {
		.blocker = function_of(a, &a->awaits->places[row->first]),
		.steps = row->count,
		.ns = row->ns,
		.longest_ns = row->longest_ns,
	};

	for (size_t i = 0; i < a->rows->delay_count; i++) {
		const struct await_delay *delay = &a->rows->delays[i];
		if (!is_same(&delay->blocker, &block.blocker))
			continue;
		block.delayed += delay->count;
		block.delayed_ns += delay->ns;
		if (delay->ns > block.victim_ns) {
			block.victim = delay->victim;
			block.victim_ns = delay->ns;
		}
	}
	a->rows->blocked_ns += block.ns;
	a->rows->blocks[a->rows->block_count++] = block;
}

static int compare_blocks(const void *left, const void *right)
{
	const struct await_block *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return strcmp(a->blocker.name, b->blocker.name);
}

static void add_held(struct asking *a, const struct await_row *row)
{
	const struct await_place *places = &a->awaits->places[row->first];
	const struct await_row *wall =
		awaits_find(a->awaits, AWAIT_HELD_WALL, places, row->place_count);

	if (row->place_count == 6)
		a->rows->held[a->rows->held_count++] = (struct await_held){
			.waiter = function_of(a, &places[0]),
			.place = function_of(a, &places[1]),
			.reason = function_of(a, &places[2]).name,
			.holder = function_of(a, &places[3]),
			.at = function_of(a, &places[4]),
			.doing = function_of(a, &places[5]).name,
			.looks = row->count,
			.ns = row->ns,
			.wall_ns = wall ? wall->ns : 0,
		};
}

static int compare_held(const void *left, const void *right)
{
	const struct await_held *a = left, *b = right;

	if (a->wall_ns != b->wall_ns)
		return a->wall_ns < b->wall_ns ? 1 : -1;
	int names = strcmp(a->holder.name, b->holder.name);
	return names ? names : strcmp(a->place.name, b->place.name);
}

static void add_loops(struct asking *a, const struct await_row *row)
{
	a->rows->loops += row->count;
	a->rows->loop_ns += row->ns;
}

// After all tasks: those that ROW has a word about, which is *NAME. NULL: they are not there.
static struct await_tasks *named_tasks(struct asking *a, const struct await_row *row,
                                       const char **name)
{
	const struct await_function coroutine = function_of(a, &a->awaits->places[row->first]);
	size_t at = find_tasks(a, &coroutine);

	if (at == a->rows->task_count || row->place_count < 2)
		return NULL;
	*name = function_of(a, &a->awaits->places[row->first + 1]).name;
	return &a->rows->tasks[at];
}

// The name of one more of them.
static void add_name(struct asking *a, const struct await_row *row)
{
	const char *name;
	struct await_tasks *t = named_tasks(a, row, &name);
	char *text;

	if (!t)
		return;
	if (asprintf(&text, "%s%s%s", t->names ? t->names : "", t->names ? ", " : "", name) < 0) {
		a->no_memory = true;
		return;
	}
	a->rows->texts[a->rows->text_count++] = text;
	t->names = text;
}

// NAMES and NAME, unless that is one of them.
static const char *joined(struct asking *a, const char *names, const char *name)
{
	size_t length = strlen(name);
	char *text;

	for (const char *at = names; (at = strstr(at, name)) != NULL; at += length)
		if ((at == names || at[-1] == ' ') && (!at[length] || at[length] == ','))
			return names;
	if (asprintf(&text, "%s%s%s", names, *names ? ", " : "", name) < 0) {
		a->no_memory = true;
		return names;
	}
	a->rows->texts[a->rows->text_count++] = text;
	return text;
}

static void add_library(struct asking *a, const struct await_row *row)
{
	const char *name;
	struct await_tasks *t = named_tasks(a, row, &name);

	if (!t)
		return;
	t->library = joined(a, t->library, name);
	// They are asyncio's tasks, on another loop.
	a->rows->all.library =
		joined(a, a->rows->all.library, strcmp(name, "uvloop") == 0 ? "asyncio" : name);
}

// Profiles that were written before other libraries were seen have no such rows.
static void fill_libraries(struct await_rows *rows)
{
	for (size_t i = 0; i < rows->task_count; i++)
		if (!*rows->tasks[i].library)
			rows->tasks[i].library = "asyncio";
	if (!*rows->all.library)
		rows->all.library = "asyncio";
}

// Of the library of goroutines, as AWAIT_LIBRARY has it.
static struct await_place find_go(const struct asking *a)
{
	for (size_t i = 0; i < a->awaits->count; i++) {
		const struct await_row *row = &a->awaits->rows[i];
		const struct await_place *places = &a->awaits->places[row->first];
		const char *name = row->kind == AWAIT_LIBRARY && row->place_count > 1
		                           ? profile_string(a->profile, places[1].function)
		                           : NULL;
		if (name && strcmp(name, AWAIT_GO) == 0)
			return places[1];
	}
	return (struct await_place){ 0 };
}

static bool is_wanted(const struct asking *a, const struct await_row *row)
{
	const struct await_place places[] = { a->awaits->places[row->first], a->library };

	return a->go ==
	       (a->library.function && awaits_find(a->awaits, AWAIT_LIBRARY, places, 2) != NULL);
}

static void visit(struct asking *a, enum await_kind kind,
                  void (*add)(struct asking *a, const struct await_row *row))
{
	for (size_t i = 0; i < a->awaits->count; i++)
		if (a->awaits->rows[i].kind == kind && is_wanted(a, &a->awaits->rows[i]))
			add(a, &a->awaits->rows[i]);
}

static void add_all(struct await_rows *rows)
{
	for (size_t i = 0; i < rows->task_count; i++) {
		const struct await_tasks *t = &rows->tasks[i];
		rows->all.tasks += t->tasks;
		rows->all.steps += t->steps;
		rows->all.waits += t->waits;
		rows->all.total_ns += t->total_ns;
		rows->all.running_ns += t->running_ns;
		rows->all.ready_ns += t->ready_ns;
		rows->all.waiting_ns += t->waiting_ns;
	}
}

static void fill(struct asking *a)
{
	struct await_rows *rows = a->rows;

	visit(a, AWAIT_TASK, add_tasks);
	qsort(rows->tasks, rows->task_count, sizeof(*rows->tasks), compare_tasks);
	visit(a, AWAIT_NAME, add_name);
	rows->all.library = "";
	visit(a, AWAIT_LIBRARY, add_library);
	fill_libraries(rows);
	visit(a, AWAIT_WAIT, add_wait);
	qsort(rows->waits, rows->wait_count, sizeof(*rows->waits), compare_waits);
	visit(a, AWAIT_DELAY, add_delay);
	qsort(rows->delays, rows->delay_count, sizeof(*rows->delays), compare_delays);
	visit(a, AWAIT_BLOCK, add_block);
	qsort(rows->blocks, rows->block_count, sizeof(*rows->blocks), compare_blocks);
	visit(a, AWAIT_HELD, add_held);
	qsort(rows->held, rows->held_count, sizeof(*rows->held), compare_held);
	visit(a, AWAIT_LOOP, add_loops);
	add_all(rows);
}

static struct await_rows *ask(const struct profile *p, bool go, struct error *err)
{
	struct asking a = { .profile = p, .awaits = profile_awaits(p), .go = go };
	size_t most = a.awaits->count + 1;
	cleanup(await_rows) struct await_rows *rows = calloc(1, sizeof(*rows));

	if (rows) {
		rows->tasks = calloc(most, sizeof(*rows->tasks));
		rows->waits = calloc(most, sizeof(*rows->waits));
		rows->blocks = calloc(most, sizeof(*rows->blocks));
		rows->delays = calloc(most, sizeof(*rows->delays));
		rows->held = calloc(most, sizeof(*rows->held));
		rows->texts = calloc(2 * most, sizeof(*rows->texts));
		a.rows = rows;
		a.library = find_go(&a);
	}
	if (!rows || !rows->tasks || !rows->waits || !rows->blocks || !rows->delays ||
	    !rows->held || !rows->texts) {
		error_set(err, ENOMEM, "could not rank tasks");
		return NULL;
	}
	fill(&a);
	if (a.no_memory) {
		error_set(err, ENOMEM, "could not rank tasks");
		return NULL;
	}
	return steal(rows);
}

struct await_rows *query_awaits(const struct profile *p, struct error *err)
{
	return ask(p, false, err);
}

struct await_rows *query_goroutines(const struct profile *p, struct error *err)
{
	return ask(p, true, err);
}
