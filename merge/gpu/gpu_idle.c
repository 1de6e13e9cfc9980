// SPDX-License-Identifier: MIT
#include "merge/gpu/gpu_idle.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void gpu_idle_fini(struct gpu_idle *idle)
{
	free(idle->gaps);
	free(idle->launching.stacks);
	free(idle->others.stacks);
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
static void forget_half(struct gpu_idle_stacks *s)
{
	size_t kept = s->count / 2;

	memmove(s->stacks, s->stacks + s->count - kept, kept * sizeof(*s->stacks));
	s->count = kept;
}

void gpu_idle_add(struct gpu_idle *idle, const struct gpu_idle_stack *stack)
{
	if (!idle->launch_count)
		return;
	bool launches = stack->thread <= idle->launch_count && idle->launches[stack->thread - 1];
	struct gpu_idle_stacks *s = launches ? &idle->launching : &idle->others;
	if (s->count == GPU_IDLE_STACKS)
		forget_half(s);
	if (array_reserve(&s->stacks, &s->capacity, s->count + 1))
		s->stacks[s->count++] = *stack;
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
	struct gpu_idle_part part = { stack, gap->device, begin, 0, stack->weight_ns };

	if (stack->duration_ns)
		part.duration_ns = part.ns = end > begin ? end - begin : 0;
	if (stack->duration_ns ? part.ns != 0 : stack->begin_ns >= gap->begin_ns)
		told(context, &part);
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

static void settle(const struct gpu_idle *idle, struct gpu_idle_stacks *s, uint64_t until_ns,
                   gpu_idle_told *told, void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (end_of(&s->stacks[i]) >= until_ns)
			s->stacks[kept++] = s->stacks[i];
		else
			tell(idle, &s->stacks[i], told, context);
	}
	s->count = kept;
}

void gpu_idle_settle(struct gpu_idle *idle, uint64_t until_ns, gpu_idle_told *told, void *context)
{
	settle(idle, &idle->launching, until_ns, told, context);
	settle(idle, &idle->others, until_ns, told, context);
}

static void move_nodes(struct gpu_idle_stacks *s, const uint32_t *map)
{
	for (size_t i = 0; i < s->count; i++)
		s->stacks[i].node = map[s->stacks[i].node - 1];
}

void gpu_idle_move_nodes(struct gpu_idle *idle, const uint32_t *map)
{
	move_nodes(&idle->launching, map);
	move_nodes(&idle->others, map);
}
