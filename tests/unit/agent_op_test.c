// SPDX-License-Identifier: MIT
#include "tracer/agent/op/op.h"

#include "base/clock.h"
#include "base/device_bytes.h"
#include "base/op.h"
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op_state.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/reader/reader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static struct agent agent;
static struct reader *reader;
static char story[4096]; // what the records say, in words

static void open_all(void)
{
	temporary_make(directory, sizeof(directory));
	cr_assert(agent_start(&agent, directory, "hz=0,ops=2"));
	threads_start(&agent, false);
	op_start(&agent);
	reader = reader_new(directory, NULL);
	cr_assert(reader != NULL);
}

static void close_all(void)
{
	reader_free(reader);
	temporary_remove(directory);
}

TestSuite(agent_op, .init = open_all, .fini = close_all);

static const char *names[2][4096]; // of this process and of its child

static void keep_name(const struct record *record)
{
	const struct record_op_name *name = (const struct record_op_name *)record;

	cr_assert(lt(u32, name->name, 4096));
	names[record->pid != agent.pid][name->name] = strdup((const char *)(name + 1));
}

static const char *name_of(const struct record *record, uint32_t name)
{
	const char *known = names[record->pid != agent.pid][name];

	cr_assert(known != NULL, "a name comes before its use");
	return known;
}

static const char *untimed(const struct record_op_count *count)
{
	static char text[64];

	text[0] = '\0';
	if (count->counts.timeless)
		snprintf(text, sizeof(text), " (%lu timeless)", count->counts.timeless);
	return text;
}

// "(a (b b) a)": begins, ends, marks and counts.
static void tell(const struct record *record)
{
	char *end = story + strlen(story);
	size_t room = sizeof(story) - strlen(story);
	const struct record_op_count *count = (const struct record_op_count *)record;

	if (record->type == RECORD_OP_NAME)
		keep_name(record);
	else if (record->type == RECORD_OP_BEGIN)
		snprintf(end, room, "%s%s ", record->flags & OP_RANGE ? "[" : "(",
		         name_of(record, ((const struct record_op_begin *)record)->name));
	else if (record->type == RECORD_OP_END)
		snprintf(end, room, "%s%s%s%s ",
		         name_of(record, ((const struct record_op_end *)record)->name),
		         record->flags & OP_UNORDERED ? "!" : "",
		         record->flags & OP_LEFT_OPEN ? "?" : "",
		         record->flags & OP_RANGE ? "]" : ")");
	else if (record->type == RECORD_OP_MARK)
		snprintf(end, room, "%s ",
		         name_of(record, ((const struct record_op_begin *)record)->name));
	else if (record->type == RECORD_OP_COUNT)
		snprintf(end, room, "%s*%lu%s ", name_of(record, count->name), count->counts.calls,
		         untimed(count));
}

static const char *read_story(void)
{
	const struct record *record;

	story[0] = '\0';
	reader_poll(reader);
	reader_count_ops(reader, clock_now_ns());
	while ((record = reader_next(reader, UINT64_MAX, NULL)))
		tell(record);
	return story;
}

static struct op_here nowhere(void)
{
	return (struct op_here){ 4096, 1 };
}

static void begin(const char *name)
{
	struct op_thread *t = op_enter();

	cr_assert(t != NULL);
	op_begin(t, op_name(t, OP_NVTX, 0, name), nowhere(), NULL);
	op_leave(t);
}

static void end(void)
{
	struct op_thread *t = op_enter();

	cr_assert(t != NULL);
	op_end(t);
	op_leave(t);
}

Test(agent_op, ops_nest)
{
	begin("a");
	begin("b");
	end();
	begin("b");
	end();
	end();
	cr_expect(eq(str, (char *)read_story(), "(a (b b) (b b) a) "));
}

Test(agent_op, an_end_without_a_begin_is_nothing)
{
	end();
	begin("a");
	end();
	end();
	cr_expect(eq(str, (char *)read_story(), "(a a) "));
}

Test(agent_op, another_text_in_the_same_place_is_another_name)
{
	char text[16] = "a";

	begin(text);
	strcpy(text, "b");
	begin(text);
	end();
	end();
	cr_expect(eq(str, (char *)read_story(), "(a (b b) a) "));
}

Test(agent_op, what_ends_out_of_order_leaves_the_others_open)
{
	struct op_thread *t = op_enter();

	cr_expect(eq(u32, op_begin_in(t, 1, op_name(t, OP_NVTX, 0, "one"), nowhere(), NULL), 1));
	cr_expect(eq(u32, op_begin_in(t, 2, op_name(t, OP_NVTX, 0, "two"), nowhere(), NULL), 1));
	cr_expect(eq(u32, op_end_in(t, 1), 1));
	cr_expect(eq(u32, op_end_in(t, 1), 0), "there is no other");
	cr_expect(eq(u32, op_end_in(t, 2), 1));
	op_leave(t);
	cr_expect(eq(str, (char *)read_story(), "(one (two one!) two) "));
}

struct times {
	uint64_t total, self;
};

static void sum(struct times *times, uint32_t count)
{
	const struct record *record;

	reader_poll(reader);
	while ((record = reader_next(reader, UINT64_MAX, NULL))) {
		const struct record_op_end *ended = (const struct record_op_end *)record;
		tell(record);
		if (record->type != RECORD_OP_END)
			continue;
		uint32_t which = (uint32_t)(name_of(record, ended->name)[0] - 'a');
		cr_assert(lt(u32, which, count));
		times[which].total += record->time_ns - ended->begin_ns;
		times[which].self += ended->self_ns;
	}
}

Test(agent_op, self_time_is_what_the_ops_within_do_not_take)
{
	struct times times[3] = { 0 };

	begin("a");
	usleep(2000);
	begin("b");
	usleep(4000);
	begin("c");
	usleep(1000);
	end();
	end();
	end();
	sum(times, 3);
	cr_expect(eq(u64, times[2].self, times[2].total));
	cr_expect(eq(u64, times[1].self, times[1].total - times[2].total));
	cr_expect(eq(u64, times[0].self, times[0].total - times[1].total));
	cr_expect(ge(u64, times[0].self, 2 * NS_PER_MS));
}

Test(agent_op, overlapping_ops_share_the_time_out)
{
	struct times times[3] = { 0 };
	struct op_thread *t = op_enter();

	op_begin(t, op_name(t, OP_NVTX, 0, "c"), nowhere(), NULL);
	op_begin_in(t, 1, op_name(t, OP_NVTX, 0, "a"), nowhere(), NULL);
	usleep(1000);
	op_begin_in(t, 2, op_name(t, OP_NVTX, 0, "b"), nowhere(), NULL);
	usleep(2000);
	op_end_in(t, 1);
	usleep(3000);
	op_end_in(t, 2);
	op_end(t);
	op_leave(t);
	sum(times, 3);
	cr_expect(eq(u64, times[0].self + times[1].self + times[2].self, times[2].total));
	cr_expect(lt(u64, times[0].self, times[0].total - 2 * NS_PER_MS + 1));
	cr_expect(eq(u64, times[1].self, times[1].total));
}

// "a 5-1 own 3-0, ": what was allocated and freed on devices, and by itself.
static const char *read_devices(void)
{
	static char text[512];
	const struct record *record;
	size_t used = 0;

	text[0] = '\0';
	reader_poll(reader);
	while ((record = reader_next(reader, UINT64_MAX, NULL))) {
		const struct record_op_end *ended = (const struct record_op_end *)record;
		const struct op_device_bytes *bytes = (const struct op_device_bytes *)(ended + 1);
		tell(record);
		if (record->type != RECORD_OP_END)
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s",
		                         name_of(record, ended->name));
		if (record->flags & OP_ON_DEVICES)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
			                         " %lu-%lu own %lu-%lu", bytes->allocated_bytes,
			                         bytes->freed_bytes, bytes->self_allocated_bytes,
			                         bytes->self_freed_bytes);
		used += (size_t)snprintf(text + used, sizeof(text) - used, ", ");
	}
	return text;
}

Test(agent_op, bytes_of_devices_are_told_of_ops_that_had_any)
{
	begin("a");
	op_use_devices(3, 0);
	begin("b");
	op_use_devices(20, 0);
	begin("c");
	end();
	op_use_devices(0, 7);
	end();
	begin("d");
	end();
	op_use_devices(0, 1);
	end();
	op_use_devices(100, 0);
	begin("e");
	end();
	cr_expect(eq(str, (char *)read_devices(), "c, b 20-7 own 20-7, d, a 23-8 own 3-1, e, "));
}

Test(agent_op, bytes_of_devices_have_room_where_ends_have)
{
	const struct record *record;
	size_t told = 0, opened = 0;

	op_use_devices(1, 0);
	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 1000; i++)
			begin("a");
		op_use_devices(1, 0);
		for (int i = 0; i < 1000; i++)
			end();
	}
	reader_poll(reader);
	while ((record = reader_next(reader, UINT64_MAX, NULL))) {
		opened += record->type == RECORD_OP_BEGIN;
		told += record->type == RECORD_OP_END && record->flags & OP_ON_DEVICES;
	}
	cr_expect(gt(sz, opened, 1000));
	cr_expect(lt(sz, opened, 100000), "the ring has been full");
	cr_expect(eq(sz, told, opened));
}

Test(agent_op, what_finds_no_room_is_counted_and_the_time_is_right)
{
	enum {
		MANY = 100000
	};
	struct times times[2] = { 0 };

	begin("a");
	for (int i = 0; i < MANY; i++) {
		begin("b");
		end();
	}
	end();
	sum(times, 2);
	uint64_t counted = 0;
	reader_poll(reader);
	reader_count_ops(reader, clock_now_ns());
	const struct record *record;
	uint64_t below = times[1].total;
	while ((record = reader_next(reader, UINT64_MAX, NULL)))
		if (record->type == RECORD_OP_COUNT) {
			counted += ((const struct record_op_count *)record)->counts.calls;
			below += ((const struct record_op_count *)record)->counts.total_ns;
		}
	cr_expect(gt(u64, counted, 0));
	cr_expect(eq(u64, times[0].self + below, times[0].total));
}

// Each of them within the one before: the sum of their totals would be the time a hundredfold.
Test(agent_op, what_is_only_counted_holds_itself_once)
{
	enum {
		FILLING = 100000,
		DEPTH = 100
	};
	uint64_t began, total = 0, sum = 0, calls = 0;
	const struct record *record;

	for (int i = 0; i < FILLING; i++) {
		begin("b");
		end();
	}
	began = clock_now_ns();
	for (int i = 0; i < DEPTH; i++)
		begin("a");
	usleep(20000);
	for (int i = 0; i < DEPTH; i++)
		end();
	uint64_t took = clock_now_ns() - began;
	reader_poll(reader);
	reader_count_ops(reader, clock_now_ns());
	while ((record = reader_next(reader, UINT64_MAX, NULL)))
		if (record->type == RECORD_OP_COUNT &&
		    ((const struct record_op_count *)record)->counts.calls == DEPTH) {
			calls += ((const struct record_op_count *)record)->counts.calls;
			total += ((const struct record_op_count *)record)->counts.total_ns;
			sum += ((const struct record_op_count *)record)->counts.sum_ns;
		}
	cr_expect(eq(u64, calls, DEPTH));
	cr_expect(ge(u64, sum, DEPTH * 20 * NS_PER_MS), "each has taken that long");
	cr_expect(le(u64, sum, DEPTH * took));
	cr_expect(le(u64, total, took));
	cr_expect(ge(u64, total, 20 * NS_PER_MS));
}

Test(agent_op, calls_are_exact_however_many)
{
	enum {
		MANY = 300000
	};
	uint64_t calls = 0;
	const struct record *record;

	for (int i = 0; i < MANY; i++) {
		begin("b");
		end();
		if (i % 100000 == 0)
			reader_poll(reader);
		while (i % 100000 == 0 && (record = reader_next(reader, UINT64_MAX, NULL)))
			calls += record->type == RECORD_OP_END;
	}
	reader_poll(reader);
	reader_count_ops(reader, clock_now_ns());
	while ((record = reader_next(reader, UINT64_MAX, NULL)))
		if (record->type == RECORD_OP_COUNT)
			calls += ((const struct record_op_count *)record)->counts.calls;
		else
			calls += record->type == RECORD_OP_END;
	cr_expect(eq(u64, calls, MANY));
}

Test(agent_op, names_of_every_length_are_counted)
{
	enum {
		MANY = 20000
	};
	static char longest[PROTOCOL_NAME_TEXT + 1];
	const char *texts[] = { longest, "", "short", longest + 1, longest + 127, longest + 130 };
	uint64_t calls = 0;
	const struct record *record;

	memset(longest, 'x', sizeof(longest) - 1);
	for (int i = 0; i < MANY; i++)
		for (size_t j = 0; j < sizeof(texts) / sizeof(texts[0]); j++) {
			begin(texts[j]);
			end();
		}
	reader_poll(reader);
	reader_count_ops(reader, clock_now_ns());
	while ((record = reader_next(reader, UINT64_MAX, NULL)))
		if (record->type == RECORD_OP_COUNT)
			calls += ((const struct record_op_count *)record)->counts.calls;
		else
			calls += record->type == RECORD_OP_END;
	cr_expect(eq(u64, calls, MANY * sizeof(texts) / sizeof(texts[0])));
}

Test(agent_op, deeper_than_is_kept_is_counted)
{
	for (int i = 0; i < OP_DEPTH_MAX + 10; i++)
		begin("a");
	for (int i = 0; i < OP_DEPTH_MAX + 10; i++)
		end();
	begin("b");
	end();
	struct times times[2] = { 0 };
	sum(times, 2);
	cr_expect(eq(str, (char *)read_story(), "a*10 (10 timeless) "));
	cr_expect(gt(u64, times[1].total, 0), "and all is well afterwards");
}

// A sanitizer looks on.
Test(agent_op, without_an_op_that_is_kept_nothing_ends_quickly)
{
	for (int i = 0; i < OP_DEPTH_MAX + 2; i++)
		begin("a");
	cr_expect(not(op_ends_quickly(op_own, 0)), "none of the open ones began so early");
	for (int i = 0; i < OP_DEPTH_MAX + 2; i++)
		end();
	cr_expect(not(op_ends_quickly(op_own, 0)), "none is open");
}

static struct op_range range;

static void *end_range(void *unused)
{
	struct op_thread *t = op_enter();

	op_range_end(t, range);
	op_leave(t);
	return unused;
}

Test(agent_op, a_range_ends_in_another_thread)
{
	struct op_thread *t = op_enter();
	pthread_t thread;

	range = op_range_begin(t, op_name(t, OP_NVTX, 0, "r"), nowhere(), NULL);
	op_leave(t);
	cr_assert(pthread_create(&thread, NULL, end_range, NULL) == 0);
	pthread_join(thread, NULL);
	cr_expect(eq(str, (char *)read_story(), "[r r] "));
}

static void *leave_open(void *unused)
{
	begin("a");
	begin("b");
	return unused;
}

Test(agent_op, what_a_thread_leaves_open_ends_with_it)
{
	pthread_t thread;

	cr_assert(pthread_create(&thread, NULL, leave_open, NULL) == 0);
	pthread_join(thread, NULL);
	cr_expect(eq(str, (char *)read_story(), "(a (b b?) a?) "));
}

static void *begin_when_there_is_room(void *unused)
{
	struct lane *other = rings_claim(&agent.rings, 1);

	while (rings_claim(&agent.rings, 1))
		;
	cr_expect(eq(ptr, op_enter(), NULL));
	rings_release(other);
	for (int i = 0; i < 10000 && !op_own; i++) {
		struct op_thread *t = op_enter();
		if (t)
			op_leave(t);
	}
	begin("late");
	end();
	return unused;
}

Test(agent_op, a_thread_without_room_is_counted_and_has_ops_when_others_have_ended)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };
	pthread_t thread;

	begin("early"); // the names have their file
	end();
	setrlimit(RLIMIT_FSIZE, &limit);
	cr_assert(pthread_create(&thread, NULL, begin_when_there_is_room, NULL) == 0);
	pthread_join(thread, NULL);
	cr_expect(eq(str, (char *)read_story(), "(early early) (late late) "));
	cr_expect(eq(u64, reader_unsampled(reader), 1));
}

Test(agent_op, a_handler_in_the_middle_of_a_hook_is_kept_out)
{
	struct op_thread *t = op_enter();

	cr_expect(op_is_inside());
	cr_expect(eq(ptr, op_enter(), NULL));
	op_leave(t);
	cr_expect(not(op_is_inside()));
}

static void run_child(long (*fork_somehow)(void))
{
	begin("parent");
	long child = fork_somehow();
	if (child == 0) {
		begin("child");
		end();
		_exit(0);
	}
	cr_assert(child > 0);
	waitpid((pid_t)child, NULL, 0);
	end();
	const char *told = read_story();
	cr_expect(strstr(told, "(child child) ") != NULL, "%s", told);
	cr_expect(strstr(told, "(parent ") != NULL && strstr(told, "parent) ") != NULL, "%s", told);
}

static long fork_unseen(void)
{
	return syscall(SYS_fork);
}

Test(agent_op, a_child_that_no_handler_told_of_writes_to_files_of_its_own)
{
	run_child(fork_unseen);
}

static void after_fork(void)
{
	op_fork(&agent);
	agent_fork(&agent);
	threads_fork(&agent);
}

static long fork_seen(void)
{
	pthread_atfork(NULL, NULL, after_fork);
	return fork();
}

Test(agent_op, a_child_writes_to_files_of_its_own)
{
	run_child(fork_seen);
}

Test(agent_op, details_travel)
{
	const uint64_t shape[] = { 256, 128, 300 };
	struct op_details details = { OP_DETAIL_SHAPE, 3, shape };
	struct op_thread *t = op_enter();
	const struct record *record;
	bool seen = false;

	op_begin(t, op_name(t, OP_BLAS, 0, "dgemm"), nowhere(), &details);
	op_end(t);
	op_leave(t);
	reader_poll(reader);
	while ((record = reader_next(reader, UINT64_MAX, NULL)))
		if (record->type == RECORD_OP_BEGIN) {
			const struct record_op_begin *told = (const struct record_op_begin *)record;
			seen = true;
			cr_expect(eq(int, told->detail, OP_DETAIL_SHAPE));
			cr_expect(eq(int, told->detail_count, 3));
			cr_expect(memcmp(told + 1, shape, sizeof(shape)) == 0);
		}
	cr_expect(seen);
}

static __attribute__((noinline)) void hook(void)
{
	struct op_thread *t = op_enter();

	op_begin(t, op_name(t, OP_NVTX, 0, "here"), OP_HERE(), NULL);
	op_end(t);
	op_leave(t);
}

Test(agent_op, a_new_caller_leaves_its_stack)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	const struct record *record;
	int sites = 0;

	for (volatile int i = 0; i < 3; i++)
		hook();
	reader_poll(reader);
	while ((record = reader_next(reader, UINT64_MAX, NULL))) {
		const struct record_op_site *site = (const struct record_op_site *)record;
		if (record->type != RECORD_OP_SITE)
			continue;
		sites++;
		cr_expect(lt(u64, site->stack, here));
		cr_expect(gt(u64, site->stack_bytes, site->stack - site->regs[DWARF_RSP]));
		uint64_t stored;
		memcpy(&stored,
		       (const char *)(site + 1) + (site->stack - 8 - site->regs[DWARF_RSP]), 8);
		cr_expect(eq(u64, stored, site->caller),
		          "the return address is where it should be");
	}
	cr_expect(eq(int, sites, 1));
}

// An anchor of the clock comes first: the first op that ends is followed by empty ones, once.
Test(agent_op, empty_ops_are_recorded_behind_others_where_they_are_wanted)
{
	op_wants_empties = true;
	begin("a");
	begin("b");
	end();
	end();
	const char *told = read_story();
	size_t empties = 0;
	for (const char *at = told; (at = strstr(at, "(bottleneck: empty ")); at++)
		empties++;
	cr_expect(strncmp(told, "(a (b b) (bottleneck: empty bottleneck: empty) ", 46) == 0, "%s",
	          told);
	cr_expect(strstr(told, "(bottleneck: row of empty (bottleneck: empty ") != NULL, "%s",
	          told);
	cr_expect(strcmp(told + strlen(told) - 3, "a) ") == 0, "%s", told);
	cr_expect(eq(sz, empties, 16 + OP_EMPTY_ROW));
	op_wants_empties = false;
}
