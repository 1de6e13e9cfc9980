// SPDX-License-Identifier: MIT
#include "sampler/off_cpu/off_cpu.h"

#include "base/clock.h"
#include "sampler/off_cpu/off_cpu_python.h"
#include "sampler/perf/probe.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <string.h>

#define MS               NS_PER_MS
#define KALLSYMS_FIXTURE TESTS_DIR "/data/kallsyms.txt"
#define IN_NANOSLEEP     UINT64_C(0xffffffff81421d00)
#define IN_FUTEX         UINT64_C(0xffffffff8143d600)
#define IN_POLL          UINT64_C(0xffffffff816dc600)

// What is under test here is the bookkeeping, so what a thread looks like is for each test to say.
static struct {
	enum probe_result result;
	enum metric cause;
	uint64_t from_ns, until_ns;
	uint64_t pc, futex;
	unsigned looks;
} next_look;

struct probe {
	int nothing;
};

struct probe *probe_new(size_t stack_bytes, struct error *err)
{
	(void)stack_bytes, (void)err;
	return calloc(1, sizeof(struct probe));
}

void probe_free(struct probe *p)
{
	free(p);
}

enum probe_result probe_look(struct probe *p, int pid, int tid, bool verify,
                             struct probe_view *view)
{
	(void)p, (void)pid, (void)tid, (void)verify;
	memset(view, 0, sizeof(*view));
	view->from_ns = next_look.from_ns;
	view->until_ns = next_look.until_ns;
	view->cause = next_look.cause;
	view->sample.has_user = next_look.result == PROBE_STACK;
	view->sample.regs[DWARF_RIP] = next_look.pc;
	view->sample.regs[DWARF_RDI] = next_look.futex;
	next_look.looks++;
	return next_look.result;
}

bool probe_schedule(const struct probe *p, int pid, int tid, char text[PROBE_SCHEDULE])
{
	(void)p, (void)pid, (void)tid, (void)text;
	return false;
}

void unwinder_follow(struct unwinder *u, const struct patches *p, const struct op_stack *ops)
{
	(void)u, (void)p, (void)ops;
}

size_t unwinder_unwind(struct unwinder *u, struct address_space *space,
                       const struct event_sample *sample, int pid, struct frame *frames, size_t max,
                       uint32_t *flags)
{
	(void)u, (void)space, (void)pid, (void)max;
	frames[0] = (struct frame){ sample->regs[DWARF_RIP], 1, FRAME_EXACT };
	*flags = 0;
	return 1;
}

size_t unwinder_complete(struct unwinder *u, struct last_stack *last, uint64_t time_ns,
                         struct frame *frames, size_t count, size_t max, uint32_t *flags)
{
	(void)u, (void)last, (void)time_ns, (void)frames, (void)max, (void)flags;
	return count;
}

const uint64_t *unwinder_stack_pointers(const struct unwinder *u)
{
	static const uint64_t sps[STACK_MAX_FRAMES];

	(void)u;
	return sps;
}

// Python: a look finds LINE, and puts it in place of the native frame.
#define PYTHON 0x10000u

static struct {
	bool there;
	unsigned line; // 0: the thread runs no Python
	uint64_t until_ns;
	uint64_t gil; // a futex
} in_python;

static struct python_chain chain = { 1, 0 };

struct off_cpu_python *off_cpu_python_new(struct codes *for_codes)
{
	return (struct off_cpu_python *)for_codes;
}

void off_cpu_python_free(struct off_cpu_python *p)
{
	(void)p;
}

bool off_cpu_python_may(const struct thread *of)
{
	(void)of;
	return in_python.there;
}

const struct python_chain *off_cpu_python_read(struct off_cpu_python *p, struct thread *of,
                                               uint64_t sp, uint64_t *until_ns)
{
	(void)p, (void)of, (void)sp;
	*until_ns = in_python.until_ns ? in_python.until_ns : *until_ns;
	return in_python.line ? &chain : NULL;
}

size_t off_cpu_python_place(struct off_cpu_python *p, struct thread *of,
                            const struct python_chain *of_look, struct frame *frames,
                            const uint64_t **sps, size_t count, size_t max, uint32_t *flags)
{
	(void)p, (void)of, (void)of_look, (void)sps, (void)max, (void)flags;
	frames[0].address = PYTHON + in_python.line;
	return count;
}

bool off_cpu_python_is_gil(const struct thread *of, uint64_t address)
{
	(void)of;
	return in_python.gil && address == in_python.gil;
}

static struct process process = { .pid = 100 };
static struct thread thread;

bool off_cpu_python_gil(struct off_cpu_python *p, struct process *of, uint32_t i, uint32_t *holder)
{
	(void)p, (void)of;
	*holder = thread.tid;
	return in_python.gil && !i;
}

void tasks_each_thread(struct tasks *t, void (*visit)(void *context, struct thread *thread),
                       void *context)
{
	(void)t;
	visit(context, &thread);
}

struct thread *tasks_find_thread(struct tasks *t, uint32_t pid, uint32_t tid)
{
	(void)t;
	return pid == process.pid && tid == thread.tid ? &thread : NULL;
}

// All that was handed on: by stack (its pc) and by metric.
#define STACKS_MAX 64
static struct stack handed[STACKS_MAX];
static struct frame handed_leaf[STACKS_MAX];
static size_t handed_count;
static uint64_t handed_ns[METRIC_COUNT];

static void take(void *context, const struct stack *stack)
{
	(void)context;
	handed_ns[stack->metric] += stack->weight_ns;
	if (handed_count < STACKS_MAX) {
		handed[handed_count] = *stack;
		handed_leaf[handed_count] = stack->frames[0];
	}
	handed_count++;
}

static struct off_cpu *o;

static void start(bool switch_samples)
{
	struct off_cpu_options options = { .switch_samples = switch_samples,
		                           .kallsyms = KALLSYMS_FIXTURE,
		                           .codes = (struct codes *)&chain };

	memset(&in_python, 0, sizeof(in_python));
	memset(&thread, 0, sizeof(thread));
	thread.tid = 101;
	thread.number = 7;
	thread.process = &process;
	handed_count = 0;
	memset(handed_ns, 0, sizeof(handed_ns));
	memset(&next_look, 0, sizeof(next_look));
	o = off_cpu_new(&options, NULL, NULL, take, NULL, NULL);
	cr_assert(o != NULL);
}

static void expect_sums(uint64_t lifetime_ns)
{
	uint64_t sum = 0;

	for (int m = 0; m < METRIC_COUNT; m++) {
		sum += thread.ns[m];
		if (m != METRIC_ON_CPU)
			cr_expect(eq(u64, handed_ns[m], thread.ns[m]), "%s",
			          metric_key((enum metric)m));
	}
	cr_expect(eq(u64, sum, lifetime_ns));
}

// Ends the thread, begun at START_NS.
static void finish(uint64_t start_ns, uint64_t end_ns)
{
	off_cpu_end(o, &thread, end_ns);
	expect_sums(end_ns - start_ns);
	free(thread.off_cpu.frames);
	free(thread.off_cpu.python.frames);
	wait_piles_fini(&thread.off_cpu.python.piles);
	wait_piles_fini(&thread.off_cpu.ready);
	off_cpu_free(o);
}

static void out(uint64_t time_ns)
{
	off_cpu_switch(o, &thread, time_ns, false, false);
}

static void preempt(uint64_t time_ns)
{
	off_cpu_switch(o, &thread, time_ns, false, true);
}

static void in(uint64_t time_ns)
{
	off_cpu_switch(o, &thread, time_ns, true, false);
}

static void sample(uint64_t time_ns, uint64_t pc, uint64_t kernel)
{
	struct event event = { .type = RECORD_SAMPLE, .time_ns = time_ns };

	event.sample.kind = SAMPLE_SWITCH;
	event.sample.has_user = true;
	event.sample.regs[DWARF_RIP] = pc;
	event.sample.regs[DWARF_RDI] = next_look.futex;
	event.sample.kernel = &kernel;
	event.sample.kernel_count = kernel != 0;
	off_cpu_sample(o, &thread, &event);
}

static void look(uint64_t time_ns, enum probe_result result, enum metric cause, uint64_t pc)
{
	next_look.result = result;
	next_look.cause = cause;
	next_look.from_ns = time_ns;
	next_look.until_ns = time_ns + 10;
	next_look.pc = pc;
	off_cpu_probe(o, NULL, time_ns);
}

static uint64_t handed_to(uint64_t pc)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < handed_count && i < STACKS_MAX; i++)
		sum += handed_leaf[i].address == pc ? handed[i].weight_ns : 0;
	return sum;
}

Test(off_cpu, a_thread_is_runnable_until_it_first_runs)
{
	start(false);
	off_cpu_begin(o, &thread, 10 * MS);
	in(13 * MS);
	finish(10 * MS, 20 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 3 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], 7 * MS));
	cr_expect(eq(u64, handed_to(MARK_SHORT), 3 * MS), "no sample ever told what it is");
}

Test(off_cpu, a_thread_that_is_first_switched_out_has_been_running)
{
	start(false);
	off_cpu_begin(o, &thread, 10 * MS);
	out(14 * MS);
	in(15 * MS);
	finish(10 * MS, 16 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], 5 * MS));
}

Test(off_cpu, a_thread_that_is_never_switched_has_been_running)
{
	start(false);
	off_cpu_begin(o, &thread, 10 * MS);
	finish(10 * MS, 16 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], 6 * MS));
}

Test(off_cpu, a_sample_may_come_before_or_after_the_record_of_its_switch)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(10 * MS, 0xa, IN_NANOSLEEP);
	out(10 * MS + 900);
	in(30 * MS);
	out(40 * MS);
	sample(40 * MS + 900, 0xb, IN_FUTEX);
	in(70 * MS);
	finish(MS, 80 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_SLEEP], 20 * MS - 900));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_LOCK], 30 * MS));
	cr_expect(eq(u64, handed_to(0xa), 20 * MS - 900));
	cr_expect(eq(u64, handed_to(0xb), 30 * MS));
	cr_expect(eq(u32, handed[0].samples, 1));
	cr_expect(eq(u64, handed[0].time_ns, 10 * MS + 900));
	cr_expect(eq(u64, handed[0].duration_ns, handed[0].weight_ns));
	cr_expect(eq(u32, handed[0].thread, 7));
}

Test(off_cpu, the_stack_of_one_interval_is_not_used_for_the_next)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(2 * MS, 0xa, IN_FUTEX);
	out(2 * MS);
	in(4 * MS);
	out(10 * MS);
	in(15 * MS);
	finish(MS, 16 * MS);
	cr_expect(eq(u64, handed_to(0xa), 2 * MS));
	cr_expect(eq(u64, handed_to(MARK_UNKNOWN), 5 * MS));
}

Test(off_cpu, a_thread_that_ends_waiting_for_a_cpu_had_stopped_where_it_was_seen_last)
{
	struct frame last = { 0xc, 1, FRAME_EXACT };

	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	off_cpu_switch(o, &thread, 4 * MS, false, true);
	thread.cpu.last.frames = &last;
	thread.cpu.last.count = 1;
	in(10 * MS);
	out(11 * MS);
	in(13 * MS);
	finish(MS, 14 * MS);
	cr_expect(eq(u64, handed_to(0xc), 6 * MS));
	cr_expect(eq(u64, handed_ns[METRIC_OFF_RUNNABLE], 6 * MS));
	cr_expect(eq(u64, handed_to(MARK_UNKNOWN), 2 * MS), "a wait of which nothing is known");
}

Test(off_cpu, a_poll_without_descriptors_is_a_sleep)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(2 * MS, 0xa, IN_POLL); // its registers are 0
	out(2 * MS);
	in(4 * MS);
	finish(MS, 5 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_SLEEP], 2 * MS));
}

Test(off_cpu, a_preempted_thread_is_runnable_whatever_its_kernel_stack_says)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(2 * MS, 0xa, IN_FUTEX);
	preempt(2 * MS);
	in(5 * MS);
	preempt(6 * MS); // without a sample: its time is pending until the next stack
	in(10 * MS);
	preempt(12 * MS);
	sample(12 * MS + 1, 0xb, 0);
	in(13 * MS);
	finish(MS, 15 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 8 * MS));
	cr_expect(eq(u64, handed_to(0xa), 3 * MS));
	cr_expect(eq(u64, handed_to(0xb), 5 * MS));
}

Test(off_cpu, preempted_time_goes_to_the_next_sample_on_the_cpu)
{
	struct frame frame = { 0xc, 1, FRAME_EXACT };

	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	preempt(2 * MS);
	in(5 * MS);
	off_cpu_running(o, &thread, &frame, 1, 0, 5 * MS + 500);
	finish(MS, 6 * MS);
	cr_expect(eq(u64, handed_to(0xc), 3 * MS));
	cr_expect(eq(u32, handed[0].samples, 0));
	cr_expect(eq(u64, handed[0].time_ns, 2 * MS));
}

static void begin_op(uint32_t op, uint64_t time_ns)
{
	cr_assert(op_stack_begin(&thread.ops, &(struct open_op){ .op = op, .begin_ns = time_ns }));
}

static void end_op(uint64_t begin_ns)
{
	op_stack_end(&thread.ops, op_stack_find(&thread.ops, begin_ns));
}

// A sample on the CPU at PC, as the tracker tells of it and keeps it.
static void tick(uint64_t time_ns, uint64_t pc)
{
	static struct frame kept;
	struct frame frame = { pc, 1, FRAME_EXACT };

	off_cpu_running(o, &thread, &frame, 1, 0, time_ns);
	kept = frame;
	thread.cpu.last.frames = &kept;
	thread.cpu.last.count = 1;
	thread.cpu.sample_ns = time_ns;
}

Test(off_cpu, preempted_time_goes_to_a_sample_in_the_same_ops)
{
	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	begin_op(1, MS);
	preempt(2 * MS);
	in(12 * MS);
	end_op(MS);
	begin_op(2, 13 * MS);
	tick(14 * MS, 0xb);
	cr_expect(eq(u64, handed_to(0xb), 0), "it was in another op");
	end_op(13 * MS);
	begin_op(1, 15 * MS);
	tick(16 * MS, 0xa);
	cr_expect(eq(u64, handed_to(0xa), 10 * MS));
	cr_expect(eq(u64, handed[0].time_ns, 2 * MS));
	end_op(15 * MS);
	finish(0, 17 * MS);
	op_stack_fini(&thread.ops);
}

Test(off_cpu, preempted_time_in_ops_that_are_over_goes_to_the_sample_before)
{
	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	begin_op(1, MS);
	tick(2 * MS, 0xa);
	preempt(3 * MS);
	in(13 * MS);
	end_op(MS);
	tick(14 * MS, 0xb);
	cr_expect(eq(u64, handed_to(0xa), 10 * MS));
	cr_expect(eq(u64, handed_to(0xb), 0));
	finish(0, 15 * MS);
	op_stack_fini(&thread.ops);
}

Test(off_cpu, preempted_time_of_which_no_sample_tells_has_its_ops)
{
	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	tick(MS, 0xb);
	begin_op(1, 2 * MS);
	begin_op(2, 3 * MS);
	preempt(4 * MS);
	in(9 * MS);
	end_op(3 * MS);
	end_op(2 * MS);
	off_cpu_end(o, &thread, 10 * MS);
	cr_assert(eq(u64, handed_count, 1));
	cr_assert(eq(u32, handed[0].count, 3));
	cr_expect(eq(u64, handed[0].weight_ns, 5 * MS));
	cr_expect(eq(u64, handed[0].frames[0].address, MARK_UNKNOWN));
	cr_expect(eq(u64, handed[0].frames[1].address, 2), "the innermost op");
	cr_expect(eq(u64, handed[0].frames[2].address, 1));
	cr_expect(eq(u32, handed[0].frames[2].kind, FRAME_OP));
	finish(0, 10 * MS);
	op_stack_fini(&thread.ops);
}

Test(off_cpu, more_ops_than_are_kept_push_out_the_oldest_time)
{
	start(false);
	off_cpu_begin(o, &thread, 0);
	in(0);
	for (uint32_t i = 0; i < WAIT_PILES_MAX + 3; i++) {
		begin_op(1 + i, 10 * i * MS + MS);
		preempt(10 * i * MS + 2 * MS);
		in(10 * i * MS + 4 * MS);
		end_op(10 * i * MS + MS);
	}
	cr_expect(eq(u64, handed_ns[METRIC_OFF_RUNNABLE], 3 * 2 * MS));
	cr_expect(eq(u64, handed[0].time_ns, 2 * MS));
	finish(0, 200 * MS);
	op_stack_fini(&thread.ops);
}

Test(off_cpu, a_look_counts_once_the_records_show_that_it_fell_into_the_interval)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_STACK, METRIC_OFF_PIPE, 0xa);
	in(100 * MS);
	cr_expect(eq(u64, off_cpu_probes(o), 1));
	finish(MS, 101 * MS);
	cr_expect(eq(u32, next_look.looks, 1));
	cr_expect(eq(u64, handed_to(0xa), 90 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_PIPE], 90 * MS));
}

Test(off_cpu, a_look_during_which_the_thread_came_in_does_not_count)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_STACK, METRIC_OFF_PIPE, 0xa);
	in(16 * MS + 5); // the look took until 16 ms + 10 ns
	finish(MS, 20 * MS);
	cr_expect(eq(u64, handed_to(0xa), 0));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 6 * MS + 5));
}

Test(off_cpu, a_look_ahead_of_the_records_belongs_to_the_later_interval)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xb);
	in(12 * MS); // read late: it had long been somewhere else
	out(14 * MS);
	in(40 * MS);
	finish(MS, 41 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_SLEEP], 26 * MS));
	cr_expect(eq(u64, handed_to(0xb), 26 * MS));
	cr_expect(eq(u64, handed_to(MARK_UNKNOWN), 2 * MS));
}

Test(off_cpu, a_thread_is_looked_at_once_in_an_interval)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	for (uint64_t t = 16; t < 200; t += 10)
		look(t * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
	cr_expect(eq(u32, next_look.looks, 1));
	in(300 * MS);
	finish(MS, 301 * MS);
}

Test(off_cpu, a_thread_that_could_not_be_seen_is_looked_at_again_while_it_waits)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	look(26 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(30 * MS);
	look(36 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xb); // runs, as far as is known
	cr_expect(eq(u32, next_look.looks, 2));
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(0xa), 20 * MS));
}

Test(off_cpu, a_thread_that_was_off_the_cpu_but_not_blocked_was_runnable)
{
	struct frame frame = { 0xc, 1, FRAME_EXACT };

	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	in(30 * MS);
	off_cpu_running(o, &thread, &frame, 1, 0, 31 * MS);
	out(40 * MS);
	in(41 * MS);
	look(50 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0); // it really ran
	out(51 * MS);
	in(53 * MS);
	finish(MS, 60 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], 20 * MS));
	cr_expect(eq(u64, handed_to(0xc), 20 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 3 * MS));
}

Test(off_cpu, a_cause_without_a_stack_waits_for_a_stack_of_that_cause)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(16 * MS, PROBE_CAUSE, METRIC_OFF_LOCK, 0);
	next_look.pc = 0;
	in(20 * MS);
	out(30 * MS);
	look(36 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
	in(50 * MS);
	out(60 * MS);
	look(66 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xb);
	in(70 * MS);
	finish(MS, 71 * MS);
	cr_expect(eq(u64, handed_to(0xa), 20 * MS));
	cr_expect(eq(u64, handed_to(0xb), 20 * MS));
}

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % limit;
}

Test(off_cpu, short_intervals_that_were_hit_stand_for_those_that_were_not)
{
	uint64_t t = 10 * MS, tick = t, seed = 1;

	// It waits for 3 ms in A and for 1 ms in B, on average, and is looked at every 6 ms or so.
	start(false);
	off_cpu_begin(o, &thread, t);
	in(t);
	for (unsigned i = 0; i < 20000; i++) {
		bool longer = i % 2;
		uint64_t length = random_below(&seed, longer ? 6 * MS : 2 * MS);
		out(t);
		for (; tick < t + length; tick += 6 * MS + random_below(&seed, MS)) {
			if (tick > t)
				look(tick, PROBE_STACK, longer ? METRIC_OFF_LOCK : METRIC_OFF_PIPE,
				     longer ? 0xa : 0xb);
		}
		in(t += length + 100);
	}
	uint64_t all = t - 10 * MS;
	finish(10 * MS, t);
	double share = (double)thread.ns[METRIC_OFF_LOCK] / (double)all;
	cr_expect(gt(dbl, share, 0.73), "%f", share);
	cr_expect(lt(dbl, share, 0.77), "%f", share);
	cr_expect(lt(u64, thread.ns[METRIC_OFF_OTHER], all / 50));
}

Test(off_cpu, a_long_interval_does_not_stand_for_short_ones)
{
	uint64_t t = 10 * MS;

	start(false);
	off_cpu_begin(o, &thread, t);
	in(t);
	for (unsigned i = 0; i < 100; i++) { // too short to be hit
		out(t);
		in(t += MS);
	}
	out(t);
	look(t + 6 * MS, PROBE_RUNNING, METRIC_OFF_OTHER, 0);
	look(t + 12 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
	in(t + 1000 * MS);
	finish(10 * MS, t + 1000 * MS);
	cr_expect(eq(u64, handed_to(0xa), 1000 * MS));
	cr_expect(eq(u64, handed_to(MARK_UNKNOWN), 100 * MS));
}

Test(off_cpu, which_switches_are_sampled_does_not_matter)
{
	uint64_t t = 10 * MS, tick = t, seed = 7;

	// As the kernel does it when it aims at a frequency: the switch after a long wait is
	// sampled, so of the two that take turns always the same.
	start(true);
	off_cpu_begin(o, &thread, t);
	in(t);
	for (unsigned i = 0; i < 40000; i++) {
		bool longer = i % 2;
		uint64_t length = random_below(&seed, longer ? MS : 400000);
		if (!longer)
			sample(t, 0xb, IN_NANOSLEEP);
		out(t);
		for (; tick < t + length; tick += 6 * MS + random_below(&seed, MS)) {
			if (tick > t)
				look(tick, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
		}
		in(t += length + 100);
	}
	uint64_t all = t - 10 * MS;
	finish(10 * MS, t);
	double share = (double)thread.ns[METRIC_OFF_LOCK] / (double)all;
	cr_expect(gt(dbl, share, 0.70), "%f", share);
	cr_expect(lt(dbl, share, 0.72), "%f", share); // 5/7 = 0.714
}

Test(off_cpu, only_waits_without_a_sample_are_looked_at)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(18 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xb);
	cr_expect(eq(u32, next_look.looks, 1));
	in(20 * MS);
	sample(30 * MS, 0xc, IN_FUTEX);
	out(30 * MS);
	look(40 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xd);
	in(50 * MS);
	out(60 * MS);
	sample(60 * MS + 1, 0xe, IN_FUTEX); // comes late, but comes
	look(70 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xf);
	cr_expect(eq(u32, next_look.looks, 1));
	in(80 * MS);
	finish(MS, 81 * MS);
	cr_expect(eq(u64, handed_to(0xb), 10 * MS));
	cr_expect(eq(u64, handed_to(0xc), 20 * MS));
	cr_expect(eq(u64, handed_to(0xe), 20 * MS));
}

Test(off_cpu, a_sample_without_a_cause_is_looked_at)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(60 * MS, 0xe, 0);
	out(60 * MS);
	look(70 * MS, PROBE_STACK, METRIC_OFF_PIPE, 0xf);
	in(80 * MS);
	finish(MS, 81 * MS);
	cr_expect(eq(u64, handed_to(0xf), 20 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_PIPE], 20 * MS));
}

Test(off_cpu, of_lost_records_what_was_sampled_counts_as_on_the_cpu)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(10 * MS);
	thread.sampled_ns += 4 * MS;
	in(30 * MS); // out at some time in between
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], 4 * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 16 * MS));
	out(40 * MS);
	thread.sampled_ns += 50 * MS; // more than there is
	out(60 * MS);
	in(70 * MS);
	finish(MS, 80 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], (4 + 10 + 20 + 10) * MS));
}

Test(off_cpu, a_sample_on_the_cpu_proves_that_a_waiting_thread_came_in)
{
	struct frame frame = { 0xc, 1, FRAME_EXACT };

	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	off_cpu_running(o, &thread, &frame, 1, 0, 15 * MS);
	out(35 * MS);
	in(40 * MS);
	finish(MS, 41 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], (9 + 20 + 1) * MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_OTHER], 10 * MS));
}

Test(off_cpu, a_second_sample_while_out_begins_another_interval)
{
	start(true);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	sample(10 * MS, 0xa, IN_FUTEX);
	out(10 * MS);
	sample(50 * MS, 0xb, IN_NANOSLEEP); // in and out between them were lost,
	out(50 * MS + 300);                 // or this was
	in(60 * MS);
	finish(MS, 61 * MS);
	cr_expect(eq(u64, handed_to(0xa), 40 * MS));
	cr_expect(eq(u64, handed_to(0xb), 10 * MS));
}

Test(off_cpu, records_out_of_order_make_no_negative_times)
{
	start(false);
	off_cpu_begin(o, &thread, 10 * MS);
	in(11 * MS);
	out(9 * MS);
	in(8 * MS);
	finish(10 * MS, 12 * MS);
	cr_expect(eq(u64, thread.ns[METRIC_ON_CPU], MS));
	cr_expect(eq(u64, thread.ns[METRIC_OFF_RUNNABLE], MS));
}

Test(off_cpu, an_interval_that_never_ends_is_closed_with_the_thread)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(20 * MS, PROBE_STACK, METRIC_OFF_NET, 0xa);
	finish(MS, 500 * MS);
	cr_expect(eq(u64, handed_to(0xa), 490 * MS));
}

// A wait of which a sample tells, and a look in the middle of it that finds LINE (0: there is
// none).
static void wait_in_python(uint64_t from_ns, uint64_t to_ns, uint64_t pc, unsigned line)
{
	sample(from_ns, pc, IN_FUTEX);
	out(from_ns + 1);
	in_python.line = line;
	if (line)
		look((from_ns + to_ns) / 2, PROBE_STACK, METRIC_OFF_LOCK, pc);
	in(to_ns);
}

static void start_in_python(bool switch_samples)
{
	start(switch_samples);
	in_python.there = true;
	off_cpu_begin(o, &thread, MS);
	in(MS);
}

Test(off_cpu, a_look_adds_python_to_what_a_sample_has_told)
{
	start_in_python(true);
	wait_in_python(10 * MS, 30 * MS, 0xa, 7);
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 20 * MS - 1));
	cr_expect(eq(u64, handed_to(0xa), 0));
	cr_expect(eq(u64, handed_ns[METRIC_OFF_LOCK], 20 * MS - 1));
}

Test(off_cpu, a_look_that_was_not_over_when_the_thread_went_on_adds_nothing)
{
	start_in_python(true);
	sample(10 * MS, 0xa, IN_FUTEX);
	out(10 * MS + 1);
	in_python.line = 7;
	in_python.until_ns = 31 * MS;
	look(29 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(30 * MS);
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 0));
	cr_expect(eq(u64, handed_to(0xa), 20 * MS - 1), "as if there had been no look");
}

Test(off_cpu, short_waits_go_with_one_at_the_same_native_stack_that_a_look_has_met)
{
	start_in_python(true);
	wait_in_python(10 * MS, 11 * MS, 0xa, 0);
	wait_in_python(12 * MS, 13 * MS, 0xb, 0);
	wait_in_python(14 * MS, 15 * MS, 0xa, 0);
	wait_in_python(20 * MS, 30 * MS, 0xa, 7);
	wait_in_python(31 * MS, 32 * MS, 0xa, 0); // waits for the next look there
	wait_in_python(40 * MS, 50 * MS, 0xa, 8);
	finish(MS, 60 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 12 * MS - 3));
	cr_expect(eq(u64, handed_to(PYTHON + 8), 11 * MS - 2));
	cr_expect(eq(u64, handed_to(0xa), 0));
	cr_expect(eq(u64, handed_to(0xb), MS - 1), "no look has met it");
	cr_expect(eq(u32, handed[0].samples, 0), "others of the look's stack");
}

Test(off_cpu, waits_do_not_wait_for_ever_for_a_look)
{
	start_in_python(true);
	wait_in_python(10 * MS, 11 * MS, 0xa, 0);
	wait_in_python(3000 * MS, 3001 * MS, 0xa, 0);
	cr_expect(eq(u64, handed_to(0xa), MS - 1));
	wait_in_python(3020 * MS, 3030 * MS, 0xa, 7);
	finish(MS, 3040 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 11 * MS - 2));
}

Test(off_cpu, more_stacks_than_are_kept_push_out_the_oldest)
{
	start_in_python(true);
	for (uint64_t i = 0; i < WAIT_PILES_MAX + 2; i++)
		wait_in_python((10 + 2 * i) * MS, (11 + 2 * i) * MS, 0x100 + i, 0);
	cr_expect(eq(u64, handed_to(0x100), MS - 1));
	cr_expect(eq(u64, handed_to(0x101), MS - 1));
	cr_expect(eq(u64, handed_to(0x102), 0));
	finish(MS, 100 * MS);
	cr_expect(eq(u64, handed_to(0x102), MS - 1));
}

Test(off_cpu, a_thread_without_python_does_not_wait_for_looks)
{
	start_in_python(true);
	sample(10 * MS, 0xa, IN_FUTEX);
	out(10 * MS + 1);
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa); // finds no line
	look(40 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa); // nor again
	look(60 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	cr_expect(eq(u32, next_look.looks, 2));
	in(80 * MS);
	cr_expect(eq(u64, handed_to(0xa), 70 * MS - 1));
	wait_in_python(90 * MS, 91 * MS, 0xa, 0);
	cr_expect(eq(u64, handed_to(0xa), 71 * MS - 2));
	finish(MS, 100 * MS);
}

Test(off_cpu, a_look_that_misses_python_is_made_again)
{
	start_in_python(false);
	out(10 * MS);
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in_python.line = 7;
	look(40 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(80 * MS);
	finish(MS, 100 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 70 * MS));
}

Test(off_cpu, without_samples_the_look_tells_it_all)
{
	start_in_python(false);
	out(10 * MS);
	in_python.line = 7;
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(30 * MS);
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 20 * MS));
}

Test(off_cpu, estimated_switches_prove_nothing)
{
	start_in_python(false);
	off_cpu_free(o);
	struct off_cpu_options options = { .estimated = true, .codes = (struct codes *)&chain };
	o = off_cpu_new(&options, NULL, NULL, take, NULL, NULL);
	out(10 * MS);
	in_python.line = 7;
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa); // the fake kernel counts no turns
	in(30 * MS);
	finish(MS, 40 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 0));
	cr_expect(eq(u64, handed_to(0xa), 20 * MS));
}

Test(off_cpu, who_waits_already_when_python_is_found_is_looked_at_again)
{
	start(false);
	off_cpu_begin(o, &thread, MS);
	in(MS);
	out(10 * MS);
	look(20 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in_python.there = true;
	in_python.line = 7;
	look(40 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	cr_expect(eq(u32, next_look.looks, 1), "one is enough otherwise");
	off_cpu_again(o, &thread);
	look(60 * MS, PROBE_STACK, METRIC_OFF_LOCK, 0xa);
	in(100 * MS);
	finish(MS, 110 * MS);
	cr_expect(eq(u64, handed_to(PYTHON + 7), 90 * MS));
}

Test(off_cpu, a_wait_for_the_gil_is_marked)
{
	start_in_python(true);
	in_python.gil = 0x1234;
	next_look.futex = 0x1234;
	wait_in_python(10 * MS, 30 * MS, 0xa, 7);
	next_look.futex = 0x1235;
	wait_in_python(40 * MS, 50 * MS, 0xa, 7);
	finish(MS, 60 * MS);
	cr_expect(eq(u64, handed_to(MARK_GIL), 20 * MS - 1));
	cr_expect(eq(u64, handed_to(PYTHON + 7), 10 * MS - 1));
}

Test(off_cpu, who_holds_the_gil_at_a_look_has_held_it_since_the_last)
{
	start_in_python(false);
	thread.tid = process.pid; // one look for each process
	process.python.remote = (struct python_remote *)&chain;
	in_python.gil = 0x1234;
	for (uint64_t ms = 20; ms <= 500; ms += 40) {
		out(ms * MS);
		in_python.line = 7;
		look((ms + 20) * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
		in((ms + 30) * MS);
	}
	cr_expect(eq(u64, thread.gil_held_ns, 480 * MS), "from the first look to the last");
	finish(MS, 600 * MS);
}

// What the kernel would tell of a thread, and what goes missing of it.
static void random_step(uint64_t *state, uint64_t t)
{
	uint64_t r = random_below(state, UINT64_C(1) << 30);

	switch (r % 16) {
	case 0 ... 3:
		in(t);
		break;
	case 4 ... 6:
		out(t);
		break;
	case 7:
		preempt(t);
		break;
	case 8 ... 9:
		sample(t, 0x100 + r % 5, r % 3 ? IN_FUTEX : 0);
		break;
	case 10:
		thread.sampled_ns += r % (3 * MS);
		break;
	case 11:
		off_cpu_running(o, &thread, &(struct frame){ 0x200, 1, FRAME_EXACT }, 1, 0, t);
		break;
	default:
		look(t, (enum probe_result)(r / 16 % 4), (enum metric)(1 + r / 64 % 11), 0x300);
		break;
	}
}

Test(off_cpu, whatever_comes_the_sums_are_exact)
{
	for (uint64_t seed = 1; seed <= 400; seed++) {
		uint64_t state = seed, t = 1000 * MS;
		start(seed % 2);
		off_cpu_begin(o, &thread, t);
		in_python.there = seed % 3 == 0;
		for (unsigned i = 0; i < 300; i++) {
			in_python.line = (unsigned)(state >> 20) % 3;
			random_step(&state, t);
			t += (state >> 40) % (4 * MS);
		}
		finish(1000 * MS, t);
	}
}

Test(off_cpu, the_collector_sleeps_longer_when_no_thread_blocks)
{
	for (int samples = 0; samples < 2; samples++) {
		start(samples);
		off_cpu_begin(o, &thread, MS);
		in(MS);
		out(10 * MS);
		cr_expect(eq(int, off_cpu_timeout_ms(o, 11 * MS, 77), 0));
		look(11 * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
		int wait = off_cpu_timeout_ms(o, 11 * MS, 77);
		cr_expect(ge(int, wait, 5));
		cr_expect(le(int, wait, 7));
		cr_expect(eq(int, off_cpu_timeout_ms(o, 11 * MS, 3), 3));
		for (uint64_t t = 20; t < 400; t += 10)
			look(t * MS, PROBE_STACK, METRIC_OFF_SLEEP, 0xa);
		cr_expect(eq(int, off_cpu_timeout_ms(o, 500 * MS, 77), samples ? 77 : 20));
		cr_expect(eq(int, off_cpu_timeout_ms(o, 500 * MS, 7), 7));
		finish(MS, 600 * MS);
	}
}
