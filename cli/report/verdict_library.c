// SPDX-License-Identifier: MIT
// The rule for runs whose time is in many functions of one library.
#include "cli/report/verdict_rules.h"

#include "base/cleanup.h"
#include "base/format.h"
#include "base/function_name.h"
#include "base/known_work.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/share.h"
#include "base/strings.h"
#include "cli/report/place.h"
#include "merge/query/query.h"
#include "merge/query/query_ops.h"

#include <stdio.h>
#include <string.h>

#define LIBRARIES_MAX 64   // that have most time; later ones have little
#define FAULTS_SHARE  0.1  // of a library's time, waiting on page faults: worth a word
#define SAYS_MORE     0.75 // of what a program without symbols does itself
#define SUMS_OF       0.5  // of a library's time, by one caller of the user's own: it says as much

// What every program runs in, what interprets it, or what its threads wait in has no work of its
// own to name.
static bool is_library(const struct row *row)
{
	const char *module = row->module;

	return module && !row->kernel && strstr(path_base(module), ".so") &&
	       strncmp(path_base(module), "ld-linux", 8) != 0 &&
	       origin_is_foreign(module, row->file) && !origin_is_libc(module) &&
	       !origin_is_openmp(module) && !origin_is_python(module) &&
	       !origin_is_interpreter(module);
}

static struct verdict_library most_of(const struct rows *rows)
{
	struct verdict_library libraries[LIBRARIES_MAX], most = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		size_t at = 0;
		if (!is_library(row))
			continue;
		while (at < count && strcmp(libraries[at].module, row->module) != 0)
			at++;
		if (at == LIBRARIES_MAX)
			continue;
		if (at == count)
			libraries[count++] = (struct verdict_library){ row->module, row, 0, 0 };
		libraries[at].self += row->self;
		if (libraries[at].self > most.self)
			most = libraries[at];
	}
	return most;
}

// Waits of other threads may be beside the run's time, unless it is known what its end waited for.
static uint64_t faults_of(const struct verdict_facts *f, const char *module)
{
	uint64_t sum = 0;

	if (!f->wall.ranks && f->totals->threads > 1)
		return 0;
	for (size_t i = 0; i < f->both->count; i++)
		if (strings_same(f->both->rows[i].module, module))
			sum += f->both->rows[i].self_ns[METRIC_OFF_FAULT];
	return sum;
}

// What a library is for includes the memory that it asks for and copies. Of one that could be for
// anything, as a language's runtime, that says nothing.
static void take_asked(const struct verdict_facts *f, struct verdict_library *library)
{
	if (!known_work_of_library(library->module))
		return;
	struct place_library place = place_library_of(f->cpu_tree, library->module, true);
	library->self = place.self > library->self ? place.self : library->self;
	uint64_t fault_ns = faults_of(f, library->module);
	if (share_of(fault_ns, library->self + fault_ns) >= FAULTS_SHARE)
		library->fault_ns = fault_ns;
}

double verdict_price_of_library(const struct verdict_facts *f,
                                const struct verdict_library *library)
{
	return verdict_price_of_ns(f, library->self) + (double)library->fault_ns;
}

bool verdict_busiest_library(const struct verdict_facts *f, struct verdict_library *library)
{
	const struct row *hot = verdict_hottest(f);
	const struct op_row *op = verdict_hottest_op(f);
	struct place_sum sum;

	*library = most_of(f->cpu);
	// Ops say what their library does.
	if (op && share_of(op->self_ns, f->ops->wall_ns) >= ASKED_SHARE)
		return false;
	if (!library->module)
		return false;
	// Its one row says as much, and what loops it is in.
	if (library->row == hot && (double)library->self <= MORE_THAN * (double)hot->self)
		return false;
	take_asked(f, library);
	double self = (double)(library->self + library->fault_ns);
	if (share_of(library->self + library->fault_ns, f->all) < ASKED_SHARE)
		return false;
	// What a program without symbols does itself has no name: a library that is known for its
	// work says more, even with less time.
	bool says_more = hot->name[0] == '[' && !hot->kernel && origin_is_installed(hot->module) &&
	                 known_work_of_library(library->module);
	if (self <= (says_more ? SAYS_MORE : MORE_THAN) * (double)hot->self)
		return false;
	// That one has most of it says more, if it has a name.
	if (library->row == hot && hot->name[0] != '[' && (double)hot->self >= STANDS_FOR * self)
		return false;
	return !verdict_asks_most(f, MORE_THAN, &sum) ||
	       (double)(sum.self + sum.below) < SUMS_OF * self;
}

static bool advise(const char *entry, const char *module, bool own, const char *program,
                   struct verdict *v)
{
	const struct known_work *work = known_work_of_library(module);
	const struct known_work *known = known_work_of_program(program);

	if (own)
		return verdict_advise(v,
		                      "Start with that caller: call the library less often or with "
		                      "less work.%s%s",
		                      work ? " " : "", work ? work->advice : "");
	if (known || work)
		return verdict_advise(v, "%s", known ? known->advice : work->advice);
	if (origin_is_installed(program))
		return verdict_advise(v,
		                      "What %.60s works on is up to its options and input: give it "
		                      "less work, or share the work among several threads or "
		                      "processes.",
		                      path_base(program));
	return verdict_advise(v, "See who calls %s: bottleneck report --call-tree",
	                      entry ? entry : "it");
}

// The program that most of the library's time is for; NULL if that is not known.
static const char *program_of(const struct verdict_facts *f, const struct verdict_library *library)
{
	struct place_direct outer =
		place_outer_caller(f->cpu_tree, library->row->name, library->module);

	return outer.caller ? outer.caller->module : NULL;
}

// What its time is a share of: waits are no CPU time.
static uint64_t whole_of(const struct verdict_facts *f, const struct verdict_library *library,
                         char *words, size_t size)
{
	char name[64];

	if (f->wall.ranks || !library->fault_ns) {
		snprintf(words, size, "%s", f->of);
		return f->all;
	}
	snprintf(words, size, "%s's time", verdict_thread_name(f, name, sizeof(name)));
	return f->account.lifetime_ns;
}

// "51 % of wall time is spent in libz.so.1 (a library for compression), most below inflate, mostly
// called from decode (png.c:30)."
bool verdict_of_library(const struct verdict_facts *f, struct verdict *v)
{
	struct verdict_library library;

	if (!verdict_busiest_library(f, &library))
		return false;
	const struct known_work *work = known_work_of_library(library.module);
	struct place_library place = place_library_of(f->cpu_tree, library.module, work != NULL);
	bool entry = place.entry && (double)place.entry_ns >= STANDS_FOR * (double)place.self;
	bool own = place.own && (double)place.own_ns >= STANDS_FOR * (double)place.self;
	cleanup_free char *name = entry ? function_name_bare(place.entry->name) : NULL;
	char caller[400] = "", of[120], waits[80] = "";

	if (own)
		verdict_name_call(&(struct place_call){ .caller = place.own, .line = place.line },
		                  caller, sizeof(caller));
	uint64_t all_ns = whole_of(f, &library, of, sizeof(of));
	uint64_t spent_ns = library.self + library.fault_ns;
	if (library.fault_ns)
		snprintf(waits, sizeof(waits), "; %s %% of that is waiting on page faults",
		         format_percent(library.fault_ns, spent_ns).text);
	verdict_say(v, "%s %% of %s is spent in %.200s%s%s%s%s%.80s%s%s%s.",
	            format_percent(spent_ns, all_ns).text, of, path_base(library.module),
	            work ? " (a library for " : "", work ? work->name : "", work ? ")" : "",
	            entry ? ", most in or below " : "",
	            !entry ? ""
	            : name ? name
	                   : place.entry->name,
	            own ? ", mostly called from " : "", caller, waits);
	const struct price_place at = {
		.function = own     ? place.own->name
		            : entry ? place.entry->name
		                    : NULL,
		.file = own     ? place.own->file
		        : entry ? place.entry->file
		                : NULL,
		.module = own     ? place.own->module
		          : entry ? place.entry->module
		                  : NULL,
	};
	verdict_set_price(f, &at, verdict_price_of_library(f, &library), v);
	return advise(name, library.module, own, program_of(f, &library), v);
}
