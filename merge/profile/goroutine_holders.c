// SPDX-License-Identifier: MIT
#include "merge/profile/goroutine_holders.h"

#include <string.h>

// One look at all goroutines.
struct scene {
	const struct goroutine_look *look;
	const struct goroutine_doing *doing;
	double scale; // of all looks to those that were kept
	struct awaits *awaits;
	bool serves; // it is a server's: who rests there may wait for its clients
};

// For each part of a look whether WAITER waits for it.
struct held {
	bool by[GOROUTINE_PARTS_MAX];
	uint32_t count; // goroutines
};

static const struct goroutine_doing *doing_of(const struct scene *s, uint32_t part)
{
	return &s->doing[s->look->parts[part].row];
}

static bool is_in(const struct goroutine_doing *doing, uint32_t function)
{
	for (uint32_t i = 0; i < doing->function_count; i++)
		if (doing->functions[i] == function)
			return true;
	return false;
}

// Who waits for nobody of the goroutines.
static bool is_free(const struct goroutine_doing *doing)
{
	return doing->act == GOROUTINE_WORKS || doing->act == GOROUTINE_RESTS;
}

static void take(const struct scene *s, uint32_t part, struct held *held)
{
	if (held->by[part])
		return;
	held->by[part] = true;
	held->count += s->look->parts[part].count;
}

// Who may hold the lock that WAITER waits for: those in the innermost function of its stack that
// somebody else is in, too. The stack of one that runs is not known.
static struct held holders_of(const struct scene *s, const struct goroutine_doing *waiter)
{
	struct held held = { .count = 0 };

	for (uint32_t f = waiter->function_count; f-- > 0 && !held.count;)
		for (uint32_t i = 0; i < s->look->count; i++) {
			const struct goroutine_doing *other = doing_of(s, i);
			if (is_free(other) && !other->wakes && is_in(other, waiter->functions[f]))
				take(s, i, &held);
		}
	if (held.count)
		return held;
	for (uint32_t i = 0; i < s->look->count; i++)
		if (doing_of(s, i)->act == GOROUTINE_WORKS && !doing_of(s, i)->function_count)
			take(s, i, &held);
	return held;
}

// Whom the end of all waits for.
static struct held free_ones(const struct scene *s, const struct held *lockers)
{
	struct held held = *lockers;

	for (uint32_t i = 0; i < s->look->count; i++)
		if (doing_of(s, i)->act == GOROUTINE_WORKS)
			take(s, i, &held);
	if (held.count || s->serves)
		return held;
	for (uint32_t i = 0; i < s->look->count; i++)
		if (doing_of(s, i)->act == GOROUTINE_RESTS)
			take(s, i, &held);
	return held;
}

static bool is_same_wait(const struct goroutine_doing *a, const struct goroutine_doing *b)
{
	return a->act == b->act && a->reason == b->reason &&
	       memcmp(&a->kind, &b->kind, sizeof(a->kind)) == 0 &&
	       memcmp(&a->place, &b->place, sizeof(a->place)) == 0;
}

// Those that wait as PART does, whatever has called that.
static uint32_t count_of(const struct scene *s, uint32_t part)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < s->look->count; i++)
		if (is_same_wait(doing_of(s, i), doing_of(s, part)))
			count += s->look->parts[i].count;
	return count;
}

static bool add(const struct scene *s, const struct goroutine_doing *waiter, uint32_t waiters,
                const struct goroutine_doing *holder, double share)
{
	const double ns = share * s->scale * (double)s->look->ns;
	struct await_place places[] = {
		waiter->kind, waiter->place, { .function = waiter->reason },
		holder->kind, holder->place, { .function = holder->reason },
	};
	struct await_row row = { .kind = AWAIT_HELD,
		                 .place_count = sizeof(places) / sizeof(places[0]),
		                 .count = 1,
		                 .ns = (uint64_t)(ns * waiters) };

	if (!waiter->kind.function || !holder->kind.function)
		return true;
	if (!awaits_add(s->awaits, &row, places))
		return false;
	row.kind = AWAIT_HELD_WALL;
	row.ns = (uint64_t)ns;
	return awaits_add(s->awaits, &row, places);
}

// Most of those that wait for PART: for locks that it may hold (LOCKS), or in another way (NULL),
// but rather not main. -1: nobody.
static int waiters_of(const struct scene *s, uint32_t part, const struct held *locks)
{
	uint32_t most = 0;
	int found = -1;

	for (uint32_t i = 0; i < s->look->count; i++) {
		const struct goroutine_doing *doing = doing_of(s, i);
		if (locks ? doing->act != GOROUTINE_LOCKS || !locks[i].by[part]
		          : doing->act != GOROUTINE_AWAITS)
			continue;
		uint32_t count = count_of(s, i);
		if (found < 0 || count > most ||
		    (count == most && doing_of(s, (uint32_t)found)->is_main)) {
			most = count;
			found = (int)i;
		}
	}
	return found;
}

static int find_main(const struct scene *s)
{
	for (uint32_t i = 0; i < s->look->count; i++)
		if (doing_of(s, i)->is_main)
			return (int)i;
	return -1;
}

static bool take_look(struct scene *s)
{
	struct held locks[GOROUTINE_PARTS_MAX], lockers = { .count = 0 };
	int main = find_main(s);

	// What main does itself is no wait for others, nor is one for nobody.
	if (main < 0 || (doing_of(s, (uint32_t)main)->act != GOROUTINE_LOCKS &&
	                 doing_of(s, (uint32_t)main)->act != GOROUTINE_AWAITS))
		return true;
	s->serves = false;
	for (uint32_t i = 0; i < s->look->count; i++) {
		s->serves = s->serves || doing_of(s, i)->act == GOROUTINE_SERVES;
		locks[i] = (struct held){ .count = 0 };
		if (doing_of(s, i)->act == GOROUTINE_LOCKS)
			locks[i] = holders_of(s, doing_of(s, i));
		for (uint32_t k = 0; k < s->look->count; k++)
			if (locks[i].by[k])
				take(s, k, &lockers);
	}
	struct held held = free_ones(s, &lockers);
	for (uint32_t i = 0; i < s->look->count; i++) {
		if (!held.by[i])
			continue;
		int waiters = lockers.by[i] ? waiters_of(s, i, locks) : -1;
		if (waiters < 0 && held.count == 1)
			waiters = waiters_of(s, i, NULL);
		if (waiters >= 0 &&
		    !add(s, doing_of(s, (uint32_t)waiters), count_of(s, (uint32_t)waiters),
		         doing_of(s, i), (double)s->look->parts[i].count / held.count))
			return false;
	}
	return true;
}

bool goroutine_holders_add(const struct goroutine_looks *looks, const struct goroutine_doing *doing,
                           struct awaits *awaits)
{
	struct scene s = { .doing = doing, .awaits = awaits };
	uint64_t kept_ns = 0;

	for (size_t i = 0; i < looks->count; i++)
		kept_ns += looks->looks[i].ns;
	s.scale = kept_ns ? (double)looks->ns / (double)kept_ns : 0;
	for (size_t i = 0; i < looks->count; i++) {
		s.look = &looks->looks[i];
		if (!take_look(&s))
			return false;
	}
	return true;
}
