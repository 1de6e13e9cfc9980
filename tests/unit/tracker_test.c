// SPDX-License-Identifier: MIT
// Events by hand: what no kernel does on request, such as losing the end of a process.
#include "base/error.h"
#include "sampler/tracker/tracker.h"
#include "tests/support/expect.h"

#include <string.h>
#include <sys/mman.h>

#define MS UINT64_C(1000000)

// No live process has these.
#define PID 4194400u
#define KID 4194500u

static struct modules *modules;
static struct tracker *tracker;
static char story[8192];

static void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *format, ...)
{
	size_t length = strlen(story);
	va_list args;

	va_start(args, format);
	vsnprintf(story + length, sizeof(story) - length, format, args);
	va_end(args);
}

static void on_process(void *context, const struct process_event *event)
{
	(void)context;
	tell("%s P%u<P%u %s\n", event->exec ? "exec" : "new", event->process, event->parent,
	     event->command);
}

static void on_process_end(void *context, uint32_t process, uint64_t time_ns)
{
	(void)context;
	tell("end P%u at %zu\n", process, (size_t)(time_ns / MS));
}

static void on_thread(void *context, const struct thread_event *event)
{
	(void)context;
	tell("thread T%u of P%u %s\n", event->thread, event->process, event->name);
}

static void on_thread_end(void *context, const struct thread_end *end)
{
	(void)context;
	tell("end T%u on %zu\n", end->thread, (size_t)(end->ns[METRIC_ON_CPU] / MS));
}

static void on_stack(void *context, const struct stack *stack)
{
	(void)context;
	if (stack->metric != METRIC_ON_CPU && stack->metric != METRIC_OFF_FILE)
		return;
	tell("T%u %zu x%u:", stack->thread, (size_t)(stack->weight_ns / MS), stack->samples);
	for (uint32_t i = 0; i < stack->count; i++) {
		const struct frame *frame = &stack->frames[i];
		const struct module *module = modules_get(modules, frame->module);
		tell(" %c%zx@%s", "?=+#"[frame->kind], (size_t)frame -> address & 0xffff,
		     module ? module -> path : "-");
	}
	tell("\n");
}

static void on_op_count(void *context, const struct op_count_event *event)
{
	(void)context;
	tell("P%u op %u x%zu\n", event->process, event->op, (size_t)event->counts.calls);
}

static void on_wait(void *context, const struct wait_event *wait)
{
	(void)context;
	tell("T%u waited from %zu to %zu:", wait->thread, (size_t)(wait->begin_ns / MS),
	     (size_t)(wait->end_ns / MS));
	for (uint32_t i = 0; i < wait->count; i++)
		tell(" T%u to %zu (%u)", wait->parts[i].thread,
		     (size_t)(wait->parts[i].until_ns / MS), wait->parts[i].how);
	tell("\n");
}

static void on(void *context, const struct sampled *what)
{
	if (what->kind == SAMPLED_PROCESS)
		on_process(context, what->process);
	else if (what->kind == SAMPLED_PROCESS_END)
		on_process_end(context, what->at.number, what->at.time_ns);
	else if (what->kind == SAMPLED_THREAD)
		on_thread(context, what->thread);
	else if (what->kind == SAMPLED_THREAD_END)
		on_thread_end(context, what->thread_end);
	else if (what->kind == SAMPLED_STACK)
		on_stack(context, what->stack);
	else if (what->kind == SAMPLED_OP_COUNT)
		on_op_count(context, what->op_count);
	else if (what->kind == SAMPLED_WAIT)
		on_wait(context, what->wait);
	else if (what->kind == SAMPLED_SPAN && what->span->woken_ns)
		tell("T%u was woken by T%u (%u) at %zu\n", what->span->thread, what->span->waker,
		     what->span->woken_by, (size_t)(what->span->woken_ns / MS));
	else if (what->kind == SAMPLED_SIGNAL)
		tell("T%u sent a signal to P%u, T%u\n", what->signal->thread, what->signal->process,
		     what->signal->to);
}

static void set_up_as(const struct source_facts *facts)
{
	static const struct sampler_sink sink = { .take = on };

	modules = modules_new();
	tracker = tracker_new(modules, UNWINDER_TABLE, &sink, NULL);
	cr_assert(tracker != NULL);
	cr_assert(eq(int, tracker_start(tracker, facts, true, NULL), 0));
}

static void set_up(void)
{
	static const struct source_facts facts = { .kernel_samples = true,
		                                   .kernel_stacks = true,
		                                   .switches = true,
		                                   .frequency_hz = 1000 };

	set_up_as(&facts);
}

static void tear_down(void)
{
	tracker_free(tracker);
	modules_free(modules);
}

TestSuite(tracker, .init = set_up, .fini = tear_down);

static void give(struct event event, uint32_t pid, uint32_t tid, uint64_t ms)
{
	event.pid = pid;
	event.tid = tid;
	event.time_ns = ms * MS;
	tracker_handle(tracker, &event);
}

static void give_exec(uint32_t pid, const char *name, uint64_t ms)
{
	give((struct event){ .type = RECORD_EXEC, .name = name }, pid, pid, ms);
}

static void give_fork(uint32_t pid, uint32_t tid, uint32_t parent, uint64_t ms)
{
	struct event event = { .type = RECORD_FORK, .fork = { parent, parent } };

	give(event, pid, tid, ms);
}

static void give_exit(uint32_t pid, uint32_t tid, uint64_t ms)
{
	give((struct event){ .type = RECORD_EXIT }, pid, tid, ms);
}

static void give_switch(uint32_t pid, uint32_t tid, bool in, uint64_t ms)
{
	struct event event = { .type = RECORD_SWITCH, .sched = { .in = in } };

	give(event, pid, tid, ms);
}

static void give_tick(uint32_t pid, uint32_t tid, const uint64_t *kernel, uint32_t count,
                      uint64_t ms)
{
	struct event event = {
		.type = RECORD_SAMPLE,
		.sample = { .kind = SAMPLE_ON_CPU,
		            .weight_ns = MS,
		            .kernel = kernel,
		            .kernel_count = count,
		            .syscall = -1 },
	};

	give(event, pid, tid, ms);
}

#define expect_story(text)                                                                         \
	do {                                                                                       \
		cr_expect(eq(str, story, (char *)(text)));                                         \
		story[0] = '\0';                                                                   \
	} while (0)

Test(tracker, a_program_begins_at_its_exec_and_ends_with_its_thread)
{
	give_exec(PID, "app", 10);
	expect_story("new P1<P0 app\nthread T1 of P1 app\n");
	give_exit(PID, PID, 25);
	expect_story("T1 15 x0: #3@-\nend T1 on 15\nend P1 at 25\n");
}

Test(tracker, forks_and_threads_take_their_names_from_who_made_them)
{
	give_exec(PID, "app", 10);
	give((struct event){ .type = RECORD_THREAD, .name = "boss" }, PID, PID, 11);
	give_fork(KID, KID, PID, 12);
	give_fork(PID, PID + 1, PID, 13);
	expect_story("new P1<P0 app\nthread T1 of P1 app\nthread T1 of P1 boss\n"
	             "new P2<P1 app\nthread T2 of P2 boss\nthread T3 of P1 boss\n");
}

static void give_birth(uint64_t at, uint64_t ms)
{
	give((struct event){ .type = RECORD_BIRTH, .birth = at }, PID, PID, ms);
}

static void live_briefly(uint32_t tid, uint64_t ms)
{
	give_fork(PID, tid, PID, ms);
	give_switch(PID, tid, true, ms);
	give_exit(PID, tid, ms + 1);
}

Test(tracker, what_ran_in_a_thread_too_short_for_a_sample_is_below_where_it_began)
{
	struct event map = { .type = RECORD_MAP,
		             .map = { .start = 0x10000,
		                      .length = 0x1000,
		                      .protection = PROT_EXEC,
		                      .path = "//anon" } };

	give_exec(PID, "app", 10);
	give(map, PID, PID, 10);
	give_birth(0x10042, 11);
	story[0] = '\0';
	live_briefly(7, 12);
	expect_story(
		"thread T2 of P1 app\nT2 1 x0: #4@[jit 4194400] =42@[jit 4194400]\nend T2 on 1\n");
	give_birth(0x10050, 14);
	live_briefly(8, 15);
	expect_story(
		"thread T3 of P1 app\nT3 1 x0: #4@[jit 4194400] =50@[jit 4194400]\nend T3 on 1\n");
	live_briefly(8, 15); // nobody has said where
	expect_story("thread T4 of P1 app\nT4 1 x0: #4@[jit 4194400]\nend T4 on 1\n");
	give_birth(0x10050, 16);
	give_birth(0, 16); // it could not be made
	live_briefly(9, 17);
	expect_story("thread T5 of P1 app\nT5 1 x0: #4@[jit 4194400]\nend T5 on 1\n");
}

Test(tracker, a_forked_child_begins_nowhere_that_a_thread_does)
{
	give_exec(PID, "app", 10);
	give_birth(0x10042, 11);
	give_fork(KID, KID, PID, 12);
	give_switch(KID, KID, true, 12);
	story[0] = '\0';
	give_exit(KID, KID, 13);
	expect_story("T2 1 x0: #4@-\nend T2 on 1\nend P2 at 13\n");
}

Test(tracker, a_count_of_ops_may_be_the_first_that_is_heard_of_a_process)
{
	struct event count = { .type = RECORD_OP_COUNT,
		               .op_count = { .op = 3, .counts = { .calls = 40 } } };

	give(count, PID, PID, 1);
	expect_story("new P1<P0 \nthread T1 of P1 \nP1 op 3 x40\n");
	give_exec(PID, "app", 2);
	story[0] = '\0';
	give(count, PID, PID, 3);
	expect_story("P1 op 3 x40\n");
}

Test(tracker, the_same_name_again_is_no_news)
{
	give_exec(PID, "app", 10);
	story[0] = '\0';
	give((struct event){ .type = RECORD_THREAD, .name = "app" }, PID, PID, 11);
	expect_story("");
}

Test(tracker, what_the_program_calls_a_thread_stands)
{
	give_exec(PID, "app", 10);
	story[0] = '\0';
	give((struct event){ .type = RECORD_THREAD, .given = true, .name = "decoder" }, PID, PID,
	     11);
	give((struct event){ .type = RECORD_THREAD, .name = "pool-3" }, PID, PID, 12);
	give((struct event){ .type = RECORD_THREAD, .given = true, .name = "encoder" }, PID, PID,
	     13);
	expect_story("thread T1 of P1 decoder\nthread T1 of P1 encoder\n");
}

Test(tracker, a_second_exec_keeps_the_process_and_ends_other_threads)
{
	give_exec(PID, "sh", 10);
	give_fork(PID, PID + 1, PID, 11);
	story[0] = '\0';
	give_exec(PID, "app", 20);
	expect_story("T2 9 x0: #3@-\nend T2 on 9\nT1 10 x0: #3@-\nexec P1<P0 app\n"
	             "thread T1 of P1 app\n");
}

Test(tracker, a_pid_that_is_forked_again_ends_the_process_whose_end_was_lost)
{
	give_exec(PID, "app", 10);
	give_fork(KID, KID, PID, 12);
	give_switch(KID, KID, true, 12);
	story[0] = '\0';
	give_fork(KID, KID, PID, 20);
	expect_story("T2 8 x0: #3@-\nend T2 on 8\nend P2 at 20\nnew P3<P1 app\n"
	             "thread T3 of P3 app\n");
}

Test(tracker, who_turns_up_unannounced_is_made_on_the_spot)
{
	give_tick(PID, PID + 7, NULL, 0, 30);
	cr_expect(strstr(story, "new P1<P0 \nthread T1 of P1 \n") == story, "%s", story);
}

Test(tracker, the_end_of_a_stranger_is_nothing)
{
	give_exit(PID, PID, 10);
	expect_story("");
}

Test(tracker, kernel_frames_come_first_and_only_the_innermost_is_exact)
{
	static const uint64_t kernel[] = { 0xffffffff81001111, 0xffffffff81002222 };

	give_exec(PID, "app", 10);
	story[0] = '\0';
	give_tick(PID, PID, kernel, 2, 12);
	expect_story("T1 2 x1: =1111@[kernel] +2222@[kernel]\n");
}

// Where samples see user code alone, a tick of the agent's in the kernel has a mark for it.
static void tick_in_kernel(bool by_fault)
{
	static const struct source_facts user_only = { .switches = true, .frequency_hz = 1000 };
	static const uint64_t code[] = { 0x1111 };
	struct event event = {
		.type = RECORD_SAMPLE,
		.sample = { .kind = SAMPLE_ON_CPU,
		            .weight_ns = MS,
		            .kernel = code,
		            .kernel_count = 1,
		            .in_kernel = true,
		            .by_fault = by_fault,
		            .by_agent = true,
		            .syscall = -1 },
	};

	tear_down();
	set_up_as(&user_only);
	give_exec(PID, "app", 10);
	story[0] = '\0';
	give(event, PID, PID, 11);
}

Test(tracker, kernel_time_that_no_call_has_asked_for_is_marked_as_a_page_fault)
{
	tick_in_kernel(false);
	expect_story("T1 1 x1: #1@- =1111@[kernel]\n");
	tick_in_kernel(true);
	expect_story("T1 1 x1: #7@- =1111@[kernel]\n");
}

Test(tracker, a_sample_of_which_nothing_is_known_is_marked_so)
{
	give_exec(PID, "app", 10);
	story[0] = '\0';
	give_tick(PID, PID, NULL, 0, 11);
	expect_story("T1 1 x1: #3@-\n");
}

Test(tracker, time_after_the_last_sample_goes_to_its_stack)
{
	static const uint64_t kernel[] = { 0xffffffff81001111 };

	give_exec(PID, "app", 10);
	give_tick(PID, PID, kernel, 1, 11);
	story[0] = '\0';
	give_switch(PID, PID, false, 14);
	give_exit(PID, PID, 20);
	expect_story("T1 3 x0: =1111@[kernel]\nend T1 on 4\nend P1 at 20\n");
}

Test(tracker, a_program_that_ends_before_its_first_sample_is_too_short_for_one)
{
	give_exec(PID, "app", 10);
	give_tick(PID, PID, NULL, 0, 11);
	give_exec(PID, "other", 12);
	story[0] = '\0';
	give_switch(PID, PID, false, 14);
	give_exit(PID, PID, 20);
	expect_story("T1 2 x0: #4@-\nend T1 on 4\nend P1 at 20\n");
}

Test(tracker, a_thread_whose_samples_may_be_lost_is_not_too_short_for_one)
{
	struct event lost = { .type = RECORD_LOST, .lost = 7 };

	give_exec(PID, "app", 10);
	give(lost, 0, 0, 11);
	story[0] = '\0';
	give_switch(PID, PID, false, 14);
	give_exit(PID, PID, 20);
	expect_story("T1 4 x0: #3@-\nend T1 on 4\nend P1 at 20\n");
}

Test(tracker, user_frames_are_named_by_the_mapping_they_lie_in)
{
	static const uint8_t stack[64];
	struct event map = {
		.type = RECORD_MAP,
		.map = { .start = 0x10000,
		         .length = 0x1000,
		         .protection = PROT_EXEC,
		         .path = "//anon" },
	};
	struct event tick = {
		.type = RECORD_SAMPLE,
		.sample = { .kind = SAMPLE_ON_CPU,
		            .weight_ns = MS,
		            .has_user = true,
		            .has_rbp = true,
		            .stack = stack,
		            .stack_bytes = sizeof(stack),
		            .syscall = -1 },
	};

	tick.sample.regs[DWARF_RIP] = 0x10042;
	tick.sample.regs[DWARF_RSP] = 0x7000;
	give_exec(PID, "app", 10);
	give(map, PID, PID, 10);
	story[0] = '\0';
	give(tick, PID, PID, 11);
	cr_expect(strstr(story, "T1 1 x1: =42@[jit 4194400]") == story, "%s", story);

	struct event unmap = { .type = RECORD_UNMAP, .map = { .start = 0x10000, .length = 4096 } };
	give(unmap, PID, PID, 12);
	story[0] = '\0';
	give(tick, PID, PID, 13);
	cr_expect(strstr(story, "[jit") == NULL, "gone: %s", story);
	give(map, PID, PID, 14);
	story[0] = '\0';
	give(tick, PID, PID, 15);
	cr_expect(strstr(story, "=42@[jit 4194400]") != NULL, "and there again: %s", story);
}

Test(tracker, at_the_end_all_threads_end_in_order)
{
	give_exec(PID, "app", 10);
	give_fork(KID, KID, PID, 12);
	give_fork(PID, PID + 1, PID, 13);
	story[0] = '\0';
	tracker_finish(tracker, 15 * MS);
	const char *first = strstr(story, "end T1"), *second = strstr(story, "end T2"),
		   *third = strstr(story, "end T3");
	cr_expect(first && second && third && first < second && second < third, "%s", story);
	cr_expect(strstr(story, "end P1 at 15") && strstr(story, "end P2 at 15"), "%s", story);
}

Test(tracker, the_report_counts_samples_and_no_memory_is_not_missing)
{
	struct sampler_status status = { 0 };
	struct error err = { 0 };

	give_exec(PID, "app", 10);
	give_tick(PID, PID, NULL, 0, 11);
	give_tick(PID, PID, NULL, 0, 12);
	tracker_report(tracker, &status);
	cr_expect(eq(u64, status.samples, 2));
	cr_expect(eq(u64, tracker_events(tracker), 3));
	cr_expect(eq(u32, status.unseen_processes, 0));
	cr_expect(eq(int, tracker_check(tracker, &err), 0));
}

static void give_wait(uint32_t tid, uint64_t from_ms, uint64_t to_ms, const struct wait_part *parts,
                      uint32_t count)
{
	struct event event = { .type = RECORD_WAIT,
		               .wait = { .kind = HELD_MUTEX,
		                         .begin_ns = from_ms * MS,
		                         .count = count,
		                         .parts = parts } };

	give(event, PID, tid, to_ms);
}

Test(tracker, who_was_waited_for_is_a_thread_or_nobody_that_is_known)
{
	const struct wait_part parts[] = { { 12 * MS, PID, HELD_BY_OWNER },
		                           { 13 * MS, 4711, HELD_BY_OWNER },
		                           { 14 * MS, 0, HELD_BY_NOBODY } };

	give_exec(PID, "app", 10);
	give_fork(PID, 7, PID, 10);
	story[0] = '\0';
	give_wait(7, 11, 15, parts, 3);
	expect_story("T2 waited from 11 to 15: T1 to 12 (1) T0 to 13 (1) T0 to 14 (3)\n");
}

static void give_signal(uint32_t to, uint32_t flags, uint64_t ms)
{
	const struct wait_part part = { ms * MS, to, HELD_BY_WAKER };
	struct event event = { .type = RECORD_WAIT,
		               .wait = { .kind = HELD_SIGNAL,
		                         .flags = HELD_POSTED | flags,
		                         .begin_ns = ms * MS,
		                         .count = 1,
		                         .parts = &part } };

	give(event, PID, PID, ms);
}

Test(tracker, a_signal_is_told_where_its_receiver_is_of_the_run)
{
	give_exec(PID, "app", 10);
	give_fork(PID, 7, PID, 10);
	story[0] = '\0';
	give_signal(PID, 0, 11);
	give_signal(7, HELD_TO_THREAD, 12);
	give_signal(4711, 0, 13);
	give_signal(4712, HELD_TO_THREAD, 13);
	give_signal(PID, HELD_TO_THREAD, 14); // to itself
	expect_story("T1 sent a signal to P1, T0\nT1 sent a signal to P1, T2\n");
}

static void switch_thread(uint32_t tid, bool in, uint64_t ms)
{
	give((struct event){ .type = RECORD_SWITCH, .sched = { .in = in } }, PID, tid, ms);
}

static void give_waking(uint32_t waker, uint32_t woken, enum woken_by by, uint64_t ms)
{
	give((struct event){ .type = RECORD_WAKING, .waking = { woken, by } }, waker, waker, ms);
}

Test(tracker, who_wakes_a_thread_is_told_with_its_wait)
{
	give_exec(PID, "app", 10);
	give_fork(PID, 7, PID, 10);
	switch_thread(7, true, 11);
	switch_thread(7, false, 12);
	story[0] = '\0';
	give_waking(PID, 7, WOKEN_BY_THREAD, 15);
	switch_thread(7, true, 16);
	switch_thread(7, false, 17);
	give_waking(4711, 7, WOKEN_BY_INTERRUPT, 18); // who is not followed is nobody
	give_waking(PID, 4711, WOKEN_BY_THREAD, 18);
	switch_thread(7, true, 19);
	switch_thread(7, false, 20);
	switch_thread(7, true, 21); // no wakeup was seen
	expect_story("T2 was woken by T1 (0) at 15\nT2 was woken by T0 (1) at 18\n");
}

Test(tracker, a_thread_that_was_joined_is_known_though_it_has_ended)
{
	const struct wait_part joined = { 14 * MS, 7, HELD_BY_OWNER };

	give_exec(PID, "app", 10);
	give_fork(PID, 7, PID, 10);
	give_exit(PID, 7, 14);
	story[0] = '\0';
	give_wait(PID, 11, 15, &joined, 1);
	expect_story("T1 waited from 11 to 15: T2 to 14 (1)\n");
	give_fork(PID, 7, PID, 15); // its number is another one's now
	story[0] = '\0';
	give_wait(PID, 11, 16, &joined, 1);
	expect_story("T1 waited from 11 to 16: T2 to 14 (1)\n");
}

Test(tracker, parts_of_a_wait_lie_within_it)
{
	static struct wait_part many[300];
	const struct wait_part parts[] = { { 5 * MS, PID, HELD_BY_OWNER },
		                           { 99 * MS, PID, HELD_BY_OWNER },
		                           { 12 * MS, PID, HELD_BY_OWNER } };

	give_exec(PID, "app", 10);
	story[0] = '\0';
	give_wait(PID, 11, 15, parts, 3);
	expect_story("T1 waited from 11 to 15: T1 to 11 (1) T1 to 15 (1) T1 to 15 (1)\n");
	give_wait(PID, 15, 11, parts, 3);
	expect_story("");
	give_wait(PID, 11, 15, many, 300);
	cr_expect(ge(sz, strlen(story), 100));
}

static void give_call(bool begins, uint64_t ms)
{
	struct event event = { .type = RECORD_WAIT,
		               .wait = { .kind = HELD_FILE,
		                         .flags = begins ? HELD_BEGUN : 0,
		                         .begin_ns = (begins ? ms : ms - 1) * MS,
		                         .address = 0x10042,
		                         .made_at = 0x10080 } };

	give(event, PID, 7, ms);
}

Test(tracker, what_a_thread_says_that_it_waits_for_is_the_cause_of_its_wait)
{
	struct event out = { .type = RECORD_SWITCH, .sched = { .cause = METRIC_OFF_FILE } };

	give_exec(PID, "app", 10);
	give_fork(PID, 7, PID, 10);
	switch_thread(7, true, 11);
	give(out, PID, 7, 13);
	switch_thread(7, true, 17);
	switch_thread(7, false, 19); // of this one nothing is known
	switch_thread(7, true, 22);
	give_exit(PID, 7, 23);
	cr_expect(strstr(story, "T2 4 x0") != NULL, "%s", story);
	cr_expect(strstr(story, "T2 3 x0") == NULL, "%s", story);
}

// It is no wait for another thread.
Test(tracker, what_a_thread_waits_for_in_a_call_for_a_disk_is_that)
{
	give_exec(PID, "app", 10);
	give_fork(PID, 7, PID, 10);
	switch_thread(7, true, 11);
	story[0] = '\0';
	give_call(true, 12);
	switch_thread(7, false, 13);
	switch_thread(7, true, 17);
	give_call(false, 18);
	switch_thread(7, false, 19);
	switch_thread(7, true, 21);
	give_exit(PID, 7, 22);
	cr_expect(strstr(story, "waited") == NULL, "%s", story);
	cr_expect(strstr(story, "T2 4 x0: =42@- +80@-\n") != NULL, "%s", story);
}
