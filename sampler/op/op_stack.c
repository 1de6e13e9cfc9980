// SPDX-License-Identifier: MIT
#include "sampler/op/op_stack.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/code.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

// A hook's arguments that its caller has pushed lie below the caller's own frame.
#define PUSHED_MAX  256

#define CALLERS_MAX 128 // PYTHON_CALLERS_MAX of the agent: of as many, outer ones may be missing

static void free_op(struct open_op *op)
{
	if (op->twin)
		free((void *)op->twin->details);
	free(op->twin);
	free(op->details);
}

void op_stack_fini(struct op_stack *s)
{
	for (size_t i = 0; i < s->count; i++)
		free_op(&s->ops[i]);
	free(s->ops);
	*s = (struct op_stack){ 0 };
}

static uint64_t *copy_details(const struct open_op *op)
{
	uint64_t *copy = malloc(op->detail_count * sizeof(*copy));

	if (copy)
		memcpy(copy, op->details, op->detail_count * sizeof(*copy));
	return copy;
}

bool op_stack_push(struct op_stack *s, const struct open_op *op)
{
	if (s->count == OP_STACK_MAX || !array_reserve(&s->ops, &s->capacity, s->count + 1))
		return false;
	struct open_op *own = &s->ops[s->count++];
	*own = *op;
	own->details = op->detail_count ? copy_details(op) : NULL;
	if (!own->details)
		own->detail_count = 0;
	s->calls += own->call_stack && !own->told;
	s->told += own->call_stack && own->told;
	return true;
}

void op_stack_remove(struct op_stack *s, struct open_op *op)
{
	size_t index = (size_t)(op - s->ops);

	free_op(op);
	s->calls -= op->call_stack && !op->told;
	s->told -= op->call_stack && op->told;
	if (op->told)
		s->ended[s->ended_count++ % OP_ENDED] =
			(struct op_return){ op->call_stack, op->call_return };
	s->count--;
	memmove(op, op + 1, (s->count - index) * sizeof(*op));
}

static uint64_t find_return(const struct op_stack *s, uint64_t stack, size_t from, size_t to,
                            size_t *hint)
{
	for (size_t i = from; i < to; i++) {
		const struct open_op *op = &s->ops[s->count - 1 - i];
		if (!op->told || op->call_stack != stack)
			continue;
		*hint = i;
		return op->call_return;
	}
	return 0;
}

uint64_t op_stack_return(const struct op_stack *s, uint64_t stack, size_t *hint)
{
	size_t from = *hint < s->count ? *hint : 0;
	uint64_t found = find_return(s, stack, from, s->count, hint);

	if (!found)
		found = find_return(s, stack, 0, from, hint);
	for (size_t i = 0; !found && i < OP_ENDED; i++) {
		const struct op_return *ended = &s->ended[(s->ended_count - 1 - i) % OP_ENDED];
		if (ended->stack == stack)
			found = ended->address;
	}
	return found;
}

// An op that was recorded although others like it are not is no more in the stacks of samples than
// those are.
static bool is_shown(const struct open_op *op)
{
	return !op->left_ns && !op->window;
}

bool op_stack_waits(const struct op_stack *s)
{
	for (size_t i = s->count; i > 0; i--)
		if (!s->ops[i - 1].left_ns)
			return s->ops[i - 1].waits;
	return false;
}

uint64_t op_stack_key(const struct op_stack *s)
{
	uint64_t key = 0;

	for (size_t i = 0; i < s->count; i++)
		if (is_shown(&s->ops[i]))
			key = hash_pair(key, s->ops[i].op);
	return key;
}

size_t op_stack_list(const struct op_stack *s, struct frame *frames, size_t max)
{
	size_t count = 0;

	for (size_t i = s->count; i > 0 && count < max; i--)
		if (is_shown(&s->ops[i - 1]))
			frames[count++] =
				(struct frame){ .address = s->ops[i - 1].op, .kind = FRAME_OP };
	return count;
}

// Frame I ends where its caller's begins. Of the outermost frame, and of one whose caller is on
// another stack, the end is not known: UINT64_MAX.
static uint64_t frame_end(const uint64_t *sps, size_t count, size_t i)
{
	if (i + 1 >= count)
		return UINT64_MAX;
	return sps[i + 1] > sps[i] ? sps[i + 1] : UINT64_MAX;
}

static bool owns(const struct open_op *op, const uint64_t *sps, size_t count, size_t i)
{
	uint64_t end = frame_end(sps, count, i);

	if (!sps[i] || end == UINT64_MAX)
		return false;
	return op->frame_end ? op->frame_end == end : op->address >= sps[i] && op->address < end;
}

// The frame of which it is not known where it ends, or what else comes nearest.
static size_t find_nearest(const uint64_t *sps, size_t count, uint64_t address)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++)
		if (sps[i] && address >= sps[i] && address < frame_end(sps, count, i) &&
		    (found == count || sps[i] > sps[found]))
			found = i;
	if (found == count && count && sps[0] > address && sps[0] - address <= PUSHED_MAX)
		return 0;
	return found;
}

// Index of the frame of OP's owner; COUNT if it is not there. Most ops stand further in than the
// one before, which stands at HINT.
static size_t find_owner(const struct open_op *op, const uint64_t *sps, size_t count, size_t hint)
{
	struct open_op by_address = *op;

	for (size_t i = hint + 1; i > 0; i--)
		if (owns(op, sps, count, i - 1))
			return i - 1;
	for (size_t i = hint + 1; i < count; i++)
		if (owns(op, sps, count, i))
			return i;
	if (!op->frame_end)
		return find_nearest(sps, count, op->address);
	// Its frame is not as large as it was when that was learnt.
	by_address.frame_end = 0;
	return find_owner(&by_address, sps, count, hint);
}

// The callers of OP, outermost first; 0 if not all are known.
static size_t list_callers(const struct op_stack *s, const struct open_op *op,
                           struct frame callers[CALLERS_MAX])
{
	const struct code_call *call;
	size_t count = 0;

	for (uint32_t id = op->chain; (call = codes_get_call(s->codes, id)); id = call->caller)
		if (call->frame.kind == FRAME_PYTHON && ++count < CALLERS_MAX)
			callers[CALLERS_MAX - count] = call->frame;
	if (count >= CALLERS_MAX)
		return 0;
	memmove(callers, callers + CALLERS_MAX - count, count * sizeof(*callers));
	return count;
}

static bool is_same(struct frame a, struct frame b)
{
	return a.address == b.address;
}

// Index of the innermost frame that is a call of CALLERS, too; COUNT if there is none. A call is
// the same if it is of the same function, and its caller is the same, and at the same line. *ALL:
// whether it is the last of the callers.
static size_t find_common(const struct frame *callers, size_t caller_count,
                          const struct frame *frames, size_t count, bool *all)
{
	size_t found = count, next = 0;

	for (size_t i = count; i > 0 && next < caller_count; i--) {
		struct frame frame = frames[i - 1];
		if (frame.kind != FRAME_PYTHON)
			continue;
		if (frame_python_code(frame) != frame_python_code(callers[next]))
			break;
		found = i - 1;
		if (!is_same(frame, callers[next++]))
			break;
	}
	*all = caller_count && next == caller_count;
	return found;
}

// OWNER, or the one of the functions within the same call of the interpreter that has begun OP.
static size_t find_function(const struct op_stack *s, const struct open_op *op,
                            const struct frame *frames, const uint64_t *sps, size_t count,
                            size_t owner)
{
	struct frame callers[CALLERS_MAX];
	bool alone = !owner || sps[owner - 1] != sps[owner], all;

	if (frames[owner].kind != FRAME_PYTHON || alone)
		return owner;
	size_t caller_count = list_callers(s, op, callers);
	size_t found = find_common(callers, caller_count, frames, count, &all);
	return found < owner && sps[found] == sps[owner] ? found : owner;
}

// The function of Python's that has called the one that OP is; COUNT if it is not to be found.
static size_t find_python(const struct op_stack *s, const struct open_op *op,
                          const struct frame *frames, size_t count)
{
	struct frame callers[CALLERS_MAX];
	size_t caller_count = list_callers(s, op, callers);
	bool all;
	size_t found = find_common(callers, caller_count, frames, count, &all);

	return all ? found : count;
}

static size_t find_place(const struct op_stack *s, const struct open_op *op,
                         const struct frame *frames, const uint64_t *sps, size_t count, size_t hint)
{
	bool chained = s->codes && op->chain;
	size_t owner = op->python && chained ? find_python(s, op, frames, count) : count;

	if (owner < count)
		return owner;
	owner = find_owner(op, sps, count, hint);
	return owner < count && chained ? find_function(s, op, frames, sps, count, owner) : owner;
}

struct placement {
	size_t owner;
	uint32_t op;
};

// The outermost owner first, and in one owner the op that began first.
static size_t find_places(const struct op_stack *s, const struct frame *frames, const uint64_t *sps,
                          size_t count, struct placement *places)
{
	size_t found = 0, hint = count - 1;

	for (size_t i = 0; i < s->count && found < OP_STACK_MAX; i++) {
		const struct open_op *op = &s->ops[i];
		size_t owner = !is_shown(op) ? count : find_place(s, op, frames, sps, count, hint);
		if (owner == count)
			continue;
		// Within one call of the interpreter an op that began later stands further in.
		if (found && hint < owner && sps[hint] == sps[owner] && !op->range)
			owner = hint;
		hint = owner;
		size_t at = found++;
		for (; at && places[at - 1].owner < owner; at--)
			places[at] = places[at - 1];
		places[at] = (struct placement){ owner, s->ops[i].op };
	}
	return found;
}

static size_t first_code(const uint64_t *sps, size_t count)
{
	size_t i = 0;

	while (i < count && !sps[i])
		i++;
	return i;
}

// The owner runs itself: what it does in the op is told by its frame once more, below the op.
static bool is_on_top(const struct placement *places, size_t found, size_t leaf)
{
	return found && places[found - 1].owner == leaf;
}

static void put(struct frame *frames, size_t at, size_t max, struct frame frame)
{
	if (at < max)
		frames[at] = frame;
}

size_t op_stack_place(const struct op_stack *s, struct frame *frames, const uint64_t *sps,
                      size_t count, size_t max)
{
	if (!s->count || !count)
		return count;
	cleanup_free struct placement *places = calloc(s->count, sizeof(*places));
	if (!places)
		return count;
	size_t found = find_places(s, frames, sps, count, places);
	size_t leaf = first_code(sps, count);
	bool again = is_on_top(places, found, leaf);
	size_t total = count + found + again;

	// From the outermost frame down, each to its last place.
	size_t to = total, next = 0;
	for (size_t i = count; i > 0; i--) {
		struct frame frame = frames[i - 1];
		put(frames, --to, max, frame);
		for (; next < found && places[next].owner == i - 1; next++)
			put(frames, --to, max,
			    (struct frame){ .address = places[next].op, .kind = FRAME_OP });
		if (again && i - 1 == leaf)
			put(frames, --to, max, frame);
	}
	return total < max ? total : max;
}
