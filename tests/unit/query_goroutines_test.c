// SPDX-License-Identifier: MIT
// From goroutines that were looked at to what is said of them.
#include "merge/query/query_awaits.h"

#include "merge/profile/profile_data.h"
#include "tests/support/expect.h"
#include "tests/unit/merge_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct fixture f;
static char path[64];
static uint64_t pass;

static void begin(void)
{
	fixture_init(&f, NULL);
	pass = 1;
	snprintf(path, sizeof(path), "/tmp/query_goroutines_test.%d", (int)getpid());
}

static void end(void)
{
	unlink(path);
	fixture_fini(&f);
}

TestSuite(query_goroutines, .init = begin, .fini = end);

// COUNT goroutines that began in START were so at STACK for 10 ms.
static void look(enum goroutine_state state, const char *reason, uint64_t count, const char *start,
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

static struct await_rows *answer(void)
{
	name_all(&f);
	struct await_rows *rows = query_goroutines(f.profile, NULL);
	cr_assert(ne(ptr, (void *)rows, NULL));
	return rows;
}

// "main.worker 4 30: chan receive main.worker:12 30, …" in ms; in a static buffer.
static const char *text_of(const struct await_rows *rows)
{
	static char text[2048];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < rows->task_count; i++) {
		const struct await_tasks *t = &rows->tasks[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		                         "%s%s %u %u:", i ? "; " : "", t->coroutine.name,
		                         (unsigned)t->tasks, (unsigned)(t->total_ns / MS));
		for (size_t w = 0; w < rows->wait_count; w++)
			if (rows->waits[w].tasks == i)
				used += (size_t)snprintf(text + used, sizeof(text) - used,
				                         " %s %s:%d %u", rows->waits[w].awaited,
				                         rows->waits[w].place.name,
				                         rows->waits[w].place.line,
				                         (unsigned)(rows->waits[w].ns / MS));
	}
	return text;
}

Test(query_goroutines, what_waits_has_its_own_line_and_the_runtimes_reason)
{
	const char *stack =
		"runtime.goexit asm_amd64.s:1 > main.serve /w/a.go:7 > "
		"github.com/x/y.Get /root/go/pkg/mod/y.go:9 > "
		"net.(*conn).Read /go/src/net/net.go:3 > "
		"internal/poll.(*FD).Read /go/src/fd.go:1 > runtime.gopark /go/src/proc.go:1";

	look(GOROUTINE_WAITING, "IO wait", 3, "main.serve /w/a.go:5", stack);
	look(GOROUTINE_RUNNING, "", 1, "main.serve /w/a.go:5", "");
	look(GOROUTINE_RUNNABLE, "", 2, "main.serve /w/a.go:5", "");
	cleanup(await_rows) struct await_rows *rows = answer();
	cr_expect(eq(str, (char *)text_of(rows), "main.serve 6 60: IO wait main.serve:7 30"));
	cr_expect(eq(int, rows->tasks[0].coroutine.line, 5));
	cr_expect(eq(u64, rows->all.running_ns, 10 * MS));
	cr_expect(eq(u64, rows->all.ready_ns, 20 * MS));
	cr_expect(eq(u64, rows->all.waiting_ns, 30 * MS));
	cr_expect(eq(str, (char *)rows->waits[0].chain,
	             "main.serve (a.go:7) > github.com/x/y.Get (y.go:9) > net.(*conn).Read "
	             "(net.go:3) > IO wait"));
}

Test(query_goroutines, the_function_of_a_go_statement_is_the_one_that_it_calls)
{
	// As Go 1.22 names what it makes of the statement, as older ones do, and a closure.
	look(GOROUTINE_WAITING, "sleep", 1, "main.main.gowrap1 /w/a.go:40",
	     "main.main.gowrap1 /w/a.go:40 > main.nap /w/a.go:12 > time.Sleep t.go:1");
	look(GOROUTINE_RUNNING, "", 1, "main.main.gowrap1 /w/a.go:40", "");
	look(GOROUTINE_WAITING, "select", 2, "main.main.func1 /w/a.go:41",
	     "main.main.func1 /w/a.go:41 > main.loop /w/a.go:15 > runtime.selectgo s.go:1");
	look(GOROUTINE_WAITING, "chan send", 3, "main.main.func2 /w/a.go:42",
	     "main.main.func2 /w/a.go:44 > runtime.chansend1 c.go:1");
	cleanup(await_rows) struct await_rows *rows = answer();
	cr_expect(
		eq(str, (char *)text_of(rows),
	           "main.main.func2 3 30: chan send main.main.func2:44 30; "
	           "main.loop 2 20: select main.loop:15 20; main.nap 2 20: sleep main.nap:12 10"));
}

Test(query_goroutines, the_runtimes_own_are_left_out_but_the_main_one)
{
	look(GOROUTINE_WAITING, "GC worker (idle)", 8, "runtime.gcBgMarkWorker mgc.go:1",
	     "runtime.gcBgMarkWorker mgc.go:2 > runtime.gopark proc.go:1");
	look(GOROUTINE_WAITING, "chan receive", 1, "runtime.main proc.go:145",
	     "runtime.main proc.go:250 > main.main /w/a.go:9 > runtime.chanrecv1 chan.go:1");
	cleanup(await_rows) struct await_rows *rows = answer();
	cr_expect(eq(str, (char *)text_of(rows), "main.main 1 10: chan receive main.main:9 10"));
}

Test(query_goroutines, locks_of_old_versions_are_named_by_their_function)
{
	look(GOROUTINE_WAITING, "semacquire", 1, "main.put /w/a.go:1",
	     "sync.(*Mutex).Lock mutex.go:90|main.put /w/a.go:3 > "
	     "sync.(*Mutex).lockSlow mutex.go:171 > sync.runtime_SemacquireMutex sema.go:77");
	cleanup(await_rows) struct await_rows *rows = answer();
	cr_expect(eq(str, (char *)text_of(rows), "main.put 1 10: sync.Mutex.Lock main.put:3 10"));
}

Test(query_goroutines, calls_are_of_c_or_of_the_kernel_as_far_as_their_stack_is_known)
{
	look(GOROUTINE_IN_CALL, "", 1, "main.a /w/a.go:1",
	     "main.a /w/a.go:2 > runtime.cgocall cgocall.go:1");
	look(GOROUTINE_IN_CALL, "", 2, "main.b /w/a.go:5",
	     "main.b /w/a.go:6 > syscall.Syscall s.go:1");
	look(GOROUTINE_IN_CALL, "", 3, "main.c /w/a.go:8", "");
	cleanup(await_rows) struct await_rows *rows = answer();
	cr_expect(eq(str, (char *)text_of(rows),
	             "main.c 3 30: system call or C ?:0 30; "
	             "main.b 2 20: system call main.b:6 20; main.a 1 10: call of C main.a:2 10"));
}

Test(query_goroutines, the_most_at_once_is_of_one_look)
{
	for (; pass <= 3; pass++) {
		look(GOROUTINE_RUNNING, "", pass == 2 ? 3 : 1, "main.a /w/a.go:1", "");
		look(GOROUTINE_RUNNABLE, "", 1, "main.a /w/a.go:1", "");
	}
	cleanup(await_rows) struct await_rows *rows = answer();
	cr_expect(eq(str, (char *)text_of(rows), "main.a 4 80:"));
}

Test(query_goroutines, tasks_of_event_loops_are_another_question_also_in_the_file)
{
	struct python_await_event event = { .kind = AWAIT_TASK,
		                            .count = 1,
		                            .ns = 7 * MS,
		                            .places = { { "fetch", "/w/a.py", 3 } },
		                            .place_count = 1 };

	profile_take(f.profile,
	             &(struct sampled){ .kind = SAMPLED_PYTHON_AWAIT, .python_await = &event });
	look(GOROUTINE_WAITING, "select", 1, "main.a /w/a.go:1", "main.a /w/a.go:2");
	cleanup(await_rows) struct await_rows *rows = answer();
	cleanup(await_rows) struct await_rows *tasks = query_awaits(f.profile, NULL);
	cr_expect(eq(str, (char *)text_of(rows), "main.a 1 10: select main.a:2 10"));
	cr_assert(tasks && tasks->task_count == 1);
	cr_expect(eq(str, (char *)tasks->tasks[0].coroutine.name, "fetch"));
	cr_expect(eq(str, (char *)tasks->all.library, "asyncio"));

	cr_assert(profile_write(f.profile, path, NULL) == 0);
	struct profile *read = profile_read(path, NULL);
	cr_assert(ne(ptr, (void *)read, NULL));
	cleanup(await_rows) struct await_rows *again = query_goroutines(read, NULL);
	cr_expect(eq(str, (char *)text_of(again), "main.a 1 10: select main.a:2 10"));
	profile_free(read);
}
