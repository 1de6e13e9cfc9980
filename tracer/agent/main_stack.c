// SPDX-License-Identifier: MIT
#include "tracer/agent/main_stack.h"

#include "tracer/agent/maps.h"

#include <string.h>
#include <sys/resource.h>

#define STACK_LIMIT ((rlim_t)1 << 30)
#define STACK_TOP   64 // bytes that the frame of _start is seen to stand below

// Of ld.so's: where the first frame begins. Above it are the arguments and the environment.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern void *__libc_stack_end __attribute__((weak));

struct stack_search {
	uintptr_t below; // end of the mapping before
	uintptr_t low, high;
};

static void find_stack(void *context, const struct map *map)
{
	struct stack_search *search = context;

	if (strcmp(map->path, "[stack]") == 0) {
		search->low = map->start;
		search->high = map->end;
	}
	if (search->high == 0)
		search->below = map->end;
}

// Nobody returns into the environment, which may be far larger than all frames.
static uintptr_t end_of_frames(uintptr_t low, uintptr_t high)
{
	uintptr_t end = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0;

	return end > low && end < high - STACK_TOP ? end + STACK_TOP : high;
}

void main_stack_find(uintptr_t *stack_low, uintptr_t *stack_high)
{
	struct stack_search search = { 0, 0, 0 };
	struct rlimit limit;

	if (!maps_each(find_stack, &search) || search.high == 0)
		return;
	*stack_low = search.low;
	*stack_high = end_of_frames(search.low, search.high);
	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur > STACK_LIMIT)
		return;
	uintptr_t low = search.high - limit.rlim_cur;
	if (low > search.below && low < *stack_low)
		*stack_low = low;
}
