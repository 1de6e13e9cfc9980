// SPDX-License-Identifier: MIT
#include "base/await.h"
#include "base/cleanup.h"
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/op/names.h"
#include "tracer/agent/rings.h"
#include "tracer/reader/reader.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static struct rings *rings;
static struct reader *reader;

static void open_all(void)
{
	temporary_make(directory, sizeof(directory));
	rings = calloc(1, sizeof(*rings));
	cr_assert(rings_start(rings, directory, 77, 5));
	reader = reader_new(directory, NULL);
	cr_assert(reader != NULL);
}

static void close_all(void)
{
	reader_free(reader);
	rings_abandon(rings);
	free(rings);
	temporary_remove(directory);
}

TestSuite(reader, .init = open_all, .fini = close_all);

static void put(struct lane *lane, uint64_t time_ns, size_t size)
{
	struct record *record = lane_reserve(lane, rings->by_populate, size);

	cr_assert(record != NULL);
	memset(record, 0, size);
	record->type = RECORD_EXIT;
	record->tid = lane->tid;
	record->time_ns = time_ns;
	lane_commit(lane, record, size);
}

static int files_left(void)
{
	char command[128];
	int count = -1;

	snprintf(command, sizeof(command), "ls %s | wc -l", directory);
	FILE *pipe = popen(command, "r");
	cr_assert(fscanf(pipe, "%d", &count) == 1);
	pclose(pipe);
	return count;
}

Test(reader, records_of_many_rings_come_in_the_order_of_time)
{
	struct lane *lanes[40];
	uint64_t last = 0;
	int count = 0;

	for (uint32_t i = 0; i < 40; i++)
		lanes[i] = rings_claim(rings, 100 + i);
	for (uint64_t time = 1; time <= 4000; time++)
		put(lanes[time * 7919 % 40], time, 24);
	reader_poll(reader);
	for (const struct record *r; (r = reader_next(reader, 3000, NULL)); count++) {
		cr_assert(eq(u64, r->time_ns, last + 1));
		cr_assert(eq(u32, r->pid, 77), "the file says whose it is");
		last = r->time_ns;
	}
	cr_expect(eq(int, count, 3000), "what is younger stays");
	reader_poll(reader);
	for (; reader_next(reader, UINT64_MAX, NULL); count++)
		;
	cr_expect(eq(int, count, 4000));
}

Test(reader, a_file_is_unlinked_when_it_is_mapped_and_grows_by_others)
{
	reader_poll(reader);
	cr_expect(eq(int, files_left(), 0));
	for (uint32_t i = 0; i < 100; i++)
		put(rings_claim(rings, 100 + i), i, 24);
	int count = 0;
	reader_poll(reader);
	while (reader_next(reader, UINT64_MAX, NULL))
		count++;
	cr_expect(eq(int, count, 100));
	cr_expect(eq(int, files_left(), 0));
}

Test(reader, what_was_written_before_the_end_is_still_there)
{
	put(rings_claim(rings, 100), 1, 24);
	rings_abandon(rings); // as if killed
	reader_process_gone(reader, 77);
	reader_poll(reader);
	reader_process_gone(reader, 77);
	cr_expect(reader_next(reader, UINT64_MAX, NULL) != NULL);
	reader_poll(reader);
	reader_poll(reader);
	cr_expect(reader_next(reader, UINT64_MAX, NULL) == NULL);
}

// Long enough that a look at the directory which finds nothing new is the last one.
static void let_directory_rest(void)
{
	for (int i = 0; i < 3; i++) {
		usleep(20000);
		reader_poll(reader);
	}
}

Test(reader, a_process_that_comes_after_a_long_rest_is_found)
{
	struct rings *late = calloc(1, sizeof(*late));

	let_directory_rest();
	cr_assert(rings_start(late, directory, 78, 5));
	cr_expect(eq(int, files_left(), 1));
	reader_poll(reader);
	cr_expect(eq(int, files_left(), 0));
	rings_abandon(late);
	free(late);
}

Test(reader, a_file_that_is_still_being_made_is_looked_at_again)
{
	struct rings *late = calloc(1, sizeof(*late));
	char aside[64], path[128], command[256];

	temporary_make(aside, sizeof(aside));
	cr_assert(rings_start(late, aside, 78, 5));
	snprintf(path, sizeof(path), "%s/late", directory);
	close(open(path, O_RDWR | O_CREAT | O_EXCL, 0600));
	let_directory_rest();
	cr_expect(eq(int, files_left(), 1));
	snprintf(command, sizeof(command), "cat %s/* >%s", aside, path);
	cr_assert(eq(int, system(command), 0));
	reader_poll(reader);
	cr_expect(eq(int, files_left(), 0));
	rings_abandon(late);
	free(late);
	temporary_remove(aside);
}

static void write_file(const char *name, const void *bytes, size_t size, mode_t mode)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL, mode);
	cr_assert(fd >= 0);
	fchmod(fd, mode);
	cr_assert(write(fd, bytes, size) == (ssize_t)size);
	close(fd);
}

static void drain_nothing(void)
{
	reader_poll(reader);
	cr_expect(reader_next(reader, UINT64_MAX, NULL) == NULL);
}

Test(reader, foreign_files_are_left_alone)
{
	static char zeros[65536];
	char link[128];

	write_file("empty", "", 0, 0600);
	write_file("short", zeros, 100, 0600);
	write_file("zeros", zeros, sizeof(zeros), 0600);
	write_file("open-to-all", zeros, sizeof(zeros), 0666);
	snprintf(link, sizeof(link), "%s/link", directory);
	cr_assert(eq(int, symlink("/etc/passwd", link), 0));
	snprintf(link, sizeof(link), "%s/fifo", directory);
	cr_assert(eq(int, mkfifo(link, 0600), 0));
	drain_nothing();
	cr_expect(eq(int, files_left(), 6));
}

Test(reader, headers_that_cannot_be_are_refused)
{
	static uint64_t memory[(PROTOCOL_FILE_BYTES + RING_HEADER_BYTES + 4096) / 8];
	const struct protocol_file good = {
		.magic = PROTOCOL_MAGIC,
		.version = PROTOCOL_VERSION,
		.pid = 1,
		.ring_count = 1,
		.data_bytes = 4096,
		.made = 1,
	};
	static const struct {
		size_t offset;
		uint32_t value;
	} bad[] = {
		{ offsetof(struct protocol_file, magic), 7 },
		{ offsetof(struct protocol_file, version), 9 },
		{ offsetof(struct protocol_file, ring_count), 0 },
		{ offsetof(struct protocol_file, ring_count), 2 },
		{ offsetof(struct protocol_file, ring_count), UINT32_MAX },
		{ offsetof(struct protocol_file, data_bytes), 0 },
		{ offsetof(struct protocol_file, data_bytes), 8192 },
		{ offsetof(struct protocol_file, data_bytes), UINT32_MAX },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char name[16];
		struct protocol_file *header = memcpy(memory, &good, sizeof(good));
		memcpy((char *)header + bad[i].offset, &bad[i].value, 4);
		snprintf(name, sizeof(name), "bad%zu", i);
		write_file(name, memory, sizeof(memory), 0600);
	}
	drain_nothing();
	cr_expect(eq(int, files_left(), (int)(sizeof(bad) / sizeof(bad[0]))));
	memcpy(memory, &good, sizeof(good));
	write_file("good", memory, sizeof(memory), 0600);
	drain_nothing();
	cr_expect(eq(int, files_left(), (int)(sizeof(bad) / sizeof(bad[0]))));
}

Test(reader, a_scribbled_ring_is_counted_and_the_others_go_on)
{
	struct lane *bad = rings_claim(rings, 1), *good = rings_claim(rings, 2);

	put(bad, 1, 24);
	put(good, 2, 24);
	memset(bad->ring.data, 0xff, 24);
	reader_poll(reader);
	const struct record *record = reader_next(reader, UINT64_MAX, NULL);
	cr_assert(record != NULL);
	cr_expect(eq(u32, record->tid, 2));
	cr_expect(eq(u64, reader_damaged(reader), 1));
	put(good, 3, 24);
	reader_poll(reader);
	cr_expect(reader_next(reader, UINT64_MAX, NULL) != NULL);
}

Test(reader, dropped_records_are_counted_beyond_the_end_of_the_process)
{
	struct lane *lane = rings_claim(rings, 1);
	struct record *record;

	while ((record = lane_reserve(lane, rings->by_populate, 65536))) {
		memset(record, 0, sizeof(*record));
		record->type = RECORD_EXIT;
		lane_commit(lane, record, 65536);
	}
	reader_poll(reader);
	cr_expect(eq(u64, reader_dropped(reader), 1));
	while (reader_next(reader, UINT64_MAX, NULL))
		;
	reader_process_gone(reader, 77);
	reader_poll(reader);
	cr_expect(eq(u64, reader_dropped(reader), 1));
}

static int count_records(void)
{
	int count = 0;

	while (reader_next(reader, UINT64_MAX, NULL))
		count++;
	return count;
}

static uint32_t count_one_call(struct names *names, struct rings *of, const char *text)
{
	void *memory = rings_map_names(of);
	struct name name = { .provider = OP_NVTX, .text = text };
	struct op_counts counts = { .calls = 3 };

	cr_assert(memory != NULL);
	names_start(names, memory, of->by_populate, of->pid, of->image_ns);
	uint32_t id = names_id(names, &name);
	names_count(names, id, &counts);
	return id;
}

// The next record is of PID and its image.
static const struct record *expect_next(uint32_t type, uint32_t pid, uint64_t image_ns)
{
	uint64_t image = 0;
	const struct record *record = reader_next(reader, UINT64_MAX, &image);

	cr_assert(record != NULL);
	cr_expect(eq(u32, record->type, type));
	cr_expect(eq(u32, record->pid, pid));
	cr_expect(eq(u64, image, image_ns));
	return record;
}

static void expect_count(uint32_t pid, uint64_t image_ns, uint32_t name)
{
	const struct record *record = expect_next(RECORD_OP_NAME, pid, image_ns);
	cr_expect(eq(u32, ((const struct record_op_name *)record)->name, name));

	record = expect_next(RECORD_OP_COUNT, pid, image_ns);
	cr_expect(eq(u32, ((const struct record_op_count *)record)->name, name));
	cr_expect(eq(u64, ((const struct record_op_count *)record)->counts.calls, 3));
}

Test(reader, counts_that_are_told_before_any_record_are_of_their_own_program)
{
	static struct names names;
	uint32_t name = count_one_call(&names, rings, "first");

	reader_poll(reader);
	reader_count_ops(reader, 10);
	expect_count(77, 5, name);
	cr_expect(eq(ptr, (void *)reader_next(reader, UINT64_MAX, NULL), NULL));
}

Test(reader, counts_are_of_their_own_program_though_the_last_record_was_anothers)
{
	static struct names names, others;
	static struct rings other;

	cr_assert(rings_start(&other, directory, 90, 6));
	uint32_t name = count_one_call(&names, rings, "mine");
	uint32_t another = count_one_call(&others, &other, "another's");
	put(rings_claim(&other, 90), 1, 24);
	reader_poll(reader);
	expect_next(RECORD_EXIT, 90, 6);
	reader_count_ops_of(reader, 77, 10);
	expect_count(77, 5, name);
	reader_count_ops_of(reader, 90, 10);
	expect_count(90, 6, another);
	rings_abandon(&other);
}

// A sanitizer looks on.
Test(reader, names_of_processes_that_ended_together_go_together)
{
	static struct names names, others;
	static struct rings other;

	cr_assert(rings_start(&other, directory, 90, 6));
	uint32_t name = count_one_call(&names, rings, "mine");
	uint32_t another = count_one_call(&others, &other, "another's");
	reader_poll(reader);
	rings_abandon(rings);
	rings_abandon(&other);
	reader_process_gone(reader, 77);
	reader_process_gone(reader, 90);
	for (int i = 0; i < 3; i++)
		reader_poll(reader);
	uint32_t found = 0;
	for (const struct record *r; (r = reader_next(reader, UINT64_MAX, NULL));)
		found += r->type == RECORD_OP_COUNT;
	cr_expect(eq(u32, found, 2), "of %u and %u", name, another);
}

Test(reader, a_file_that_is_cut_short_ends_alone_and_is_counted)
{
	static const struct {
		bool mapped, begun;
		off_t left;
	} cuts[] = { { false, false, 4096 }, { true, false, 0 }, { true, true, 4096 } };
	static struct rings cut, other;
	char path[128];

	cr_assert(rings_start(&other, directory, 90, 5));
	struct lane *others = rings_claim(&other, 90);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert(rings_start(&cut, directory, 80 + i, 5));
		snprintf(path, sizeof(path), "%s/%u-5-0", directory, 80 + i);
		cleanup_close int fd = open(path, O_RDWR);
		struct lane *lane = rings_claim(&cut, 80 + i);
		for (uint64_t time = 1; time <= 2000; time++)
			put(lane, time, 24);
		if (cuts[i].mapped)
			reader_poll(reader);
		if (cuts[i].begun)
			cr_expect(reader_next(reader, UINT64_MAX, NULL) != NULL);
		cr_assert(eq(int, ftruncate(fd, cuts[i].left), 0));
		cr_expect(lt(int, count_records(), 2000), "cut %u", i);
		reader_poll(reader);
		cr_expect(eq(u64, reader_damaged(reader), i), "cut %u", i);
		put(others, 5000, 24);
		reader_poll(reader);
		cr_expect(eq(int, count_records(), 1), "the other process is read on");
		rings_abandon(&cut);
	}
	rings_abandon(&other);
}

Test(reader, records_whose_parts_do_not_fit_are_not_sound)
{
	uint64_t memory[64] = { 0 };
	struct record *record = (struct record *)memory;
	struct record_sample *sample = (struct record_sample *)memory;

	record->type = RECORD_SAMPLE;
	record->size = sizeof(*sample) + 16;
	sample->stack_bytes = 16;
	cr_expect(record_is_sound(record));
	sample->stack_bytes = 17;
	cr_expect(not(record_is_sound(record)));
	sample->stack_bytes = 8;
	sample->kernel_count = 2;
	cr_expect(not(record_is_sound(record)));
	sample->kernel_count = UINT32_MAX;
	sample->stack_bytes = UINT32_MAX;
	cr_expect(not(record_is_sound(record)));
	record->size = sizeof(*sample) - 8;
	cr_expect(not(record_is_sound(record)));

	record->type = RECORD_UNMAP;
	record->size = sizeof(struct record_unmap) - 8;
	cr_expect(not(record_is_sound(record)));
	record->size = sizeof(struct record_unmap);
	cr_expect(record_is_sound(record));

	struct record_wait *wait = (struct record_wait *)memory;
	record->type = RECORD_WAIT;
	record->size = sizeof(*wait) + 2 * sizeof(struct wait_part);
	wait->count = 2;
	cr_expect(record_is_sound(record));
	wait->count = 3;
	cr_expect(not(record_is_sound(record)));
	wait->count = UINT32_MAX;
	cr_expect(not(record_is_sound(record)));
	wait->count = 0;
	record->size = sizeof(*wait) - 8;
	cr_expect(not(record_is_sound(record)));

	static const char places[] = "\1\0\0\0f\0f.py\0\2\0\0\0g\0";
	struct record_python_await *await = (struct record_python_await *)memory;
	memset(memory, 0, sizeof(memory));
	record->type = RECORD_PYTHON_AWAIT;
	record->size = sizeof(*await) + sizeof(places);
	memcpy(await + 1, places, sizeof(places));
	await->kind = AWAIT_WAIT;
	await->place_count = 2;
	cr_expect(record_is_sound(record));
	await->place_count = 3;
	cr_expect(not(record_is_sound(record)));
	await->place_count = 0;
	cr_expect(not(record_is_sound(record)));
	await->place_count = 2;
	record->size -= 1;
	cr_expect(not(record_is_sound(record)));
	record->size += 1;
	await->kind = AWAIT_KINDS;
	cr_expect(not(record_is_sound(record)));
	await->kind = AWAIT_WAIT;
	await->ns = UINT64_MAX;
	cr_expect(not(record_is_sound(record)));

	memset(memory, 'x', sizeof(memory));
	record->size = 32;
	for (uint16_t type = RECORD_MAP; type <= RECORD_UNMAP; type++) {
		static const int with_text[] = { RECORD_MAP, RECORD_EXEC, RECORD_THREAD,
			                         RECORD_NOTE };
		record->type = type;
		for (size_t i = 0; i < 4; i++)
			if (with_text[i] == type)
				cr_expect(not(record_is_sound(record)), "type %u without an end",
				          type);
	}
}

// As in the directory that other users can write to.
static struct rings *start_as(uid_t user, uint32_t pid)
{
	struct rings *made = calloc(1, sizeof(*made));

	cr_assert(made != NULL);
	cr_assert(eq(int, chmod(directory, 01733), 0));
	cr_assert(eq(int, seteuid(user), 0));
	cr_assert(rings_start(made, directory, pid, 6));
	put(rings_claim(made, pid), 1, 24);
	struct record_memory totals = {
		.head = { .size = sizeof(totals), .type = RECORD_MEMORY, .pid = pid, .tid = pid }
	};
	rings_append_totals(made, &totals);
	cr_assert(eq(int, seteuid(0), 0));
	return made;
}

static unsigned count_of(uint32_t pid, uint16_t type)
{
	unsigned count = 0;

	reader_poll(reader);
	reader_poll(reader);
	for (const struct record *r; (r = reader_next(reader, UINT64_MAX, NULL));)
		count += r->pid == pid && r->type == type;
	return count;
}

static void start_again_with_owners(void)
{
	reader_free(reader);
	reader = reader_new(directory, NULL);
	cr_assert(eq(int, reader_find_owners(reader, NULL), 0));
}

// A child of USER's, to be killed.
static pid_t start_child(uid_t user)
{
	int ready[2];
	char byte;

	cr_assert(eq(int, pipe(ready), 0));
	pid_t child = fork();
	if (child == 0) {
		if (setuid(user) == 0 && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	cr_assert(eq(sz, (size_t)read(ready[0], &byte, 1), 1));
	close(ready[0]);
	close(ready[1]);
	return child;
}

#define NOBODY 65534

Test(reader, other_users_write_for_their_own_processes_alone)
{
	static const struct {
		uid_t file, process;
		unsigned taken;
	} table[] = {
		{ NOBODY, NOBODY, 1 },
		{ 0, NOBODY, 1 }, // it was root's when it began to write
		{ NOBODY, 0, 0 },
		{ NOBODY, NOBODY - 1, 0 },
	};

	for (size_t i = 0; !geteuid() && i < sizeof(table) / sizeof(table[0]); i++) {
		start_again_with_owners();
		pid_t child = start_child(table[i].process);
		struct rings *made = start_as(table[i].file, (uint32_t)child);
		cr_expect(eq(uint, count_of((uint32_t)child, RECORD_EXIT), table[i].taken), "%zu",
		          i);
		rings_abandon(made);
		free(made);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

Test(reader, totals_of_each_user_are_read_from_a_file_of_theirs)
{
	if (geteuid())
		return;
	start_again_with_owners();
	pid_t child = start_child(NOBODY);
	struct rings *first = start_as(0, (uint32_t)child), *second;

	rings_abandon(first);
	free(first);
	cr_expect(eq(uint, count_of((uint32_t)child, RECORD_MEMORY), 1));
	second = start_as(NOBODY, (uint32_t)child);
	cr_expect(eq(uint, count_of((uint32_t)child, RECORD_MEMORY), 1));
	rings_abandon(second);
	free(second);
	second = start_as(NOBODY, (uint32_t)getpid());
	cr_expect(eq(uint, count_of((uint32_t)getpid(), RECORD_MEMORY), 0));
	rings_abandon(second);
	free(second);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

Test(reader, a_file_of_totals_that_is_somebody_elses_is_neither_written_nor_read)
{
	char precious[128], path[128];
	struct stat status;
	struct record_memory totals = {
		.head = { .size = sizeof(totals), .type = RECORD_MEMORY, .pid = 77, .tid = 77 }
	};

	snprintf(precious, sizeof(precious), "%s/.precious", directory);
	snprintf(path, sizeof(path), "%s/" PROTOCOL_TOTALS_FILE "%u", directory, geteuid());
	write_file(".precious", &totals, sizeof(totals), 0600);
	cr_assert(eq(int, link(precious, path), 0));
	rings_append_totals(rings, &totals);
	cr_assert(eq(int, stat(precious, &status), 0));
	cr_expect(eq(sz, (size_t)status.st_size, sizeof(totals)), "the agent");
	cr_expect(eq(uint, count_of(77, RECORD_MEMORY), 0), "the reader");
	unlink(precious);
}
