// SPDX-License-Identifier: MIT
#include "sampler/off_cpu/ready.h"

#include "sampler/op/op_stack.h"
#include "sampler/task/wait_piles.h"

static struct stack take(const struct thread *thread, struct wait_pile *pile, uint64_t now_ns)
{
	return pile ? wait_pile_take(pile, thread->number, now_ns) : (struct stack){ 0 };
}

static bool begin(struct thread *thread, struct wait_pile *pile, uint64_t key, struct stack *stack)
{
	struct frame frames[STACK_MAX_FRAMES] = { { MARK_UNKNOWN, 0, FRAME_MARK } };

	stack->count = 1 + (uint32_t)op_stack_list(&thread->ops, frames + 1, STACK_MAX_FRAMES - 1);
	stack->frames = frames;
	return wait_pile_begin(pile, key, stack);
}

struct stack ready_make_room(struct thread *thread, uint64_t now_ns)
{
	struct wait_piles *piles = &thread->off_cpu.ready;
	struct wait_pile *pile = wait_piles_find(piles, op_stack_key(&thread->ops));
	bool there = pile || !(pile = wait_piles_room(piles)) || !pile->ns;

	return take(thread, there ? NULL : pile, now_ns);
}

bool ready_keep(struct thread *thread, uint64_t start_ns, uint64_t ns)
{
	struct wait_piles *piles = &thread->off_cpu.ready;
	uint64_t key = op_stack_key(&thread->ops);
	struct wait_pile *pile = wait_piles_find(piles, key);
	struct stack stack = { .metric = METRIC_OFF_RUNNABLE,
		               .time_ns = start_ns,
		               .weight_ns = ns };

	if (!pile) {
		pile = wait_piles_room(piles);
		return pile && begin(thread, pile, key, &stack);
	}
	wait_pile_add(pile, &stack);
	return true;
}

struct stack ready_take(struct thread *thread, uint64_t key, uint64_t now_ns)
{
	return take(thread, wait_piles_find(&thread->off_cpu.ready, key), now_ns);
}

struct stack ready_take_any(struct thread *thread, uint64_t now_ns, uint64_t *key)
{
	struct wait_pile *pile = thread->off_cpu.ready.piles;

	for (int i = 0; pile && i < WAIT_PILES_MAX; i++, pile++) {
		if (!pile->ns)
			continue;
		*key = pile->key;
		return take(thread, pile, now_ns);
	}
	return (struct stack){ 0 };
}
