// SPDX-License-Identifier: MIT
#include "base/mapped.h"

#include "base/error.h"
#include "tests/support/expect.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096

static int file_of(size_t size)
{
	int fd = memfd_create("mapped", MFD_CLOEXEC);
	char page[PAGE];

	memset(page, 'x', sizeof(page));
	for (size_t at = 0; at < size; at += PAGE)
		cr_assert(eq(sz, (size_t)pwrite(fd, page, PAGE, (off_t)at), PAGE));
	return fd;
}

static struct mapped map(int fd, size_t size, enum mapped_mode mode)
{
	struct mapped m;
	struct error err = { 0 };

	cr_assert(eq(int, mapped_open(&m, fd, size, mode, &err), 0), "%s", err.text);
	return m;
}

static uint8_t at(const struct mapped *m, size_t offset)
{
	return *(const volatile uint8_t *)(m->data + offset);
}

Test(mapped, what_is_cut_off_reads_as_zeros_and_is_told)
{
	static const enum mapped_mode modes[] = { MAPPED_READ, MAPPED_SHARED };

	for (int i = 0; i < 2; i++) {
		cleanup_close int fd = file_of(4 * PAGE);
		struct mapped m = map(fd, 4 * PAGE, modes[i]);
		cr_expect(eq(u8, at(&m, 2 * PAGE), 'x'));
		cr_assert(eq(int, ftruncate(fd, PAGE), 0));
		cr_expect(not(mapped_shrank(&m)), "nothing of it has been missed so far");
		cr_expect(eq(u8, at(&m, PAGE - 1), 'x'));
		cr_expect(not(mapped_shrank(&m)));
		cr_expect(eq(u8, at(&m, 2 * PAGE + 7), 0));
		cr_expect(eq(u8, at(&m, 4 * PAGE - 1), 0));
		cr_expect(mapped_shrank(&m));
		cr_expect(eq(u8, at(&m, PAGE - 1), 'x'), "what is there stays");
		mapped_close(&m);
		cr_expect(not(mapped_shrank(&m)));
	}
}

Test(mapped, what_has_shrunk_can_be_written_to)
{
	cleanup_close int fd = file_of(2 * PAGE);
	struct mapped m = map(fd, 2 * PAGE, MAPPED_SHARED);

	cr_assert(eq(int, ftruncate(fd, 0), 0));
	__atomic_store_n((uint64_t *)(m.data + 128), 42, __ATOMIC_RELEASE);
	cr_expect(eq(u8, at(&m, 128), 42));
	cr_expect(mapped_shrank(&m));
	mapped_close(&m);
}

Test(mapped, each_mapping_is_told_of_alone)
{
	static struct mapped many[300]; // more than one chunk of the list
	cleanup_close int fd = file_of(PAGE), other = file_of(PAGE);

	for (int i = 0; i < 300; i++)
		many[i] = map(i == 299 ? other : fd, PAGE, MAPPED_READ);
	cr_assert(eq(int, ftruncate(other, 0), 0));
	cr_expect(eq(u8, at(&many[299], 0), 0));
	for (int i = 0; i < 300; i++) {
		cr_expect(eq(int, mapped_shrank(&many[i]), i == 299), "mapping %d", i);
		mapped_close(&many[i]);
	}
	struct mapped again = map(fd, PAGE, MAPPED_READ);
	cr_expect(not(mapped_shrank(&again)), "a mapping that comes later has no part in it");
	mapped_close(&again);
}

static void *touch(void *argument)
{
	const struct mapped *m = argument;
	size_t sum = 0;

	for (size_t i = 0; i < m->size; i += PAGE)
		sum += at(m, i);
	return (void *)sum;
}

Test(mapped, threads_may_find_it_out_together)
{
	cleanup_close int fd = file_of(64 * PAGE);
	struct mapped m = map(fd, 64 * PAGE, MAPPED_READ);
	pthread_t threads[8];
	void *sum;

	cr_assert(eq(int, ftruncate(fd, 0), 0));
	for (int i = 0; i < 8; i++)
		cr_assert(eq(int, pthread_create(&threads[i], NULL, touch, &m), 0));
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &sum);
		cr_expect(eq(ptr, sum, NULL));
	}
	cr_expect(mapped_shrank(&m));
	mapped_close(&m);
}

static int status_of_child(void (*run)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		cleanup_close int null = open("/dev/null", O_WRONLY);
		dup2(null, 2); // a sanitizer would tell of it
		run();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

static void touch_a_mapping_of_somebody_else(void)
{
	int fd = file_of(PAGE);
	struct mapped ours = map(fd, PAGE, MAPPED_READ);
	volatile uint8_t *theirs = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (ftruncate(fd, 0) < 0 || at(&ours, 0) != 0)
		_exit(0);
	(void)*theirs;
}

static void be_sent_a_signal(void)
{
	int fd = file_of(PAGE);

	map(fd, PAGE, MAPPED_READ);
	raise(SIGBUS);
}

Test(mapped, any_other_bus_error_ends_the_process)
{
	int status = status_of_child(touch_a_mapping_of_somebody_else);

	// A sanitizer's handler, which was there before, ends it with a status instead.
	cr_expect(ne(int, status, 0));
	status = status_of_child(be_sent_a_signal);
	cr_expect(ne(int, status, 0));
}

Test(mapped, what_cannot_be_mapped_is_an_error)
{
	struct mapped m = { 0 };
	struct error err = { 0 };

	cr_expect(eq(int, mapped_open(&m, -1, PAGE, MAPPED_READ, &err), -1));
	cr_expect(eq(str, err.text, "could not map the file"));
	cr_expect(eq(ptr, m.data, NULL));
	mapped_close(&m);
}
