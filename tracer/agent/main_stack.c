// SPDX-License-Identifier: MIT
#include "tracer/agent/main_stack.h"

#include "tracer/agent/maps.h"

#include <string.h>
#include <sys/resource.h>

#define STACK_LIMIT ((rlim_t)1 << 30)

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

void main_stack_find(uintptr_t *stack_low, uintptr_t *stack_high)
{
	struct stack_search search = { 0, 0, 0 };
	struct rlimit limit;

	if (!maps_each(find_stack, &search) || search.high == 0)
		return;
	*stack_low = search.low;
	*stack_high = search.high;
	if (getrlimit(RLIMIT_STACK, &limit) < 0 || limit.rlim_cur > STACK_LIMIT)
		return;
	uintptr_t low = search.high - limit.rlim_cur;
	if (low > search.below && low < *stack_low)
		*stack_low = low;
}
