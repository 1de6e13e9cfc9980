// SPDX-License-Identifier: MIT
#include "sampler/tracker/cpu_account.h"

#include "base/array.h"
#include "base/clock.h"

#include <math.h>
#include <string.h>

// Contexts that are swapped between threads make the gaps between a thread's samples vary as
// those of a random process do. One in e^16 is longer than this: then samples were not taken.
#define LONGEST_GAP_SAMPLES 16

// What a thread may run without a sample because it is too short for one, not because samples
// were not taken.
#define SHORT_SAMPLES 4

// Kernel time without a tick of the agent's, of which some 25 were due by then: it is not there.
#define TOLD_NS (100 * NS_PER_MS)

// What it leaves untold at most where it is, with what is kept back.
#define UNTOLD_NS (24 * NS_PER_MS)

// More periods than these without a sample are no timer that is late.
#define LATE_SAMPLES 4

// Of CPU time, what switching takes at most: one in so many.
#define SWITCHING_SHARE 50

// Of a period: a sample that comes so much earlier or later than others is off their grid.
#define GRID_SHARE 8

// What is kept back of kernel time, at most and as a share, for a tick that comes early.
#define RESERVE_NS    (8 * NS_PER_MS)
#define RESERVE_SHARE 8

uint64_t cpu_account_clock(const struct thread *thread, uint64_t now_ns)
{
	const struct off_cpu_state *state = &thread->off_cpu;
	uint64_t clock = thread->ns[METRIC_ON_CPU];

	if (state->begun && !state->out && now_ns > state->since_ns)
		clock += now_ns - state->since_ns;
	return clock;
}

static uint64_t not_handed_on(const struct thread *thread, uint64_t clock_ns)
{
	return clock_ns > thread->sampled_ns ? clock_ns - thread->sampled_ns : 0;
}

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

static struct cpu_split hand_on(struct thread *thread, struct cpu_split split)
{
	thread->sampled_ns += split.user_ns + split.kernel_ns + split.callless_ns + split.short_ns +
	                      split.unknown_ns;
	return split;
}

// A period, and what samples before it did not find on the clock, of at most LEFT_NS.
static uint64_t take_user(struct cpu_account *cpu, uint64_t left_ns, uint64_t period_ns)
{
	uint64_t due = cpu->owed_ns + period_ns;
	uint64_t user = at_most(left_ns, due);

	cpu->user_samples++;
	cpu->owed_ns = at_most(due - user, LONGEST_GAP_SAMPLES * period_ns);
	return user;
}

// What samples in user code may leave on the clock though the program was not in the kernel: each
// time that timers are swapped between threads adds up to a period, or takes it away, and while
// threads are switched timers stand still.
static uint64_t noise(const struct cpu_account *cpu, uint64_t period_ns)
{
	double samples = (double)cpu->user_samples;

	return (uint64_t)((1 + sqrt(samples) / 2 + samples / SWITCHING_SHARE) * (double)period_ns);
}

static uint64_t beyond(uint64_t value, uint64_t limit)
{
	return value > limit ? value - limit : 0;
}

// A timer that was due while the thread was in the kernel passes a whole period later. One that was
// due while the machine itself did not run, because a hypervisor had given its CPU to others, comes
// as soon as it does, and the next one when it would have: between two of the grid's times.
//
//	clock    ├──┬──┬──┬──┬──┬──┬──┬──┬──┬──┤
//	samples     u  u        u  u        kernel: three periods
//	samples     u  u      u u  u        stolen: two and a part
static bool is_off_grid(const struct cpu_account *cpu, uint64_t clock_ns, uint64_t period_ns)
{
	uint64_t late = beyond(clock_ns, cpu->grid_ns) % period_ns;

	return late > period_ns / GRID_SHARE && late < period_ns - period_ns / GRID_SHARE;
}

// What others have had of the CPU since the last sample, of OVER_NS: as much of it as this thread
// is not in the kernel otherwise.
static uint64_t stolen(const struct cpu_account *cpu, uint64_t clock_ns, uint64_t over_ns,
                       uint64_t period_ns)
{
	double user = (double)cpu->user_samples * (double)period_ns;
	uint64_t since = beyond(clock_ns, cpu->clock_ns);

	if (!cpu->clock_ns || since <= period_ns || !is_off_grid(cpu, clock_ns, period_ns))
		return 0;
	uint64_t lost = at_most(over_ns, since - period_ns);
	return (uint64_t)((double)lost * user / (user + (double)cpu->callless_ns));
}

// A sample that comes too early was in time, and the one before it late.
static void keep_grid(struct cpu_account *cpu, uint64_t clock_ns, uint64_t period_ns)
{
	bool early = beyond(clock_ns, cpu->clock_ns) < period_ns - period_ns / GRID_SHARE;

	if (!cpu->clock_ns || early || !is_off_grid(cpu, clock_ns, period_ns))
		cpu->grid_ns = clock_ns;
	cpu->clock_ns = clock_ns;
}

// Time since the last sample that was in the kernel, whatever the agent reports of it. Where
// threads take turns, a tick in the kernel ends many a turn, and the next one begins after it:
// ticks are too few then. Timers that are late, or another thread's, never let as many periods
// pass.
static uint64_t surely_kernel(const struct cpu_account *cpu, uint64_t clock_ns, uint64_t period_ns)
{
	bool switched = cpu->seen_ns && !cpu->clock_ns;
	uint64_t since = switched ? beyond(clock_ns, cpu->seen_ns) : 0;

	return since > LATE_SAMPLES * period_ns ? since - period_ns : 0;
}

// Where the agent is, other time of which it has told nothing for long was none in the kernel.
static void split_untold(struct cpu_account *cpu, uint64_t over_ns, struct cpu_split *split)
{
	split->callless_ns = at_most(beyond(over_ns, UNTOLD_NS + TOLD_NS), cpu->untold_ns);
	cpu->untold_ns -= split->callless_ns;
	split->user_ns +=
		beyond(over_ns - split->callless_ns, UNTOLD_NS + at_most(cpu->untold_ns, TOLD_NS));
}

static struct cpu_split split_user_sample(struct thread *thread, uint64_t left_ns,
                                          uint64_t period_ns)
{
	struct cpu_account *cpu = &thread->cpu;
	uint64_t clock = thread->sampled_ns + left_ns;
	struct cpu_split split = { .user_ns = take_user(cpu, left_ns, period_ns) };

	split.user_ns += stolen(cpu, clock, left_ns - split.user_ns, period_ns);
	cpu->untold_ns += surely_kernel(cpu, clock, period_ns);
	cpu->seen_ns = clock;
	keep_grid(cpu, clock, period_ns);
	uint64_t over = left_ns - split.user_ns;
	if (cpu_account_waits(thread))
		split_untold(cpu, over, &split);
	else if (over > TOLD_NS && over > noise(cpu, period_ns))
		split.callless_ns = over;
	cpu->callless_ns += split.callless_ns;
	return split;
}

static uint64_t reserve(const struct cpu_account *cpu)
{
	return at_most(cpu->told_ns / RESERVE_SHARE, RESERVE_NS);
}

// It stands for the ticks that it tells of, wherever it comes between them; the clock has the last
// word, but only by and by: what has passed since the last one may be another's.
static struct cpu_split split_kernel_sample(struct thread *thread, uint64_t left_ns,
                                            uint64_t ticks_ns)
{
	struct cpu_account *cpu = &thread->cpu;
	int64_t left = (int64_t)(left_ns - at_most(left_ns, cpu->owed_ns));
	int64_t over = left - (int64_t)ticks_ns - (int64_t)reserve(cpu);
	int64_t kernel = (int64_t)ticks_ns + over / RESERVE_SHARE;

	kernel = kernel < 0 ? 0 : kernel > left ? left : kernel;
	thread->process->kernel_told = true;
	cpu->told_ns += (uint64_t)kernel;
	cpu->untold_ns = beyond(cpu->untold_ns, (uint64_t)kernel);
	return (struct cpu_split){ .kernel_ns = (uint64_t)kernel };
}

static struct cpu_split split_known(uint64_t left_ns, uint64_t longest_ns)
{
	uint64_t known = at_most(left_ns, longest_ns);

	return (struct cpu_split){ .user_ns = known, .unknown_ns = left_ns - known };
}

// What a sample in the kernel stands for, kernel time.
static struct cpu_split in_kernel(struct cpu_split split)
{
	split.kernel_ns += split.user_ns;
	split.user_ns = 0;
	return split;
}

// Whether samples may be missing that belong before this one.
static bool after_loss(const struct thread *thread, const struct event *event,
                       const struct cpu_account_rules *rules)
{
	return rules->loss_ns && thread->cpu.sample_ns <= rules->loss_ns &&
	       rules->loss_ns <= event->time_ns;
}

struct cpu_split cpu_account_sample(struct thread *thread, const struct event *event,
                                    const struct cpu_account_rules *rules)
{
	uint64_t period = event->sample.weight_ns;
	uint64_t left = not_handed_on(thread, cpu_account_clock(thread, event->time_ns));
	struct cpu_split split;

	if (!rules->switches)
		split = split_known(period, period);
	else if (rules->kernel_samples || after_loss(thread, event, rules))
		split = split_known(left, LONGEST_GAP_SAMPLES * period);
	else if (event->sample.in_kernel)
		split = split_kernel_sample(thread, left, period);
	else
		split = split_user_sample(thread, left, period);
	thread->cpu.sample_ns = event->time_ns;
	return hand_on(thread, event->sample.in_kernel ? in_kernel(split) : split);
}

static void keep(struct kept_stack *kept, const struct frame *frames, size_t count, uint32_t flags)
{
	kept->count = 0;
	if (!array_reserve(&kept->frames, &kept->capacity, count))
		return;
	if (count)
		memcpy(kept->frames, frames, count * sizeof(*frames));
	kept->count = (uint32_t)count;
	kept->flags = flags;
}

void cpu_account_keep(struct thread *thread, const struct frame *frames, size_t count,
                      uint32_t flags, bool in_kernel)
{
	keep(&thread->cpu.last, frames, count, flags);
	if (in_kernel)
		keep(&thread->cpu.kernel, frames, count, flags);
}

void cpu_account_exec(struct thread *thread)
{
	struct cpu_account *cpu = &thread->cpu;

	cpu->last.count = cpu->kernel.count = 0;
	cpu->sample_ns = cpu->owed_ns = cpu->told_ns = cpu->user_samples = 0;
	cpu->callless_ns = cpu->untold_ns = cpu->clock_ns = cpu->seen_ns = 0;
	cpu->begun_ns = thread->sampled_ns;
	thread->process->kernel_told =
		false; // the program may be one that the agent cannot get into
}

bool cpu_account_waits(const struct thread *thread)
{
	return thread->process->kernel_told;
}

// Not if its samples may have been lost.
static bool is_short(const struct thread *thread, uint64_t rest_ns,
                     const struct cpu_account_rules *rules)
{
	bool lost = rules->loss_ns && rules->loss_ns >= thread->start_ns;

	return !lost && rest_ns <= SHORT_SAMPLES * rules->period_ns;
}

// The kernel starts a new period with each thread: its first moments, such as all it does before
// it first waits, would else count for what it did when that was over, in every thread.
struct cpu_split cpu_account_switched(struct thread *thread, bool preempted,
                                      const struct cpu_account_rules *rules)
{
	struct cpu_account *cpu = &thread->cpu;
	uint64_t clock = cpu_account_clock(thread, 0);
	struct cpu_split split = { 0 };

	cpu->clock_ns = 0; // timers that stand still, or are another's, come at other times
	if (!rules->switches || rules->estimated || preempted || cpu->sample_ns ||
	    clock > cpu->begun_ns + rules->period_ns)
		return split;
	split.short_ns = not_handed_on(thread, clock);
	return hand_on(thread, split);
}

// A thread of which samples in user code saw nothing, though several were due, was in the kernel.
static struct cpu_split split_unsampled(const struct thread *thread, uint64_t rest_ns,
                                        const struct cpu_account_rules *rules)
{
	if (!rules->kernel_samples && rest_ns > LONGEST_GAP_SAMPLES / 2 * rules->period_ns)
		return (struct cpu_split){ .callless_ns = rest_ns };
	if (is_short(thread, rest_ns, rules))
		return (struct cpu_split){ .short_ns = rest_ns };
	return (struct cpu_split){ .unknown_ns = rest_ns };
}

// What has been kept back and what the next tick would have told of is the kernel's; and so is a
// long time without samples, such as the end of a process, which no tick can tell of.
static struct cpu_split split_user_rest(struct thread *thread, uint64_t rest_ns, uint64_t period_ns)
{
	const struct cpu_account *cpu = &thread->cpu;
	struct cpu_split split = { 0 };

	if (cpu->kernel.count) {
		split.kernel_ns = at_most(beyond(rest_ns, period_ns / 2),
		                          reserve(cpu) + at_most(cpu->told_ns, RESERVE_NS));
		split.callless_ns = beyond(rest_ns - split.kernel_ns, UNTOLD_NS);
	} else if (rest_ns > noise(cpu, period_ns)) {
		split.callless_ns = rest_ns;
	}
	split.user_ns = rest_ns - split.kernel_ns - split.callless_ns;
	return split;
}

struct cpu_split cpu_account_rest(struct thread *thread, uint64_t clock_ns,
                                  const struct cpu_account_rules *rules)
{
	struct cpu_split split = { 0 };

	if (!rules->switches)
		return split;
	uint64_t rest = not_handed_on(thread, clock_ns);
	if (!thread->cpu.sample_ns)
		split = split_unsampled(thread, rest, rules);
	else if (rules->kernel_samples)
		split = split_known(rest, LONGEST_GAP_SAMPLES * rules->period_ns);
	else
		split = split_user_rest(thread, rest, rules->period_ns);
	return hand_on(thread, split);
}
