// SPDX-License-Identifier: MIT
#include "tracer/agent/sample/tick.h"

#include "base/clock.h"
#include "base/record.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/sample/context.h"
#include "tracer/agent/sample/sample.h"
#include "tracer/agent/sample/trap.h"

#define REST_WORTH 4 // a sample that takes more than 1 of so many parts of a period is a long one
#define WALK_STACK 4096

static const struct tick_interpreter *interpreter; // atomic

void tick_use_interpreter(const struct tick_interpreter *i)
{
	__atomic_store_n(&interpreter, i, __ATOMIC_RELEASE);
}

// Of a thread that a scan has found, the ticks before the first one are not known.
static uint64_t kernel_ns(struct lane *lane)
{
	struct modes before = lane->modes;

	lane->modes = modes_now();
	if (lane->late || !modes_in_kernel(before, lane->modes))
		return 0;
	return modes_kernel_ns(before, lane->modes);
}

// A walk, and what it calls, must fit on the stack that the handler runs on.
static bool has_room(const void *context)
{
	uintptr_t base, here = (uintptr_t)__builtin_frame_address(0);
	size_t size;

	context_alternate_stack(context, &base, &size);
	return here - base >= size || here - base > WALK_STACK;
}

// NULL: the thread runs no Python; but where a process samples itself, that is said.
static const struct python_chain *find_python(struct agent *a, struct lane *lane,
                                              const struct tick_interpreter *i, const void *context)
{
	static const struct python_chain none;
	const struct python_chain *chain =
		i && has_room(context) ? i->walk(a, lane, context) : NULL;

	if (!chain)
		return a->self ? &none : NULL;
	return chain->count || a->self ? chain : NULL;
}

static void write_sample(struct agent *a, struct lane *lane, const void *context, uint64_t cpu_ns,
                         uint64_t weight_ns, uint16_t flags)
{
	const struct tick_interpreter *i = __atomic_load_n(&interpreter, __ATOMIC_ACQUIRE);
	const struct python_chain *python = find_python(a, lane, i, context);

	if (i)
		i->tick(lane, context, cpu_ns);
	if (!sample_write(&a->rings, lane, context, a->config.stack_bytes, cpu_ns, weight_ns, flags,
	                  python))
		return;
	lane->cpu_ns = cpu_ns;
	lane->late = false;
}

void tick_by_timer(struct agent *a, struct lane *lane, const void *context, uint32_t overrun)
{
	bool kernel_only = a->config.kernel_only && a->self != SELF_TIMERS;
	uint64_t kernel = kernel_ns(lane);

	if (kernel_only && !kernel) {
		sample_write_look(&a->rings, lane, context);
		lane->late = false;
		return;
	}
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	// The clock says exactly what 1 + OVERRUN periods say roughly, and holds dropped samples.
	uint64_t weight = lane->late ? (1 + (uint64_t)overrun) * a->period_ns : cpu - lane->cpu_ns;

	write_sample(a, lane, context, cpu, kernel_only ? kernel : weight,
	             kernel ? SAMPLE_KERNEL : 0);
}

// A handler that takes a whole period, as a deep stack may at a high rate, has the next tick due
// when it returns, and the program would not get on by a single instruction. So it gets as much
// time for itself as a long sample has taken; what comes meanwhile is the next one's.
static bool is_resting(struct agent *a, struct lane *lane, uint64_t cpu_ns)
{
	// Of a clock that began anew, in a child or another thread, the difference is huge.
	if (cpu_ns - lane->rest_from_ns >= lane->rest_for_ns)
		return false;
	lane->rested_ns += a->period_ns;
	return true;
}

static void let_rest(const struct agent *a, struct lane *lane, uint64_t cpu_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID), took_ns = now_ns - cpu_ns;

	lane->rested_ns = 0;
	lane->rest_from_ns = now_ns;
	lane->rest_for_ns = took_ns * REST_WORTH > a->period_ns ? took_ns : 0;
}

// Where ticks in the kernel are not seen, each that is stands for its period.
void tick_by_trap(struct agent *a, struct lane *lane, const void *context, bool waited)
{
	bool roughly = lane->late || waited || !trap_sees_kernel();
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	if (is_resting(a, lane, cpu))
		return;
	write_sample(a, lane, context, cpu,
	             roughly ? a->period_ns + lane->rested_ns : cpu - lane->cpu_ns, 0);
	let_rest(a, lane, cpu);
}
