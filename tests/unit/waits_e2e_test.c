// SPDX-License-Identifier: MIT
// What the agent says of threads that wait for each other, and know for whom; and that it changes
// nothing of what they do.
#include "base/record.h"
#include "tests/support/agent_run.h"
#include "tests/support/expect.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAIRS 512
#define MANY  48

// For how long WAITER has waited for OTHER; 0: nobody.
struct pair {
	uint32_t waiter, other;
	uint64_t truth_ns, told_ns;
};

static struct told {
	uint64_t count, kinds[HELD_ONCE + 1];
	uint64_t begun, returned; // HELD_FILE, HELD_CHILD
	uint64_t long_children;   // which took as long as those that were waited for lived
	uint64_t timed_out, interrupted, cut, notes;
	uint64_t ns, unknown_ns;
	uint64_t many_ns, many_unknown_ns; // the same of waits with MANY parts and more
	uint32_t pids[16], pid_count;
	struct pair pairs[PAIRS];
	size_t pair_count;
	uint32_t kind; /* waits of others are left out */
	uint64_t backwards;
} told;

static struct pair *pair_of(uint32_t waiter, uint32_t other)
{
	size_t i = 0;

	while (i < told.pair_count &&
	       (told.pairs[i].waiter != waiter || told.pairs[i].other != other))
		i++;
	cr_assert(lt(sz, i, PAIRS));
	if (i == told.pair_count)
		told.pairs[told.pair_count++] = (struct pair){ .waiter = waiter, .other = other };
	return &told.pairs[i];
}

static void add_pid(uint32_t pid)
{
	for (uint32_t i = 0; i < told.pid_count; i++)
		if (told.pids[i] == pid)
			return;
	told.pids[told.pid_count++ % 16] = pid;
}

// Where somebody wakes, the last one has done it, and all is for that one.
static void add_parts(const struct record_wait *wait)
{
	const struct wait_part *parts = (const struct wait_part *)(wait + 1);
	uint64_t from = wait->begin_ns;

	for (uint32_t i = 0; i < wait->count; from = parts[i++].until_ns) {
		told.backwards +=
			parts[i].until_ns < from || parts[i].until_ns > wait->head.time_ns;
		if (parts[i].how == HELD_BY_WAKER) {
			from = i + 1 < wait->count ? from : wait->begin_ns;
			if (i + 1 < wait->count)
				continue;
			pair_of(wait->head.tid, parts[i].tid)->told_ns += wait->head.time_ns - from;
			return;
		}
		if (parts[i].how == HELD_BY_OWNER && !parts[i].tid)
			told.unknown_ns += parts[i].until_ns - from;
		else
			pair_of(wait->head.tid, parts[i].tid)->told_ns += parts[i].until_ns - from;
	}
}

static void visit(void *context, const struct record *record)
{
	const struct record_wait *wait = (const struct record_wait *)record;

	(void)context;
	told.notes += record->type == RECORD_NOTE;
	if (record->type != RECORD_WAIT || record->flags & HELD_POSTED)
		return;
	if (wait->kind == HELD_FILE || wait->kind == HELD_CHILD) {
		told.begun += (record->flags & HELD_BEGUN) != 0;
		told.returned += (record->flags & HELD_BEGUN) == 0;
		told.long_children += wait->kind == HELD_CHILD && !(record->flags & HELD_BEGUN) &&
		                      record->time_ns - wait->begin_ns > 10000000;
		cr_expect(ne(u64, wait->address, 0));
		cr_expect(ne(u64, wait->made_at, 0));
		return;
	}
	cr_assert(le(u32, wait->kind, HELD_ONCE));
	told.count++;
	told.kinds[wait->kind]++;
	told.timed_out += (record->flags & HELD_TIMED_OUT) != 0;
	told.interrupted += (record->flags & HELD_INTERRUPTED) != 0;
	told.cut += (record->flags & HELD_CUT) != 0;
	add_pid(record->pid);
	cr_expect(lt(u64, wait->begin_ns, record->time_ns));
	if (wait->kind != told.kind)
		return;
	uint64_t unknown_ns = told.unknown_ns;
	told.ns += record->time_ns - wait->begin_ns;
	add_parts(wait);
	told.many_ns += wait->count >= MANY ? record->time_ns - wait->begin_ns : 0;
	told.many_unknown_ns += wait->count >= MANY ? told.unknown_ns - unknown_ns : 0;
}

static struct agent_run with, without;
static const struct agent_run_options plain = { .without = true };
static const struct agent_run_options agent = { .silent = true, .waits = true, .visit = visit };

// Status and output must be the same.
static void run_both(const char *mode)
{
	char *argv[] = { TARGET, (char *)mode, NULL };

	told = (struct told){ 0 };
	agent_run(&without, &plain, argv);
	agent_run(&with, &agent, argv);
	cr_expect(eq(int, with.status, without.status), "%s", mode);
	cr_expect(eq(str, with.output, without.output), "%s", mode);
	cr_expect(eq(u64, with.damaged, 0), "%s", mode);
}

static void run_told(const char *mode, enum held_kind kind)
{
	char *argv[] = { TARGET, (char *)mode, NULL };

	told = (struct told){ .kind = kind };
	agent_run(&with, &agent, argv);
	cr_expect(eq(int, with.status, 0), "%s", mode);
	cr_expect(eq(u64, with.damaged, 0), "%s", mode);
	cr_expect(eq(u64, with.dropped, 0), "%s", mode);
	cr_expect(eq(u64, told.backwards, 0), "%s", mode);
}

#define DRAWS 3

static uint64_t read_truth(void)
{
	uint64_t sum = 0, ns;
	uint32_t waiter, other;

	for (const char *line = with.output; line && *line;
	     line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
		if (sscanf(line, "truth %" SCNu32 " %" SCNu32 " %" SCNu64, &waiter, &other, &ns) !=
		    3)
			continue;
		pair_of(waiter, other)->truth_ns += ns;
		sum += other ? ns : 0;
	}
	return sum;
}

static void draw(const char *mode, enum held_kind kind, uint64_t *truth_ns, uint64_t *right_ns)
{
	run_told(mode, kind);
	uint64_t truth = read_truth(), right = 0;

	for (size_t i = 0; i < told.pair_count; i++) {
		const struct pair *p = &told.pairs[i];
		right += !p->other ? 0 : p->truth_ns < p->told_ns ? p->truth_ns : p->told_ns;
	}
	fprintf(stderr, "%-12s %6" PRIu64 " waits, %.1f of %.1f ms right (%.1f %%), %.1f ms told\n",
	        mode, told.kinds[kind], (double)right / 1e6, (double)truth / 1e6,
	        100.0 * (double)right / (double)truth, (double)told.ns / 1e6);
	*truth_ns = truth;
	*right_ns = right;
}

// At least SHARE of what somebody is waited for, is told of that one; and no more than there was.
// The program reads its clock outside of what we tell: on a busy machine it may lose the CPU there,
// which is no wait, and the owner changes more often within one wait than the agent keeps: so a few
// draws are made.
static void expect_truth(const char *mode, enum held_kind kind, double share)
{
	uint64_t truth = 0, right = 0;

	for (int i = 0; i < DRAWS; i++) {
		draw(mode, kind, &truth, &right);
		if ((double)right > share * (double)truth &&
		    (double)told.unknown_ns <= (1 - share) * (double)told.ns)
			break;
	}
	cr_expect(gt(u64, truth, 20000000), "%s", mode);
	cr_expect(ge(dbl, (double)right, share * (double)truth), "%s", mode);
	cr_expect(le(dbl, (double)told.unknown_ns, (1 - share) * (double)told.ns), "%s", mode);
}

Test(waits_e2e, the_owners_of_a_mutex_are_told_as_they_change)
{
	expect_truth("mutex", HELD_MUTEX, 0.95);
	expect_truth("timed", HELD_MUTEX, 0.95);
	expect_truth("recursive", HELD_MUTEX, 0.95);
	expect_truth("errorcheck", HELD_MUTEX, 0.95);
	expect_truth("adaptive", HELD_MUTEX, 0.95);
	expect_truth("inherit", HELD_MUTEX, 0.95);
	expect_truth("robust", HELD_MUTEX, 0.95);
}

Test(waits_e2e, the_writer_of_an_rwlock_is_told)
{
	expect_truth("writers", HELD_RWLOCK, 0.95);
	expect_truth("readers", HELD_RWLOCK, 0.95);
}

Test(waits_e2e, a_reader_that_a_writer_waits_for_is_told_when_it_lets_go)
{
	expect_truth("reader-held", HELD_RWLOCK, 0.95);
}

Test(waits_e2e, the_owner_of_a_spinlock_is_told)
{
	expect_truth("spin", HELD_SPIN, 0.95);
	expect_truth("spin-held", HELD_SPIN, 0.95);
}

Test(waits_e2e, whoever_wakes_a_thread_is_told)
{
	expect_truth("condition", HELD_CONDITION, 0.95);
	expect_truth("semaphore", HELD_SEMAPHORE, 0.95);
	expect_truth("barrier", HELD_BARRIER, 0.95);
}

Test(waits_e2e, the_thread_that_is_joined_is_told)
{
	expect_truth("join", HELD_JOIN, 0.95);
}

Test(waits_e2e, whoever_does_something_once_is_told)
{
	expect_truth("once", HELD_ONCE, 0.95);
}

Test(waits_e2e, where_the_owner_changes_often_it_is_known_for_how_long_who_was)
{
	uint64_t ns = 0, unknown_ns = 0;

	for (int draw = 0; draw < DRAWS; draw++) {
		run_told("many-owners", HELD_MUTEX);
		cr_expect(gt(u64, told.count, 100));
		cr_expect(eq(int, told.cut > 0, told.notes > 0));
		ns += told.many_ns;
		unknown_ns += told.many_unknown_ns;
	}
	fprintf(stderr, "%.2f of %.1f ms unknown\n", (double)unknown_ns / 1e6, (double)ns / 1e6);
	cr_expect(le(dbl, (double)unknown_ns, 0.01 * (double)ns));
}

Test(waits_e2e, a_storm_of_locks_is_survived)
{
	run_told("storm", HELD_MUTEX);
}

Test(waits_e2e, results_and_errno_are_libcs)
{
	run_both("results");
	cr_expect(gt(u64, told.timed_out, 10));
	run_both("others");
	cr_expect(eq(u64, told.interrupted, 1));
	cr_expect(ge(u64, told.timed_out, 1));
}

Test(waits_e2e, a_cancelled_thread_leaves_nothing_behind)
{
	run_both("cancel");
	cr_expect(ge(u64, told.kinds[HELD_MUTEX], 1));
}

Test(waits_e2e, a_call_that_waits_for_a_disk_is_told_as_it_begins_and_as_it_returns)
{
	run_both("files");
	cr_expect(ge(u64, told.begun, 9));
	// The cancelled one does not return.
	cr_expect(ge(u64, told.begun, told.returned));
	cr_expect(le(u64, told.begun, told.returned + 1));
	cr_expect(lt(u64, told.begun, 5000),
	          "of calls that return at once one in many is reported");
}

Test(waits_e2e, a_call_that_waits_for_a_child_is_told_as_it_begins_and_as_it_returns)
{
	run_both("children");
	cr_expect(ge(u64, told.begun, 7));
	cr_expect(eq(u64, told.begun, told.returned));
	cr_expect(eq(u64, told.long_children, 5), "those that return at once are no waits");
	cr_expect(lt(u64, told.begun, 5000),
	          "of calls that return at once one in many is reported");
}

Test(waits_e2e, a_handler_may_jump_out_of_a_wait)
{
	run_both("jump");
}

Test(waits_e2e, a_handler_may_post)
{
	run_both("handler");
	cr_expect(eq(u64, told.kinds[HELD_SEMAPHORE], 20));
}

Test(waits_e2e, children_have_waits_of_their_own)
{
	run_both("fork");
	cr_expect(ge(u32, told.pid_count, 4)); // the parent's, and those of three children
}

Test(waits_e2e, locks_work_before_the_agent_does)
{
	run_both("early");
}

Test(waits_e2e, nothing_is_told_unless_it_is_asked_for)
{
	static const struct agent_run_options silent = { .silent = true, .visit = visit };
	char *argv[] = { TARGET, "mutex", NULL };

	told = (struct told){ 0 };
	agent_run(&with, &silent, argv);
	cr_expect(eq(int, with.status, 0));
	cr_expect(eq(u64, told.count, 0));
}

static void run_python(const char *interpreter)
{
	static char script[] =
		"import queue, threading, time\n"
		"lock, q, c, n = threading.Lock(), queue.Queue(1), threading.Condition(), [0]\n"
		"def spin():\n"
		"    end = time.perf_counter() + 0.15\n"
		"    while time.perf_counter() < end: pass\n"
		"def hold():\n"
		"    for _ in range(5):\n"
		"        with lock: time.sleep(0.01)\n"
		"        time.sleep(0.001)\n"
		"def put():\n"
		"    for i in range(5): time.sleep(0.005); q.put(i)\n"
		"def add():\n"
		"    for i in range(5):\n"
		"        time.sleep(0.005)\n"
		"        with c: n[0] += 1; c.notify()\n"
		"def start(*of):\n"
		"    all = [threading.Thread(target=f) for f in of]\n"
		"    for t in all: t.start()\n"
		"    return all\n"
		"for t in start(hold, hold, hold): t.join()\n"
		"t, = start(put)\n"
		"print([q.get() for _ in range(5)])\n"
		"t.join()\n"
		"t, = start(add)\n"
		"with c: c.wait_for(lambda: n[0] == 5)\n"
		"t.join()\n"
		"for t in start(spin, spin): t.join()\n"
		"print(n)\n";
	char *argv[] = { (char *)interpreter, "-c", script, NULL };

	told = (struct told){ .kind = HELD_SEMAPHORE };
	agent_run(&without, &plain, argv);
	agent_run(&with, &agent, argv);
	cr_expect(eq(int, with.status, without.status), "%s", interpreter);
	cr_expect(eq(str, with.output, without.output), "%s", interpreter);
	uint64_t known_ns = 0;
	for (size_t i = 0; i < told.pair_count; i++)
		known_ns += told.pairs[i].other ? told.pairs[i].told_ns : 0;
	fprintf(stderr,
	        "%s: %" PRIu64 " semaphores, %" PRIu64 " conditions, %.1f of %.1f ms known\n",
	        interpreter, told.kinds[HELD_SEMAPHORE], told.kinds[HELD_CONDITION],
	        (double)known_ns / 1e6, (double)told.ns / 1e6);
	// Locks, conditions and queues are semaphores, the interpreter's own lock a condition.
	cr_expect(ge(u64, told.kinds[HELD_SEMAPHORE], 10), "%s", interpreter);
	cr_expect(ge(u64, told.kinds[HELD_CONDITION], 5), "%s", interpreter);
	cr_expect(ge(dbl, (double)known_ns, 0.95 * (double)told.ns), "%s", interpreter);
}

Test(waits_e2e, locks_and_queues_of_python_are_told)
{
	static const char *const interpreters[] = { WAITS_PYTHONS };
	int there = 0;

	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++) {
		if (access(interpreters[i], X_OK) != 0)
			continue;
		there++;
		run_python(interpreters[i]);
	}
	if (!there)
		cr_skip("no Python is there");
}
