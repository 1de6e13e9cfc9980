// SPDX-License-Identifier: MIT
// The rules are tried in order; the first one that applies speaks.
#include "cli/report/verdict.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/debug_status.h"
#include "base/error.h"
#include "base/format.h"
#include "base/function_name.h"
#include "base/known_work.h"
#include "base/op.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/share.h"
#include "base/strings.h"
#include "cli/report/place.h"
#include "cli/report/row_words.h"
#include "cli/report/view.h"
#include "merge/profile/profile.h"
#include "merge/query/query_contention.h"
#include "merge/query/query_loops.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/rules/finding.h"
#include "merge/scope/keys.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FEW_SAMPLES    50   /* fewer rank nothing: a share of 10 % is then +-9 points */
#define NAME_WIDTH     60   /* of a function in a sentence */
#define FLAT_SHARE     0.04 /* MAQAO's limit for "no loop stands out" */
#define UNSEEN_SHARE   0.5  /* of the CPU time */
#define WAIT_SHARE     0.5  /* of the critical thread's life */
#define BUSY_SHARE     0.5  /* of one CPU, by all threads together */
#define CPU_SHARE      0.5  /* of it spent waiting for a CPU */
#define OWN_SHARE      0.8  /* of the CPUs: then nobody else is to blame */
#define OP_SHARE       0.5  /* of the threads that have ops, by one op itself */
#define MOST_SHARE     0.5  /* of the time, by a finding */
#define ASKED_SHARE    0.1  /* of the CPU time, by a function and what it asks libraries for */
#define MORE_THAN      1.1  /* times the function that has most itself: then that says more */
#define NEARLY_ALL     0.95 /* of the time of a place, for one of those who call it */
#define HALF_OF        0.5  /* times a library's function: a caller has part of it at least */
#define LOOP_SHARE     0.1  /* of code without a name, in loops of one kind */
#define SAME_SHARE     0.01 /* shares that differ by less need no word */
#define BESIDE_SHARE   0.1  /* of the time that threads were on CPUs, two or more at once */
#define MANY_PROCESSES 3
#define LARGE_PART     0.25 /* of the time of a place: who is called for less is not named */
#define STANDS_FOR     0.5  /* of the time of a place, by a finding in it */
#define GIVES_REASON   0.33 /* the same, where the place has the time of all that it calls, too */
#define OWNED_SHARE    0.5  /* of the waits for sockets: less is for nobody of the run */
#define SERVED_SHARE   0.5 /* of the CPU time: so long others of the run waited for it at sockets */
#define LOOK_NS        (500 * NS_PER_MS) /* a master looks after its workers no more often */
#define WORKS_SHARE    0.1 /* of wall time, on CPUs or ready to be there: less is hardly any work */

struct verdict_facts {
	const struct profile *profile;
	const struct run *run;
	const struct totals *totals;
	struct account account;
	struct contention_answer contention;
	struct wall_account wall; /* where it ranks code, what follows is of wall time */
	uint64_t all;             /* CPU time of all threads, or wall time */
	bool of_rank;             /* of merged profiles: that of the one whose end the others wait
	                             for, so that calls of MPI are theirs */
	char of[80];              /* of what ALL is, in words */
	const struct rows *cpu;   /* functions by self time on a CPU, all threads */
	const struct rows *both;  /* the same, and waiting, as the tables have them */
	const struct call_tree *cpu_tree;
	struct crowd {
		const struct rows *cpu; /* of all threads; NULL: nothing was waited for own ones */
		const struct call_tree *tree;
		uint64_t own_ns; /* of wall time, waited for CPUs that own threads had */
	} crowd;
	const struct call_tree *wait_tree; /* of the critical thread */
	const struct op_rows *ops;         /* by self time */
	const struct findings *findings;
	const struct finding *second; /* one that explains less than the sentence does; or NULL */
	const struct finding *idle;   /* that the run only waits for requests; NULL: it does not */
	uint64_t outside_ns; /* of all threads, mostly waited for nobody of the run, while some
	                        work; 0: not so */
};

__attribute__((format(printf, 2, 3))) static bool say(struct verdict *v, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->sentence, sizeof(v->sentence), format, args);
	va_end(args);
	return true;
}

__attribute__((format(printf, 2, 3))) static bool advise(struct verdict *v, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->next, sizeof(v->next), format, args);
	va_end(args);
	return true;
}

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

// As a sentence; one that begins with a function's name has that as it is.
static void say_fact(const struct finding *finding, struct verdict *v)
{
	bool named = finding->function && begins_with(finding->fact, finding->function);

	say(v, "%c%s.", named ? finding->fact[0] : toupper((unsigned char)finding->fact[0]),
	    finding->fact + 1);
	v->said = finding;
}

// Who waited: where wall time is known, whoever the end of the run waited for.
static const char *thread_name(const struct verdict_facts *f, char *buffer, size_t size)
{
	if (f->wall.ranks)
		return "the run";
	if (f->account.is_main)
		return "the main thread";
	snprintf(buffer, size, "thread %s (%u)", f->account.thread, f->account.tid);
	return buffer;
}

// "decode (augment.c:88)", "memcpy in libc.so.6", "copy_page in the kernel".
static void name_place(const char *name, const char *file, int line, const char *module,
                       char *buffer, size_t size)
{
	cleanup_free char *clipped = format_clip(name, NAME_WIDTH, CLIP_SYMBOL, false);
	const char *function = clipped ? clipped : name;
	char place[256];

	place_words(file, line, module, place, sizeof(place));
	size_t length = strlen(place);
	bool bracketed = place[0] == '[' && place[length - 1] == ']';
	bool named = function[0] != '[' || !bracketed;
	if (bracketed)
		place[length - 1] = '\0';
	const char *bare = place + bracketed;
	if (!length)
		snprintf(buffer, size, "%s", function);
	else if (!bracketed)
		snprintf(buffer, size, "%s (%s)", function, place);
	else if (strcmp(bare, "kernel") == 0)
		snprintf(buffer, size, "%s%sthe kernel", named ? function : "",
		         named ? " in " : "");
	else
		snprintf(buffer, size, "%s in %s", named ? function : "code without symbols", bare);
}

static void name_node(const struct call_node *node, char *buffer, size_t size)
{
	name_place(node->name, node->file, node->line, node->module, buffer, size);
}

static void name_call(const struct place_call *call, char *buffer, size_t size)
{
	const struct call_node *caller = call->caller;

	name_place(caller->name, caller->file, call->line, caller->module, buffer, size);
}

static void name_row(const struct row *row, char *buffer, size_t size)
{
	name_place(row->name, row->file, row->line, row->module, buffer, size);
}

static bool is_mark(const struct row *row)
{
	return !row->module && !row->file && row->name[0] == '[';
}

// The first row that is code; NULL if there is none.
static const struct row *hottest(const struct verdict_facts *f)
{
	for (size_t i = 0; i < f->cpu->count; i++)
		if (!is_mark(&f->cpu->rows[i]))
			return &f->cpu->rows[i];
	return NULL;
}

static const struct row *find_row(const struct rows *rows, const struct row *wanted)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];
		if (strcmp(row->name, wanted->name) == 0 &&
		    strings_same(row->module, wanted->module) &&
		    strings_same(row->file, wanted->file))
			return row;
	}
	return NULL;
}

// The tables rank CPU and waiting together, where ROW may have another share: say so, or the two
// seem to contradict each other.
static const char *with_waiting(const struct verdict_facts *f, const struct row *row, char *buffer,
                                size_t size)
{
	const struct row *both = find_row(f->both, row);

	buffer[0] = '\0';
	if (!both || f->wall.ranks)
		return buffer;
	double more = share_of(row->self, f->all) - share_of(both->self, f->both->all);
	if (more > SAME_SHARE || more < -SAME_SHARE)
		snprintf(buffer, size, " (%s %% of CPU + waiting)",
		         format_percent(both->self, f->both->all).text);
	return buffer;
}

static bool nothing_measured(const struct verdict_facts *f, struct verdict *v)
{
	if (f->totals->on_cpu_ns || f->totals->off_cpu_ns)
		return false;
	say(v, "Nothing was measured: no sample was recorded.");
	if (f->run->rung_remedy && *f->run->rung_remedy)
		return advise(v, "%s", f->run->rung_remedy);
	return advise(
		v,
		"The run may have been too short: run more work, or raise the sampling rate (-F 4999).");
}

// Code that a compiler made while the program ran, and told nobody of.
static const struct row *nameless_row(const struct verdict_facts *f)
{
	const struct row *row = f->cpu->count ? &f->cpu->rows[0] : NULL;

	return row && is_mark(row) && strcmp(row->name, "[jit]") == 0 ? row : NULL;
}

// What starts with an import is described by what is imported.
static bool is_import(const struct place_sum *sum)
{
	return strcmp(sum->entry->name, "_find_and_load") == 0;
}

static bool is_no_import(const struct place_sum *sum)
{
	return sum->entry && !is_import(sum);
}

// A function of the user's own that holds more, with what it calls of libraries, than TIMES what
// any function does by itself: time that is spent in many small ones has one cause all the same.
static bool asks_most(const struct verdict_facts *f, double times, struct place_sum *sum)
{
	const struct row *row = nameless_row(f) ? nameless_row(f) : hottest(f);

	*sum = place_busiest(f->cpu_tree, NULL);
	uint64_t ns = sum->self + sum->below;
	return sum->own && sum->entry && !sum->own->kernel && sum->below > sum->self / 10 &&
	       share_of(ns, f->all) >= ASKED_SHARE &&
	       (!row || (double)ns > times * (double)row->self);
}

// Neither a name of the program's own, whose self time may be anything's, nor Python's collector.
static bool is_work(const struct op_row *row)
{
	return !row->label && strcmp(row->provider, op_provider_name(OP_PYTHON)) != 0;
}

static bool names_work(const void *context, const char *op)
{
	const struct op_rows *ops = context;

	for (size_t i = 0; i < ops->count; i++)
		if (strcmp(ops->rows[i].name, op) == 0)
			return is_work(&ops->rows[i]);
	return false;
}

// The op that holds most time itself; NULL if there is none.
static const struct op_row *hottest_op(const struct verdict_facts *f)
{
	const struct op_row *most = NULL;

	for (size_t i = 0; i < f->ops->count; i++) {
		const struct op_row *row = &f->ops->rows[i];
		bool waits = f->of_rank && strcmp(row->provider, op_provider_name(OP_MPI)) == 0;
		if (is_work(row) && !waits && (!most || row->self_ns > most->self_ns))
			most = row;
	}
	return most;
}

static bool is_label(const struct verdict_facts *f, const struct call_node *node)
{
	for (size_t i = 0; node->op && i < f->ops->count; i++)
		if (f->ops->rows[i].label && strcmp(f->ops->rows[i].name, node->name) == 0)
			return true;
	return false;
}

static const struct call_node *heaviest_below(const struct call_node *node)
{
	const struct call_node *most = node->child;

	for (const struct call_node *c = most; c; c = c->next)
		most = c->total > most->total ? c : most;
	return most;
}

// What a label of the program's own is around most: it is no library's. A function of Python's says
// more than what calls that.
static const struct call_node *within_label(const struct verdict_facts *f,
                                            const struct call_node *node)
{
	const struct call_node *below;

	if (!is_label(f, node))
		return node;
	while ((below = heaviest_below(node)) && is_label(f, node))
		node = below;
	for (below = node; below && 2 * below->total > node->total; below = heaviest_below(below))
		if (below->python)
			return below;
	return node;
}

static void name_sum(const struct verdict_facts *f, const struct place_sum *sum, char *buffer,
                     size_t size)
{
	const struct call_node *called = within_label(f, sum->entry);
	cleanup_free char *entry = function_name_bare(called->name);
	struct call_node own = *sum->own;
	char place[400], most[120] = "";

	struct place_op op = place_op_below(f->cpu_tree, sum, names_work, f->ops);
	bool in_op = op.name && (double)op.self >= STANDS_FOR * (double)sum->below;
	uint64_t most_ns = in_op ? op.self : sum->entry_ns, all = sum->self + sum->below;
	// Where it calls most says more than its own heaviest line, which may be another.
	if (sum->entry->call_line && sum->entry_ns > sum->self)
		own.line = sum->entry->call_line;
	name_node(&own, place, sizeof(place));
	if ((double)most_ns >= LARGE_PART * (double)all)
		snprintf(most, sizeof(most), ", %s in %s%.80s",
		         2 * most_ns >= all ? "most" : "the largest part", in_op ? "the op " : "",
		         in_op                              ? op.name
		         : called->name[0] == '[' || !entry ? called->name
		                                            : entry);
	snprintf(buffer, size, "%s %% of %s is spent in %s and in what it calls of %s%s",
	         format_percent(all, f->all).text, f->of, place,
	         sum->entry->kernel ? "the kernel" : "libraries", most);
}

static void add_sum(const struct verdict_facts *f, const struct place_sum *sum, struct verdict *v)
{
	size_t length = strlen(v->next);
	char text[700];

	name_sum(f, sum, text, sizeof(text));
	snprintf(v->next + length, sizeof(v->next) - length, " %s.", text);
}

// A helper that several functions call says little of which of them costs: so does the one of them
// that has most of its time.
static void add_caller(const struct verdict_facts *f, const char *function, struct verdict *v)
{
	struct place_direct most = place_direct_caller(f->cpu_tree, function);
	const struct call_node *caller = most.caller;
	char advice[sizeof(v->next)], place[400];

	if (!caller || caller->name[0] == '[' || caller->kernel ||
	    share_of(most.all, f->cpu->all) < ASKED_SHARE ||
	    (double)most.self < MOST_SHARE * (double)most.all ||
	    (double)most.self > NEARLY_ALL * (double)most.all)
		return;
	name_node(caller, place, sizeof(place));
	memcpy(advice, v->next, sizeof(advice));
	int length =
		snprintf(v->next, sizeof(v->next), "%s %% of the time in %.60s is spent for %s. ",
	                 format_percent(most.self, most.all).text, function, place);
	snprintf(v->next + length, sizeof(v->next) - (size_t)length, "%s", advice);
}

static bool is_of_imports(const struct finding *finding)
{
	return strcmp(finding->rule->id, "PY-IMPORT") == 0;
}

// A server that waits for requests is idle: that is no place where it takes long.
static bool is_of_idleness(const struct finding *finding)
{
	return strcmp(finding->rule->id, "IO-IDLE") == 0;
}

static const struct finding *find_idleness(const struct findings *findings)
{
	for (size_t i = 0; i < findings->shown; i++)
		if (is_of_idleness(&findings->items[i]))
			return &findings->items[i];
	return NULL;
}

// Imports are often what there is to do. What costs most behind them is named, too.
static bool advise_apart(const struct verdict_facts *f, const struct finding *finding,
                         struct verdict *v)
{
	struct place_sum sum = place_busiest(f->cpu_tree, is_no_import);
	char text[700];

	advise(v, "%s", finding->advice);
	if (f->second || f->run->samples < FEW_SAMPLES || !sum.own || sum.own->kernel ||
	    share_of(sum.self + sum.below, f->all) < ASKED_SHARE)
		return true;
	size_t length = strlen(v->next);
	name_sum(f, &sum, text, sizeof(text));
	snprintf(v->next + length, sizeof(v->next) - length, " Next: %s.", text);
	return true;
}

// What code that had CPU_NS of all threads made the run wait for CPUs, as merge/rules/queue.h has
// it for findings, but for the run as a whole.
static double queue_of(const struct verdict_facts *f, uint64_t cpu_ns)
{
	return share_of(cpu_ns, f->crowd.cpu->all) * (double)f->crowd.own_ns;
}

static double queue_of_row(const struct verdict_facts *f, const struct row *row)
{
	for (size_t i = 0; f->crowd.cpu && i < f->crowd.cpu->count; i++) {
		const struct row *other = &f->crowd.cpu->rows[i];
		if (strcmp(other->name, row->name) == 0 && strings_same(other->file, row->file) &&
		    strings_same(other->module, row->module))
			return queue_of(f, other->self);
	}
	return 0;
}

static double queue_of_sum(const struct verdict_facts *f, const struct place_sum *sum)
{
	if (!f->crowd.cpu)
		return 0;
	struct place_sum all = place_sum_of(f->crowd.tree, sum->own);
	return queue_of(f, all.self + all.below);
}

// How much of the run CPU_NS of all threads explain, as evidence_weigh() has it for findings.
static double price_of(const struct verdict_facts *f, uint64_t cpu_ns, double queue_ns)
{
	uint64_t waited = f->account.ns[METRIC_OFF_RUNNABLE], wall = f->run->wall_ns;
	uint64_t run = wall > waited ? wall - waited : 0;

	if (f->wall.ranks) {
		double price = (double)cpu_ns + queue_ns;
		return price < (double)wall ? price : (double)wall;
	}
	double share = share_of(cpu_ns, f->all > run ? f->all : run) * (double)wall;
	return share < (double)cpu_ns ? share : (double)cpu_ns;
}

static double price_of_row(const struct verdict_facts *f, const struct row *row)
{
	return price_of(f, row->self, queue_of_row(f, row));
}

static double price_of_sum(const struct verdict_facts *f, const struct place_sum *sum)
{
	return price_of(f, sum->self + sum->below, queue_of_sum(f, sum));
}

// Where findings are priced without waiting for a CPU, of which an op has its part.
static double price_of_op(const struct verdict_facts *f, const struct op_row *op)
{
	uint64_t waited = f->wall.ranks ? f->wall.ns[METRIC_OFF_RUNNABLE] : 0;
	uint64_t wall = f->run->wall_ns;

	return share_of(op->self_ns, f->ops->wall_ns) * (double)(wall > waited ? wall - waited : 0);
}

// Whether PRICE, of a place, is more than FINDING explains. One that is AT that place says why it
// takes long, and stands for it if it explains STANDS_FOR of it, whatever part of that could be
// saved; 1: it is elsewhere.
static bool outranks(double price, const struct finding *finding, double stands_for)
{
	double part = stands_for < 1 && finding->rule->part > 0 ? finding->rule->part : 1;

	return stands_for * price > (double)finding->saving_ns / part;
}

static bool is_in(const struct finding *finding, const char *function, const char *file)
{
	return finding->function && strcmp(finding->function, function) == 0 &&
	       strings_same(finding->file, file);
}

static bool calls(const struct finding *finding, const char *callee)
{
	for (size_t i = 0; i < finding->row_count; i++)
		if (finding->rows[i].callee && strcmp(finding->rows[i].callee, callee) == 0)
			return true;
	return false;
}

// FINDING is about what calls the op, or about that line.
static bool is_at_op(const struct finding *finding, const struct op_row *op)
{
	return calls(finding, op->name) ||
	       (op->line && op->line == finding->line && strings_same(op->file, finding->file));
}

// It says what the op that holds most is called for.
static bool explains_op(const struct verdict_facts *f, const struct finding *finding)
{
	const struct op_row *op = hottest_op(f);

	return op && share_of(op->self_ns, f->ops->wall_ns) >= ASKED_SHARE &&
	       is_at_op(finding, op) && !outranks(price_of_op(f, op), finding, STANDS_FOR);
}

// FINDING's place is a program or library that has no symbols.
static bool is_nameless_in(const struct finding *finding, const struct row *row)
{
	return row->name[0] == '[' && row->module && finding->function && !finding->file &&
	       strcmp(finding->function, path_base(row->module)) == 0;
}

// A library's function that the place of FINDING, the busiest of all, calls, or that FINDING names.
static bool is_at_row(const struct verdict_facts *f, const struct finding *finding,
                      const struct row *row)
{
	struct place_sum sum = place_busiest(f->cpu_tree, NULL);

	return is_in(finding, row->name, row->file) || calls(finding, row->name) ||
	       is_nameless_in(finding, row) ||
	       (sum.own && is_in(finding, sum.own->name, sum.own->file) && sum.below >= row->self &&
	        origin_is_foreign(row->module, row->file));
}

// The place of FINDING, or what that calls: a copy constructor or clone() of the user's own is
// charged to who copies.
static bool is_at_sum(const struct finding *finding, const struct place_sum *sum)
{
	return is_in(finding, sum->own->name, sum->own->file) || calls(finding, sum->own->name);
}

// Whether FINDING says why what FUNCTION does is done by one thread at a time, as no two were on
// CPUs at once: a lock is held meanwhile. Then the place costs that much because of the lock.
static bool orders(const struct verdict_facts *f, const struct finding *finding,
                   const char *function)
{
	struct parallel parallel;

	if (!finding->rule->orders || !finding->function ||
	    !place_is_within(f->cpu_tree, function, finding->function, finding->file))
		return false;
	query_parallel(f->profile, 0, 0, &parallel);
	uint64_t busy = parallel.one_ns + parallel.more_ns;
	return busy && (double)parallel.more_ns < BESIDE_SHARE * (double)busy;
}

// Whether a function, an op, or a function with what it asks libraries for, explains more of the
// run than FINDING: worst is what costs most, whatever a rule says of it.
static bool is_outranked(const struct verdict_facts *f, const struct finding *finding)
{
	const struct row *row = nameless_row(f) ? nameless_row(f) : hottest(f);
	const struct op_row *op = hottest_op(f);
	struct place_sum sum;

	if (f->run->samples < FEW_SAMPLES)
		return false;
	if (row && orders(f, finding, row->name))
		return false;
	// What the sentence would be about is slow for that reason.
	bool asks = asks_most(f, MORE_THAN, &sum) && !is_import(&sum);
	bool reason = asks && is_at_sum(finding, &sum) &&
	              !outranks(price_of_sum(f, &sum), finding, STANDS_FOR);
	if (row && !reason &&
	    outranks(price_of_row(f, row), finding, is_at_row(f, finding, row) ? STANDS_FOR : 1))
		return true;
	if (op && outranks(price_of_op(f, op), finding, is_at_op(finding, op) ? STANDS_FOR : 1))
		return true;
	return asks && outranks(price_of_sum(f, &sum), finding,
	                        is_at_sum(finding, &sum) ? GIVES_REASON : 1);
}

// Of a program that the user has not made, and of which nothing is known but how long it ran, there
// is nothing to begin with: what costs more than that is said instead.
static bool beats_nameless(const struct verdict_facts *f, const struct finding *finding)
{
	const struct row *row = hottest(f);

	return row && row->name[0] == '[' && row->module &&
	       origin_is_foreign(row->module, row->file) &&
	       (double)finding->saving_ns > price_of_row(f, row);
}

// The one that explains most. Of what is no fault by itself, such as imports, only what most of the
// run is spent in. Rules on the measurement say how far to trust it, not what is slow.
static const struct finding *worst(const struct verdict_facts *f)
{
	const struct finding *most = NULL;

	for (size_t i = 0; i < f->findings->shown; i++) {
		const struct finding *finding = &f->findings->items[i];
		bool counts = finding->severity >= SEVERITY_WARN || finding->share >= MOST_SHARE ||
		              beats_nameless(f, finding) || explains_op(f, finding);
		if (counts && finding->rule->subject != RULES_QUALITY &&
		    finding->saving_ns > (most ? most->saving_ns : 0) &&
		    !(most && finding->rule->potential))
			most = finding;
	}
	return most;
}

// A finding, if nothing else explains more of the run. Who asks for most is named beside what is
// the smaller part.
static bool found(const struct verdict_facts *f, struct verdict *v)
{
	const struct finding *finding = worst(f);
	struct place_sum sum;

	if (!finding || f->second)
		return false;
	say_fact(finding, v);
	if (is_of_imports(finding))
		return advise_apart(f, finding, v);
	advise(v, "%s", finding->advice);
	if (finding->function && !origin_is_foreign(NULL, finding->file))
		add_caller(f, finding->function, v);
	if (finding->share < MOST_SHARE && f->run->samples >= FEW_SAMPLES &&
	    asks_most(f, MORE_THAN, &sum) && share_of(sum.self + sum.below, f->all) >= MOST_SHARE)
		add_sum(f, &sum, v);
	return true;
}

static bool works(const struct verdict_facts *f)
{
	return share_of(f->totals->on_cpu_ns + f->totals->runnable_ns, f->run->wall_ns) >=
	       WORKS_SHARE;
}

// A server that hardly works at all has nothing that would be worth a change.
static bool idles(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->idle || works(f))
		return false;
	say_fact(f->idle, v);
	return advise(v, "%s", f->idle->advice);
}

// Where others wait for whoever waits in ROW's function, that is not for want of work.
static bool keeps_others(const struct verdict_facts *f, const struct row *row)
{
	for (size_t i = 0; f->wait_tree && i < f->findings->shown; i++) {
		const struct finding *finding = &f->findings->items[i];
		if (finding->rule->blocks && finding->function &&
		    place_is_within(f->wait_tree, row->name, finding->function, finding->file))
			return true;
	}
	return false;
}

// Most of all time is waited in one function for sockets, and hardly any of it for others of the
// run: a server's processes wait for clients that are no part of it. A client of the run waits for
// as long as the server works, however long the server's other processes are idle; a master that
// looks after its workers each second is no client of theirs.
static uint64_t waited_outside(const struct verdict_facts *f)
{
	cleanup(wait_rows) struct wait_rows *waits = query_waits(f->profile, 0, 0, NULL);
	const struct row *row = f->both->count ? &f->both->rows[0] : NULL;
	uint64_t waited = row ? row->self_ns[METRIC_OFF_NET] : 0, owned = 0;
	uint64_t served = 0;

	if (f->idle || !row || !waits || !waits->count || !works(f) ||
	    share_of(waited, f->both->all) < WAIT_SHARE || keeps_others(f, row))
		return 0;
	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *wait = &waits->rows[i];
		// Who only looks after others, which are of no KIND, does not wait for requests of
		// theirs.
		if (wait->cause == METRIC_OFF_NET && wait->kind && wait->holder.threads)
			owned += wait->ns;
		if (wait->kind == WAIT_KIND_DESCRIPTOR && wait->holder.threads &&
		    wait->median_ns < LOOK_NS)
			served += wait->ns;
	}
	bool inside = share_of(owned, waited) >= OWNED_SHARE ||
	              share_of(served, f->totals->on_cpu_ns) >= SERVED_SHARE;
	return inside ? 0 : waited;
}

// Shares of CPU time are of what a server does while it works: for how long it did not comes behind
// that.
static void add_idleness(const struct verdict_facts *f, struct verdict *v)
{
	size_t length = strlen(v->sentence), size = sizeof(v->sentence) - length;
	char thread[64];

	if (f->outside_ns)
		snprintf(v->sentence + length, size,
		         " Its threads were idle, waiting for requests from outside of the run, "
		         "for %s %% of all their time.",
		         format_percent(f->outside_ns, f->both->all).text);
	if (!f->idle || v->said == f->idle)
		return;
	const char *name = thread_name(f, thread, sizeof(thread));
	snprintf(v->sentence + length, size,
	         " %c%s was idle, waiting for requests, for %.0f %% of the time.",
	         toupper((unsigned char)name[0]), name + 1, f->idle->value);
}

// The CPUs that its threads waited for were busy with its other threads.
static bool fills_cpus(const struct verdict_facts *f)
{
	return share_of(f->totals->on_cpu_ns, f->run->wall_ns) >= OWN_SHARE * run_cpus(f->run);
}

// What to do about that, and what to look at meanwhile.
static bool advise_cpu(const struct verdict_facts *f, struct verdict *v)
{
	char place[400], both[64];

	double cpus = run_cpus(f->run);

	advise(v,
	       "The program alone kept the %.3g CPU%s that it may use busy: run fewer threads or "
	       "processes at once, or give it more CPUs.",
	       cpus, cpus > 1 ? "s" : "");
	const struct row *row = f->run->samples >= FEW_SAMPLES ? hottest(f) : NULL;
	size_t length = strlen(v->next);
	struct place_sum sum;
	bool foreign = row && origin_is_foreign(row->module, row->file);
	if (row && asks_most(f, foreign ? HALF_OF : MORE_THAN, &sum)) {
		add_sum(f, &sum, v);
	} else if (row) {
		name_row(row, place, sizeof(place));
		snprintf(v->next + length, sizeof(v->next) - length,
		         " %s %% of %s%s is spent in %s.", format_percent(row->self, f->all).text,
		         f->of, with_waiting(f, row, both, sizeof(both)), place);
	}
	return true;
}

static bool waits_for_cpu(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t waited = f->account.ns[METRIC_OFF_RUNNABLE];
	char name[64];

	if (!fills_cpus(f) || share_of(waited, f->account.lifetime_ns) < CPU_SHARE)
		return false;
	say(v, "%s %% of the time %s was ready to run but had no CPU.",
	    format_percent(waited, f->account.lifetime_ns).text,
	    thread_name(f, name, sizeof(name)));
	return advise_cpu(f, v);
}

// The main thread waits for others, as make(1) does, and it is they who get no CPU.
static bool others_wait_for_cpu(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t waited = f->totals->runnable_ns, ready = waited + f->totals->on_cpu_ns;

	if (!fills_cpus(f) || !f->account.is_main ||
	    share_of(f->account.ns[METRIC_ON_CPU], f->account.lifetime_ns) > 1 - WAIT_SHARE ||
	    share_of(ready, f->run->wall_ns) < BUSY_SHARE || share_of(waited, ready) < CPU_SHARE)
		return false;
	say(v, "Threads of the program were ready to run but had no CPU for %s %% of the time.",
	    format_percent(waited, ready).text);
	return advise_cpu(f, v);
}

// What the thread did with that time, after "of the time the main thread".
static const char *wait_phrase(enum metric metric)
{
	static const char *const phrases[METRIC_COUNT] = {
		[METRIC_OFF_LOCK] = "waited for locks or other threads",
		[METRIC_OFF_FILE] = "waited for files",
		[METRIC_OFF_NET] = "waited for sockets or events",
		[METRIC_OFF_PIPE] = "waited for a pipe or terminal",
		[METRIC_OFF_SLEEP] = "slept or waited for a signal",
		[METRIC_OFF_FAULT] = "waited for memory from disk",
		[METRIC_OFF_GPU] = "waited for the GPU",
		[METRIC_OFF_STOPPED] = "was stopped",
	};

	return phrases[metric] ? phrases[metric] : "was blocked for an unknown reason";
}

static const char *wait_advice(enum metric metric)
{
	static const char *const advice[METRIC_COUNT] = {
		[METRIC_OFF_LOCK] = "See what the other threads do meanwhile (bottleneck report "
				    "--by thread), and hold the lock for less time.",
		[METRIC_OFF_FILE] = "Read ahead or in larger pieces, write less often, or keep the "
				    "data in memory.",
		[METRIC_OFF_NET] = "If it should not be idle, profile the side that should answer; "
				   "send several requests at once.",
		[METRIC_OFF_PIPE] = "The other end of the pipe or terminal is slower: profile that "
				    "program.",
		[METRIC_OFF_SLEEP] = "Wait for the event itself instead, or sleep less.",
		[METRIC_OFF_FAULT] =
			"Profile a second run first, which finds files in memory. Or use less "
			"memory, read files in order, or look for swapping.",
		[METRIC_OFF_STOPPED] =
			"The program was stopped from outside: measure again without "
			"that.",
		[METRIC_OFF_GPU] = "Give the GPU work in larger pieces, and do not wait for each.",
	};

	return advice[metric] ? advice[metric]
	                      : "See where it waits: bottleneck report --off-cpu --call-tree.";
}

// Time spent waiting for children is in the children, which are in the profile. And a thread that
// waits while others work, or would if they had a CPU, is no news: then the question is what those
// do.
static bool waits(const struct verdict_facts *f, struct verdict *v)
{
	const uint64_t *ns = f->account.ns;
	uint64_t waited = 0;

	if (f->idle || f->outside_ns) // see add_idleness()
		return false;
	enum metric most = METRIC_OFF_OTHER;
	char name[64], place[400];

	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++) {
		if (m == METRIC_OFF_CHILD || m == METRIC_OFF_RUNNABLE)
			continue;
		waited += ns[m];
		if (ns[m] > ns[most])
			most = (enum metric)m;
	}
	if (share_of(waited, f->account.lifetime_ns) < WAIT_SHARE)
		return false;
	uint64_t ready = f->totals->on_cpu_ns + f->totals->runnable_ns;
	if (!f->wall.ranks && share_of(ready, f->run->wall_ns) >= BUSY_SHARE)
		return false;
	const struct call_node *node = f->wait_tree ? place_heaviest(f->wait_tree) : NULL;
	// Of a tree of all waits: more than half of those for locks.
	bool gil = most == METRIC_OFF_LOCK && f->wait_tree &&
	           2 * place_gil(f->wait_tree) > ns[METRIC_OFF_LOCK];
	if (node)
		name_node(node, place, sizeof(place));
	say(v, "%s %% of the time %s %s%s%s.",
	    format_percent(ns[most], f->account.lifetime_ns).text,
	    thread_name(f, name, sizeof(name)),
	    gil ? "waited for the GIL, Python's lock" : wait_phrase(most),
	    node ? ", mostly in " : "", node ? place : "");
	if (most == METRIC_OFF_PIPE && f->totals->processes > 1)
		return advise(v, "The other end is slower. See what the other processes did "
		                 "meanwhile: bottleneck report --by process");
	if (gil)
		return advise(v, "One thread at a time runs Python: use processes, or libraries "
		                 "that work without the GIL.");
	return advise(v, "%s", wait_advice(most));
}

// Of the critical thread: what it waits for that is no CPU.
static uint64_t waited_for(const struct verdict_facts *f)
{
	uint64_t ns = 0;

	for (int m = METRIC_ON_CPU + 1; m < METRIC_COUNT; m++)
		ns += m != METRIC_OFF_RUNNABLE ? f->account.ns[m] : 0;
	return ns;
}

// Time of all threads in waits that others have ended by signals, for certain.
static uint64_t signalled_ns(const struct verdict_facts *f)
{
	cleanup(wait_rows) struct wait_rows *waits = query_waits(f->profile, 0, 0, NULL);
	uint64_t ns = 0;

	for (size_t i = 0; waits && i < waits->count; i++) {
		const struct wait_row *row = &waits->rows[i];
		if (row->kind == WAIT_KIND_SIGNAL && row->holder.threads && !row->guessed)
			ns += row->ns;
	}
	return ns;
}

// Nor do the processes or threads that it waits for, as a server's that wait for each other:
// however long they lack a CPU, what they do with one is the smaller part.
static bool all_wait(const struct verdict_facts *f, struct verdict *v)
{
	const uint64_t *ns = f->account.ns;
	const struct row *row = f->both->count ? &f->both->rows[0] : NULL;
	bool children = share_of(ns[METRIC_OFF_CHILD], f->account.lifetime_ns) >= WAIT_SHARE;
	enum metric most = METRIC_ON_CPU;
	char place[400];

	if (!row || f->idle || f->outside_ns ||
	    share_of(waited_for(f), f->account.lifetime_ns) < WAIT_SHARE ||
	    share_of(f->totals->on_cpu_ns, f->run->wall_ns) >= BUSY_SHARE)
		return false;
	// What others take (struct query) is in the row, but not in what its share is of.
	for (int m = METRIC_ON_CPU; m < METRIC_COUNT; m++)
		if (m != METRIC_OFF_RUNNABLE && m != METRIC_OFF_CHILD &&
		    row->self_ns[m] > row->self_ns[most])
			most = (enum metric)m;
	if (most == METRIC_ON_CPU || share_of(row->self_ns[most], f->both->all) < WAIT_SHARE)
		return false;
	name_row(row, place, sizeof(place));
	// What is waited for is a thread, not a socket: who that is, and where it was, is known.
	if (!children && share_of(signalled_ns(f), row->self_ns[most]) >= MOST_SHARE) {
		say(v,
		    "%s %% of the time its threads and processes waited in %s, mostly until another "
		    "one sent a signal.",
		    format_percent(row->self_ns[most], f->both->all).text, place);
		return advise(v, "See who sends it and what that one did meanwhile: bottleneck "
		                 "report --waits");
	}
	say(v, "%s %% of the time %s %s, in %s.",
	    format_percent(row->self_ns[most], f->both->all).text,
	    children ? "the processes that it started" : "its threads and processes",
	    wait_phrase(most), place);
	return advise(v, "%s",
	              children ? wait_advice(most)
	                       : "See who calls that and whether it is idle there: bottleneck "
	                         "report --off-cpu --call-tree");
}

static bool advise_agent(struct verdict *v)
{
	return advise(
		v, "Its Python functions are missing; the limits give the cause and the remedy.");
}

// The kernel takes events off programs that run with other rights, and no agent is loaded there.
static bool not_allowed(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->run->unseen_processes)
		return false;
	say(v, "The process %.60s could not be sampled: it runs with other privileges (setuid).",
	    f->run->unseen_name ? f->run->unseen_name : "?");
	return advise(v, "Run bottleneck as root, or profile a copy of the program without the "
	                 "setuid bit.");
}

static bool went_on(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->run->background_processes)
		return false;
	say(v,
	    "The program ended after %s and left %.60s running in the background, which is "
	    "not in this profile.",
	    format_duration(f->run->wall_ns).text,
	    f->run->background_name ? f->run->background_name : "a process");
	return advise(v, "Run it in the foreground; most daemons have an option for that.");
}

// What there is of the run is not what was asked about, whatever it did.
static bool lies_elsewhere(const struct verdict_facts *f, struct verdict *v)
{
	if (f->run->samples >= FEW_SAMPLES || !(not_allowed(f, v) || went_on(f, v)))
		return false;
	v->too_few = true;
	return true;
}

static bool too_few_samples(const struct verdict_facts *f, struct verdict *v)
{
	if (f->run->samples >= FEW_SAMPLES)
		return false;
	v->too_few = true;
	if (!f->run->samples && f->run->agentless_processes) {
		say(v, "No sample on a CPU: the agent was not loaded.");
		return advise(v, "The limits give the cause and the remedy.");
	}
	if (!f->run->samples)
		say(v, "No sample on a CPU: the run was too short to rank functions.");
	else
		say(v, "Only %s sample%s on a CPU: too few to rank functions.",
		    format_count(f->run->samples).text, f->run->samples == 1 ? "" : "s");
	return advise(v, "Run more work, or raise the sampling rate: bottleneck -F 4999 ...");
}

// Hooks of the agent's, at whose cost nothing else can be judged.
static bool our_own(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = f->cpu->count ? &f->cpu->rows[0] : NULL;

	if (!row || strcmp(row->name, KEY_OURS_NAME) != 0 || !is_mark(row) ||
	    share_of(row->self, f->all) < UNSEEN_SHARE)
		return false;
	say(v, "%s %% of %s is spent in bottleneck itself, which records ops and allocations.",
	    format_percent(row->self, f->all).text, f->of);
	return advise(v, "Trace fewer functions, or switch off what the limits name: --no-malloc, "
	                 "--no-ops ...");
}

// Neither symbols nor callers tell what a script does.
static bool advise_interpreter(const char *module, bool caller, struct verdict *v)
{
	const char *name = path_base(module);

	return advise(
		v,
		"%.60s interprets a script, whose functions are not recorded; symbols of %.60s "
		"would not name them. Use a profiler of the script's language%s.",
		name, name, caller ? ", or start with that caller" : "");
}

// "code without symbols that a JIT compiler made", "code without symbols in libfoo.so".
static void name_nameless(const char *module, char *buffer, size_t size)
{
	snprintf(buffer, size, "code without symbols %s%s",
	         module ? "in " : "that a JIT compiler made", module ? path_base(module) : "");
}

// The user's own place comes first; what a library is known for, behind it.
static bool advise_call(const char *module, struct verdict *v)
{
	const struct known_work *work = known_work_of_library(module);

	return advise(v, "Call it less often or with less work, starting there.%s%s",
	              work ? " " : "", work ? work->advice : "");
}

static bool say_sum(const struct verdict_facts *f, const struct place_sum *sum, struct verdict *v)
{
	char text[700];

	name_sum(f, sum, text, sizeof(text));
	say(v, "%s.", text);
	if (query_lacks_agent(f->run, sum->entry->module))
		return advise_agent(v);
	if (origin_is_interpreter(sum->entry->module))
		return advise_interpreter(sum->entry->module, true, v);
	if (known_work_of_library(sum->entry->module))
		return advise_call(sum->entry->module, v);
	// A line of Python says what is asked for, and few libraries of Python's come with symbols.
	if (sum->entry->name[0] == '[' && sum->entry->module && sum->own->python)
		return advise(v, "Start with that line: call the library less often or with less "
		                 "work. Its symbols would say where (see the limits).");
	if (sum->entry->name[0] == '[' && sum->entry->module)
		return advise(v, "Start with that caller: call the library less often or with "
		                 "less work. Its symbols would say where (see the limits).");
	return advise_call(sum->entry->module, v);
}

// What native code has no name for, its op has one for.
static bool says_op(const struct verdict_facts *f, const struct row *row, struct verdict *v)
{
	struct place_op op = place_op_around(f->cpu_tree, row->name, row->module);
	char code[300], called[400] = "";

	if (!op.name || (double)op.self < STANDS_FOR * (double)row->self)
		return false;
	// The user's own function that calls it may call others, too, which are as much of a price.
	struct place_sum sum = place_busiest(f->cpu_tree, is_no_import);
	if (sum.own && !sum.own->kernel && sum.self + sum.below > op.self)
		return say_sum(f, &sum, v);
	struct place_call call = place_caller(f->cpu_tree, op.name);
	if (!call.caller)
		call = place_caller(f->cpu_tree, row->name);
	bool caller = call.caller && call.caller->name[0] != '[';
	if (caller)
		name_call(&call, called, sizeof(called));
	name_nameless(row->module, code, sizeof(code));
	say(v, "%s %% of %s is spent in the op %.80s (%s)%s%s.",
	    format_percent(op.self, f->all).text, f->of, op.name, code,
	    caller ? ", mostly called from " : "", called);
	return advise(v, "Call it less often or with less work, starting there.");
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
		if (strncmp(row->path, "[jit", 4) != 0 || row->level != DEBUG_NONE ||
		    row->self_ns < most_ns)
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
		return advise(v, "Make the JIT compiler write symbol names: see the limits.");
	return advise(v, "For the names of its functions, %s.", remedy);
}

static bool nameless_jit(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = nameless_row(f);

	if (!row || share_of(row->self, f->all) < ASKED_SHARE)
		return false;
	if (says_op(f, row, v))
		return true;
	say(v, "%s %% of %s is spent in code without symbols that a JIT compiler made.",
	    format_percent(row->self, f->all).text, f->of);
	return advise_jit(f, v);
}

// One that takes longer than any function does, as where several functions share its work.
static bool hot_op(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = nameless_row(f) ? nameless_row(f) : hottest(f);
	const struct op_row *op = hottest_op(f);
	struct place_sum sum;
	char place[256];

	if (!op || share_of(op->self_ns, f->ops->wall_ns) < ASKED_SHARE)
		return false;
	double price = price_of_op(f, op);
	bool asked = asks_most(f, MORE_THAN, &sum);
	if ((row && price <= MORE_THAN * price_of_row(f, row)) ||
	    (asked && price <= price_of_sum(f, &sum)))
		return false;
	place_words(op->file, op->line, NULL, place, sizeof(place));
	say(v, "%s %% of the time is spent in the op %.80s%s%s.",
	    format_percent(op->self_ns, f->ops->wall_ns).text, op->name,
	    *place ? ", mostly called from " : "", place);
	return advise(v, "Call it less often or with less work%s.",
	              *place ? ", starting there" : "");
}

static bool nothing_seen(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = f->cpu->count ? &f->cpu->rows[0] : NULL;

	if (!row || !is_mark(row) || nameless_row(f) || share_of(row->self, f->all) < UNSEEN_SHARE)
		return false;
	say(v, "%s %% of %s was spent in code that could not be identified.",
	    format_percent(row->self, f->all).text, f->of);
	return advise(v, "See the limits; bottleneck check shows what would help.");
}

// What starts with an import is told by what is imported.
static bool of_imports(const struct verdict_facts *f, struct verdict *v)
{
	for (size_t i = 0; i < f->findings->shown; i++) {
		const struct finding *finding = &f->findings->items[i];
		if (!is_of_imports(finding))
			continue;
		say_fact(finding, v);
		return advise_apart(f, finding, v);
	}
	return false;
}

static bool asked_for(const struct verdict_facts *f, struct verdict *v)
{
	struct place_sum sum;

	if (!asks_most(f, MORE_THAN, &sum))
		return false;
	return (is_import(&sum) && of_imports(f, v)) || say_sum(f, &sum, v);
}

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

// Of many processes one, or the runs of one program, is what the run is about: a build's compiler.
// Its functions are nothing that its user works on.
static bool of_process(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *hot = hottest(f);
	struct query query = { .by = BY_PROCESS,
		               .sort = SORT_SELF,
		               .on_cpu = true,
		               .of = f->wall.ranks ? QUERY_WALL : QUERY_THREADS };
	struct error err = { 0 };

	bool installed = hot && !hot->file && hot->module && origin_is_installed(hot->module);

	if (f->totals->processes < MANY_PROCESSES || !hot ||
	    (!installed && !origin_is_foreign(hot->module, hot->file)))
		return false;
	cleanup(rows) struct rows *rows = query_run(f->profile, &query, &err);
	const struct row *most = rows && rows->count ? &rows->rows[0] : NULL;
	if (most && share_of(most->self, f->all) >= MOST_SHARE) {
		say(v, "%s %% of %s is in one of %u processes: %.200s (%u).",
		    format_percent(most->self, f->all).text, f->of, f->totals->processes,
		    most->name, most->id);
		if (known_work_of_program(most->name))
			return advise(v, "%s", known_work_of_program(most->name)->advice);
		return advise(
			v,
			"What it does: bottleneck report --process=%u. Give it less work, or options for more "
			"threads or less effort; in a build, start it before the others.",
			most->id);
	}
	struct program program = most ? main_program(rows) : (struct program){ 0 };
	if (program.runs < MANY_PROCESSES || share_of(program.ns, f->all) < MOST_SHARE)
		return false;
	bool named = strlen(program.most->name) > program.length;
	if (are_workers(f->profile, rows, &program)) {
		say(v,
		    "%s %% of %s is in %u processes of %.*s, %s each (median); the one with most%s%.200s%s "
		    "has %s.",
		    format_percent(program.ns, f->all).text, f->of, program.runs,
		    (int)program.length, program.most->name,
		    format_duration(median_run(rows, &program)).text, named ? ", " : "",
		    named ? program.most->name : "", named ? "," : "",
		    format_duration(program.most->self).text);
		return advise(
			v,
			"What it does: bottleneck report --process=%u. Give them less work for "
			"each request or item.",
			program.most->id);
	}
	say(v, "%s %% of %s is in %u runs of %.*s, %s each (median); the longest%s%.200s%s has %s.",
	    format_percent(program.ns, f->all).text, f->of, program.runs, (int)program.length,
	    program.most->name, format_duration(median_run(rows, &program)).text, named ? ", " : "",
	    named ? program.most->name : "", named ? "," : "",
	    format_duration(program.most->self).text);
	return advise(v, "Start fewer of them, each for more work; or more at a time: make -j, "
	                 "xargs -P.");
}

static bool flat(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = hottest(f);

	if (row && share_of(row->self, f->all) >= FLAT_SHARE)
		return false;
	say(v, "No function holds more than %.0f %% of %s: the profile is flat.", 100 * FLAT_SHARE,
	    f->of);
	return advise(v, "Start with the call tree: bottleneck report --call-tree");
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
	say(v,
	    "%s %% of %s is spent in OpenMP's runtime (%s), where threads wait for each "
	    "other%s%s.",
	    format_percent(self, f->all).text, f->of, path_base(row->module),
	    *called ? ", mostly in a loop of " : "", called);
	return advise(v,
	              "See whether its pieces are equal (schedule(dynamic)) and long enough, and "
	              "whether there are more threads than free CPUs: then "
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
		return advise(v, "%s", program->advice);
	if (work && own)
		return advise_call(module, v);
	if (work)
		return advise(v, "%s", work->advice);
	if (caller || above)
		return advise(v, "Start with that caller: call it less often or with less work. "
		                 "Symbols would say where (see the limits).");
	if (origin_is_installed(module))
		return advise(v,
		              "What %.60s works on is up to its options and input: give it less "
		              "work, or share the work among several threads or processes. Its "
		              "symbols would name its functions (see the limits).",
		              path_base(module));
	return advise(v, "Get its symbols first (see the limits).");
}

// "97 % of the CPU time is spent in code without symbols in liblzma.so.5 (a library for
// compression), mostly below lzma_code."
static bool say_nameless(const struct verdict_facts *f, const struct row *row, const char *called,
                         bool own, struct verdict *v)
{
	const struct known_work *work = known_work_of_library(row->module);
	const struct known_work *program = known_work_of_program(row->module);
	struct place_direct above = { 0 };
	char code[300], both[64];

	if (!*called)
		above = place_named_above(f->cpu_tree, row->name, row->module);
	if ((double)above.self < STANDS_FOR * (double)row->self)
		above.caller = NULL;
	const char *whole = above.caller ? above.caller->name : NULL;
	cleanup_free char *name = whole ? function_name_bare(whole) : NULL;
	name_nameless(row->module, code, sizeof(code));
	say(v, "%s %% of %s%s is spent in %s%s%s%s%s%s%.200s.",
	    format_percent(row->self, f->all).text, f->of, with_waiting(f, row, both, sizeof(both)),
	    code,
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
	return advise_nameless(row->module, *called, own, whole, v);
}

// "75 % of the CPU time is spent in memmem, mostly called from rb_memsearch in libruby-3.1.so."
static bool below_library(const struct verdict_facts *f, const struct row *row, const char *place,
                          struct verdict *v)
{
	struct place_direct above = place_outer_caller(f->cpu_tree, row->name, row->module);
	const struct call_node *caller = above.caller;
	char code[400], both[64];

	if (!caller || (double)above.self < STANDS_FOR * (double)row->self)
		return false;
	if (caller->name[0] == '[')
		name_nameless(caller->module, code, sizeof(code));
	else
		name_node(caller, code, sizeof(code));
	say(v, "%s %% of %s%s is spent in %s, mostly called from %s.",
	    format_percent(row->self, f->all).text, f->of, with_waiting(f, row, both, sizeof(both)),
	    place, code);
	if (strcmp(caller->name, "[jit]") == 0)
		return advise_jit(f, v);
	if (origin_is_interpreter(caller->module))
		return advise_interpreter(caller->module, false, v);
	if (caller->name[0] != '[' && !known_work_of_library(caller->module) &&
	    !known_work_of_program(caller->module))
		return advise(v, "Start with that caller: call it less often or with less work.");
	return advise_nameless(caller->module, false, false, false, v);
}

static bool hot_function(const struct verdict_facts *f, struct verdict *v)
{
	const struct row *row = hottest(f);
	bool foreign = origin_is_foreign(row->module, row->file);
	struct place_call call = { 0 };

	if (foreign)
		call = place_caller(f->cpu_tree, row->name);
	bool caller = call.caller && call.caller->name[0] != '['; // no name, no help
	// A caller of the same library is no place for the user to begin at.
	bool outside = caller && !origin_is_foreign(call.caller->module, call.caller->file);
	char place[400], called[400] = "", both[64];

	name_row(row, place, sizeof(place));
	if (caller)
		name_call(&call, called, sizeof(called));
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
	say(v, "%s %% of %s%s is spent in %s%s%s.", format_percent(row->self, f->all).text, f->of,
	    with_waiting(f, row, both, sizeof(both)), place, caller ? ", mostly called from " : "",
	    caller ? called : "");
	if (query_lacks_agent(f->run, row->module))
		return advise_agent(v);
	if (origin_is_interpreter(row->module)) {
		bool other = caller && !origin_is_interpreter(call.caller->module);
		return advise_interpreter(row->module, other, v);
	}
	if (row->kernel)
		return advise(v, "Make fewer and larger system calls, and reuse memory instead "
		                 "of allocating it anew.");
	if (known_work_of_library(row->module) && !outside)
		return advise(v, "%s", known_work_of_library(row->module)->advice);
	if (caller)
		return advise_call(row->module, v);
	// The hot lines are the user's own.
	if (row->file && !foreign) {
		advise(v, "Start there: its lines are under \"hot lines\", its callers in "
		          "bottleneck report --call-tree");
		add_caller(f, row->name, v);
		return true;
	}
	return advise(v, "See who calls it: bottleneck report --call-tree");
}

// The sentence is about what costs more: this comes next.
static void add_second(const struct verdict_facts *f, struct verdict *v)
{
	size_t length = strlen(v->next);

	v->said_next = f->second;
	if (f->second)
		snprintf(v->next + length, sizeof(v->next) - length, "%sNext: %s.",
		         length ? v->next[length - 1] == '.' ? " " : ". " : "", f->second->fact);
}

// All of the time was recorded within it.
static bool is_recorded_range(const struct run *run, const struct op_row *row)
{
	return run->recorded_range && fnmatch(run->recorded_range, row->name, 0) == 0;
}

// What the program calls it itself says more than the functions that it is made of.
static void add_op(const struct verdict_facts *f, struct verdict *v)
{
	const struct op_row *row = f->ops->count ? &f->ops->rows[0] : NULL;
	size_t length = strlen(v->next);
	char place[256];

	if (!row || share_of(row->self_ns, f->ops->wall_ns) < OP_SHARE ||
	    strstr(v->sentence, row->name) || is_recorded_range(f->run, row))
		return;
	place_words(row->file, row->line, NULL, place, sizeof(place));
	cleanup_free char *name = format_clip(row->name, NAME_WIDTH, CLIP_MIDDLE, false);
	snprintf(v->next + length, sizeof(v->next) - length,
	         "%s%s %% of the time is in the op %s%s%s.", length ? " " : "",
	         format_percent(row->self_ns, f->ops->wall_ns).text, name ? name : row->name,
	         *place ? ", mostly called from " : "", place);
}

// That other processes used the CPUs is no fault of the program's: it stands behind what is.
static void add_noise(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t waited = f->contention.all.others_ns;
	uint64_t ready = f->totals->runnable_ns + f->totals->on_cpu_ns;
	size_t length = strlen(v->next);

	if (share_of(ready, f->run->wall_ns) < BUSY_SHARE || share_of(waited, ready) < CPU_SHARE)
		return;
	snprintf(v->next + length, sizeof(v->next) - length,
	         "%sOther processes used the CPUs for %s %% of the time in which threads of the "
	         "program were ready to run: measure again on a machine without other work.",
	         !length                      ? ""
	         : v->next[length - 1] == '.' ? " "
	                                      : ". ", // behind a command
	         format_percent(waited, ready).text);
}

static bool (*const rules[])(const struct verdict_facts *, struct verdict *) = {
	lies_elsewhere, nothing_measured, idles,
	found,          waits_for_cpu,    others_wait_for_cpu,
	waits,          all_wait,         too_few_samples,
	our_own,        nothing_seen,     hot_op,
	asked_for,      nameless_jit,     of_process,
	flat,           hot_function,
};

// What shares are shares of. As findings have it, waiting for a CPU may hit any code by chance.
static void take_base(struct verdict_facts *f, const struct profile *profile, uint64_t cpu_ns)
{
	bool short_of_cpus = false;

	f->all = f->wall.ranks ? query_wall_share_ns(&f->wall, &short_of_cpus) : cpu_ns;
	struct wall_rank rank = { 0 };
	char whose[24] = "";
	f->of_rank = query_wall_rank(profile, &rank);
	if (f->of_rank)
		snprintf(whose, sizeof(whose), " of %s %u", rank.numbered ? "rank" : "profile",
		         rank.number);
	if (f->wall.ranks)
		snprintf(f->of, sizeof(f->of), "wall time%s%s", whose,
		         short_of_cpus ? " (excluding waits for a CPU)" : "");
	else
		snprintf(f->of, sizeof(f->of), "the CPU time");
}

struct crowd_answers {
	struct rows *cpu;
	struct call_tree *tree;
};

static void crowd_answers_at_scope_end(struct crowd_answers *a)
{
	rows_free(a->cpu);
	call_tree_free(a->tree);
}

// What all threads did where the run waited for CPUs that they had.
static int look_at_crowd(struct verdict_facts *f, const struct profile *profile,
                         const struct view *view, struct crowd_answers *answers, struct error *err)
{
	struct contention_answer contention = f->contention;
	struct query cpu = view_query(view, BY_FUNCTION, SORT_SELF);

	contention_share(f->wall.ns[METRIC_OFF_RUNNABLE], &contention);
	if (f->of_rank || !contention.critical.own_ns)
		return 0;
	cpu.on_cpu = true;
	answers->cpu = query_run(profile, &cpu, err);
	answers->tree = answers->cpu ? query_call_tree(profile, &cpu, 0.001, err) : NULL;
	if (!answers->tree)
		return -1;
	f->crowd = (struct crowd){ answers->cpu, answers->tree, contention.critical.own_ns };
	return 0;
}

int verdict_find(const struct profile *profile, const struct view *view,
                 const struct findings *findings, struct verdict *verdict, struct error *err)
{
	struct totals totals;
	struct verdict_facts f = { .profile = profile,
		                   .run = profile_run(profile),
		                   .totals = &totals,
		                   .findings = findings };
	struct query cpu = view_query(view, BY_FUNCTION, SORT_SELF);
	cleanup(crowd_answers) struct crowd_answers crowd = { 0 };
	char tid[16];

	query_totals(profile, &totals);

	if (query_account(profile, &f.account, err) < 0 ||
	    query_contention(profile, 0, 0, &f.contention, err) < 0)
		return -1;
	if (query_wall_account(profile, &cpu, &f.wall, err) < 0)
		return -1;
	if (f.wall.ranks) {
		cpu.of = QUERY_WALL;
		memcpy(f.account.ns, f.wall.ns, sizeof(f.account.ns));
		f.account.lifetime_ns = f.wall.all_ns;
	}
	cpu.on_cpu = true;
	struct query waiting = cpu;
	waiting.on_cpu = false;
	waiting.off_cpu = true;
	snprintf(tid, sizeof(tid), "%u", f.account.tid);
	waiting.thread = f.wall.ranks ? NULL : tid;
	struct query both = cpu;
	both.on_cpu = false;
	both.without_others = true;
	cleanup(rows) struct rows *rows = query_run(profile, &cpu, err);
	cleanup(rows) struct rows *both_rows = rows ? query_run(profile, &both, err) : NULL;
	cleanup(call_tree) struct call_tree *cpu_tree =
		both_rows ? query_call_tree(profile, &cpu, 0.001, err) : NULL;
	cleanup(call_tree) struct call_tree *wait_tree =
		cpu_tree ? query_call_tree(profile, &waiting, 0.01, err) : NULL;
	struct op_query op_query = view_op_query(view);
	op_query.as = 0;
	op_query.of = NULL;
	cleanup(op_rows) struct op_rows *ops =
		wait_tree ? query_ops(profile, &op_query, err) : NULL;
	if (!ops)
		return -1;
	*verdict = (struct verdict){ .said = NULL };
	f.ops = ops;
	f.cpu = rows;
	take_base(&f, profile, rows->all);
	f.both = both_rows;
	f.cpu_tree = cpu_tree;
	f.wait_tree = wait_tree;
	if (f.wall.ranks && look_at_crowd(&f, profile, view, &crowd, err) < 0)
		return -1;
	const struct finding *first = worst(&f);
	f.second = first && is_outranked(&f, first) ? first : NULL;
	f.idle = find_idleness(findings);
	f.outside_ns = waited_outside(&f);
	size_t rule = 0;
	while (rule < sizeof(rules) / sizeof(rules[0]) && !rules[rule](&f, verdict))
		rule++;
	add_idleness(&f, verdict);
	add_second(&f, verdict);
	add_op(&f, verdict);
	if (rule < sizeof(rules) / sizeof(rules[0]) && rules[rule] != found)
		add_noise(&f, verdict);
	return 0;
}
