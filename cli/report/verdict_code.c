// SPDX-License-Identifier: MIT
// Rules for runs that mostly compute: the function, op or library that has most of the time.
#include "cli/report/verdict_rules.h"

#include "base/cleanup.h"
#include "base/debug_status.h"
#include "base/error.h"
#include "base/format.h"
#include "base/function_name.h"
#include "base/known_calls.h"
#include "base/known_work.h"
#include "base/op.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/share.h"
#include "base/strings.h"
#include "cli/report/place.h"
#include "cli/report/row_words.h"
#include "cli/short_name.h"
#include "merge/profile/profile.h"
#include "merge/query/query_loops.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_wall.h"
#include "merge/rules/activity.h"
#include "merge/rules/finding.h"
#include "merge/rules/tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ABOVE_RUNTIME 4     /* times what its hottest function has: its caller is the answer */
#define FLAT_SHARE    0.04  /* MAQAO's limit for "no loop stands out" */
#define LARGE_BYTES   16384 /* of a call: copying them takes longer than the call itself */
#define LOOP_SHARE    0.1   /* of code without a name, in loops of one kind */

bool verdict_is_of_imports(const struct finding *finding)
{
	return strcmp(finding->rule->id, "PY-IMPORT") == 0;
}

// Imports are often what there is to do. What costs most behind them is named, too.
bool verdict_advise_apart(const struct verdict_facts *f, const struct finding *finding,
                          struct verdict *v)
{
	struct place_sum sum = place_busiest(f->cpu_tree, verdict_is_no_import);
	char text[700];

	verdict_advise(v, "%s", finding->advice);
	if (f->second || f->run->samples < FEW_SAMPLES || !sum.own || sum.own->kernel ||
	    share_of(sum.self + sum.below, f->all) < ASKED_SHARE)
		return true;
	size_t length = strlen(v->next);
	verdict_name_sum(f, &sum, text, sizeof(text));
	snprintf(v->next + length, sizeof(v->next) - length, " Next: %s.", text);
	verdict_mark_extra(v, length);
	return true;
}

bool verdict_advise_interpreter(const char *module, bool caller, struct verdict *v)
{
	const char *name = path_base(module), *profiler = known_profiler_of(module);
	const char *named = known_jit_of(module);
	const struct known_work *work = known_work_of_program(module);

	if (work) // a tool of pipelines, whose scripts are a line
		return verdict_advise(v, "%s", work->advice);
	if (origin_is_shell(module))
		return verdict_advise(
			v,
			"%.60s itself works, command by command: let one program go through all "
			"items (awk, sed, sort), or write that loop in Python or Perl. To find the "
			"line: %s.",
			name, profiler ? profiler : "");
	return verdict_advise(
		v,
		"%.60s interprets a script, whose functions are not recorded; symbols of %.60s "
		"would not name them. Use a profiler of the script's language%s%s%s%s.%s%s",
		name, name, profiler ? " (" : "", profiler ? profiler : "", profiler ? ")" : "",
		caller ? ", or start with that caller" : "", named ? " " : "", named ? named : "");
}

// "code without symbols that a JIT compiler made", "code without symbols in libfoo.so".
static void name_nameless(const char *module, char *buffer, size_t size)
{
	snprintf(buffer, size, "code without symbols %s%s",
	         module ? "in " : "that a JIT compiler made", module ? path_base(module) : "");
}

// The user's own place comes first; what FUNCTION, or a library, is known for, behind it.
static bool advise_call(const char *function, const char *module, struct verdict *v)
{
	const struct known_work *work = known_work_of_library(module);
	const char *advice = known_advice_of_call(function);

	if (advice)
		return verdict_advise(v, "Start there. %s", advice);
	return verdict_advise(v, "Call it less often or with less work, starting there.%s%s",
	                      work ? " " : "", work ? work->advice : "");
}

static bool say_sum(const struct verdict_facts *f, const struct place_sum *sum, struct verdict *v)
{
	char text[700];

	verdict_name_sum(f, sum, text, sizeof(text));
	verdict_say(v, "%s.", text);
	verdict_set_price_of_sum(f, sum, v);
	if (query_lacks_agent(f->run, sum->entry->module))
		return verdict_advise_agent(v);
	if (origin_is_interpreter(sum->entry->module))
		return verdict_advise_interpreter(sum->entry->module, true, v);
	if (known_work_of_library(sum->entry->module))
		return advise_call(sum->entry->name, sum->entry->module, v);
	// A line of Python says what is asked for, and few libraries of Python's come with symbols.
	if (sum->entry->name[0] == '[' && sum->entry->module && sum->own->python)
		return verdict_advise(
			v, "Start with that line: call the library less often or with less "
			   "work. Its symbols would say where (see the limits).");
	if (sum->entry->name[0] == '[' && sum->entry->module)
		return verdict_advise(v,
		                      "Start with that caller: call the library less often or with "
		                      "less work. Its symbols would say where (see the limits).");
	return advise_call(sum->entry->name, sum->entry->module, v);
}

// What native code has no name for, its op has one for.
static bool says_op(const struct verdict_facts *f, const struct row *row, struct verdict *v)
{
	struct place_op op = place_op_around(f->cpu_tree, row->name, row->module);
	char code[300], called[400] = "";

	if (!op.name || (double)op.self < STANDS_FOR * (double)row->self)
		return false;
	// The user's own function that calls it may call others, too, which are as much of a price.
	struct place_sum sum = place_busiest(f->cpu_tree, verdict_is_no_import);
	if (sum.own && !sum.own->kernel && sum.self + sum.below > op.self)
		return say_sum(f, &sum, v);
	struct place_call call = place_caller(f->cpu_tree, op.name);
	if (!call.caller)
		call = place_caller(f->cpu_tree, row->name);
	bool caller = call.caller && call.caller->name[0] != '[';
	if (caller)
		verdict_name_call(&call, called, sizeof(called));
	name_nameless(row->module, code, sizeof(code));
	verdict_say(v, "%s %% of %s is spent in the op %.80s (%s)%s%s.",
	            format_percent(op.self, f->all).text, f->of, op.name, code,
	            caller ? ", mostly called from " : "", called);
	verdict_set_price_of_row(f, row, v);
	return verdict_advise(v, "Call it less often or with less work, starting there.");
}

// How the compiler that made most of it writes names. "" if that is unknown.
static void find_jit_remedy(const struct verdict_facts *f, char *buffer, size_t size)
{
	struct error err;
	cleanup(module_rows) struct module_rows *modules = query_modules(f->profile, &err);
	uint64_t most_ns = 0;

	buffer[0] = '\0';
	for (size_t i = 0; modules && i < modules->count; i++) {
		const struct module_row *row = &modules->rows[i];
		if (!origin_is_jit(row->path) || row->level != DEBUG_NONE || row->self_ns < most_ns)
			continue;
		most_ns = row->self_ns;
		snprintf(buffer, size, "%s", row->remedy);
	}
}

static bool advise_jit(const struct verdict_facts *f, struct verdict *v)
{
	char remedy[256];

	find_jit_remedy(f, remedy, sizeof(remedy));
	if (!*remedy)
		return verdict_advise(v,
		                      "Make the JIT compiler write symbol names: see the limits.");
	return verdict_advise(v, "For the names of its functions, %s.", remedy);
}

// Through this V8 goes into each function of a script that it interprets.
#define INTERPRETER "Builtins_InterpreterEntryTrampoline"

// The row with most total time that stands for functions of the program's own, which have no names.
static const struct row *nameless_functions(const struct verdict_facts *f)
{
	const struct row *most = NULL;

	for (size_t i = 0; i < f->cpu->count; i++) {
		const struct row *row = &f->cpu->rows[i];
		bool made = verdict_is_mark(row) && strcmp(row->name, "[jit]") == 0;
		if ((made || strcmp(row->name, INTERPRETER) == 0) &&
		    (!most || row->total > most->total))
			most = row;
	}
	return most;
}

void verdict_add_jit_names(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *jit = nameless_functions(f);
	size_t length = strlen(v->next);
	char remedy[256];

	find_jit_remedy(f, remedy, sizeof(remedy));
	if (jit && *remedy && share_of(jit->total, f->all) >= MOST_SHARE)
		snprintf(v->next + length, sizeof(v->next) - length,
		         " For the names of its functions, %s.", remedy);
}

// Compiled code without symbols calls functions of its runtime, each of which is a small part:
// names of the program's own functions would say who asks for all of them.
static bool above_runtime(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *hot = verdict_hottest(f), *jit = nameless_functions(f);
	char name[200];

	if (!jit || !hot || !origin_is_foreign(hot->module, hot->file) ||
	    share_of(jit->total, f->all) < MOST_SHARE ||
	    (double)jit->total < ABOVE_RUNTIME * (double)hot->self)
		return false;
	// What its functions ask the runtime for says more than where that has most of its time.
	struct place_direct asked = place_called_by_jit(f->cpu_tree);
	const char *advice = asked.caller ? known_advice_of_call(asked.caller->name) : NULL;
	bool most = asked.caller && share_of(asked.self, jit->total) >= STANDS_FOR;
	short_name(most ? asked.caller->name : hot->name, name, sizeof(name));
	bool made = verdict_is_mark(jit);
	verdict_say(v, "%s %% of %s is spent in %s, the largest part in %s.",
	            format_percent(jit->total, f->all).text, f->of,
	            made ? "code without symbols that a JIT compiler made and in what this calls"
	                 : "functions of the script, which have no names here, and in what these "
	                   "call",
	            name);
	advise_jit(f, v);
	size_t length = strlen(v->next);
	if (most && advice)
		snprintf(v->next + length, sizeof(v->next) - length, " %s", advice);
	return true;
}

bool verdict_nameless_jit(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = verdict_nameless_row(f);
	char share[128];

	if (!row || share_of(row->self, f->all) < ASKED_SHARE)
		return above_runtime(f, v);
	if (says_op(f, row, v))
		return true;
	verdict_set_price_of_row(f, row, v);
	verdict_say(v, "%s is spent in code without symbols that a JIT compiler made.",
	            verdict_share_of_row(f, row, share, sizeof(share)));
	return advise_jit(f, v);
}

// One that takes longer than any function does, as where several functions share its work.
bool verdict_hot_op(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row =
		verdict_nameless_row(f) ? verdict_nameless_row(f) : verdict_hottest(f);
	const struct op_row *op = verdict_hottest_op(f);
	struct place_sum sum;
	char place[256];

	if (!op || share_of(op->self_ns, f->ops->wall_ns) < ASKED_SHARE)
		return false;
	double price = verdict_price_of_op(f, op);
	bool asked = verdict_asks_most(f, MORE_THAN, &sum);
	if ((row && price <= MORE_THAN * verdict_price_of_row(f, row)) ||
	    (asked && price <= verdict_price_of_sum(f, &sum)))
		return false;
	place_words(op->file, op->line, NULL, place, sizeof(place));
	uint64_t all_ns = f->ops->wall_ns; // estimates may be more
	verdict_say(v, "%s %% of the time is spent in the op %.80s%s%s.",
	            format_percent(op->self_ns < all_ns ? op->self_ns : all_ns, all_ns).text,
	            op->name, *place ? ", mostly called from " : "", place);
	return verdict_advise(v, "Call it less often or with less work%s.",
	                      *place ? ", starting there" : "");
}

// What starts with an import is described by what is imported.
bool verdict_of_imports(const struct verdict_facts *f, struct verdict *v)
{
	for (size_t i = 0; i < f->findings->shown; i++) {
		const struct finding *finding = &f->findings->items[i];
		if (!verdict_is_of_imports(finding))
			continue;
		verdict_say_finding(finding, v);
		return verdict_advise_apart(f, finding, v);
	}
	return false;
}

bool verdict_asked_for(const struct verdict_facts *f, struct verdict *v)
{
	struct verdict_library library;
	struct place_sum sum;

	if (!verdict_asks_most(f, MORE_THAN, &sum) || verdict_busiest_library(f, &library))
		return false;
	return (verdict_is_import(&sum) && verdict_of_imports(f, v)) || say_sum(f, &sum, v);
}

bool verdict_flat(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = verdict_hottest(f);

	if (row && share_of(row->self, f->all) >= FLAT_SHARE)
		return false;
	verdict_say(v, "No function holds more than %.0f %% of %s: the profile is flat.",
	            100 * FLAT_SHARE, f->of);
	return verdict_advise(v, "Start with the call tree: bottleneck report --call-tree");
}

// Nobody needs the names of its own functions here, which some builds have.
static bool of_openmp(const struct verdict_facts *f, const struct row *row, const char *called,
                      struct verdict *v)
{
	uint64_t self = 0;

	if (!row->module || !origin_is_openmp(row->module))
		return false;
	for (size_t i = 0; i < f->cpu->count; i++)
		if (f->cpu->rows[i].module && strcmp(f->cpu->rows[i].module, row->module) == 0)
			self += f->cpu->rows[i].self;
	verdict_say(v,
	            "%s %% of %s is spent in OpenMP's runtime (%s), where threads wait for each "
	            "other%s%s.",
	            format_percent(self, f->all).text, f->of, path_base(row->module),
	            *called ? ", mostly in a loop of " : "", called);
	return verdict_advise(
		v, "See whether its pieces are equal (schedule(dynamic)) and long enough: where it "
		   "begins anew in each turn of an outer loop, put #pragma omp parallel around "
		   "that one. Where there are more threads than free CPUs, "
		   "OMP_WAIT_POLICY=passive makes them sleep.");
}

static const char *const loop_words[LOOP_KINDS] = {
	[LOOP_WAIT] = "re-read one memory address until it changes",
	[LOOP_CHASE] = "follow dependent loads",
	[LOOP_DIVIDE] = "wait for divisions or square roots",
	[LOOP_STRIDE] = "walk memory in strides",
	[LOOP_SEARCH] = "compare elements one by one",
	[LOOP_COPY] = "copy or fill memory",
	[LOOP_SUM] = "add floating-point numbers to one sum",
	[LOOP_SCALAR] = "compute with one element at a time",
	[LOOP_NARROW] = "compute with short vectors",
	[LOOP_SUBNORMAL] = "compute with subnormal numbers",
	[LOOP_SHARED] = "write to cache lines that other threads write to",
};

// "; 34 % of that in loops that follow dependent loads, most at gzip+0x5a10": a fact beside, and no
// advice, as the program may be nobody's here to change.
static void add_loop(const struct verdict_facts *f, const struct row *row, struct verdict *v)
{
	size_t length = strlen(v->sentence);
	struct nameless_loop loop;

	if (!query_nameless_loop(f->profile, row->module, &loop) ||
	    share_of(loop.ns, loop.all_ns) < LOOP_SHARE || !length)
		return;
	snprintf(v->sentence + length - 1, sizeof(v->sentence) - length + 1,
	         "; %s %% of that in loops that %s, most at %.60s+0x%" PRIx64 ".",
	         format_percent(loop.ns, loop.all_ns).text, loop_words[loop.fact.kind],
	         path_base(row->module), loop.address);
}

// Code without a name is below one that has one, or in a library that is known for one thing:
// either says what the program does. Nobody but its packagers can change a program of the system's,
// but what it is asked to do is up to the user.
static bool advise_nameless(const char *module, bool caller, bool own, bool above,
                            struct verdict *v)
{
	const struct known_work *work = known_work_of_library(module);
	const struct known_work *program = known_work_of_program(module);

	if (program)
		return verdict_advise(v, "%s", program->advice);
	if (work && own)
		return advise_call(NULL, module, v);
	if (work)
		return verdict_advise(v, "%s", work->advice);
	if (caller || above)
		return verdict_advise(
			v, "Start with that caller: call it less often or with less work. "
			   "Symbols would say where (see the limits).");
	if (origin_is_installed(module))
		return verdict_advise(
			v,
			"What %.60s works on is up to its options and input: give it less "
			"work, or share the work among several threads or processes. Its "
			"symbols would name its functions (see the limits).",
			path_base(module));
	return verdict_advise(v, "Get its symbols first (see the limits).");
}

// "97 % of the CPU time is spent in code without symbols in liblzma.so.5 (a library for
// compression), mostly below lzma_code."
static bool say_nameless(const struct verdict_facts *f, const struct row *row, const char *called,
                         bool own, struct verdict *v)
{
	const struct known_work *work = known_work_of_library(row->module);
	const struct known_work *program = known_work_of_program(row->module);
	struct place_direct above = { 0 };
	char code[300], share[128];

	if (!*called)
		above = place_named_above(f->cpu_tree, row->name, row->module);
	if ((double)above.self < STANDS_FOR * (double)row->self)
		above.caller = NULL;
	const char *whole = above.caller ? above.caller->name : NULL;
	cleanup_free char *name = whole ? function_name_bare(whole) : NULL;
	name_nameless(row->module, code, sizeof(code));
	verdict_say(v, "%s is spent in %s%s%s%s%s%s%.200s.",
	            verdict_share_of_row(f, row, share, sizeof(share)), code,
	            work      ? " (a library for "
	            : program ? " (a program for "
	                      : "",
	            work      ? work->name
	            : program ? program->name
	                      : "",
	            work || program ? ")" : "", *called ? ", mostly called from " : "",
	            *called ? called
	            : whole ? ", mostly below "
	                    : "",
	            *called ? ""
	            : name  ? name
	            : whole ? whole
	                    : "");
	add_loop(f, row, v);
	verdict_set_price_of_row(f, row, v);
	// Which function of an interpreter's calls a library is the same for all of its scripts.
	if (whole && !work && !program && origin_is_interpreter(above.caller->module))
		return verdict_advise_interpreter(above.caller->module, false, v);
	return advise_nameless(row->module, *called, own, whole, v);
}

// "75 % of the CPU time is spent in memmem, mostly called from rb_memsearch in libruby-3.1.so."
static bool below_library(const struct verdict_facts *f, const struct row *row, const char *place,
                          struct verdict *v)
{
	struct place_direct above = place_outer_caller(f->cpu_tree, row->name, row->module);
	const struct call_node *caller = above.caller;
	char code[400], share[128];

	if (!caller || (double)above.self < STANDS_FOR * (double)row->self)
		return false;
	if (caller->name[0] == '[')
		name_nameless(caller->module, code, sizeof(code));
	else
		verdict_name_node(caller, code, sizeof(code));
	verdict_say(v, "%s is spent in %s, mostly called from %s.",
	            verdict_share_of_row(f, row, share, sizeof(share)), place, code);
	verdict_set_price_of_row(f, row, v);
	if (strcmp(caller->name, "[jit]") == 0)
		return advise_jit(f, v);
	// What a compiler has named is the program's own, and so is what calls it, if that has a
	// name by it.
	if (origin_is_jit(row->module) && !origin_is_jit(caller->module))
		return verdict_advise(
			v, "Start there: it is a function of the program, as its JIT compiler "
			   "names it. Its callers: bottleneck report --call-tree");
	if (origin_is_interpreter(caller->module))
		return verdict_advise_interpreter(caller->module, false, v);
	if (caller->name[0] != '[' && !known_work_of_library(caller->module) &&
	    !known_work_of_program(caller->module))
		return verdict_advise(
			v, "Start with that caller: call it less often or with less work.");
	return advise_nameless(caller->module, false, false, false, v);
}

// Reads, or writes, of that many bytes are no more of a cost than what they copy.
static bool copies_much(const struct run *run)
{
	bool writes = run->write_bytes > run->read_bytes;
	uint64_t calls = writes ? run->write_calls : run->read_calls;

	return calls && (writes ? run->write_bytes : run->read_bytes) / calls >= LARGE_BYTES;
}

// CALL may be NULL.
static bool advise_on_kernel(const struct verdict_facts *f, const struct place_call *call,
                             struct verdict *v)
{
	const activity_set copies = ACTIVITY(READ) | ACTIVITY(WRITE);
	const char *caller = call ? call->caller->name : NULL;
	char tool[64], advice[400];
	struct place_sum sum = place_busiest(f->cpu_tree, NULL);

	if (!sum.own && tool_of(f->profile, tool, sizeof(tool))) {
		tool_advise(tool, advice, sizeof(advice));
		return verdict_advise(v, "%s", advice);
	}
	if (caller && activity_of(caller, NULL) & copies && copies_much(f->run))
		return verdict_advise(
			v,
			"The calls are large: the time goes to the data itself. Read or write less "
			"of it, or do not copy it (mmap(2), sendfile(2), O_DIRECT).");
	return verdict_advise(v, "Make fewer and larger system calls, and reuse memory instead of "
	                         "allocating it anew.");
}

bool verdict_hot_function(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = verdict_hottest(f);
	bool foreign = origin_is_foreign(row->module, row->file);
	struct place_call call = { 0 };

	if (foreign)
		call = place_caller(f->cpu_tree, row->name);
	bool caller = call.caller && call.caller->name[0] != '['; // no name, no help
	// A caller of the same library is no place for the user to begin at.
	bool outside = caller && !origin_is_foreign(call.caller->module, call.caller->file);
	char place[400], called[400] = "", share[128];

	verdict_name_row(row, place, sizeof(place));
	if (caller)
		verdict_name_call(&call, called, sizeof(called));
	if (of_openmp(f, row, called, v))
		return true;
	if (foreign && !caller && row->name[0] != '[' && !row->kernel &&
	    !query_lacks_agent(f->run, row->module) && below_library(f, row, place, v))
		return true;
	if (row->name[0] == '[' && row->module && !query_lacks_agent(f->run, row->module) &&
	    says_op(f, row, v))
		return true;
	if (row->name[0] == '[' && row->module && !query_lacks_agent(f->run, row->module) &&
	    !row->kernel && !origin_is_interpreter(row->module))
		return say_nameless(f, row, called, outside, v);
	verdict_say(v, "%s is spent in %s%s%s.", verdict_share_of_row(f, row, share, sizeof(share)),
	            place, caller ? ", mostly called from " : "", caller ? called : "");
	verdict_set_price_of_row(f, row, v);
	if (outside)
		verdict_set_price(f,
		                  &(struct price_place){ .function = call.caller->name,
		                                         .file = call.caller->file,
		                                         .module = call.caller->module,
		                                         .line = call.line },
		                  verdict_price_of_row(f, row), v);
	if (query_lacks_agent(f->run, row->module))
		return verdict_advise_agent(v);
	if (origin_is_interpreter(row->module)) {
		bool other = caller && !origin_is_interpreter(call.caller->module);
		return verdict_advise_interpreter(row->module, other, v);
	}
	if (row->kernel)
		return advise_on_kernel(f, caller ? &call : NULL, v);
	if (known_work_of_library(row->module) && !outside)
		return verdict_advise(v, "%s", known_work_of_library(row->module)->advice);
	if (caller)
		return advise_call(row->name, row->module, v);
	// The hot lines are the user's own.
	if (row->file && !foreign) {
		verdict_advise(v, "Start there: its lines are under \"hot lines\", its callers in "
		                  "bottleneck report --call-tree");
		verdict_add_caller(f, row->name, v);
		return true;
	}
	return verdict_advise(v, "See who calls it: bottleneck report --call-tree");
}
