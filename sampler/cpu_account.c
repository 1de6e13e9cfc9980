// SPDX-License-Identifier: MIT
#include "sampler/cpu_account.h"

#include "base/array.h"

#include <string.h>

// The window over which the share of kernel time is taken.
#define WINDOW_SAMPLES 256

// Contexts that are swapped between threads make the gaps between a thread's samples vary as
// those of a random process do. One in e^16 is longer than this: then samples were not taken.
#define LONGEST_GAP_SAMPLES 16

// What a thread may run without a sample because it is too short for one, not because samples
// were not taken.
#define SHORT_SAMPLES 4

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
	thread->sampled_ns += split.user_ns + split.kernel_ns + split.short_ns + split.unknown_ns;
	return split;
}

static void count_in_window(struct cpu_account *cpu, uint64_t gap_ns, uint64_t period_ns)
{
	if (cpu->window_ns > WINDOW_SAMPLES * period_ns) {
		cpu->window_ns /= 2;
		cpu->window_user_ns /= 2;
	}
	cpu->window_ns += gap_ns;
	cpu->window_user_ns += period_ns;
}

static uint64_t kernel_share(const struct cpu_account *cpu, uint64_t gap_ns)
{
	if (cpu->window_user_ns >= cpu->window_ns)
		return 0;
	double share = 1.0 - (double)cpu->window_user_ns / (double)cpu->window_ns;
	return (uint64_t)((double)gap_ns * share);
}

// A sample in user code after a gap that may hold ticks which fell into the kernel.
static struct cpu_split split_user_sample(struct cpu_account *cpu, uint64_t gap_ns,
                                          uint64_t period_ns)
{
	bool continuous = cpu->sample_ns && !cpu->switched;

	count_in_window(cpu, gap_ns, period_ns);
	uint64_t kernel = kernel_share(cpu, gap_ns);
	// Each missing tick is a period; the rest of the gap is the jitter of the timer.
	if (continuous)
		kernel = gap_ns > period_ns + period_ns / 2 ? gap_ns - period_ns : 0;
	return (struct cpu_split){ .user_ns = gap_ns - kernel, .kernel_ns = kernel };
}

struct cpu_split cpu_account_sample(struct thread *thread, const struct event *event,
                                    const struct cpu_account_rules *rules)
{
	struct cpu_account *cpu = &thread->cpu;
	uint64_t period = event->sample.weight_ns;
	uint64_t gap = not_handed_on(thread, cpu_account_clock(thread, event->time_ns));
	uint64_t longest = LONGEST_GAP_SAMPLES * period;
	bool lost = cpu->sample_ns <= rules->loss_ns && rules->loss_ns <= event->time_ns &&
	            rules->loss_ns;
	struct cpu_split split = { .user_ns = at_most(gap, longest) };

	if (!rules->switches)
		split.user_ns = period;
	else if (!rules->kernel_samples && !lost)
		split = split_user_sample(cpu, gap, period);
	else if (gap > longest)
		split.unknown_ns = gap - longest;
	cpu->sample_ns = event->time_ns;
	cpu->switched = false;
	return hand_on(thread, split);
}

void cpu_account_keep(struct thread *thread, const struct frame *frames, size_t count,
                      uint32_t flags)
{
	struct cpu_account *cpu = &thread->cpu;

	cpu->frame_count = 0;
	if (!array_reserve(&cpu->frames, &cpu->frame_capacity, count))
		return;
	if (count)
		memcpy(cpu->frames, frames, count * sizeof(*frames));
	cpu->frame_count = (uint32_t)count;
	cpu->frame_flags = flags;
}

void cpu_account_exec(struct thread *thread)
{
	thread->cpu.frame_count = 0;
	thread->cpu.sample_ns = 0;
	thread->cpu.begun_ns = thread->sampled_ns;
}

// A thread of which samples in user code saw nothing, though several were due, was in the kernel.
static uint64_t kernel_rest(const struct cpu_account *cpu, uint64_t rest_ns, uint64_t period_ns)
{
	if (rest_ns > LONGEST_GAP_SAMPLES / 2 * period_ns)
		return rest_ns;
	return cpu->sample_ns ? kernel_share(cpu, rest_ns) : 0;
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

	cpu->switched = true;
	if (!rules->switches || rules->estimated || preempted || cpu->sample_ns ||
	    clock > cpu->begun_ns + rules->period_ns)
		return split;
	split.short_ns = not_handed_on(thread, clock);
	return hand_on(thread, split);
}

struct cpu_split cpu_account_rest(struct thread *thread, uint64_t clock_ns,
                                  const struct cpu_account_rules *rules)
{
	const struct cpu_account *cpu = &thread->cpu;
	struct cpu_split split = { 0 };

	if (!rules->switches)
		return split;
	uint64_t rest = not_handed_on(thread, clock_ns);
	if (!rules->kernel_samples)
		split.kernel_ns = kernel_rest(cpu, rest, rules->period_ns);
	if (!cpu->sample_ns && is_short(thread, rest, rules))
		split.short_ns = rest - split.kernel_ns;
	else if (!cpu->sample_ns)
		split.unknown_ns = rest - split.kernel_ns;
	else if (rules->kernel_samples && rest > LONGEST_GAP_SAMPLES * rules->period_ns)
		split.unknown_ns = rest - LONGEST_GAP_SAMPLES * rules->period_ns;
	split.user_ns = rest - split.kernel_ns - split.short_ns - split.unknown_ns;
	return hand_on(thread, split);
}
