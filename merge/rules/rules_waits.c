// SPDX-License-Identifier: MIT
// Rules on threads that wait for each other: who holds what they wait for, and what works alone.
#include "base/clock.h"
#include "base/format.h"
#include "base/known_work.h"
#include "base/path.h"
#include "base/record.h"
#include "base/share.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/rules/evidence.h"
#include "merge/rules/section.h"

#include <stdio.h>
#include <string.h>

#define PARALLEL_SHARE 0.05 /* of the time on CPUs, on several at once: less is chance */
#define DIVIDED_SHARE  0.2  /* of the time of a place alone, there beside others: it is divided */
#define TURNS_SHARE    0.5  /* of the time of a place alone, by another thread alone elsewhere */
#define WORK_SHARE     0.05 /* of its life, on CPUs: who works less only takes what others make */
#define LOCKED_SHARE   0.2  /* of the time of a place alone, waited for a lock it holds: not idle */
#define MOSTLY_ALONE   0.6  /* of the CPU time of a place */
#define SYNCED_SHARE   0.1  /* of the run, waited for fsync: it is worth a word */
#define SESSIONS_SHARE 0.5  /* of what a client waits for them, each of a database's for a lock */

#define ADVICE_ON_SESSIONS                                                                         \
	"Sessions wait for the transaction that has locked what they change: commit earlier, do "  \
	"slow work before the first change, and spread changes of one row (such as a counter) "    \
	"over several rows."

static bool same_holder(const struct wait_row *a, const struct wait_row *b)
{
	return (a->lock ? a->lock == b->lock : a->kind == b->kind && !b->lock) &&
	       a->holder.function && b->holder.function &&
	       strcmp(a->holder.function, b->holder.function) == 0;
}

// Whether the stack of ROW's waiter, which would say what it waits in, was not recorded, while
// other waits for the same place are in a function of the library's: then it is not known to be
// another.
static bool may_be_within(const struct wait_rows *waits, const struct wait_row *row)
{
	for (size_t i = 0; i < waits->count && !row->waiter.function; i++)
		if (waits->rows[i].within && same_holder(row, &waits->rows[i]))
			return true;
	return false;
}

static bool is_lock(const struct wait_row *row)
{
	return row->kind == HELD_MUTEX || row->kind == HELD_RWLOCK || row->kind == HELD_SPIN ||
	       row->kind == WAIT_KIND_FILE_LOCK || row->kind == WAIT_KIND_LOCK;
}

// Which resources somebody holds whom the run waits for. Threads and children that it has made, and
// those that it has do its work in turns, are no such: it is their work that it waits for. A lock
// of Python's is made of a semaphore, and what its library makes of locks (a queue, the end of a
// thread) is waited for in a function of that.
static bool is_held(const struct wait_rows *waits, const struct wait_row *row)
{
	if (row->lock)
		return true;
	if (row->python && row->kind == HELD_SEMAPHORE)
		return !row->within && !may_be_within(waits, row);
	return is_lock(row) || row->kind == WAIT_KIND_DESCRIPTOR;
}

// Who has no work of its own to speak of, as the last of a shell's pipeline often, only takes what
// the other end makes: that one is not kept from anything by being waited for.
static bool only_takes(const struct wait_row *row)
{
	return row->kind == WAIT_KIND_DESCRIPTOR && row->waiter.life_ns &&
	       (double)row->waiter.on_cpu_ns < WORK_SHARE * (double)row->waiter.life_ns;
}

// Code without symbols is known by its program or library. A program may be a link to a file of
// another name (redis-server): its process has the name that users know.
static const char *name_of_side(const struct wait_side *side)
{
	bool library = side->function && strstr(side->function, ".so");

	return side->nameless && side->process && !library ? side->process : side->function;
}

// "3 threads wait", "app waits".
static void say_waiters(const struct wait_side *waiter, char *buffer, size_t size)
{
	if (waiter->threads > 1)
		snprintf(buffer, size, "%s threads wait", format_count(waiter->threads).text);
	else
		snprintf(buffer, size, "%.60s waits",
		         waiter->function ? name_of_side(waiter)
		         : waiter->thread ? waiter->thread
		                          : "a thread");
}

// "the mutex `journal`", "a condition variable".
static void say_resource(const struct wait_row *row, char *buffer, size_t size)
{
	const char *kind = wait_kind_name(row->kind, row->cause);

	if (row->lock)
		snprintf(buffer, size, "a %s", row->lock);
	else if (row->python && !row->within)
		snprintf(buffer, size, "a Python lock");
	else if (row->resource && !row->made)
		snprintf(buffer, size, "the %s `%.60s`", kind, row->resource);
	else if (row->within)
		snprintf(buffer, size, "%s %s in %.60s()", wait_kind_article(row->kind), kind,
		         row->within);
	else
		snprintf(buffer, size, "%s %s", wait_kind_article(row->kind), kind);
}

// What the process at the other end can do with less time: what is known of its program, or where
// its own report is.
static void advise_other_end(const struct wait_row *row, struct finding *finding)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._+-";
	const char *process = row->holder.process, *other = row->waiter.process;
	const struct known_work *work = known_work_of_program(process);

	if (work)
		finding_advise(finding, "%s", work->advice);
	else if (process && other && *process && strcmp(process, other) != 0 &&
	         !process[strspn(process, plain)])
		finding_advise(finding,
		               "Give %s less work, or share it among several processes; bottleneck "
		               "report --process=%s shows what it does.",
		               process, process);
	else
		finding_advise(finding,
		               "Give that end less work for each item, or share the items among "
		               "several threads or processes.");
}

static void say_place(const struct wait_side *side, char *buffer, size_t size)
{
	const char *name = name_of_side(side);

	if (side->nameless && side->below)
		snprintf(buffer, size, "code of %.100s below %.100s", name, side->below);
	else
		finding_place(name, side->file, side->line, buffer, size);
}

// QUEUE says what the share is without.
static enum measured say_holder(const struct wait_row *row, const char *queue,
                                struct finding *finding)
{
	char holder[300], waiters[100], what[160], at[200] = "";
	const char *base = path_base(row->waiter.file);

	say_place(&row->holder, holder, sizeof(holder));
	say_waiters(&row->waiter, waiters, sizeof(waiters));
	if (base)
		snprintf(at, sizeof(at), " at %.120s:%d", base, row->waiter.line);
	if (row->kind == WAIT_KIND_DESCRIPTOR && !row->lock) {
		advise_other_end(row, finding);
		return finding_say(
			finding,
			"%.0f %% of wall time%s is %s, while %s for it at a pipe or socket%s",
			finding->value, queue, holder, waiters, at);
	}
	say_resource(row, what, sizeof(what));
	if (row->lock && strcmp(row->lock, "row lock") == 0)
		finding_advise(finding, "%s", ADVICE_ON_SESSIONS);
	return finding_say(finding,
	                   "%.0f %% of wall time%s is %s, which holds %s while %s for it%s",
	                   finding->value, queue, holder, what, waiters, at);
}

// Of the wall time by ROW what its holder did, or waited for itself: that it had no CPU is not its
// doing.
static uint64_t held_ns(const struct wait_row *row)
{
	return row->wall_ns - row->wall_ready_ns;
}

static bool waits_are_known(const struct evidence *e, struct finding *finding)
{
	bool part = e->query.from_ns || e->query.to_ns;

	if (e->wall.all_ns && !(part && e->waits->whole_run))
		return true;
	finding_lacks(finding, e->wall.all_ns ? "it was not recorded when threads wait"
	                                      : "it was not recorded what threads wait for");
	return false;
}

// How much of the wall time is in the function of ROW's holder; LINE: at its line alone.
static uint64_t place_ns_of(const struct evidence *e, const struct wait_row *row, bool line)
{
	const struct activities *a = e->activities;
	uint64_t place_ns = 0;

	for (size_t i = 0; i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place != ACTIVITY_NO_PLACE &&
		    evidence_is_place(e, time->place, row->holder.function, row->holder.file) &&
		    (!line || (int)a->places[time->place].line == row->holder.line))
			place_ns += evidence_sum(time->critical_ns, ~(1u << METRIC_OFF_RUNNABLE));
	}
	return place_ns;
}

// Of N threads that hold a lock in turns each, the one whose end the run waits for, too, holds it
// for one turn of N, in which that one waits for nobody: that is time of the same function, at
// whatever of its lines.
static uint64_t with_own_turns(const struct evidence *e, const struct wait_row *row, uint64_t ns)
{
	uint32_t threads = row->waiter.threads;
	uint64_t place_ns = place_ns_of(e, row, false);

	if (threads < 2 || row->holder.threads < 2 || !e->wall.ranks)
		return ns;
	uint64_t most = ns + ns / (threads - 1);
	return place_ns <= ns ? ns : place_ns < most ? place_ns : most;
}

static bool same_text(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

// By its name, or by where it is if it has none.
static bool same_lock(const struct wait_row *a, const struct wait_row *b)
{
	if (a->resource || b->resource)
		return a->kind == b->kind && same_text(a->resource, b->resource);
	return a->kind == b->kind && a->address && a->address == b->address;
}

// Of waits for ROW's lock whose holder's stack was not taken, the part that ROW's holder has of
// those whose was.
static uint64_t unseen_ns(const struct wait_rows *waits, const struct wait_row *row)
{
	uint64_t unseen = 0, seen = 0, own = 0;

	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *other = &waits->rows[i];
		if (!is_lock(row) || !same_lock(row, other))
			continue;
		if (other->holder.function)
			seen += held_ns(other);
		else if (other->holder.threads)
			unseen += held_ns(other);
		own += same_holder(row, other) ? held_ns(other) : 0;
	}
	return (uint64_t)(share_of(own, seen) * (double)unseen);
}

// What ROW's holder waited itself, for threads and processes at what is no lock, as at a socket.
// It is no more than each who waited for the lock did on average.
static uint64_t nested_ns(const struct wait_rows *waits, const struct wait_row *row,
                          const struct wait_row **nested)
{
	uint64_t ns = 0, most = row->waiter.threads ? row->ns / row->waiter.threads : 0;

	for (size_t i = 0; i < waits->count && is_lock(row); i++) {
		const struct wait_row *other = &waits->rows[i];
		if (is_lock(other) || !same_text(other->waiter.function, row->holder.function) ||
		    !held_ns(other))
			continue;
		ns += held_ns(other);
		if (!*nested || held_ns(other) > held_ns(*nested))
			*nested = other;
	}
	return ns < most ? ns : most;
}

// Whether most of what was waited for by way of ROW, which is about no lock, was by way of a lock,
// too, that its waiter held.
static bool is_within_lock(const struct wait_rows *waits, const struct wait_row *row)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < waits->count && !is_lock(row); i++) {
		const struct wait_row *lock = &waits->rows[i], *nested = NULL;
		uint64_t by_lock = nested_ns(waits, lock, &nested);
		if (by_lock > ns && same_text(row->waiter.function, lock->holder.function))
			ns = by_lock;
	}
	return ns && 2 * ns > held_ns(row);
}

// By way of the lock that ROW is about.
static uint64_t all_held_ns(const struct wait_rows *waits, const struct wait_row *row)
{
	const struct wait_row *nested = NULL;
	uint64_t sum = unseen_ns(waits, row) + nested_ns(waits, row, &nested);

	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *other = &waits->rows[i];
		if (is_held(waits, other) && !only_takes(other) && same_holder(row, other))
			sum += held_ns(other);
	}
	return sum;
}

// Who takes an unfair lock again at once has it until it ends, and if the run waits for its end, as
// for any child that ends, it waits for nobody: the lock is on no way to what the run waited for.
// Others waited for it all the same, each for its part of the time at least; where that and the
// time of the holder's line are more than the run they were at once for the rest.
static uint64_t beside_ns(const struct evidence *e, const struct wait_rows *waits,
                          const struct wait_row *row, uint64_t run_ns)
{
	uint64_t waited = 0, line_ns;
	uint32_t threads = 1;

	if (!is_lock(row) || !e->wall.ranks)
		return 0;
	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *other = &waits->rows[i];
		if (!is_lock(other) || !same_holder(row, other))
			continue;
		waited += other->ns;
		threads = other->waiter.threads > threads ? other->waiter.threads : threads;
	}
	line_ns = place_ns_of(e, row, true);
	return line_ns + waited / threads > run_ns ? line_ns + waited / threads - run_ns : 0;
}

// Sessions of a database that wait for a lock of its lock manager: how many, and for how long in
// all.
struct sessions {
	const char *lock; // NULL: there are none
	const struct wait_row *most;
	uint64_t ns;
	uint32_t threads;
};

// A lightweight lock is held while the log is written, for all who commit then: nobody would write
// it sooner without.
static bool is_sessions_lock(const struct wait_row *row)
{
	return row->lock && strcmp(row->lock, "lightweight lock") != 0;
}

static struct sessions find_sessions(const struct wait_rows *waits)
{
	struct sessions best = { 0 };

	for (size_t i = 0; i < waits->count; i++) {
		struct sessions sum = { .lock = waits->rows[i].lock, .most = &waits->rows[i] };
		if (!is_sessions_lock(sum.most) || (best.lock && strcmp(best.lock, sum.lock) == 0))
			continue;
		for (size_t k = 0; k < waits->count; k++) {
			const struct wait_row *row = &waits->rows[k];
			if (!row->lock || strcmp(row->lock, sum.lock) != 0)
				continue;
			sum.ns += row->ns;
			sum.threads = row->waiter.threads > sum.threads ? row->waiter.threads
			                                                : sum.threads;
			if (row->holder.own && !sum.most->holder.own)
				sum.most = row;
		}
		best = sum.ns > best.ns ? sum : best;
	}
	return best;
}

// Of what the run waited for, fsync: of whoever held the lock, and not of a process that writes a
// log for all later.
static uint64_t synced_ns(const struct evidence *e)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < e->activities->time_count; i++)
		if (e->activities->times[i].doing & ACTIVITY(SYNC))
			ns += evidence_sum(e->activities->times[i].critical_ns, EVIDENCE_BLOCKED);
	return ns;
}

// The transaction that has locked a row waits for nobody when it commits, and whoever asked for it
// gets its answer then: the lock is on no way to what the run waited for. But each session waits
// for it, for its part of the time on average; without the lock the run is shorter by that at most.
static enum measured say_sessions(const struct evidence *e, const struct sessions *sessions,
                                  uint64_t run_ns, struct finding *finding)
{
	uint64_t ns = sessions->ns / (sessions->threads ? sessions->threads : 1);
	char synced[160] = "";

	ns = ns < run_ns ? ns : run_ns;
	finding->without_queue = e->wall.ranks && run_ns < e->wall_ns;
	finding->share = share_of(ns, run_ns);
	finding->value = 100 * finding->share;
	finding->saving_ns = ns;
	finding->bound = true;
	if ((double)synced_ns(e) > SYNCED_SHARE * (double)run_ns)
		snprintf(synced, sizeof(synced),
		         "; whoever holds it waits for fsync at each commit, so that commits come "
		         "one after the other");
	finding_advise(finding, "%s", ADVICE_ON_SESSIONS);
	return finding_say(finding,
	                   "%s session%s of the database wait%s for a %s for %.0f %% of wall "
	                   "time%s%s%s",
	                   format_count(sessions->threads).text, sessions->threads > 1 ? "s" : "",
	                   sessions->threads > 1 ? "" : "s", sessions->lock, finding->value,
	                   sessions->threads > 1 ? " on average" : "",
	                   e->wall.ranks ? evidence_queue(e) : "", synced);
}

// What the holder waits in, at its line, says what to move out of the critical section.
static void advise_on_wait(const struct evidence *e, const struct wait_row *row,
                           struct finding *finding)
{
	const struct activities *a = e->activities;
	uint64_t blocked = 0, all = 0, most = 0;
	const char *callee = NULL;

	for (size_t i = 0; i < a->time_count && is_lock(row); i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place == ACTIVITY_NO_PLACE ||
		    !evidence_is_place(e, time->place, row->holder.function, row->holder.file))
			continue;
		uint64_t ns = evidence_sum(time->ns, EVIDENCE_BLOCKED);
		all += ns + evidence_sum(time->ns, 1u << METRIC_ON_CPU);
		blocked += ns;
		if (ns <= most)
			continue;
		most = ns;
		callee = profile_string(e->profile, time->callee);
	}
	if (callee && 2 * blocked > all)
		finding_advise(
			finding,
			"The holder waits in %.60s, for %.2f s: move that wait out of the "
			"critical section (look up under the lock, release it, wait, take it "
			"again to store the result), or wait once for many items.",
			callee, (double)blocked / 1e9);
}

static enum measured measure_holder(const struct evidence *e, const struct rule *rule,
                                    struct finding *finding)
{
	const struct wait_rows *waits = e->waits;
	uint64_t run_ns = e->wall.ranks ? evidence_run_ns(e) : e->wall.all_ns, ns = 0;
	const struct wait_row *most = NULL;
	bool most_beside = false;

	(void)rule;
	if (!waits_are_known(e, finding))
		return MEASURED_LACKS;
	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *row = &waits->rows[i];
		if (!is_held(waits, row) || only_takes(row) || !row->holder.function ||
		    is_within_lock(waits, row) ||
		    (is_lock(row) && section_is_elsewhere(e->profile, &row->waiter, &row->holder)))
			continue;
		uint64_t sum = all_held_ns(waits, row);
		uint64_t beside = beside_ns(e, waits, row, run_ns);
		bool is_beside = beside > sum;
		sum = is_beside ? beside : sum;
		if (sum > ns) {
			ns = sum;
			most = row;
			most_beside = is_beside;
		}
	}
	// At the other end of a client's socket there are sessions that wait for each other: why
	// says more than that.
	const struct sessions sessions = find_sessions(waits);
	double least = most && most->kind == WAIT_KIND_DESCRIPTOR ? SESSIONS_SHARE : 1;
	if (sessions.threads && (double)sessions.ns > least * (double)ns * sessions.threads)
		return say_sessions(e, &sessions, run_ns, finding);
	if (!most)
		return MEASURED_NOTHING;
	if (!most_beside)
		ns = with_own_turns(e, most, ns);
	finding->without_queue = e->wall.ranks && run_ns < e->wall_ns;
	finding->share = share_of(ns, run_ns);
	finding->share = finding->share > 1 ? 1 : finding->share;
	finding->value = 100 * finding->share;
	uint64_t priced = ns < run_ns ? ns : run_ns;
	// What it made the run wait for CPUs goes with it.
	priced += evidence_place_queue_ns(e, most->holder.function, most->holder.file, priced);
	finding->saving_ns = priced < e->wall.all_ns ? priced : e->wall.all_ns;
	finding->saving_margin_ns =
		query_sampling_margin(e->profile, finding->saving_ns, e->wall.all_ns);
	finding_add(finding, &(struct finding_row){ .function = most->holder.function,
	                                            .file = most->holder.file,
	                                            .line = most->holder.line,
	                                            .ns = ns - unseen_ns(waits, most),
	                                            .share = finding->share });
	advise_on_wait(e, most, finding);
	return say_holder(most, e->wall.ranks ? evidence_queue(e) : "", finding);
}

// Whether ROW is a wait that is ended by what others make: a queue's items, an arrival at a
// barrier.
static bool takes_turns(const struct wait_row *row)
{
	// Python's threads are waited for at locks, as they begin and end: nobody is fed by that.
	if (row->within && strncmp(row->within, "Thread.", strlen("Thread.")) == 0)
		return false;
	if (row->lock)
		return false;
	return row->kind == HELD_CONDITION || row->kind == HELD_SEMAPHORE ||
	       row->kind == HELD_BARRIER;
}

// The same of what SIDE's place makes.
static bool is_fed(const struct wait_row *row, const struct wait_side *side)
{
	return takes_turns(row) && row->holder.function &&
	       strcmp(row->holder.function, side->function) == 0;
}

// Whether ROW may be one of those: somebody ended it whose stack was not recorded.
static bool may_be_fed(const struct wait_row *row)
{
	return takes_turns(row) && row->holder.threads && !row->holder.function;
}

// For how long threads that nobody waits for only looked whether there was work, or would have if
// they had had a CPU.
static uint64_t spun_aside(const struct evidence *e)
{
	const uint32_t metrics = 1u << METRIC_ON_CPU | 1u << METRIC_OFF_RUNNABLE;
	uint64_t all = 0, waited_for = 0;

	for (size_t i = 0; i < e->activities->time_count; i++) {
		const struct activity_time *time = &e->activities->times[i];
		if (!(time->doing & ACTIVITY(SPIN)))
			continue;
		all += evidence_sum(time->ns, metrics);
		waited_for += evidence_sum(time->critical_ns, metrics);
	}
	return all > waited_for ? all - waited_for : 0;
}

// Whether one thread works alone for much of the time in a run in which several do at other times.
static bool find_alone(const struct evidence *e)
{
	const struct parallel *parallel = &e->parallel;
	uint64_t busy = parallel->all_ns - parallel->none_ns;
	uint64_t beside = busy - parallel->serial_ns, spun = spun_aside(e);
	return e->wall.ranks && run_cpus(e->run) >= 2 && beside > spun &&
	       (double)(beside - spun) >= PARALLEL_SHARE * (double)busy;
}

static void weigh_alone(const struct evidence *e, const struct parallel *parallel, uint64_t ns,
                        uint64_t queue_ns, struct finding *finding)
{
	const struct wait_side *place = &parallel->alone;

	evidence_weigh(e, ns, 0, queue_ns, finding);
	finding->saving_margin_ns = query_sampling_margin(e->profile, ns, parallel->one_ns);
	finding->value = 100 * finding->share;
	finding_add(finding, &(struct finding_row){ .function = place->function,
	                                            .file = place->file,
	                                            .line = place->line,
	                                            .ns = ns,
	                                            .share = finding->share });
}

// For how long threads waited for locks that SIDE's place held, Python's own among them: they had
// work to do.
static uint64_t locked_ns(const struct wait_rows *waits, const struct wait_side *side)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < waits->count; i++) {
		const struct wait_row *row = &waits->rows[i];
		if ((is_lock(row) || row->kind == WAIT_KIND_GIL) && row->holder.function &&
		    strcmp(row->holder.function, side->function) == 0)
			ns += row->ns;
	}
	return ns;
}

// Threads that work in turns, or side by side, and wait for the slowest of them.
static enum measured measure_stage(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct wait_rows *waits = e->waits;
	const struct wait_row *most = NULL;
	char place[300], waiters[100], what[160], at[200] = "";
	const struct parallel *parallel = &e->parallel;
	uint64_t ns = 0, fed_ns = 0;

	(void)rule;
	if (!waits_are_known(e, finding))
		return MEASURED_LACKS;
	if (!find_alone(e) || !parallel->alone.function)
		return MEASURED_NOTHING;
	for (size_t i = 0; i < waits->count; i++) {
		// That a stack was not recorded says nothing against the place.
		if (may_be_fed(&waits->rows[i]))
			fed_ns += waits->rows[i].ns;
		if (!is_fed(&waits->rows[i], &parallel->alone))
			continue;
		ns += held_ns(&waits->rows[i]);
		fed_ns += waits->rows[i].ns;
		most = most ? most : &waits->rows[i];
	}
	// On a busy machine equal stages are alone in turns, each for a part of its work.
	if (!most || (double)parallel->alone_other_ns > TURNS_SHARE * (double)parallel->alone_ns ||
	    (double)parallel->alone_ns < MOSTLY_ALONE * (double)parallel->alone_all_ns ||
	    locked_ns(waits, &parallel->alone) > fed_ns)
		return MEASURED_NOTHING;
	ns = ns < parallel->alone_ns ? ns : parallel->alone_ns;
	weigh_alone(e, parallel, ns,
	            evidence_place_queue_ns(e, parallel->alone.function, parallel->alone.file, ns),
	            finding);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	say_waiters(&most->waiter, waiters, sizeof(waiters));
	if (most->waiter.file)
		snprintf(at, sizeof(at), " (%.120s:%d)", path_base(most->waiter.file),
		         most->waiter.line);
	if (most->kind == HELD_BARRIER)
		finding_advise(finding,
		               "Split the work so that all threads reach the barrier at the "
		               "same time.");
	say_resource(most, what, sizeof(what));
	return finding_say(finding,
	                   "%s works alone for %.0f %% of wall time%s, while %s for it at %s%s",
	                   place, finding->value, evidence_queue(e), waiters, what, at);
}

// Whether most of what SIDE's function does is to import modules, which nobody divides among
// threads: PY-IMPORT and WARM-INIT report that.
static bool is_import(const struct evidence *e, const struct wait_side *side)
{
	const struct activities *a = e->activities;
	const struct strings *texts = profile_strings(e->profile);
	uint64_t all = 0, imports = 0;

	for (size_t i = 0; i < a->time_count; i++) {
		const struct activity_time *time = &a->times[i];
		if (time->place == ACTIVITY_NO_PLACE)
			continue;
		const struct activity_place *place = &a->places[time->place];
		const char *function = strings_get(texts, place->function);
		const char *file = strings_get(texts, place->file);
		if (!function || strcmp(function, side->function) != 0 ||
		    strcmp(file ? file : "", side->file ? side->file : "") != 0)
			continue;
		all += time->critical_ns[METRIC_ON_CPU];
		imports += time->doing & ACTIVITY(IMPORT) ? time->critical_ns[METRIC_ON_CPU] : 0;
	}
	return 2 * imports > all;
}

// What FINDING weighs ran on one CPU, beside others that were idle. If it can be divided, or other
// work done meanwhile, as many as there are share it at best.
static void say_share(const struct evidence *e, char *text, size_t size, struct finding *finding)
{
	double cpus = run_cpus(e->run), part = 1 - 1 / cpus;

	finding->saving_ns = ns_whole(part * (double)finding->saving_ns);
	finding->bound = true;
	snprintf(text, size,
	         "; %.3g CPUs that share its work, or do other work meanwhile, save "
	         "at most %.0f %%",
	         cpus, part * finding->value);
}

// A process that the run has started, of which no function is most of what it does alone.
static enum measured say_process(const struct evidence *e, const struct parallel *parallel,
                                 struct finding *finding)
{
	const struct wait_side *at = &parallel->process_at;
	char most[120] = "", place[300], where[340] = "";

	if (!parallel->process)
		return MEASURED_NOTHING;
	evidence_weigh(e, parallel->process_ns, 0, 0, finding);
	finding->value = 100 * finding->share;
	if (known_work_of_program(parallel->process)) {
		finding_advise(finding, "%s", known_work_of_program(parallel->process)->advice);
	} else {
		say_share(e, most, sizeof(most), finding);
		finding_advise(finding, "Start it earlier, beside other work, or split its work.");
	}
	if (at->function) {
		finding_place(at->function, at->file, at->line, place, sizeof(place));
		snprintf(where, sizeof(where), ", %s in %s",
		         2 * parallel->process_at_ns >= parallel->process_ns ? "most"
		                                                             : "the largest part",
		         place);
		finding_add(finding, &(struct finding_row){ .function = at->function,
		                                            .file = at->file,
		                                            .line = at->line,
		                                            .ns = parallel->process_at_ns });
	}
	return finding_say(
		finding,
		"process %.100s (%u) works alone for %.0f %% of wall time%s%.200s, while no other "
		"process has work%s",
		parallel->process, parallel->process_pid, finding->value, evidence_queue(e), where,
		most);
}

// Whether SIDE is code without symbols of the program that the process TITLE runs: all that is
// known of it is the process.
static bool is_program(const struct wait_side *side, const char *title)
{
	const char *name = side->function;
	size_t length = title ? strcspn(title, " ") : 0;

	if (!length || side->file || side->line)
		return false;
	// Under another name, as awk is mawk, it may be known.
	return (strncmp(name, title, length) == 0 && !name[length]) || known_work_of_program(name);
}

// What is not divided among threads, as other parts of the run are.
static enum measured measure_alone(const struct evidence *e, const struct rule *rule,
                                   struct finding *finding)
{
	const struct wait_rows *waits = e->waits;
	const struct parallel *parallel = &e->parallel;
	char place[300], most[120] = "";

	if (!waits_are_known(e, finding))
		return MEASURED_LACKS;
	if (!find_alone(e))
		return MEASURED_NOTHING;
	if (2 * parallel->alone_ns < parallel->process_ns || !parallel->alone.function ||
	    is_program(&parallel->alone, parallel->process))
		return say_process(e, parallel, finding);
	// It is divided, if not evenly: see CPU-IMBALANCE.
	if (is_import(e, &parallel->alone) ||
	    (double)locked_ns(waits, &parallel->alone) >
	            LOCKED_SHARE * (double)parallel->alone_ns ||
	    (double)parallel->alone_all_ns > (1 + DIVIDED_SHARE) * (double)parallel->alone_ns)
		return MEASURED_NOTHING;
	weigh_alone(e, parallel, parallel->alone_ns, 0, finding);
	bool in_process = parallel->process && parallel->process_ns >= parallel->alone_ns;
	const struct known_work *work =
		known_work_of_program(in_process ? parallel->process : parallel->alone.function);
	if (work)
		finding_advise(finding, "%s", work->advice);
	else
		say_share(e, most, sizeof(most), finding);
	if (evidence_is_jit(finding->function))
		finding_advise(finding, "For the names of its functions, profile with --names. %s",
		               rule->advice);
	finding_place(finding->function, finding->file, finding->line, place, sizeof(place));
	return finding_say(
		finding,
		"%s works alone for %.0f %% of wall time%s, while no other thread has work%s",
		place, finding->value, evidence_queue(e), most);
}

const struct rule rules_waits[] = {
	{ .id = "CPU-STAGE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 25,
	  .within = { "CPU-ALONE", "CPU-LOCK", "CPU-IMBALANCE", "CPU-SERIAL", "CPU-POOR", "CPU-SYS",
	              "IO-WAIT", "IO-MESSAGES" },
	  .title = "one pipeline stage limits the others",
	  .formula =
	          "wall time in which one place of the program was alone on the CPUs, while others "
	          "waited for it at a condition variable, semaphore or barrier, as a share of wall "
	          "time; only in runs whose threads work side by side at other times",
	  .why = "A pipeline is only as fast as its slowest stage.",
	  .advice = "Speed this stage up or give it more threads: the other stages wait for its "
	            "output.",
	  .source = "our choice",
	  .measure = measure_stage },
	{ .id = "CPU-ALONE",
	  .subject = RULES_CPU,
	  .severity = SEVERITY_INFO,
	  .unit = UNIT_PERCENT,
	  .threshold = 30,
	  .within = { "CPU-SERIAL", "CPU-POOR" },
	  .title = "serial section",
	  .formula =
	          "wall time in which one place of the program was alone on the CPUs, as a share "
	          "of wall time; only in runs whose threads work side by side at other times; its "
	          "price is what an even share of that among the CPUs would save at most, or all of "
	          "that time where the advice is to do less",
	  .why = "A serial section takes the same time on any number of CPUs (Amdahl's law).",
	  .advice = "Split its work among threads, or run other work at the same time; less work "
	            "there saves its own time.",
	  .source = "our choice; the limit is Amdahl's",
	  .measure = measure_alone },
	{ .id = "CPU-HOLDER",
	  .blocks = true,
	  .subject = RULES_CPU,
	  .orders = true,
	  .severity = SEVERITY_WARN,
	  .unit = UNIT_PERCENT,
	  .threshold = 20,
	  .within = { "CPU-LOCK", "IO-WAIT", "CPU-IMBALANCE", "CPU-SERIAL", "CPU-SYS", "CPU-ALONE",
	              "CPU-STAGE", "IO-MESSAGES", "IO-IDLE", "IO-SLEEP", "PY-INTERP" },
	  .title = "a lock holder delays the run",
	  .formula =
	          "wall time in which the run waited, by way of whatever other waits, for the one "
	          "that held a mutex, read-write lock, semaphore that is used as a lock, lock on a "
	          "file, lock of Python's or of a database's lock manager, or is at the other end "
	          "of a pipe or socket, as a share of wall time; with what the holder of a lock waits "
	          "for itself, as at a socket, and with that lock's holders whose stack was not "
	          "taken; of sessions of a database that wait for a row or table lock the average, "
	          "if that is more; without the time in which that one had no CPU, and without waits at pipes "
	          "and sockets of threads that are on a CPU for less than 5 % of their lives",
	  .why = "The run is only as fast as the thread that holds what all others need.",
	  .advice = "Hold the lock for less time: move work that needs no lock out of the "
	            "critical section. Or give each thread its own data and combine the results "
	            "at the end.",
	  .source = "our choice",
	  .measure = measure_holder },
};

const size_t rules_waits_count = sizeof(rules_waits) / sizeof(rules_waits[0]);
