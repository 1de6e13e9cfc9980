// SPDX-License-Identifier: MIT
#include "tests/unit/off_cpu_fixture.h"

#include "sampler/off_cpu/off_cpu_python.h"
#include "tests/support/expect.h"

#include <string.h>

#define KALLSYMS_FIXTURE TESTS_DIR "/data/kallsyms.txt"
#define STACKS_MAX       64

struct next_look next_look;

// What looks really cost depends on the machine and on sanitizers, and decides when the next one
// is.
static uint64_t spent_ns;

static uint64_t cost_ns(void)
{
	return spent_ns;
}

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
	spent_ns += next_look.cost_ns;
	return next_look.result;
}

bool probe_schedule(const struct probe *p, int pid, int tid, char text[PROBE_SCHEDULE])
{
	(void)p, (void)pid, (void)tid, (void)text;
	return false;
}

void unwinder_follow(struct unwinder *u, const struct patches *p, uint32_t threads,
                     const struct op_stack *ops)
{
	(void)u, (void)p, (void)threads, (void)ops;
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

struct in_python in_python;

static struct python_chain chain = { 1, 0 };

struct off_cpu_python *off_cpu_python_new(struct codes *for_codes)
{
	return (struct off_cpu_python *)for_codes;
}

void off_cpu_python_free(struct off_cpu_python *p)
{
	(void)p;
}

uint32_t off_cpu_python_tid(struct thread *of)
{
	return of->tid;
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

struct process process = { .pid = 100 };
struct thread thread;

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

struct stack handed[STACKS_MAX];
static struct frame handed_leaf[STACKS_MAX];
size_t handed_count;
uint64_t handed_ns[METRIC_COUNT];

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

struct off_cpu *o;

void open_with(struct off_cpu_options options)
{
	options.codes = (struct codes *)&chain;
	options.cost_ns = cost_ns;
	off_cpu_free(o);
	o = off_cpu_new(&options, NULL, NULL, take, NULL, NULL);
	cr_assert(o != NULL);
}

void start(bool switch_samples)
{
	memset(&in_python, 0, sizeof(in_python));
	memset(&thread, 0, sizeof(thread));
	thread.tid = 101;
	thread.number = 7;
	thread.process = &process;
	handed_count = 0;
	memset(handed_ns, 0, sizeof(handed_ns));
	memset(&next_look, 0, sizeof(next_look));
	open_with((struct off_cpu_options){ .switch_samples = switch_samples,
	                                    .kallsyms = KALLSYMS_FIXTURE });
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
void finish(uint64_t start_ns, uint64_t end_ns)
{
	off_cpu_end(o, &thread, end_ns);
	expect_sums(end_ns - start_ns);
	free(thread.off_cpu.frames);
	free(thread.off_cpu.python.frames);
	wait_piles_fini(&thread.off_cpu.python.piles);
	wait_piles_fini(&thread.off_cpu.ready);
	off_cpu_free(o);
	o = NULL;
}

void out(uint64_t time_ns)
{
	off_cpu_switch(o, &thread, time_ns, false, false);
}

void preempt(uint64_t time_ns)
{
	off_cpu_switch(o, &thread, time_ns, false, true);
}

void in(uint64_t time_ns)
{
	off_cpu_switch(o, &thread, time_ns, true, false);
}

void sample(uint64_t time_ns, uint64_t pc, uint64_t kernel)
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

void look(uint64_t time_ns, enum probe_result result, enum metric cause, uint64_t pc)
{
	next_look.result = result;
	next_look.cause = cause;
	next_look.from_ns = time_ns;
	next_look.until_ns = time_ns + 10;
	next_look.pc = pc;
	off_cpu_probe(o, NULL, time_ns);
}

uint64_t handed_to(uint64_t pc)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < handed_count && i < STACKS_MAX; i++)
		sum += handed_leaf[i].address == pc ? handed[i].weight_ns : 0;
	return sum;
}

void begin_op(uint32_t op, uint64_t time_ns)
{
	cr_assert(op_stack_push(&thread.ops, &(struct open_op){ .op = op, .begin_ns = time_ns }));
}

void end_op(uint64_t begin_ns)
{
	struct open_op *op = thread.ops.ops;

	while (op < thread.ops.ops + thread.ops.count && op->begin_ns != begin_ns)
		op++;
	cr_assert(op < thread.ops.ops + thread.ops.count);
	op_stack_remove(&thread.ops, op);
}

// A sample on the CPU at PC, as the tracker tells of it and keeps it.
void tick(uint64_t time_ns, uint64_t pc)
{
	static struct frame kept;
	struct frame frame = { pc, 1, FRAME_EXACT };

	off_cpu_running(o, &thread, &frame, 1, 0, time_ns);
	kept = frame;
	thread.cpu.last.frames = &kept;
	thread.cpu.last.count = 1;
	thread.cpu.sample_ns = time_ns;
}

uint64_t random_below(uint64_t *state, uint64_t limit)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % limit;
}
