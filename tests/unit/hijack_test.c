// SPDX-License-Identifier: MIT
#include "sampler/inject/hijack.h"

#include "base/clock.h"
#include "base/error.h"
#include "sampler/inject/object.h"
#include "tests/support/expect.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// A child that waits again and again, and counts; what it finds changed is counted, too.
static struct shared {
	uint32_t rounds, wrong; // atomic
} * shared;
static pid_t child;
static struct object libc;

static bool is_libc(const char *name)
{
	return strcmp(name, "libc.so.6") == 0;
}

static void wait_and_count(void)
{
	sigset_t blocked;

	for (;;) {
		uint64_t begin = clock_now_ns();
		errno = 77;
		int result = poll(NULL, 0, 10);
		pthread_sigmask(SIG_SETMASK, NULL, &blocked);
		if (result != 0 || errno != 77 || clock_now_ns() - begin < 9 * NS_PER_MS ||
		    sigismember(&blocked, SIGINT))
			__atomic_add_fetch(&shared->wrong, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&shared->rounds, 1, __ATOMIC_RELAXED);
	}
}

static void start(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(not(eq(ptr, shared, MAP_FAILED)));
	child = fork();
	cr_assert(child >= 0);
	if (child == 0)
		wait_and_count();
	while (!__atomic_load_n(&shared->rounds, __ATOMIC_RELAXED))
		usleep(1000);
	cr_assert(object_find(&libc, child, is_libc));
}

static void stop(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	object_fini(&libc);
}

static uint64_t find_bytes(const struct hijack *h, uint64_t from, uint64_t size, const char *bytes,
                           size_t count)
{
	uint8_t *code = malloc(size);

	cr_assert(code && hijack_read(h, from, code, size));
	const uint8_t *found = memmem(code, size, bytes, count);
	uint64_t place = found ? from + (uint64_t)(found - code) : 0;
	free(code);
	return place;
}

// In the child, where it waits. It is stopped until the caller ends that.
static void borrow(struct hijack *h)
{
	struct error err;

	for (;;) {
		enum hijack_stopped stopped = hijack_stop(h, child, child);
		if (stopped == HIJACK_REFUSED)
			cr_skip_test("no ptrace() here");
		cr_assert(eq(int, stopped, HIJACK_STOPPED));
		if (hijack_in_call(h) >= 0)
			break;
		hijack_release(h);
	}
	uint64_t call = find_bytes(h, object_function(&libc, "syscall"), 64, "\x0f\x05\x48\x3d", 4);
	uint64_t back = find_bytes(h, libc.code, libc.code_bytes,
	                           "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
	cr_assert(call && back);
	cr_assert(eq(int, hijack_start(h, call, back, &err), 0), "%s", err.text);
}

static void expect_that_it_goes_on(unsigned limit_s)
{
	uint32_t before = __atomic_load_n(&shared->rounds, __ATOMIC_RELAXED), now = before;

	for (unsigned i = 0; i < limit_s * 100 && now < before + 5; i++) {
		usleep(10000);
		now = __atomic_load_n(&shared->rounds, __ATOMIC_RELAXED);
	}
	cr_expect(ge(u32, now, before + 5));
	cr_expect(eq(u32, shared->wrong, 0));
}

static struct hijack h;

Test(hijack, functions_are_called_and_nothing_is_noticed, .init = start, .fini = stop,
     .timeout = 120)
{
	const uint64_t none[3] = { 0 };
	uint64_t result = 0;

	for (int i = 0; i < 30; i++) {
		borrow(&h);
		cr_expect(eq(int,
		             hijack_call(&h, object_function(&libc, "getpid"), none, 5000, &result),
		             HIJACK_RETURNED));
		cr_expect(eq(u64, result, (uint64_t)child));
		cr_expect(eq(int, hijack_call(&h, hijack_one(&h), none, 5000, &result),
		             HIJACK_RETURNED));
		cr_expect(eq(u32, (uint32_t)result, 1));
		const uint64_t text[3] = { hijack_put(&h, 1, "4711") };
		cr_expect(eq(int,
		             hijack_call(&h, object_function(&libc, "atoi"), text, 5000, &result),
		             HIJACK_RETURNED));
		cr_expect(eq(u32, (uint32_t)result, 4711));
		hijack_end(&h);
		expect_that_it_goes_on(10);
	}
}

Test(hijack, a_call_that_does_not_return_in_time_can_be_given_up, .init = start, .fini = stop,
     .timeout = 120)
{
	const uint64_t seconds[3] = { 1000 };
	uint64_t result;

	borrow(&h);
	cr_expect(eq(int, hijack_call(&h, object_function(&libc, "sleep"), seconds, 50, &result),
	             HIJACK_STUCK));
	cr_expect(not(hijack_waits(&h)));
	hijack_end(&h);
	expect_that_it_goes_on(10);
}

Test(hijack, a_call_that_is_left_leads_back_by_itself, .init = start, .fini = stop, .timeout = 120)
{
	const uint64_t seconds[3] = { 1 };
	uint64_t result;

	borrow(&h);
	cr_expect(eq(int, hijack_call(&h, object_function(&libc, "sleep"), seconds, 50, &result),
	             HIJACK_STUCK));
	hijack_leave(&h);
	expect_that_it_goes_on(30);
}

Test(hijack, a_call_that_crashes_ends_without_a_signal, .init = start, .fini = stop, .timeout = 120)
{
	const uint64_t nowhere[3] = { 8 };
	uint64_t result;

	borrow(&h);
	cr_expect(eq(int, hijack_call(&h, object_function(&libc, "atoi"), nowhere, 5000, &result),
	             HIJACK_CRASHED));
	hijack_end(&h);
	expect_that_it_goes_on(10);
}
