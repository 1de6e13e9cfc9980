// SPDX-License-Identifier: MIT
// Threads play by the rules of a lock, a queue, a pool and a barrier: of each it is reported who
// waited and who posted meanwhile, as the agent would.
#include "merge/wall/semaphores.h"

#include "base/clock.h"
#include "merge/wall/wall.h"
#include "tests/support/expect.h"

#include <stdlib.h>

#define MS    NS_PER_MS
#define POSTS 16 // that the agent keeps of a wait

static struct {
	uint64_t time_ns;
	uint32_t thread;
} posts[4096];
static size_t post_count;
static struct semaphores *semaphores;

static void start(void)
{
	semaphores_free(semaphores);
	semaphores = semaphores_new();
	cr_assert(semaphores != NULL);
	post_count = 0;
}

static void post(uint32_t thread, double ms)
{
	posts[post_count].time_ns = (uint64_t)((1 + ms) * (double)MS);
	posts[post_count++].thread = thread;
}

// THREAD waited; who posted meanwhile is known by then, and the last ones of that are reported.
static uint32_t wait_for(uint32_t thread, double from_ms, double to_ms)
{
	struct wall_share all[4096], *shares = all;
	struct wall_wait wait = { .thread = thread,
		                  .from_ns = (uint64_t)((1 + from_ms) * (double)MS),
		                  .to_ns = (uint64_t)((1 + to_ms) * (double)MS),
		                  .object = 1 };

	for (size_t i = 0; i < post_count; i++)
		if (posts[i].thread != thread && posts[i].time_ns >= wait.from_ns &&
		    posts[i].time_ns <= wait.to_ns)
			all[wait.count++] =
				(struct wall_share){ posts[i].time_ns, posts[i].thread };
	if (wait.count > POSTS) {
		shares += wait.count - POSTS;
		wait.count = POSTS;
	}
	wait.shares = shares;
	return semaphores_add(semaphores, &wait);
}

static bool is_lock(void)
{
	return semaphores_is_lock(semaphores, 1);
}

// Each has it for 5 ms in turns, and waits while the others do.
Test(semaphores, who_posts_what_it_has_waited_for_holds_a_lock)
{
	start();
	for (int i = 0; i < 30; i++) {
		post(1 + (uint32_t)i % 3, 5 * i + 5);
		if (i >= 2)
			wait_for(1 + (uint32_t)(i + 1) % 3, 5 * i - 5, 5 * i + 5.01);
	}
	cr_expect(is_lock());
	semaphores_free(semaphores);
}

// It takes it again at once, always: that is the only one who can have taken it.
Test(semaphores, who_never_waits_holds_it_too_where_no_post_ends_the_wait)
{
	start();
	for (int i = 1; i <= 60; i++)
		post(1, 9 * i);
	cr_expect(eq(u32, wait_for(2, 5, 540.01), 1));
	cr_expect(is_lock());
	semaphores_free(semaphores);
}

// One of them finds it free mostly: it holds it for as long then as it does when it has waited.
Test(semaphores, who_finds_it_free_holds_it_as_when_it_has_waited)
{
	start();
	for (int i = 0; i < 20; i++) {
		double at = 10 * i;
		if (i % 4 == 1) {
			post(2, at + .5);
			wait_for(1, at + .2, at + .5);
		}
		post(1, at + 9);
		wait_for(2, at + 1, at + 9.01);
	}
	cr_expect(is_lock());
	semaphores_free(semaphores);
}

Test(semaphores, who_makes_items_holds_nothing)
{
	start();
	for (int i = 1; i < 100; i++) {
		post(1 + (uint32_t)i % 2, 6 * i);
		wait_for(3 + (uint32_t)i % 2, 6 * i - 10, 6 * i + .01);
	}
	cr_expect(not(is_lock()));

	// Nor does who makes several at once, for as many as wait.
	start();
	for (int i = 1; i < 100; i++) {
		for (int k = 0; k < 5; k++)
			post(1, 6 * i + .001 * k);
		for (uint32_t k = 0; k < 5; k++)
			wait_for(2 + k, 6 * i - 5, 6 * i + .001 * k + .02);
	}
	cr_expect(not(is_lock()));

	// Nor where another one, which does not wait, takes some of them first.
	start();
	for (int i = 1; i < 100; i++) {
		post(1, 6 * i);
		if (i % 2)
			wait_for(2, 6 * i - 11, 6 * i + .01);
	}
	cr_expect(not(is_lock()));
	semaphores_free(semaphores);
}

// Each task that a thread takes may make more, and most make none: they do not give it back.
Test(semaphores, who_takes_tasks_and_makes_some_holds_nothing)
{
	start();
	for (int i = 1; i < 60; i++) {
		double at = 20 * i;
		for (int k = 0; k < 2; k++)
			post(1, at + .001 * k);
		wait_for(2, at - 12, at + .01);
		wait_for(3, at - 12, at + .02);
		// Both are done with theirs, and wait again, as the fourth one does all along.
		post(1, at + 12);
		wait_for(2, at + 8, at + 12.01);
		if (i % 4 == 0) {
			post(2, at + 16);
			wait_for(4, at - 60, at + 16.01);
		}
	}
	cr_expect(not(is_lock()));
	semaphores_free(semaphores);
}

// The last one to come lets one go, which lets the next one go.
Test(semaphores, who_comes_last_to_a_barrier_holds_nothing)
{
	start();
	for (int i = 1; i < 60; i++) {
		double at = 10 * i;
		uint32_t last = 1 + (uint32_t)i % 3, second = 1 + (uint32_t)(i + 1) % 3,
			 third = 1 + (uint32_t)(i + 2) % 3;
		post(last, at);
		wait_for(second, at - 6, at + .01);
		post(second, at + .02);
		wait_for(third, at - 4, at + .03);
		post(third, at + .04);
	}
	cr_expect(not(is_lock()));
	semaphores_free(semaphores);
}

Test(semaphores, of_many_those_that_found_room_are_known)
{
	start();
	for (uint64_t object = 1; object < 3000; object++) {
		struct wall_wait wait = { .thread = 1, .from_ns = 1, .to_ns = 2, .object = object };
		uint32_t number = semaphores_add(semaphores, &wait);
		cr_assert(number == object || (number == 0 && object > 1000), "%u", number);
		cr_assert(not(semaphores_is_lock(semaphores, number)));
	}
	semaphores_free(semaphores);
}
