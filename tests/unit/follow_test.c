// SPDX-License-Identifier: MIT
#include "sampler/agent/follow.h"

#include "base/clock.h"
#include "sampler/proc/proc_io.h"
#include "tests/support/expect.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

// Records of a process that is not there: nothing but them is heard of it.
#define PID 999999999

static struct follow *follow;
static uint64_t memory[512];

static void start(void)
{
	follow = follow_new((uint32_t)getpid(), NULL);
	cr_assert(follow != NULL);
}

static void end(void)
{
	follow_free(follow);
}

TestSuite(follow, .init = start, .fini = end);

static void give(uint16_t type, uint32_t tid, uint64_t time_ns, uint32_t size)
{
	struct record *record = (struct record *)memory;

	record->size = size;
	record->type = type;
	record->pid = PID;
	record->tid = tid;
	record->time_ns = time_ns;
	follow_record(follow, record);
}

static void give_name(uint16_t type, uint32_t tid, uint64_t time_ns, const char *name)
{
	strcpy((char *)((struct record_name *)memory + 1), name);
	give(type, tid, time_ns, 64);
}

static void give_sample(uint32_t tid, uint64_t time_ns, uint64_t cpu_ns, bool in_kernel)
{
	struct record_sample *sample = (struct record_sample *)memory;

	memset(sample, 0, sizeof(*sample));
	sample->weight_ns = 4;
	sample->cpu_time_ns = cpu_ns;
	sample->regs[DWARF_RIP] = 0x5000;
	sample->regs[DWARF_RCX] = in_kernel ? 0x5000 : 1;
	sample->stack_bytes = 16;
	give(RECORD_SAMPLE, tid, time_ns, sizeof(*sample) + 16);
}

static void expect(enum record_type type, uint32_t tid)
{
	const struct event *event = follow_next(follow);

	cr_assert(event != NULL, "an event of type %d", (int)type);
	cr_expect(eq(int, (int)event->type, (int)type));
	cr_expect(eq(u32, event->pid, PID));
	cr_expect(eq(u32, event->tid, tid));
}

static void expect_no_more(void)
{
	cr_expect(follow_next(follow) == NULL);
}

static void begin_process(void)
{
	give_name(RECORD_EXEC, PID, 1000, "program");
	expect(RECORD_SWITCH, PID);
	const struct event *event = follow_next(follow);
	cr_assert(event != NULL);
	cr_expect(eq(int, (int)event->type, (int)RECORD_EXEC));
	cr_expect(eq(str, (char *)event->name, "program"));
	expect_no_more();
}

Test(follow, a_thread_is_introduced_once_whoever_speaks_of_it_first)
{
	begin_process();
	give_sample(7, 2000, 100, false);
	expect(RECORD_FORK, 7);
	expect(RECORD_SWITCH, 7);
	expect(RECORD_SAMPLE, 7);
	expect_no_more();
	memset(memory, 0, sizeof(memory));
	give(RECORD_FORK, 7, 1500, sizeof(struct record_fork));
	expect_no_more();
}

Test(follow, where_the_next_thread_begins_is_said_by_who_makes_it)
{
	begin_process();
	((struct record_birth *)memory)->start = 0x5000;
	give(RECORD_BIRTH, PID, 2000, sizeof(struct record_birth));
	const struct event *event = follow_next(follow);
	cr_assert(event != NULL);
	cr_expect(eq(int, (int)event->type, (int)RECORD_BIRTH));
	cr_expect(eq(u32, event->tid, PID));
	cr_expect(eq(u64, event->birth, 0x5000));
	expect_no_more();
}

Test(follow, samples_bring_the_switches_between_them)
{
	begin_process();
	give_sample(PID, 1000000, 999000, false);
	expect(RECORD_SAMPLE, PID);
	give_sample(PID, 5000000, 1999000, false);
	expect(RECORD_SWITCH, PID);
	expect(RECORD_SWITCH, PID);
	const struct event *event = follow_next(follow);
	cr_assert(event != NULL);
	cr_expect(eq(u32, event->sample.stack_bytes, 16));
	cr_expect(eq(u64, event->sample.regs[DWARF_RIP], 0x5000));
	cr_expect(eq(ptr, (void *)event->sample.stack,
	             (char *)memory + sizeof(struct record_sample)));
	expect_no_more();
}

static void give_wait(uint32_t kind, uint16_t flags, uint64_t begin_ns, uint64_t end_ns)
{
	struct record_wait *wait = (struct record_wait *)memory;

	memset(wait, 0, sizeof(*wait));
	wait->head.flags = flags;
	wait->begin_ns = begin_ns;
	wait->kind = kind;
	give(RECORD_WAIT, PID, end_ns, sizeof(*wait));
}

static void expect_switch(uint64_t time_ns, bool in)
{
	const struct event *event = follow_next(follow);

	cr_assert(event != NULL);
	cr_expect(eq(int, (int)event->type, (int)RECORD_SWITCH));
	cr_expect(eq(u64, event->time_ns, time_ns));
	cr_expect(eq(int, event->sched.in, in));
}

Test(follow, switches_are_where_the_thread_says_that_it_has_waited)
{
	begin_process();
	give_sample(PID, 1000000, 999000, false);
	expect(RECORD_SAMPLE, PID);
	give_wait(HELD_MUTEX, 0, 2000000, 3000000);
	give_wait(HELD_MUTEX, 0, 3500000, 4500000);
	expect_no_more();
	give_sample(PID, 5000000, 2999000, false);
	expect_switch(2000000, false);
	expect_switch(3000000, true);
	expect_switch(3500000, false);
	expect_switch(4500000, true);
	expect(RECORD_SAMPLE, PID);
	expect_no_more();
}

Test(follow, the_rest_of_the_time_off_the_cpu_lies_between_waits)
{
	begin_process();
	give_sample(PID, 1000000, 999000, false);
	expect(RECORD_SAMPLE, PID);
	give_wait(HELD_CONDITION, 0, 3000000, 4000000);
	give_sample(PID, 8000000, 3999000, false);
	expect_switch(1000000, false); // 3 ms, in 2 ms and 4 ms
	expect_switch(2000000, true);
	expect_switch(3000000, false);
	expect_switch(4000000, true);
	expect_switch(4000000, false);
	expect_switch(6000000, true);
	expect(RECORD_SAMPLE, PID);
	expect_no_more();
}

static void give_slept_sample(uint64_t time_ns, uint64_t cpu_ns, uint32_t sleeps)
{
	struct record_sample *sample = (struct record_sample *)memory;

	memset(sample, 0, sizeof(*sample));
	sample->cpu_time_ns = cpu_ns;
	sample->sleeps = sleeps;
	sample->head.flags = SAMPLE_NO_USER;
	give(RECORD_SAMPLE, PID, time_ns, sizeof(*sample));
}

static void give_ran(uint64_t time_ns, uint64_t cpu_ns, uint32_t sleeps)
{
	struct record_ran *ran = (struct record_ran *)memory;

	memset(ran, 0, sizeof(*ran));
	ran->cpu_time_ns = cpu_ns;
	ran->sleeps = sleeps;
	give(RECORD_RAN, PID, time_ns, sizeof(*ran));
}

// It is woken at 4 ms, wakes another one at 7 ms and has no CPU for the next 2 ms.
Test(follow, a_thread_that_says_how_long_it_ran_was_off_its_cpu_between)
{
	begin_process();
	give_sample(PID, 1000000, 999000, false);
	expect(RECORD_SAMPLE, PID);
	give_wait(HELD_CONDITION, 0, 3000000, 4000000);
	give_ran(4000000, 2999000, 0);
	give_ran(7000000, 5999000, 0);
	give_sample(PID, 13000000, 9999000, false);
	expect_switch(3000000, false);
	expect_switch(4000000, true);
	expect_switch(7000000, false);
	expect_switch(9000000, true);
	expect(RECORD_SAMPLE, PID);
	expect_no_more();
}

// It sleeps for no other reason than the wait that it reports, and so lacked a CPU for 5 ms: right
// after the wait, in which it has woken another one.
Test(follow, a_thread_that_says_how_long_it_ran_lacked_a_cpu_after_that)
{
	const struct event *event;

	begin_process();
	give_slept_sample(1000000, 999000, 5);
	expect_no_more();
	give_wait(HELD_MUTEX, 0, 2000000, 3000000);
	give_ran(3000000, 1999000, 6);
	give_slept_sample(11000000, 4999000, 6);
	expect_switch(2000000, false);
	expect_switch(3000000, true);
	event = follow_next(follow);
	cr_assert(event != NULL);
	cr_expect(eq(u64, event->time_ns, 3000000));
	cr_expect(eq(int, event->sched.preempted, true));
	expect_switch(8000000, true);
	expect_no_more();
}

// Between the two it slept for 4 ms, of which it has reported nothing.
Test(follow, a_thread_that_says_how_long_it_ran_may_have_slept)
{
	const struct event *event;

	begin_process();
	give_slept_sample(1000000, 999000, 5);
	expect_no_more();
	give_ran(3000000, 2999000, 5);
	give_ran(9000000, 4999000, 6);
	give_slept_sample(11000000, 6999000, 6);
	event = follow_next(follow);
	cr_assert(event != NULL);
	cr_expect(eq(int, event->type, RECORD_SWITCH));
	cr_expect(eq(int, event->sched.preempted, false));
	expect_switch(7000000, true);
	expect_no_more();
}

Test(follow, a_clock_that_runs_backwards_is_none)
{
	begin_process();
	give_sample(PID, 1000000, 999000, false);
	expect(RECORD_SAMPLE, PID);
	give_ran(3000000, 2999000, 0);
	give_ran(2000000, 3999000, 0);
	give_ran(4000000, 1000000, 0);
	give_ran(5000000, 999999000, 0);
	give_sample(PID, 8000000, 5999000, false);
	expect_switch(3000000, false);
	expect_switch(5000000, true);
	expect(RECORD_SAMPLE, PID);
	expect_no_more();
}

Test(follow, who_spins_has_been_on_a_cpu_as_it_waited)
{
	begin_process();
	give_sample(PID, 1000000, 999000, false);
	expect(RECORD_SAMPLE, PID);
	give_wait(HELD_SPIN, 0, 2000000, 40000000);
	give_sample(PID, 41000000, 40999000, false);
	expect(RECORD_SAMPLE, PID);
	give_wait(HELD_MUTEX, 0, 50000000, 80000000); // 10 ms off its CPU
	give_sample(PID, 90000000, 79999000, false);
	expect_switch(50000000, false);
	expect_switch(60000000, true);
	expect(RECORD_SAMPLE, PID);
	expect_no_more();
}

Test(follow, a_wait_that_begins_or_that_others_had_is_no_time_off_the_cpu)
{
	begin_process();
	give_wait(HELD_MUTEX, HELD_POSTED, 2000000, 3000000);
	give_wait(HELD_FILE, HELD_BEGUN, 2000000, 3000000);
	give_wait(HELD_MUTEX, 0, 3000000, 2000000);
	give_sample(PID, 4000000, 3999000, false);
	expect(RECORD_SAMPLE, PID);
	expect_no_more();
}

Test(follow, what_a_thread_waits_for_is_said_with_its_switches)
{
	const struct event *event;

	begin_process();
	give_wait(HELD_CHILD, 0, 2000000, 3000000);
	give_sample(PID, 5000000, 3999000, false);
	for (int i = 0; i < 2; i++) {
		event = follow_next(follow);
		cr_assert(event != NULL);
		cr_expect(eq(int, (int)event->type, (int)RECORD_SWITCH));
		cr_expect(eq(int, (int)event->sched.cause,
		             i ? (int)METRIC_ON_CPU : (int)METRIC_OFF_CHILD));
	}
	expect(RECORD_SAMPLE, PID);
	expect_no_more();
}

Test(follow, who_has_never_slept_has_waited_for_a_cpu)
{
	const struct event *event;

	begin_process();
	give_slept_sample(1000000, 999000, 5);
	expect_no_more();
	give_wait(HELD_MUTEX, 0, 2000000, 3000000);
	give_slept_sample(9000000, 3999000, 6); // off it for 5 ms, 1 ms of them in the wait
	int preempted = 0;
	for (int i = 0; i < 6 && (event = follow_next(follow)); i++)
		preempted += event->sched.preempted;
	cr_expect(eq(int, preempted, 1), "right before the sample");
	expect_no_more();
	give_slept_sample(19000000, 9999000, 9); // three times, and it has reported no wait
	for (preempted = 0; (event = follow_next(follow));)
		preempted += event->sched.preempted;
	cr_expect(eq(int, preempted, 0));
}

Test(follow, more_waits_than_are_kept_lie_where_they_were)
{
	uint64_t at_ns = 1000000, out = 0;

	begin_process();
	for (int i = 0; i < 5000; i++, at_ns += 300000)
		give_wait(HELD_MUTEX, 0, at_ns, at_ns + 200000);
	give_sample(PID, at_ns, at_ns - 5000 * UINT64_C(200000) - 1000, false);
	for (const struct event *event; (event = follow_next(follow));)
		if (event->type == RECORD_SWITCH) {
			cr_expect(eq(u64, event->time_ns,
			             1000000 + out / 2 * 300000 + out % 2 * 200000));
			out++;
		}
	cr_expect(eq(u64, out, 10000));
}

Test(follow, a_tick_in_a_system_call_is_kernel_time)
{
	begin_process();
	give_sample(PID, 2000, 1000, true);
	cr_expect(follow_next(follow)->sample.in_kernel);
	give_sample(PID, 3000, 2000, false);
	cr_expect(not(follow_next(follow)->sample.in_kernel));
}

Test(follow, time_without_a_stack_is_time_but_no_sample)
{
	struct record_sample *sample = (struct record_sample *)memory;

	begin_process();
	memset(sample, 0, sizeof(*sample));
	sample->head.flags = SAMPLE_NO_USER;
	sample->cpu_time_ns = 1000;
	give(RECORD_SAMPLE, PID, 2000, sizeof(*sample));
	expect_no_more();
}

Test(follow, names_are_told_when_they_change)
{
	begin_process();
	give_name(RECORD_THREAD, PID, 2000, "program");
	expect_no_more();
	give_name(RECORD_THREAD, PID, 2000, "worker");
	expect(RECORD_THREAD, PID);
	expect_no_more();
}

Test(follow, an_end_is_told_once_and_not_before_what_was_told_of_the_thread)
{
	begin_process();
	give_sample(7, 9000, 100, false);
	while (follow_next(follow))
		;
	memset(memory, 0, sizeof(memory));
	give(RECORD_EXIT, 7, 8000, sizeof(struct record));
	const struct event *event = follow_next(follow);
	cr_assert(event != NULL);
	cr_expect(eq(int, (int)event->type, (int)RECORD_EXIT));
	cr_expect(ge(u64, event->time_ns, 8900));
	expect_no_more();
	give(RECORD_EXIT, 7, 9500, sizeof(struct record));
	expect_no_more();
}

static uint32_t gone_pid;

static void on_gone(void *context, uint32_t pid)
{
	(void)context;
	gone_pid = pid;
}

Test(follow, a_process_that_vanished_ends_a_round_later)
{
	begin_process();
	follow_begin(follow, clock_now_ns());
	follow_end(follow, clock_now_ns() - 1000, on_gone, NULL);
	cr_expect(eq(u32, gone_pid, 0), "records of it may still come");
	while (follow_next(follow))
		;
	follow_begin(follow, clock_now_ns());
	follow_end(follow, clock_now_ns(), on_gone, NULL);
	cr_expect(eq(u32, gone_pid, PID));
	expect(RECORD_EXIT, PID);
}

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *take_held(void *argument)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return argument;
}

// How often files are read in a round at AT_NS.
static uint64_t reads_of_round(uint64_t at_ns)
{
	struct proc_io before, after;

	cr_assert(proc_io_read((uint32_t)getpid(), &before));
	follow_begin(follow, at_ns);
	follow_end(follow, at_ns, on_gone, NULL);
	cr_assert(proc_io_read((uint32_t)getpid(), &after));
	while (follow_next(follow))
		;
	return after.read_calls - before.read_calls;
}

Test(follow, many_threads_are_looked_at_less_often_than_there_are_rounds)
{
	static pthread_t threads[300];
	struct record *record = (struct record *)memory;
	uint64_t now = clock_now_ns();

	pthread_mutex_lock(&held);
	for (size_t i = 0; i < 300; i++)
		cr_assert(pthread_create(&threads[i], NULL, take_held, NULL) == 0);
	memset(memory, 0, sizeof(memory));
	*record = (struct record){ .size = 64,
		                   .type = RECORD_EXEC,
		                   .pid = (uint32_t)getpid(),
		                   .tid = (uint32_t)getpid(),
		                   .time_ns = now };
	follow_record(follow, record);
	reads_of_round(now); // finds them
	cr_expect(ge(u64, reads_of_round(now + 2 * NS_PER_SEC), 300));
	cr_expect(lt(u64, reads_of_round(now + 2 * NS_PER_SEC + 11 * NS_PER_MS), 100));
	cr_expect(ge(u64, reads_of_round(now + 4 * NS_PER_SEC), 300));
	pthread_mutex_unlock(&held);
	for (size_t i = 0; i < 300; i++)
		pthread_join(threads[i], NULL);
}

Test(follow, what_is_unmapped_is_passed_on)
{
	struct record_unmap *unmap = (struct record_unmap *)memory;

	unmap->start = 0x7000;
	unmap->length = 0x2000;
	give(RECORD_UNMAP, PID, 5, sizeof(*unmap));
	const struct event *event = follow_next(follow);
	cr_assert(event != NULL);
	cr_expect(eq(int, (int)event->type, RECORD_UNMAP));
	cr_expect(eq(u64, event->map.start, 0x7000));
	cr_expect(eq(u64, event->map.length, 0x2000));
	cr_expect(follow_next(follow) == NULL);
}
