// SPDX-License-Identifier: MIT
// What removing a place, an op or the cause of a finding would save, and which saves most.
#include "cli/report/verdict_rules.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/op.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/share.h"
#include "base/strings.h"
#include "cli/report/place.h"
#include "merge/profile/profile.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/rules/finding.h"
#include "merge/rules/price.h"

#include <stdio.h>
#include <string.h>

#define BESIDE_SHARE  0.1 /* of the time that threads were on CPUs, two or more at once */
#define WIDE_SHARE    0.1 /* of wall time, from the lowest price to the highest: both are said */
#define NEARLY_ALL    0.995
#define GIVES_REASON  0.33 /* the same, where the place has the time of all that it calls, too */
#define UNEVEN_PART   0.25 /* the same, by one that says how threads share the work of the place */
#define IN_LOOP_SHARE 0.75 /* of a function's time, in a loop that holds it */
#define VAGUE         4 /* times the time of a place: what may be saved there is mostly how runs differ */

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

// Wall time of what the report is about.
static uint64_t cut_ns(const struct verdict_facts *f)
{
	uint64_t end = f->run->wall_ns, to = f->window.to_ns, from = f->window.from_ns;

	end = to && to < end ? to : end;
	return end > from ? end - from : 0;
}

double verdict_price_of_ns(const struct verdict_facts *f, uint64_t cpu_ns)
{
	return price_of(f, cpu_ns, f->crowd.cpu ? queue_of(f, cpu_ns) : 0);
}

double verdict_price_of_row(const struct verdict_facts *f, const struct row *row)
{
	return price_of(f, row->self, queue_of_row(f, row));
}

double verdict_price_of_sum(const struct verdict_facts *f, const struct place_sum *sum)
{
	return price_of(f, sum->self + sum->below, queue_of_sum(f, sum));
}

// That a price is not known takes nothing from the sentence.
void verdict_set_price(const struct verdict_facts *f, const struct price_place *place,
                       double symptom_ns, struct verdict *v)
{
	struct price price = { 0 };
	struct error err = { 0 };
	uint64_t symptom = ns_whole(symptom_ns);
	uint64_t margin = query_sampling_margin(f->profile, symptom, f->all);

	if (f->run->samples < FEW_SAMPLES || !symptom ||
	    price_find(f->profile, &f->window, place, symptom, margin, &price, &err) < 0)
		return;
	if (price.high_ns > v->price.high_ns)
		v->price.high_ns = price.high_ns;
	if (!v->price.low_ns)
		v->price.low_ns = price.low_ns;
}

void verdict_set_price_of_row(const struct verdict_facts *f, const struct row *row,
                              struct verdict *v)
{
	const struct price_place place = {
		.function = row->name, .file = row->file, .module = row->module, .line = row->line
	};

	verdict_set_price(f, &place, verdict_price_of_row(f, row), v);
}

void verdict_set_price_of_sum(const struct verdict_facts *f, const struct place_sum *sum,
                              struct verdict *v)
{
	const struct call_node *own = sum->own;
	const struct price_place place = {
		.function = own->name, .file = own->file, .module = own->module, .line = own->line
	};

	verdict_set_price(f, &place, verdict_price_of_sum(f, sum), v);
}

// What more CPUs could give, and what is said of the measurement, is no change at a place; and a
// bound is said with what it is up to.
static void take_price_of_finding(const struct finding *finding, struct verdict *v)
{
	if (finding->rule->potential || finding->rule->subject == RULES_QUALITY || finding->bound)
		return;
	v->price.low_ns = finding->saving_low_ns;
	v->price.high_ns = finding->saving_high_ns;
}

void verdict_say_price(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t all = v->said ? v->said->asked_ns : cut_ns(f);
	size_t length = strlen(v->sentence), size = sizeof(v->sentence) - length;

	if (v->said) {
		take_price_of_finding(v->said, v);
	} else { // of code that nothing is known to be wrong with, all may have to stay
		if (v->price.high_ns > VAGUE * v->price.low_ns)
			v->price.high_ns = 0;
		v->price.low_ns = 0;
	}
	// Of what is all over the run no one place can be changed.
	const char *what = v->said && !v->said->function ? "Avoiding that" : "A change there";
	double low = share_of(v->price.low_ns, all), high = share_of(v->price.high_ns, all);
	if (!v->price.high_ns || !all)
		return;
	if (v->price.low_ns && high - low >= WIDE_SHARE)
		snprintf(v->sentence + length, size, " %s saves %.0f to %.0f %% of wall time.",
		         what, 100 * low, 100 * high);
	else if (v->price.low_ns && low >= NEARLY_ALL)
		snprintf(v->sentence + length, size, " %s saves nearly all of wall time.", what);
	else if (v->price.low_ns && high >= NEARLY_ALL)
		snprintf(v->sentence + length, size, " %s saves %.0f %% of wall time or more.",
		         what, 100 * low);
	else if (high < NEARLY_ALL) // that it is at most everything is no news
		snprintf(v->sentence + length, size, " %s saves at most %.0f %% of wall time.",
		         what, 100 * high);
}

// Where findings are priced without waiting for a CPU, of which an op has its part.
double verdict_price_of_op(const struct verdict_facts *f, const struct op_row *op)
{
	uint64_t waited = f->account.ns[METRIC_OFF_RUNNABLE], wall = f->run->wall_ns;

	double share = share_of(op->self_ns, f->ops->wall_ns); // above 1 by errors of estimates
	return (share < 1 ? share : 1) * (double)(wall > waited ? wall - waited : 0);
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
	const struct op_row *op = verdict_hottest_op(f);

	return op && share_of(op->self_ns, f->ops->wall_ns) >= ASKED_SHARE &&
	       is_at_op(finding, op) && !outranks(verdict_price_of_op(f, op), finding, STANDS_FOR);
}

// FINDING's place is a program or library that has no symbols.
static bool is_nameless_in(const struct finding *finding, const struct row *row)
{
	return row->name[0] == '[' && row->module && finding->function && !finding->file &&
	       strcmp(finding->function, path_base(row->module)) == 0;
}

// A loop with most of the time holds a function that has most of it, too.
static bool holds_row(const struct verdict_facts *f, const struct finding *finding,
                      const struct row *row)
{
	double share = share_of(row->self, f->all);

	return finding->rule->doing & ACTIVITIES_IN_LOOPS &&
	       share + finding->share - 1 >= IN_LOOP_SHARE * share;
}

// A library's function that the place of FINDING, the busiest of all, calls, or that FINDING names.
static bool is_at_row(const struct verdict_facts *f, const struct finding *finding,
                      const struct row *row)
{
	struct place_sum sum = place_busiest(f->cpu_tree, NULL);

	return is_in(finding, row->name, row->file) || calls(finding, row->name) ||
	       is_nameless_in(finding, row) || holds_row(f, finding, row) ||
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

// The part of ROW's time that FINDING has to explain to be said instead.
static double stands_for_row(const struct verdict_facts *f, const struct finding *finding,
                             const struct row *row)
{
	bool uneven = finding->rule->uneven && finding->function &&
	              place_is_within(f->cpu_tree, row->name, finding->function, finding->file);

	return uneven ? UNEVEN_PART : is_at_row(f, finding, row) ? STANDS_FOR : 1;
}

// What has much of the run's time, and how much of that a finding has to explain to be said
// instead.
struct hotspot {
	double price, stands_for;
};

enum {
	HOTSPOTS_MAX = 6
};

// FINDING is about what functions of LIBRARY do themselves, not about what these ask others for.
static bool is_at_library(const struct verdict_facts *f, const struct finding *finding,
                          const struct verdict_library *library)
{
	struct place_library place = place_library_of(f->cpu_tree, library->module, false);

	if (finding->rule->doing & ACTIVITIES_BELOW)
		return false;
	if (!finding->row_count || is_nameless_in(finding, library->row) ||
	    (place.own && is_in(finding, place.own->name, place.own->file)))
		return true;
	for (size_t i = 0; i < f->cpu->count; i++) {
		const struct row *row = &f->cpu->rows[i];
		if (strings_same(row->module, library->module) &&
		    (is_in(finding, row->name, row->file) || calls(finding, row->name)))
			return true;
	}
	return false;
}

// What the sentence could be about instead of FINDING.
static size_t find_hotspots(const struct verdict_facts *f, const struct finding *finding,
                            struct hotspot hotspots[HOTSPOTS_MAX])
{
	const struct row *row =
		verdict_nameless_row(f) ? verdict_nameless_row(f) : verdict_hottest(f);
	const struct op_row *op = verdict_hottest_op(f);
	struct verdict_library library;
	struct place_sum sum;
	size_t count = 0;

	// What the sentence would be about is slow for that reason.
	bool asks = verdict_asks_most(f, MORE_THAN, &sum) && !verdict_is_import(&sum);
	bool reason = asks && is_at_sum(finding, &sum) &&
	              !outranks(verdict_price_of_sum(f, &sum), finding, STANDS_FOR);
	if (row && !reason)
		hotspots[count++] = (struct hotspot){ verdict_price_of_row(f, row),
			                              stands_for_row(f, finding, row) };
	if (op)
		hotspots[count++] = (struct hotspot){ verdict_price_of_op(f, op),
			                              is_at_op(finding, op) ? STANDS_FOR : 1 };
	if (asks)
		hotspots[count++] = (struct hotspot){ verdict_price_of_sum(f, &sum),
			                              is_at_sum(finding, &sum) ? GIVES_REASON : 1 };
	if (!reason && verdict_busiest_library(f, &library))
		hotspots[count++] =
			(struct hotspot){ verdict_price_of_library(f, &library),
			                  is_at_library(f, finding, &library) ? STANDS_FOR : 1 };
	// That a build is compilers is no news: a finding says what these do.
	hotspots[count++] = (struct hotspot){ verdict_price_of_processes(f), GIVES_REASON };
	// Nor is what threads do beside code that could not be seen.
	if (verdict_unseen_row(f))
		hotspots[count++] =
			(struct hotspot){ verdict_price_of_row(f, verdict_unseen_row(f)), 1 };
	return count;
}

bool verdict_is_outranked(const struct verdict_facts *f, const struct finding *finding)
{
	const struct row *row =
		verdict_nameless_row(f) ? verdict_nameless_row(f) : verdict_hottest(f);
	struct hotspot hotspots[HOTSPOTS_MAX];

	if (f->run->samples < FEW_SAMPLES || (row && orders(f, finding, row->name)))
		return false;
	size_t count = find_hotspots(f, finding, hotspots);
	for (size_t i = 0; i < count; i++)
		if (outranks(hotspots[i].price, finding, hotspots[i].stands_for))
			return true;
	return false;
}

// Of a program that the user has not made, and of which nothing is known but how long it ran, there
// is nothing to begin with: what costs more than that is said instead.
static bool beats_nameless(const struct verdict_facts *f, const struct finding *finding)
{
	const struct row *row = verdict_hottest(f);

	return row && row->name[0] == '[' && row->module &&
	       origin_is_foreign(row->module, row->file) &&
	       (double)finding->saving_ns > verdict_price_of_row(f, row);
}

// What kind of loop a program of the system's is in is for those who write that program: what it is
// asked to do is up to its user.
static bool is_for_its_authors(const struct verdict_facts *f, const struct finding *finding)
{
	const struct row *row = verdict_hottest(f);

	return finding->rule->otherwise && row && origin_is_installed(row->module) &&
	       is_nameless_in(finding, row);
}

// The one that explains most. Of what is no fault by itself, such as imports, only what most of the
// run is spent in. Rules on the measurement say how far to trust it, not what is slow.
const struct finding *verdict_worst_finding(const struct verdict_facts *f)
{
	const struct finding *most = NULL;

	for (size_t i = 0; i < f->findings->shown; i++) {
		const struct finding *finding = &f->findings->items[i];
		bool counts = finding->severity >= SEVERITY_WARN || finding->share >= MOST_SHARE ||
		              beats_nameless(f, finding) || explains_op(f, finding);
		if (counts && finding->rule->subject != RULES_QUALITY &&
		    !is_for_its_authors(f, finding) &&
		    finding->saving_ns > (most ? most->saving_ns : 0) &&
		    !(most && finding->rule->potential))
			most = finding;
	}
	return most;
}
