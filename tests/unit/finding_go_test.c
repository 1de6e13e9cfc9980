// SPDX-License-Identifier: MIT
// Whom goroutines wait for: rules on what all of them did at the same time.
#include "tests/unit/finding_fixture.h"

#include "tests/support/expect.h"

#include <string.h>

TestSuite(finding_go, .init = begin, .fini = end);

#define MAIN   "runtime.main proc.go:145"
#define WORKER "main.worker /w/a.go:30"
#define LOCKS                                                                                      \
	"main.worker /w/a.go:33 > main.update /w/a.go:22 > sync.(*Mutex).lockSlow mutex.go:171 > " \
	"runtime.gopark proc.go:1"
#define SLEEPS                                                                                     \
	"main.worker /w/a.go:33 > main.update /w/a.go:24 > main.save /w/a.go:18 > "                \
	"time.Sleep time.go:195"
#define ELSEWHERE "main.worker /w/a.go:35 > main.load /w/a.go:40 > time.Sleep time.go:195"
#define RECEIVES  "main.worker /w/a.go:50 > runtime.chanrecv1 chan.go:1"
#define ACCEPTS                                                                                    \
	"main.serve /w/a.go:60 > net.(*TCPListener).Accept net.go:3 > "                            \
	"internal/poll.(*FD).Accept fd.go:1"

static uint64_t pass;

// COUNT goroutines that began in START were so at STACK for 10 ms.
static void see(enum goroutine_state state, const char *reason, uint64_t count, const char *start,
                const char *stack)
{
	struct frame frames[64], first[64];
	struct goroutines_event event = {
		.process = 1,
		.pass = pass,
		.time_ns = f.now_ns,
		.count = count,
		.ns = 10 * MS * count,
		.state = state,
		.reason = reason,
		.frames = frames,
	};

	event.frame_count = *stack ? frames_of(&f, stack, frames) : 0;
	frames_of(&f, start, first);
	event.start = first[0];
	profile_take(f.profile,
	             &(struct sampled){ .kind = SAMPLED_GOROUTINES, .goroutines = &event });
}

static void see_main(void)
{
	see(GOROUTINE_WAITING, "sync.WaitGroup.Wait", 1, MAIN,
	    "runtime.main proc.go:250 > main.main /w/a.go:70 > sync.(*WaitGroup).Wait wg.go:1");
}

// LOOKS at one that sleeps at STACK while seven wait for a mutex.
static void see_lock(unsigned looks, const char *stack)
{
	for (unsigned i = 0; i < looks; i++) {
		pass++;
		see_main();
		see(GOROUTINE_WAITING, "sync.Mutex.Lock", 7, WORKER, LOCKS);
		see(GOROUTINE_WAITING, "sleep", 1, WORKER, stack);
	}
}

static void see_nothing(unsigned looks)
{
	for (unsigned i = 0; i < looks; i++) {
		pass++;
		see(GOROUTINE_RUNNING, "", 1, MAIN, "");
	}
}

Test(finding_go, who_is_in_the_function_that_locks_holds_the_mutex)
{
	for (unsigned looks = 20; looks <= 21; looks++) {
		end();
		begin();
		add(&f, 1, METRIC_OFF_LOCK, 1000, "runtime.futex /go/src/runtime/sys.s:1");
		see_lock(looks, SLEEPS);
		see_nothing(100 - looks);
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "GO-LOCK");
		cr_assert_eq(finding != NULL, looks > 20, "%u looks", looks);
		if (!finding)
			continue;
		cr_expect(eq(u64, finding->saving_ns, looks * 10 * MS));
		cr_expect(eq(str, (char *)finding->function, "main.save"));
		cr_expect(eq(int, finding->line, 18));
		cr_expect(strstr(finding->fact, "main.save (a.go:18), which sleeps while it holds "
		                                "the lock that 7 goroutines wait for in "
		                                "sync.Mutex.Lock at main.update (a.go:22)"),
		          "%s", finding->fact);
	}
}

Test(finding_go, who_sleeps_elsewhere_holds_no_mutex)
{
	add(&f, 1, METRIC_OFF_LOCK, 1000, "runtime.futex /go/src/runtime/sys.s:1");
	for (unsigned i = 0; i < 50; i++) {
		pass++;
		see_main();
		see(GOROUTINE_WAITING, "sync.Mutex.Lock", 2, WORKER, LOCKS);
		see(GOROUTINE_WAITING, "sleep", 3, "main.other /w/a.go:90",
		    "main.other /w/a.go:91 > time.Sleep time.go:195");
	}
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	cr_expect(not(finding_of(findings, "GO-LOCK")));
	cr_expect(not(finding_of(findings, "GO-WAIT")));
}

Test(finding_go, a_holder_that_runs_is_where_its_samples_are)
{
	add(&f, 1, METRIC_ON_CPU, 900,
	    "main.worker /w/a.go:33 > main.update /w/a.go:23 > main.rebuild /w/a.go:12");
	add(&f, 1, METRIC_ON_CPU, 100, "main.worker /w/a.go:33");
	for (unsigned i = 0; i < 100; i++) {
		pass++;
		see_main();
		see(GOROUTINE_WAITING, "sync.Mutex.Lock", 7, WORKER, LOCKS);
		see(GOROUTINE_RUNNING, "", 1, WORKER, "");
	}
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "GO-LOCK");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "main.rebuild (a.go:12), which holds the lock that 7 "
	                                "goroutines wait for"),
	          "%s", finding->fact);
}

Test(finding_go, several_wait_for_the_only_one_that_works)
{
	static const struct {
		unsigned producers, consumers, servers;
		bool fires;
	} table[] = {
		{ 1, 3, 0, true },
		{ 2, 3, 0, false }, // the work is divided
		{ 1, 0, 0, false }, // main alone waits for what it has started
		{ 0, 3, 1, false }, // nobody has asked for anything
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		end();
		begin();
		add(&f, 1, METRIC_ON_CPU, 1000, "main.produce /w/a.go:80 > main.make /w/a.go:81");
		for (unsigned look = 0; look < 100; look++) {
			pass++;
			see_main();
			if (table[i].producers)
				see(GOROUTINE_RUNNING, "", table[i].producers,
				    "main.produce /w/a.go:79", "");
			if (table[i].consumers)
				see(GOROUTINE_WAITING, "chan receive", table[i].consumers, WORKER,
				    RECEIVES);
			if (table[i].servers)
				see(GOROUTINE_WAITING, "IO wait", table[i].servers,
				    "main.serve /w/a.go:59", ACCEPTS);
		}
		finish(1000, 2);
		cleanup(findings) struct findings *findings = look(NULL);
		const struct finding *finding = finding_of(findings, "GO-WAIT");
		cr_assert_eq(finding != NULL, table[i].fires, "row %zu", i);
		cr_expect(!finding || strstr(finding->fact,
		                             "100 % of wall time is main.make (a.go:81) while 3 "
		                             "goroutines wait for it in chan receive at "
		                             "main.worker (a.go:50)"),
		          "%s", finding->fact);
	}
}

Test(finding_go, one_that_sleeps_is_waited_for_by_main_alone_too)
{
	add(&f, 1, METRIC_OFF_LOCK, 1000, "runtime.futex /go/src/runtime/sys.s:1");
	for (unsigned i = 0; i < 100; i++) {
		pass++;
		see_main();
		see(GOROUTINE_WAITING, "sleep", 1, WORKER, ELSEWHERE);
	}
	finish(1000, 2);
	cleanup(findings) struct findings *findings = look(NULL);
	const struct finding *finding = finding_of(findings, "GO-WAIT");
	cr_assert(finding != NULL);
	cr_expect(strstr(finding->fact, "main.load (a.go:40), which sleeps while main.main waits "
	                                "for it in sync.WaitGroup.Wait at main.main (a.go:70)"),
	          "%s", finding->fact);
}
