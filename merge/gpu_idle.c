// SPDX-License-Identifier: MIT
#include "merge/gpu_idle.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void gpu_idle_fini(struct gpu_idle *idle)
{
	free(idle->gaps);
	free(idle->stacks);
	free(idle->launches);
	*idle = (struct gpu_idle){ 0 };
}

bool gpu_idle_launches(struct gpu_idle *idle, uint32_t thread)
{
	if (!array_reserve(&idle->launches, &idle->launch_capacity, thread))
		return false;
	for (; idle->launch_count < thread; idle->launch_count++)
		idle->launches[idle->launch_count] = false;
	idle->launches[thread - 1] = true;
	return true;
}

// The older half makes room.
static void forget_stacks(struct gpu_idle *idle)
{
	size_t kept = idle->stack_count / 2;

	memmove(idle->stacks, idle->stacks + idle->stack_count - kept,
	        kept * sizeof(*idle->stacks));
	idle->stack_count = kept;
}

void gpu_idle_add(struct gpu_idle *idle, const struct gpu_idle_stack *stack)
{
	if (stack->thread > idle->launch_count || !idle->launches[stack->thread - 1])
		return;
	if (idle->stack_count == GPU_IDLE_STACKS)
		forget_stacks(idle);
	if (array_reserve(&idle->stacks, &idle->stack_capacity, idle->stack_count + 1))
		idle->stacks[idle->stack_count++] = *stack;
}

void gpu_idle_gap(struct gpu_idle *idle, const struct gpu_gap_time *gap)
{
	if (idle->gap_count == GPU_IDLE_GAPS) {
		idle->gap_count /= 2;
		memmove(idle->gaps, idle->gaps + GPU_IDLE_GAPS - idle->gap_count,
		        idle->gap_count * sizeof(*idle->gaps));
	}
	if (!array_reserve(&idle->gaps, &idle->gap_capacity, idle->gap_count + 1))
		return;
	// GPUs settle one after the other, so that gaps of several are nearly in order.
	size_t at = idle->gap_count++;
	for (; at && idle->gaps[at - 1].end_ns > gap->end_ns; at--)
		idle->gaps[at] = idle->gaps[at - 1];
	idle->gaps[at] = *gap;
}

static uint64_t end_of(const struct gpu_idle_stack *stack)
{
	return stack->begin_ns + stack->duration_ns;
}

// A moment stands for its weight; of an interval what lies in the gap counts.
static void tell_in_gap(const struct gpu_idle_stack *stack, const struct gpu_gap_time *gap,
                        gpu_idle_told *told, void *context)
{
	uint64_t begin = stack->begin_ns > gap->begin_ns ? stack->begin_ns : gap->begin_ns;
	uint64_t end = end_of(stack) < gap->end_ns ? end_of(stack) : gap->end_ns;

	if (stack->duration_ns && end > begin)
		told(context, stack, begin, end - begin, end - begin);
	else if (!stack->duration_ns && stack->begin_ns >= gap->begin_ns)
		told(context, stack, stack->begin_ns, 0, stack->weight_ns);
}

static void tell(const struct gpu_idle *idle, const struct gpu_idle_stack *stack,
                 gpu_idle_told *told, void *context)
{
	size_t first = array_search(idle->gap_count, i, idle->gaps[i].end_ns <= stack->begin_ns);

	// A gap of another GPU that ends later may begin earlier: those are few.
	for (size_t i = first; i < idle->gap_count; i++) {
		const struct gpu_gap_time *gap = &idle->gaps[i];
		if (gap->begin_ns > end_of(stack) && i > first + 64)
			break;
		if (gap->thread == stack->thread && gap->begin_ns <= end_of(stack))
			tell_in_gap(stack, gap, told, context);
	}
}

void gpu_idle_settle(struct gpu_idle *idle, uint64_t until_ns, gpu_idle_told *told, void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < idle->stack_count; i++) {
		if (end_of(&idle->stacks[i]) >= until_ns)
			idle->stacks[kept++] = idle->stacks[i];
		else
			tell(idle, &idle->stacks[i], told, context);
	}
	idle->stack_count = kept;
}

void gpu_idle_move_nodes(struct gpu_idle *idle, const uint32_t *map)
{
	for (size_t i = 0; i < idle->stack_count; i++)
		idle->stacks[i].node = map[idle->stacks[i].node - 1];
}
