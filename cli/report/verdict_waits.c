// SPDX-License-Identifier: MIT
// Rules for runs that mostly wait: for CPUs, for others, or for requests.
#include "cli/report/verdict_rules.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/share.h"
#include "cli/report/place.h"
#include "merge/profile/profile.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/rules/finding.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WAIT_SHARE   0.5 /* of the critical thread's life */
#define OWN_SHARE    0.8 /* of the CPUs: then nobody else is to blame */
#define HALF_OF      0.5 /* times a library's function: a caller has part of it at least */
#define OWNED_SHARE  0.5 /* of the waits for sockets: less is for nobody of the run */
#define SERVED_SHARE 0.5 /* of the CPU time: so long others of the run waited for it at sockets */
#define LOOK_NS      (500 * NS_PER_MS) /* a master looks after its workers no more often */
#define RANK_SHARE   0.1               /* of wall time, waited for one rank: less is no matter */
#define WAITS_LIFE   2                 /* waits, in which a thread ... */
#define LIFE_SHARE   0.5               /* ... spends so much of its life: it waits for its end */
#define WORKS_SHARE  0.1 /* of wall time, on CPUs or ready to be there: less is hardly any work */

static bool works(const struct verdict_facts *f)
{
	return share_of(f->totals->on_cpu_ns + f->totals->runnable_ns, f->run->wall_ns) >=
	       WORKS_SHARE;
}

// A server that hardly works at all has nothing that would be worth a change.
bool verdict_idles(const struct verdict_facts *f, struct verdict *v)
{
	if (!f->idle || works(f))
		return false;
	verdict_say_finding(f->idle, v);
	return verdict_advise(v, "%s", f->idle->advice);
}

// Where others wait for whoever waits in ROW's function, that is not for want of work.
static bool keeps_others(const struct verdict_facts *f, const struct row *row)
{
	for (size_t i = 0; f->wait_tree && i < f->findings->shown; i++) {
		const struct finding *finding = &f->findings->items[i];
		if (finding->rule->blocks && finding->function &&
		    (finding->rule->tasks ||
		     place_is_within(f->wait_tree, row->name, finding->function, finding->file)))
			return true;
	}
	return false;
}

// Helpers of a server wait for all their lives, until a signal has them end: that is no signal that
// anything goes on.
static bool waits_for_its_end(const struct wait_row *wait)
{
	return wait->kind == WAIT_KIND_SIGNAL &&
	       wait->count <= (uint64_t)wait->waiter.threads * WAITS_LIFE &&
	       (double)wait->ns >= LIFE_SHARE * (double)wait->waiter.life_ns;
}

// Most of all time is waited in one function for sockets, and hardly any of it for others of the
// run: a server's processes wait for clients that are no part of it. A client of the run waits for
// as long as the server works, however long the server's other processes are idle; a master that
// looks after its workers each second is no client of theirs.
uint64_t verdict_waited_outside(const struct verdict_facts *f)
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
		if (wait->cause == METRIC_OFF_NET && wait->kind && wait->holder.threads &&
		    !waits_for_its_end(wait))
			owned += wait->ns;
		// Nor is once or twice what somebody does who has requests.
		if (wait->kind == WAIT_KIND_DESCRIPTOR && wait->holder.threads &&
		    wait->median_ns < LOOK_NS &&
		    wait->count > (uint64_t)wait->waiter.threads * WAITS_LIFE)
			served += wait->ns;
	}
	bool inside = share_of(owned, waited) >= OWNED_SHARE ||
	              share_of(served, f->totals->on_cpu_ns) >= SERVED_SHARE;
	return inside ? 0 : waited;
}

// Shares of CPU time are of what a server does while it works: for how long it did not comes behind
// that.
void verdict_add_idleness(const struct verdict_facts *f, struct verdict *v)
{
	size_t length = strlen(v->sentence), size = sizeof(v->sentence) - length;
	char thread[64];

	// Whether these are answers or requests that did not come is not known.
	bool net = v->said && strcmp(v->said->rule->id, "IO-NET") == 0;
	if (f->outside_ns && net)
		snprintf(v->sentence + length, size,
		         " Threads waited so for %s %% of all their time, for nobody of the run: "
		         "if that is for requests, they were idle.",
		         format_percent(f->outside_ns, f->both->all).text);
	else if (f->outside_ns)
		snprintf(v->sentence + length, size,
		         " Its threads were idle, waiting for requests from outside of the run, "
		         "for %s %% of all their time.",
		         format_percent(f->outside_ns, f->both->all).text);
	if (!f->idle || v->said == f->idle)
		return;
	const char *name = verdict_thread_name(f, thread, sizeof(thread));
	snprintf(v->sentence + length, size,
	         " %c%s was idle, waiting for requests, for %.0f %% of the time.",
	         toupper((unsigned char)name[0]), name + 1, f->idle->value);
}

// Wall time of waits for RANK.
static uint64_t waited_for_rank(const struct wait_rows *waits, uint32_t rank)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < waits->count; i++)
		ns += waits->rows[i].holder.rank == rank ? waits->rows[i].wall_ns : 0;
	return ns;
}

// The ranks of a job run one program: its functions say nothing of which rank is late.
void verdict_add_rank(const struct verdict_facts *f, struct verdict *v)
{
	cleanup(wait_rows) struct wait_rows *waits =
		query_waits(f->profile, f->window.from_ns, f->window.to_ns, NULL);
	size_t length = strlen(v->sentence);
	const struct wait_row *most = NULL;
	uint64_t all_ns = 0, most_ns = 0;
	char place[300] = "";

	for (size_t i = 0; waits && i < waits->count; i++) {
		const struct wait_row *row = &waits->rows[i];
		if (!row->holder.rank)
			continue;
		all_ns += row->wall_ns;
		uint64_t ns = waited_for_rank(waits, row->holder.rank);
		bool same = most && most->holder.rank == row->holder.rank;
		if (ns > most_ns || (same && row->wall_ns > most->wall_ns)) {
			most_ns = ns;
			most = row;
		}
	}
	if (!most || !length || 2 * most_ns < all_ns || strstr(v->sentence, " rank ") ||
	    share_of(most_ns, f->wall.all_ns) < RANK_SHARE)
		return;
	if (most->holder.function)
		verdict_name_row(&(struct row){ .name = most->holder.function,
		                                .file = most->holder.file,
		                                .line = most->holder.line },
		                 place, sizeof(place));
	snprintf(v->sentence + length, sizeof(v->sentence) - length,
	         " The run waits for rank %u%s%s, for %s %% of wall time.", most->holder.rank - 1,
	         *place ? ", mostly in " : "", place, format_percent(most_ns, f->wall.all_ns).text);
}

// The CPUs that its threads waited for were busy with its other threads.
static bool fills_cpus(const struct verdict_facts *f)
{
	return share_of(f->totals->on_cpu_ns, f->run->wall_ns) >= OWN_SHARE * run_cpus(f->run);
}

// What to do about that, and what to look at meanwhile.
static bool advise_cpu(const struct verdict_facts *f, struct verdict *v)
{
	char place[400], share[128];

	double cpus = run_cpus(f->run);

	verdict_advise(
		v,
		"The program alone kept the %.3g CPU%s that it may use busy: run fewer threads or "
		"processes at once, or give it more CPUs.",
		cpus, cpus > 1 ? "s" : "");
	const struct row *row = f->run->samples >= FEW_SAMPLES ? verdict_hottest(f) : NULL;
	size_t length = strlen(v->next);
	struct place_sum sum;
	bool foreign = row && origin_is_foreign(row->module, row->file);
	if (row && verdict_asks_most(f, foreign ? HALF_OF : MORE_THAN, &sum)) {
		verdict_add_sum(f, &sum, v);
	} else if (row) {
		verdict_name_row(row, place, sizeof(place));
		snprintf(v->next + length, sizeof(v->next) - length, " %s is spent in %s.",
		         verdict_share_of_row(f, row, share, sizeof(share)), place);
	}
	return true;
}

bool verdict_waits_for_cpu(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t waited = f->account.ns[METRIC_OFF_RUNNABLE];
	char name[64];

	if (!fills_cpus(f) || share_of(waited, f->account.lifetime_ns) < CPU_SHARE)
		return false;
	verdict_say(v, "%s %% of the time %s was ready to run but had no CPU.",
	            format_percent(waited, f->account.lifetime_ns).text,
	            verdict_thread_name(f, name, sizeof(name)));
	return advise_cpu(f, v);
}

// The main thread waits for others, as make(1) does, and it is they who get no CPU.
bool verdict_others_wait_for_cpu(const struct verdict_facts *f, struct verdict *v)
{
	uint64_t waited = f->totals->runnable_ns, ready = waited + f->totals->on_cpu_ns;

	if (!fills_cpus(f) || !f->account.is_main ||
	    share_of(f->account.ns[METRIC_ON_CPU], f->account.lifetime_ns) > 1 - WAIT_SHARE ||
	    share_of(ready, f->run->wall_ns) < BUSY_SHARE || share_of(waited, ready) < CPU_SHARE)
		return false;
	verdict_say(
		v, "Threads of the program were ready to run but had no CPU for %s %% of the time.",
		format_percent(waited, ready).text);
	return advise_cpu(f, v);
}

// What the thread, or SEVERAL, did with that time, after "of the time the main thread".
static const char *wait_phrase(enum metric metric, bool several)
{
	static const char *const phrases[METRIC_COUNT] = {
		[METRIC_OFF_LOCK] = "waited for locks or other threads",
		[METRIC_OFF_FILE] = "waited for files",
		[METRIC_OFF_NET] = "waited for sockets or events",
		[METRIC_OFF_PIPE] = "waited for a pipe or terminal",
		[METRIC_OFF_SLEEP] = "slept or waited for a signal",
		[METRIC_OFF_FAULT] = "waited on page faults",
		[METRIC_OFF_GPU] = "waited for the GPU",
	};

	if (metric == METRIC_OFF_STOPPED)
		return several ? "were stopped" : "was stopped";
	if (phrases[metric])
		return phrases[metric];
	return several ? "were blocked for an unknown reason" : "was blocked for an unknown reason";
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
bool verdict_waits(const struct verdict_facts *f, struct verdict *v)
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
		verdict_name_node(node, place, sizeof(place));
	verdict_say(v, "%s %% of the time %s %s%s%s.",
	            format_percent(ns[most], f->account.lifetime_ns).text,
	            verdict_thread_name(f, name, sizeof(name)),
	            gil ? "waited for the GIL, Python's lock" : wait_phrase(most, false),
	            node ? ", mostly in " : "", node ? place : "");
	if (node)
		verdict_set_price(f,
		                  &(struct price_place){ .function = node->name,
		                                         .file = node->file,
		                                         .module = node->module,
		                                         .line = node->line },
		                  (double)node->self, v);
	if (most == METRIC_OFF_PIPE && f->totals->processes > 1)
		return verdict_advise(v,
		                      "The other end is slower. See what the other processes did "
		                      "meanwhile: bottleneck report --by process");
	if (gil)
		return verdict_advise(
			v, "One thread at a time runs Python: use processes, or libraries "
			   "that work without the GIL.");
	return verdict_advise(v, "%s", wait_advice(most));
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
		if (row->kind == WAIT_KIND_SIGNAL && row->holder.threads && !row->guessed &&
		    !waits_for_its_end(row))
			ns += row->ns;
	}
	return ns;
}

// Nor do the processes or threads that it waits for, as a server's that wait for each other:
// however long they lack a CPU, what they do with one is the smaller part.
bool verdict_all_wait(const struct verdict_facts *f, struct verdict *v)
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
	// Nor is what idle threads of libraries waited, which the row's own time is without.
	uint64_t waited = row->self_ns[most] < row->self ? row->self_ns[most] : row->self;
	if (most == METRIC_ON_CPU || share_of(waited, f->both->all) < WAIT_SHARE)
		return false;
	verdict_name_row(row, place, sizeof(place));
	// What is waited for is a thread, not a socket: who that is, and where it was, is known.
	if (!children && share_of(signalled_ns(f), waited) >= MOST_SHARE) {
		verdict_say(
			v,
			"%s %% of the time its threads and processes waited in %s, mostly until another "
			"one sent a signal.",
			format_percent(waited, f->both->all).text, place);
		return verdict_advise(
			v, "See who sends it and what that one did meanwhile: bottleneck "
			   "report --waits");
	}
	verdict_say(v, "%s %% of the time %s %s, in %s.", format_percent(waited, f->both->all).text,
	            children ? "the processes that it started" : "its threads and processes",
	            wait_phrase(most, true), place);
	return verdict_advise(
		v, "%s",
		children ? wait_advice(most)
			 : "See who calls that and whether it is idle there: bottleneck "
			   "report --off-cpu --call-tree");
}
