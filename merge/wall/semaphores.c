// SPDX-License-Identifier: MIT
#include "merge/wall/semaphores.h"

#include "base/array.h"
#include "base/hash.h"
#include "merge/wall/wall.h"

#include <stdlib.h>

#define SEMAPHORES_MAX 1024
#define WAITS_KEPT     64   // of a semaphore, the last ones
#define USERS_KEPT     16   // threads that post one
#define DECIDING       2000 // waits: the first ones of a semaphore say what it is

// A wait with so many posts may have had more: it is not known when those before were.
#define POSTS_KEPT 16

// Who holds it for so many times longer than at other times, or shorter, has not held it then.
#define ALIKE_TIMES 8.0

#define LEAST_HELD  3 // posts of those who had taken it
#define MOSTLY      2 // times as many posts are of a lock's kind

// A thread that never waits for it is seen to take it only by posts of which so many end no wait
// for each that does. Less is what those take who do not wait, as they find an item at once.
#define IN_VAIN_TIMES 4

// One in so many may seem to take it twice, or to post it twice, where a post was not recorded.
#define AGAINST_PART 8

// A wait that has ended, by which its thread may have taken it.
struct taken {
	uint64_t from_ns, to_ns;
	uint64_t known_ns;  // from then on all posts within it are known
	uint64_t posted_ns; // the first post of its thread since; 0: none was seen
	uint32_t thread;    // 0: the place is free
	bool took;          // it has not timed out
};

// Posts of one kind, and for how long their thread had held it if it had taken it at that post's
// beginning: when it was posted before.
struct posts {
	uint32_t count;
	double ns;
};

struct user {
	uint32_t thread;
	struct posts held;  // it had waited for it
	struct posts taken; // it had not, but nobody else has taken it since the post before
	struct posts open;  // it was not seen to take it
};

struct semaphore {
	uint64_t key;
	uint64_t wait_count, took_count;
	struct taken taken[WAITS_KEPT]; // a ring
	struct user users[USERS_KEPT];
	uint64_t last_post_ns, post_count; // each counts once, however many waited
	uint64_t against_count;            // times when a thread did what none does with a lock
};

struct semaphores {
	struct semaphore **all;
	size_t count, capacity;
	struct hash index;
};

struct semaphores *semaphores_new(void)
{
	struct semaphores *s = calloc(1, sizeof(*s));

	if (s && !hash_init(&s->index, 16)) {
		free(s);
		return NULL;
	}
	return s;
}

void semaphores_free(struct semaphores *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->count; i++)
		free(s->all[i]);
	free(s->all);
	hash_fini(&s->index);
	free(s);
}

// 0: there is no room.
static uint32_t number_of(struct semaphores *s, uint64_t key)
{
	uint64_t hashed = hash_mix(key);
	uint32_t at;

	for (at = hash_start(&s->index, hashed); s->index.slots[at]; at = hash_next(&s->index, at))
		if (s->all[s->index.slots[at] - 1]->key == key)
			return s->index.slots[at];
	if (s->count == SEMAPHORES_MAX || !hash_make_room(&s->index) ||
	    !array_reserve(&s->all, &s->capacity, s->count + 1))
		return 0;
	struct semaphore *new = calloc(1, sizeof(*new));
	if (!new)
		return 0;
	new->key = key;
	s->all[s->count++] = new;
	for (at = hash_start(&s->index, hashed); s->index.slots[at];)
		at = hash_next(&s->index, at);
	hash_insert(&s->index, at, hashed, (uint32_t)s->count);
	return (uint32_t)s->count;
}

// NULL: it is one of too many.
static struct user *user_of(struct semaphore *s, uint32_t thread)
{
	for (size_t i = 0; i < USERS_KEPT; i++) {
		struct user *u = &s->users[i];
		if (u->thread && u->thread != thread)
			continue;
		u->thread = thread;
		return u;
	}
	return NULL;
}

// The last wait by which THREAD has taken S before TIME_NS; NULL: none is kept.
static struct taken *last_taken(struct semaphore *s, uint32_t thread, uint64_t time_ns)
{
	struct taken *last = NULL;

	for (size_t i = 0; i < WAITS_KEPT; i++) {
		struct taken *t = &s->taken[i];
		if (t->thread == thread && t->took && t->to_ns <= time_ns &&
		    (!last || t->to_ns > last->to_ns))
			last = t;
	}
	return last;
}

// Whether anybody has taken S between these times, by a wait.
static bool is_taken(const struct semaphore *s, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = 0; i < WAITS_KEPT; i++) {
		const struct taken *t = &s->taken[i];
		if (t->thread && t->took && t->to_ns >= from_ns && t->to_ns <= to_ns)
			return true;
	}
	return false;
}

static void add(struct posts *posts, uint64_t ns)
{
	posts->count++;
	posts->ns += (double)ns;
}

static struct posts sum(struct posts a, struct posts b)
{
	return (struct posts){ a.count + b.count, a.ns + b.ns };
}

static double mean(struct posts posts)
{
	return posts.count ? posts.ns / (double)posts.count : 0;
}

// WAIT went on for NS from the post before to POST, or from its beginning.
static void add_post(struct semaphore *s, const struct wall_share *post, uint64_t from_ns,
                     const struct wall_share *before, bool is_whole)
{
	struct taken *by = last_taken(s, post->thread, post->until_ns);
	struct user *u = user_of(s, post->thread);
	uint64_t ns = post->until_ns - from_ns;

	if (!u)
		return;
	if (by && (!by->posted_ns || by->posted_ns >= post->until_ns)) {
		by->posted_ns = post->until_ns;
		add(&u->held, post->until_ns - by->to_ns);
	} else if (before && before->thread == post->thread &&
	           ALIKE_TIMES * (double)ns < mean(u->held)) {
		s->against_count++; // several at once
	} else if (before && !is_taken(s, from_ns, post->until_ns)) {
		add(&u->taken, ns);
	} else if (before || is_whole) {
		add(&u->open, ns);
	}
}

// The posts within WAIT, one after the other.
static void add_posts(struct semaphore *s, const struct wall_wait *wait)
{
	const struct wall_share *before = NULL;

	for (uint32_t i = 0; i < wait->count; i++) {
		const struct wall_share *post = &wait->shares[i];
		uint64_t from_ns = before ? before->until_ns : wait->from_ns;
		if (!post->thread || post->thread == WALL_NOBODY || post->until_ns < from_ns)
			continue;
		add_post(s, post, from_ns, before, wait->count < POSTS_KEPT);
		s->post_count += post->until_ns > s->last_post_ns;
		s->last_post_ns =
			post->until_ns > s->last_post_ns ? post->until_ns : s->last_post_ns;
		before = post;
	}
}

// Who takes a lock does not wait for it again before it has posted it, which is seen while another
// one waits, in OTHER.
static bool is_kept(const struct taken *first, const struct taken *again, const struct taken *other)
{
	return first->took && !first->posted_ns && other->thread != first->thread &&
	       other->known_ns <= first->to_ns && other->to_ns >= again->from_ns;
}

// The wait of the same thread that comes after T; NULL: none is kept.
static const struct taken *next_of(const struct semaphore *s, const struct taken *t)
{
	const struct taken *next = NULL;

	for (size_t i = 0; i < WAITS_KEPT; i++) {
		const struct taken *other = &s->taken[i];
		if (other->thread == t->thread && other->from_ns >= t->to_ns && other != t &&
		    (!next || other->from_ns < next->from_ns))
			next = other;
	}
	return next;
}

static struct taken *previous_of(struct semaphore *s, const struct taken *t)
{
	struct taken *previous = NULL;

	for (size_t i = 0; i < WAITS_KEPT; i++) {
		struct taken *other = &s->taken[i];
		if (other->thread == t->thread && other->to_ns <= t->from_ns && other != t &&
		    (!previous || other->to_ns > previous->to_ns))
			previous = other;
	}
	return previous;
}

// Those who took it and then waited again, without a post, around LAST.
static void add_kept(struct semaphore *s, const struct taken *last)
{
	const struct taken *previous = previous_of(s, last);

	for (size_t i = 0; i < WAITS_KEPT; i++) {
		const struct taken *t = &s->taken[i];
		if (!t->thread || t == last)
			continue;
		if (previous && is_kept(previous, last, t)) {
			s->against_count++;
			previous = NULL;
		}
		if (t->thread == last->thread || t->to_ns < last->from_ns)
			continue;
		const struct taken *again = next_of(s, t);
		s->against_count += again && is_kept(t, again, last);
	}
}

uint32_t semaphores_add(struct semaphores *s, const struct wall_wait *wait)
{
	uint32_t number = number_of(s, wait->object);
	struct semaphore *one = number ? s->all[number - 1] : NULL;

	if (!one || one->wait_count >= DECIDING)
		return number;
	add_posts(one, wait);
	struct taken *last = &one->taken[one->wait_count++ % WAITS_KEPT];
	*last = (struct taken){ .from_ns = wait->from_ns,
		                .known_ns = wait->count < POSTS_KEPT ? wait->from_ns
		                                                     : wait->shares[0].until_ns,
		                .to_ns = wait->to_ns,
		                .thread = wait->thread,
		                .took = !wait->failed };
	one->took_count += last->took;
	add_kept(one, last);
	return number;
}

static bool is_alike(struct posts some, struct posts others)
{
	return some.count && others.count && mean(some) <= ALIKE_TIMES * mean(others) &&
	       mean(others) <= ALIKE_TIMES * mean(some);
}

bool semaphores_is_lock(const struct semaphores *s, uint32_t number)
{
	const struct semaphore *one = number ? s->all[number - 1] : NULL;
	uint64_t held = 0, yes = 0, no = 0;

	if (!one || AGAINST_PART * one->against_count > one->took_count)
		return false;
	const bool in_vain = one->post_count >= IN_VAIN_TIMES * one->took_count;
	for (size_t i = 0; i < USERS_KEPT; i++) {
		const struct user *u = &one->users[i];
		struct posts mine = u->held.count || in_vain ? sum(u->held, u->taken) : u->held;
		held += mine.count;
		if (is_alike(u->open, mine))
			yes += u->open.count;
		else
			no += u->open.count;
	}
	return held >= LEAST_HELD && held + yes >= MOSTLY * no;
}
