// SPDX-License-Identifier: MIT
// What the sentences of the verdict are made of: places, functions and ops by name.
#include "cli/report/verdict_rules.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/format.h"
#include "base/function_name.h"
#include "base/op.h"
#include "base/path.h"
#include "base/share.h"
#include "base/strings.h"
#include "cli/report/place.h"
#include "cli/report/row_words.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_wall.h"
#include "merge/rules/finding.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NEARLY_ALL 0.95 /* of the time of a place, for one of those who call it */
#define SAME_SHARE 0.01 /* shares that differ by less need no word */
#define LARGE_PART 0.25 /* of the time of a place: who is called for less is not named */

__attribute__((format(printf, 2, 3))) bool verdict_say(struct verdict *v, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->sentence, sizeof(v->sentence), format, args);
	va_end(args);
	return true;
}

__attribute__((format(printf, 2, 3))) bool verdict_advise(struct verdict *v, const char *format,
                                                          ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->next, sizeof(v->next), format, args);
	va_end(args);
	return true;
}

void verdict_mark_extra(struct verdict *v, size_t at)
{
	if (v->next[at] && v->extras < VERDICT_EXTRAS)
		v->extra_at[v->extras++] = at;
}

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

// With NAME, not with a longer word: "starting" does not begin with start().
static bool begins_with_name(const char *text, const char *name)
{
	char next = begins_with(text, name) ? text[strlen(name)] : '_';

	return next != '_' && !isalnum((unsigned char)next);
}

// As a sentence; one that begins with a function's name has that as it is.
void verdict_say_finding(const struct finding *finding, struct verdict *v)
{
	bool named = finding->function && begins_with_name(finding->fact, finding->function);

	verdict_say(v, "%c%s.", named ? finding->fact[0] : toupper((unsigned char)finding->fact[0]),
	            finding->fact + 1);
	v->said = finding;
}

// Who waited: where wall time is known, whoever the end of the run waited for.
const char *verdict_thread_name(const struct verdict_facts *f, char *buffer, size_t size)
{
	if (f->wall.ranks)
		return "the run";
	if (f->account.is_main)
		return "the main thread";
	snprintf(buffer, size, "thread %s (%u)", f->account.thread, f->account.tid);
	return buffer;
}

// "decode (augment.c:88)", "memcpy in libc.so.6", "copy_page in the kernel", "A.fib(int)".
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
	// What was compiled at run time is in no file that could be named.
	if (!length || (named && begins_with(bare, "jit ")))
		snprintf(buffer, size, "%s", function);
	else if (!bracketed)
		snprintf(buffer, size, "%s (%s)", function, place);
	else if (strcmp(bare, "kernel") == 0)
		snprintf(buffer, size, "%s%sthe kernel", named ? function : "",
		         named ? " in " : "");
	else
		snprintf(buffer, size, "%s in %s", named ? function : "code without symbols", bare);
}

void verdict_name_node(const struct call_node *node, char *buffer, size_t size)
{
	name_place(node->name, node->file, node->line, node->module, buffer, size);
}

void verdict_name_call(const struct place_call *call, char *buffer, size_t size)
{
	const struct call_node *caller = call->caller;

	name_place(caller->name, caller->file, call->line, caller->module, buffer, size);
}

void verdict_name_row(const struct row *row, char *buffer, size_t size)
{
	name_place(row->name, row->file, row->line, row->module, buffer, size);
}

bool verdict_is_mark(const struct row *row)
{
	return !row->module && !row->file && !row->kernel && row->name[0] == '[';
}

// The first row that is code; NULL if there is none.
const struct row *verdict_hottest(const struct verdict_facts *f)
{
	for (size_t i = 0; i < f->cpu->count; i++)
		if (!verdict_is_mark(&f->cpu->rows[i]))
			return &f->cpu->rows[i];
	return NULL;
}

bool verdict_shares_both(const struct verdict_facts *f)
{
	return !f->wall.ranks && share_of(f->all, f->both->all) >= MOST_SHARE;
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

// The tables rank CPU and waiting together, where what had CPU_NS may have another share, BOTH_NS
// of that (0: not known): then the sentence has that one, as two numbers of one place seem to
// contradict each other. A program that mostly waits is judged by what it does while it works.
static const char *share_words(const struct verdict_facts *f, uint64_t cpu_ns, uint64_t both_ns,
                               char *buffer, size_t size)
{
	double more = share_of(cpu_ns, f->all) - share_of(both_ns, f->both->all);

	if (both_ns && (more > SAME_SHARE || more < -SAME_SHARE))
		snprintf(buffer, size, "%s %% of all time (CPU + waiting)",
		         format_percent(both_ns, f->both->all).text);
	else
		snprintf(buffer, size, "%s %% of %s", format_percent(cpu_ns, f->all).text, f->of);
	return buffer;
}

const char *verdict_share_of_row(const struct verdict_facts *f, const struct row *row, char *buffer,
                                 size_t size)
{
	const struct row *both = verdict_shares_both(f) ? find_row(f->both, row) : NULL;

	return share_words(f, row->self, both ? both->self : 0, buffer, size);
}

// Code that a compiler made while the program ran, and told nobody of.
const struct row *verdict_nameless_row(const struct verdict_facts *f)
{
	const struct row *row = f->cpu->count ? &f->cpu->rows[0] : NULL;

	return row && verdict_is_mark(row) && strcmp(row->name, "[jit]") == 0 ? row : NULL;
}

// What starts with an import is described by what is imported.
bool verdict_is_import(const struct place_sum *sum)
{
	return strcmp(sum->entry->name, "_find_and_load") == 0;
}

bool verdict_is_no_import(const struct place_sum *sum)
{
	return sum->entry && !verdict_is_import(sum);
}

// A function of the user's own that holds more, with what it calls of libraries, than TIMES what
// any function does by itself: time that is spent in many small ones has one cause all the same.
bool verdict_asks_most(const struct verdict_facts *f, double times, struct place_sum *sum)
{
	const struct row *row =
		verdict_nameless_row(f) ? verdict_nameless_row(f) : verdict_hottest(f);

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
const struct op_row *verdict_hottest_op(const struct verdict_facts *f)
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

// The same of a function with what it asks libraries for, which may be to wait.
static const char *share_of_sum(const struct verdict_facts *f, const struct place_sum *sum,
                                char *buffer, size_t size)
{
	struct place_sum both = { 0 };

	if (f->both_tree)
		both = place_sum_of(f->both_tree, sum->own);
	return share_words(f, sum->self + sum->below, both.self + both.below, buffer, size);
}

void verdict_name_sum(const struct verdict_facts *f, const struct place_sum *sum, char *buffer,
                      size_t size)
{
	const struct call_node *called = within_label(f, sum->entry);
	cleanup_free char *entry = function_name_bare(called->name);
	struct call_node own = *sum->own;
	char place[400], most[120] = "", share[128];

	struct place_op op = place_op_below(f->cpu_tree, sum, names_work, f->ops);
	bool in_op = op.name && (double)op.self >= STANDS_FOR * (double)sum->below;
	uint64_t most_ns = in_op ? op.self : sum->entry_ns, all = sum->self + sum->below;
	// Where it calls most says more than its own heaviest line, which may be another.
	if (sum->entry->call_line && sum->entry_ns > sum->self)
		own.line = sum->entry->call_line;
	verdict_name_node(&own, place, sizeof(place));
	if ((double)most_ns >= LARGE_PART * (double)all)
		snprintf(most, sizeof(most), ", %s in %s%.80s",
		         2 * most_ns >= all ? "most" : "the largest part", in_op ? "the op " : "",
		         in_op                              ? op.name
		         : called->name[0] == '[' || !entry ? called->name
		                                            : entry);
	snprintf(buffer, size, "%s is spent in %s and in what it calls of %s%s",
	         share_of_sum(f, sum, share, sizeof(share)), place,
	         sum->entry->kernel ? "the kernel" : "libraries", most);
}

void verdict_add_sum(const struct verdict_facts *f, const struct place_sum *sum, struct verdict *v)
{
	size_t length = strlen(v->next);
	char text[700];

	verdict_name_sum(f, sum, text, sizeof(text));
	snprintf(v->next + length, sizeof(v->next) - length, " %s.", text);
	verdict_mark_extra(v, length);
}

// A helper that several functions call says little of which of them costs: so does the one of them
// that has most of its time.
void verdict_add_caller(const struct verdict_facts *f, const char *function, struct verdict *v)
{
	struct place_direct most = place_direct_caller(f->cpu_tree, function);
	const struct call_node *caller = most.caller;
	char advice[sizeof(v->next)], place[400];

	if (!caller || caller->name[0] == '[' || caller->kernel ||
	    share_of(most.all, f->cpu->all) < ASKED_SHARE ||
	    (double)most.self < MOST_SHARE * (double)most.all ||
	    (double)most.self > NEARLY_ALL * (double)most.all)
		return;
	verdict_name_node(caller, place, sizeof(place));
	memcpy(advice, v->next, sizeof(advice));
	int length =
		snprintf(v->next, sizeof(v->next), "%s %% of the time in %.60s is spent for %s. ",
	                 format_percent(most.self, most.all).text, function, place);
	snprintf(v->next + length, sizeof(v->next) - (size_t)length, "%s", advice);
}
