// SPDX-License-Identifier: MIT
// The rule for runs of many processes: the program that has most of their time.
#include "cli/report/verdict_rules.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "base/known_work.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/share.h"
#include "merge/query/query_wall.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY_PROCESSES 3
#define MANY_STARTED   10 // by the first one: what all of them do is worth a word
#define PROGRAMS_MAX   64 // the busiest processes come first
#define PROGRAMS_SAID  3
#define LONG_RUN_NS    (50 * NS_PER_MS) /* far more than it takes to start a program */
#define PROGRAM_SHARE  0.05             // of all processes' time, to be said

// Processes of one program, by the rows of processes.
struct program {
	const struct row *most;
	size_t length; // of its name, in the process's
	uint64_t ns;
	uint32_t runs;
};

// A title is a program's name, and what tells its processes apart.
static size_t program_length(const char *title)
{
	return strcspn(title, " :");
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

// The one with most time first.
static int compare_programs(const void *a, const void *b)
{
	const struct program *left = a, *right = b;

	return (left->ns < right->ns) - (left->ns > right->ns);
}

// Of the programs of ROWS the one with most time.
static struct program main_program(const struct rows *rows)
{
	struct program best = { 0 };

	for (size_t i = 0; i < rows->count; i++) {
		const char *name = rows->rows[i].name;
		struct program program = { &rows->rows[i], program_length(name), 0, 0 };
		for (size_t j = 0; j < rows->count; j++) {
			const struct row *row = &rows->rows[j];
			bool same = program_length(row->name) == program.length &&
			            strncmp(row->name, name, program.length) == 0;
			if (same && j < i)
				break; // it was counted
			program.ns += same ? row->self : 0;
			program.runs += same;
		}
		best = program.ns > best.ns ? program : best;
		if (2 * best.ns >= rows->all)
			break;
	}
	return best;
}

// Whether most of its processes are forks of one of the same program, which has not started
// another: the workers of a server.
static bool are_workers(const struct profile *p, const struct rows *rows,
                        const struct program *program)
{
	uint32_t forks = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		bool same = program_length(row->name) == program->length &&
		            strncmp(row->name, program->most->name, program->length) == 0;
		forks += same && query_is_fork(p, row->id);
	}
	return 2 * forks > program->runs;
}

// Processor time, or wall time, of the program's run in the middle.
static uint64_t median_run(const struct rows *rows, const struct program *program)
{
	cleanup_free uint64_t *ns = calloc(program->runs + 1, sizeof(*ns));
	size_t count = 0;

	for (size_t i = 0; ns && i < rows->count && count < program->runs; i++)
		if (program_length(rows->rows[i].name) == program->length &&
		    strncmp(rows->rows[i].name, program->most->name, program->length) == 0)
			ns[count++] = rows->rows[i].self;
	if (!count)
		return 0;
	qsort(ns, count, sizeof(*ns), compare_u64);
	return ns[count / 2];
}

// "150 runs of grep, 4.2 ms each (median)". Some may have been too short to be seen: they count.
static void name_runs(const struct verdict_facts *f, const struct rows *rows,
                      const struct program *program, const char *what, char *text, size_t size)
{
	uint32_t runs = query_runs_of(f->profile, program->most->name, program->length);
	bool unseen = runs > program->runs;

	runs = unseen ? runs : program->runs;
	snprintf(text, size, "%s %s of %.*s, %s each (%s)", format_count(runs).text, what,
	         (int)program->length, program->most->name,
	         format_duration(unseen ? program->ns / runs : median_run(rows, program)).text,
	         unseen ? "average" : "median");
}

// The processes by their time; NULL: they are few, or what they do is the user's own code.
static struct rows *processes_of(const struct verdict_facts *f)
{
	const struct row *hot = verdict_hottest(f);
	struct query query = { .by = BY_PROCESS,
		               .sort = SORT_SELF,
		               .on_cpu = true,
		               .of = f->wall.ranks ? QUERY_WALL : QUERY_THREADS };
	struct error err = { 0 };
	bool installed = hot && !hot->file && hot->module && origin_is_installed(hot->module);

	if (f->totals->processes < MANY_PROCESSES || !hot ||
	    (!installed && !origin_is_foreign(hot->module, hot->file)))
		return NULL;
	return query_run(f->profile, &query, &err);
}

// The process that has started the others: what was asked for by name.
static bool is_first(const struct verdict_facts *f, const struct row *row)
{
	size_t length = program_length(row->name);

	if (f->account.is_main)
		return row->id == f->account.pid;
	const char *command = f->run->command ? f->run->command : "";
	size_t word = strcspn(command, " "), base = word;
	while (base && command[base - 1] != '/')
		base--;
	return word - base == length && strncmp(command + base, row->name, length) == 0;
}

// A shell's script that another program runs, as make does: its name says what a shell's code does
// not. What was started is asked for by name anyway.
static bool is_started_script(const struct verdict_facts *f, const struct row *process,
                              const char *module)
{
	cleanup_free char *name = strndup(process->name, program_length(process->name));

	return name && origin_is_shell(module) && !origin_is_shell(name) && !is_first(f, process);
}

double verdict_price_of_processes(const struct verdict_facts *f)
{
	const struct row *hot = verdict_hottest(f);
	cleanup(rows) struct rows *rows = processes_of(f);

	if (!rows || !rows->count || origin_is_python(hot->module))
		return 0;
	bool most_said = share_of(rows->rows[0].self, f->all) >= MOST_SHARE;
	if (origin_is_interpreter(hot->module))
		return most_said && is_started_script(f, &rows->rows[0], hot->module)
		               ? verdict_price_of_ns(f, rows->rows[0].self)
		               : 0;
	struct program program = main_program(rows);
	bool workers = are_workers(f->profile, rows, &program);
	bool said = most_said ||
	            (program.runs >= MANY_PROCESSES && share_of(program.ns, f->all) >= MOST_SHARE);
	return said && !workers ? verdict_price_of_ns(f, program.ns) : 0;
}

// The programs of ROWS by their time.
static size_t programs_of(const struct rows *rows, struct program programs[PROGRAMS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		size_t length = program_length(row->name), at = 0;
		while (at < count && (programs[at].length != length ||
		                      strncmp(programs[at].most->name, row->name, length) != 0))
			at++;
		if (at == PROGRAMS_MAX)
			continue;
		if (at == count)
			programs[count++] = (struct program){ row, length, 0, 0 };
		programs[at].ns += row->self;
		programs[at].runs++;
	}
	qsort(programs, count, sizeof(*programs), compare_programs);
	return count;
}

// "87 % of the CPU time is in 67 processes that cmake started: 12 of cc1 (31 %), 13 of ld (22 %)."
static bool say_started(const struct verdict_facts *f, const struct rows *rows, struct verdict *v)
{
	cleanup_free struct program *programs = calloc(PROGRAMS_MAX, sizeof(*programs));
	const struct row *first = NULL;
	char list[300] = "";
	size_t length = 0;

	for (size_t i = 0; i < rows->count && !first; i++)
		if (is_first(f, &rows->rows[i]))
			first = &rows->rows[i];
	uint64_t started = rows->all - (first ? first->self : 0);
	if (!programs || !first || rows->count <= MANY_STARTED ||
	    share_of(started, rows->all) < MOST_SHARE)
		return false;
	size_t count = programs_of(rows, programs);
	for (size_t i = 0, said = 0; i < count && said < PROGRAMS_SAID && length < sizeof(list);
	     i++) {
		const struct program *p = &programs[i];
		if (p->most == first || share_of(p->ns, rows->all) < PROGRAM_SHARE)
			continue;
		length += (size_t)snprintf(list + length, sizeof(list) - length,
		                           "%s%s of %.*s (%s %%)", said++ ? ", " : "",
		                           format_count(p->runs).text, (int)p->length,
		                           p->most->name, format_percent(p->ns, rows->all).text);
	}
	if (!length)
		return false;
	cleanup_free char *name = strndup(first->name, program_length(first->name));
	verdict_say(v, "%s %% of %s is in %s processes that %.60s started: %s.",
	            format_percent(started, rows->all).text, f->of,
	            format_count((uint64_t)f->totals->processes - 1).text, name ? name : "it",
	            list);
	if (name && known_work_of_program(name))
		return verdict_advise(v, "%s", known_work_of_program(name)->advice);
	return verdict_advise(v, "Start fewer of them, each for more work; or more at a time: "
	                         "make -j, xargs -P.");
}

// Of many processes one, or the runs of one program, is what the run is about: a build's compiler.
// Its functions are nothing that its user works on.
bool verdict_of_processes(const struct verdict_facts *f, struct verdict *v)
{
	cleanup(rows) struct rows *rows = processes_of(f);
	const struct row *most = rows && rows->count ? &rows->rows[0] : NULL;
	const char *module = rows ? verdict_hottest(f)->module : NULL;
	// What one interpreter does is up to its script, whatever starts it: Rscript is a script of
	// sh.
	if (most && share_of(most->self, f->all) >= MOST_SHARE && origin_is_interpreter(module) &&
	    !is_started_script(f, most, module))
		return false;
	if (most && share_of(most->self, f->all) >= MOST_SHARE) {
		verdict_say(v, "%s %% of %s is in one of %s processes: %.200s (%u).",
		            format_percent(most->self, f->all).text, f->of,
		            format_count(f->totals->processes).text, most->name, most->id);
		verdict_set_price(f, &(struct price_place){ .pid = most->id }, (double)most->self,
		                  v);
		if (known_work_of_program(most->name))
			return verdict_advise(v, "%s", known_work_of_program(most->name)->advice);
		if (origin_is_interpreter(module))
			return verdict_advise_interpreter(module, false, v);
		return verdict_advise(
			v,
			"What it does: bottleneck report --process=%u. Give it less work, or options for more "
			"threads or less effort; in a build, start it before the others.",
			most->id);
	}
	struct program program = most ? main_program(rows) : (struct program){ 0 };
	if (program.runs < MANY_PROCESSES || share_of(program.ns, f->all) < MOST_SHARE)
		return most && say_started(f, rows, v);
	bool named = strlen(program.most->name) > program.length;
	char runs[200];
	cleanup_free char *name = strndup(program.most->name, program.length);
	if (name)
		verdict_set_price(f, &(struct price_place){ .program = name }, (double)program.ns,
		                  v);
	if (are_workers(f->profile, rows, &program)) {
		name_runs(f, rows, &program, "processes", runs, sizeof(runs));
		verdict_say(v, "%s %% of %s is in %s; the one with most%s%.200s%s takes %s.",
		            format_percent(program.ns, f->all).text, f->of, runs, named ? ", " : "",
		            named ? program.most->name : "", named ? "," : "",
		            format_duration(program.most->self).text);
		return verdict_advise(
			v,
			"What it does: bottleneck report --process=%u. Give them less work for "
			"each request or item.",
			program.most->id);
	}
	name_runs(f, rows, &program, "runs", runs, sizeof(runs));
	verdict_say(v, "%s %% of %s is in %s; the longest%s%.200s%s takes %s.",
	            format_percent(program.ns, f->all).text, f->of, runs, named ? ", " : "",
	            named ? program.most->name : "", named ? "," : "",
	            format_duration(program.most->self).text);
	// Of short ones most is that they are started.
	if (name && known_work_of_program(name) && median_run(rows, &program) >= LONG_RUN_NS)
		return verdict_advise(v, "%s", known_work_of_program(name)->advice);
	return verdict_advise(
		v, "Start fewer of them, each for more work; or more at a time: make -j, "
		   "xargs -P.");
}
