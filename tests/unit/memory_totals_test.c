// SPDX-License-Identifier: MIT
// The file that short processes append their totals to, from both sides.
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/rings.h"
#include "tracer/reader/reader.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[64], path[80];
static struct rings rings;
static struct reader *reader;

static void open_all(void)
{
	temporary_make(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s/" PROTOCOL_TOTALS_FILE "%u", directory, geteuid());
	strcpy(rings.directory, directory);
	reader = reader_new(directory, NULL);
	cr_assert(reader != NULL);
}

static void close_all(void)
{
	reader_free(reader);
	temporary_remove(directory);
}

TestSuite(memory_totals, .init = open_all, .fini = close_all);

static struct record_memory totals(uint32_t pid, uint64_t bytes)
{
	return (struct record_memory){
		.head = { .size = sizeof(struct record_memory), .type = RECORD_MEMORY, .pid = pid },
		.allocated_bytes = bytes
	};
}

static void append(uint32_t pid, uint64_t bytes)
{
	struct record_memory record = totals(pid, bytes);

	rings_append_totals(&rings, &record);
}

static void append_raw(const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);

	cr_assert(eq(sz, (size_t)write(fd, bytes, size), size));
	close(fd);
}

// The sum of all bytes that come; *COUNT of how many records.
static uint64_t read_all(uint64_t *count)
{
	uint64_t sum = 0;

	*count = 0;
	reader_poll(reader);
	for (const struct record *r; (r = reader_next(reader, UINT64_MAX, NULL)); ++*count) {
		cr_assert(eq(u32, r->type, RECORD_MEMORY));
		sum += ((const struct record_memory *)r)->allocated_bytes;
	}
	return sum;
}

Test(memory_totals, what_is_appended_is_read_once)
{
	uint64_t count;

	cr_expect(eq(u64, read_all(&count), 0));
	append(1, 10);
	append(2, 20);
	cr_expect(eq(u64, read_all(&count), 30));
	cr_expect(eq(u64, count, 2));
	cr_expect(eq(u64, read_all(&count), 0));
	append(3, 5);
	cr_expect(eq(u64, read_all(&count), 5));
}

Test(memory_totals, many_processes_leave_little_behind)
{
	struct stat status;
	uint64_t count, all = 0;

	for (uint32_t i = 1; i <= 50000; i++) {
		append(i, 1);
		if (i % 1000 == 0) {
			read_all(&count);
			all += count;
		}
	}
	cr_expect(eq(u64, all, 50000));
	cr_expect(eq(int, stat(path, &status), 0));
	cr_expect(lt(u64, (uint64_t)status.st_blocks * 512, 2 << 20));
}

Test(memory_totals, a_record_that_is_not_there_whole_is_waited_for)
{
	struct record_memory record = totals(1, 7);
	uint64_t count;

	append_raw(&record, 30);
	read_all(&count);
	cr_expect(eq(u64, count, 0));
	append_raw((const char *)&record + 30, sizeof(record) - 30);
	cr_expect(eq(u64, read_all(&count), 7));
}

Test(memory_totals, what_is_no_record_of_memory_is_passed_over)
{
	struct record_memory other = totals(1, 1), large = totals(1, 2);
	uint64_t count;

	other.head.type = RECORD_OP_NAME;
	large.head.size = 1 << 30;
	append_raw(&other, sizeof(other));
	append_raw(&large, sizeof(large));
	append(1, 4);
	cr_expect(eq(u64, read_all(&count), 4));
	cr_expect(eq(u64, count, 1));
}

Test(memory_totals, what_is_no_file_is_left_alone)
{
	uint64_t count;

	cr_assert(eq(int, mkfifo(path, 0600), 0));
	append(1, 4);
	read_all(&count);
	cr_expect(eq(u64, count, 0));
}

Test(memory_totals, a_limit_on_files_is_no_signal)
{
	struct rlimit small = { 100, 100 };
	uint64_t count;

	append(1, 4);
	cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &small), 0));
	append(1, 8);
	cr_expect(eq(u64, read_all(&count), 4));
}

Test(memory_totals, without_a_directory_nothing_happens)
{
	strcpy(rings.directory, "/nonexistent");
	append(1, 4);
	uint64_t count;
	read_all(&count);
	cr_expect(eq(u64, count, 0));
}
