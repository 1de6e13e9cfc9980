// SPDX-License-Identifier: MIT
#include "tracer/agent/memory/memory.h"

#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/reader/reader.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEAN 65536

static char directory[64];
static struct agent agent;
static struct reader *reader;

static struct told {
	struct record_memory sum; /* live and peak: the last */
	uint64_t samples, frees, weight, untracked;
	double squares; /* of weights */
	uint64_t last_address, last_freed, last_stack, longest_stack;
} told;

static void open_all(void)
{
	temporary_make(directory, sizeof(directory));
	cr_assert(agent_start(&agent, directory, "hz=0,malloc=65536"));
	threads_start(&agent, false);
	op_start(&agent);
	memory_start(&agent);
	reader = reader_new(directory, NULL);
	cr_assert(reader != NULL);
}

static void close_all(void)
{
	reader_free(reader);
	temporary_remove(directory);
}

TestSuite(memory, .init = open_all, .fini = close_all);

static void add_memory(const struct record_memory *part)
{
	told.sum.allocations += part->allocations;
	told.sum.frees += part->frees;
	told.sum.allocated_bytes += part->allocated_bytes;
	told.sum.freed_bytes += part->freed_bytes;
	told.sum.live_bytes = part->live_bytes;
	told.sum.peak_bytes = part->peak_bytes;
}

static void take(const struct record *record)
{
	const struct record_alloc *alloc = (const struct record_alloc *)record;

	if (record->type == RECORD_MEMORY)
		add_memory((const struct record_memory *)record);
	if (record->type == RECORD_ALLOC) {
		told.samples++;
		told.weight += alloc->weight_bytes;
		told.squares += (double)alloc->weight_bytes * (double)alloc->weight_bytes;
		told.untracked += (record->flags & ALLOC_UNTRACKED) != 0;
		told.last_address = alloc->address;
		told.last_stack = alloc->stack_bytes;
		if (told.last_stack > told.longest_stack)
			told.longest_stack = told.last_stack;
	}
	if (record->type == RECORD_FREE) {
		told.frees++;
		told.last_freed = ((const struct record_free *)record)->address;
	}
}

// Adds what there is to what was TOLD; that of process PID alone, if it is not 0.
static void read_of(uint32_t pid)
{
	reader_poll(reader);
	for (const struct record *r; (r = reader_next(reader, UINT64_MAX, NULL));)
		if (!pid || r->pid == pid)
			take(r);
}

static const void *at(uint64_t address)
{
	return (const void *)(uintptr_t)address;
}

static void expect_totals(uint64_t allocations, uint64_t allocated, uint64_t frees, uint64_t freed)
{
	cr_expect(eq(u64, told.sum.allocations, allocations));
	cr_expect(eq(u64, told.sum.allocated_bytes, allocated));
	cr_expect(eq(u64, told.sum.frees, frees));
	cr_expect(eq(u64, told.sum.freed_bytes, freed));
}

Test(memory, totals_are_exact_at_the_end)
{
	for (uint64_t i = 1; i <= 100000; i++) {
		memory_allocated(at(i * 4096), i % 1000);
		if (i % 3 == 0)
			memory_freed(at(i * 4096), i % 1000);
		if (i % 1000 == 0)
			read_of(0);
	}
	memory_finish();
	read_of(0);
	uint64_t freed = 0;
	for (uint64_t i = 3; i <= 100000; i += 3)
		freed += i % 1000;
	expect_totals(100000, 49950000, 33333, freed);
	cr_expect(eq(u64, told.sum.live_bytes, 49950000 - freed));
	cr_expect(eq(u64, reader_dropped(reader), 0));
}

Test(memory, what_is_told_twice_is_told_once)
{
	memory_allocated(at(4096), 100);
	memory_finish();
	memory_finish();
	memory_allocated(at(8192), 10);
	memory_finish();
	read_of(0);
	expect_totals(2, 110, 0, 0);
}

Test(memory, nothing_is_said_of_a_process_that_allocates_nothing)
{
	memory_finish();
	read_of(0);
	cr_expect(agent.process == NULL);
}

Test(memory, a_short_process_makes_no_files_of_its_own)
{
	memory_allocated(at(4096), 100);
	memory_freed(at(4096), 100);
	memory_finish();
	cr_expect(agent.process == NULL);
	read_of(0);
	expect_totals(1, 100, 1, 100);
}

Test(memory, a_long_run_tells_its_totals_before_its_end)
{
	for (uint64_t i = 1; i <= 1000; i++) {
		memory_allocated(at(4096), 1000);
		memory_freed(at(4096), 1000);
	}
	read_of(0);
	cr_expect(ge(u64, told.sum.allocated_bytes, 1000000 - 2 * MEAN));
	cr_expect(ge(u64, told.sum.freed_bytes, 1000000 - 2 * MEAN));
}

Test(memory, what_is_only_freed_is_told_as_well)
{
	for (uint64_t i = 1; i <= 1000; i++)
		memory_freed(at(4096), 1000);
	read_of(0);
	cr_expect(ge(u64, told.sum.freed_bytes, 1000000 - 3 * MEAN));
	cr_expect(eq(u64, told.sum.live_bytes, 0));
}

Test(memory, the_peak_is_that_of_the_process)
{
	// Up to 80 MB, down to 20, up to 60.
	static const int64_t turns[] = { 80000, -60000, 40000 };

	for (int turn = 0; turn < 3; turn++)
		for (int64_t i = 0; i < llabs(turns[turn]); i++) {
			if (turns[turn] > 0)
				memory_allocated(at(4096), 1000);
			else
				memory_freed(at(4096), 1000);
			if (i % 100 == 0)
				read_of(0);
		}
	memory_finish();
	read_of(0);
	cr_expect(eq(u64, told.sum.live_bytes, 60000000));
	cr_expect(ge(u64, told.sum.peak_bytes, 79800000), "%lu", told.sum.peak_bytes);
	cr_expect(le(u64, told.sum.peak_bytes, 80200000), "%lu", told.sum.peak_bytes);
}

Test(memory, the_free_of_a_sampled_allocation_is_told)
{
	for (uint64_t i = 1; told.samples == 0 && i < 10000; i++) {
		memory_allocated(at(i * 4096), 4000);
		read_of(0);
	}
	cr_assert(eq(u64, told.samples, 1));
	cr_expect(gt(u64, told.last_stack, 0));
	memory_freed(at(told.last_address + 16), 4000);
	read_of(0);
	cr_expect(eq(u64, told.frees, 0));
	memory_freed(at(told.last_address), 4000);
	memory_freed(at(told.last_address), 4000);
	read_of(0);
	cr_expect(eq(u64, told.frees, 1));
	cr_expect(eq(u64, told.last_freed, told.last_address));
}

Test(memory, weights_add_up_to_what_was_allocated)
{
	uint64_t total = 0;

	for (uint64_t i = 1; i <= 400000; i++) {
		uint64_t bytes = i % 100 ? 200 : 100000;
		memory_allocated(at(i * 4096), bytes);
		memory_freed(at(i * 4096), bytes);
		total += bytes;
		if (i % 100 == 0)
			read_of(0);
	}
	cr_assert(eq(u64, reader_dropped(reader), 0));
	cr_assert(ge(u64, told.samples, 20)); // the budget allows more on a slow machine
	cr_expect(eq(u64, told.samples, told.frees));
	cr_expect(eq(u64, told.untracked, 0));
	// The mean has changed on the way: each sample varies by what it stands for, and at the end
	// there is one that has not come.
	double error = (double)told.weight - (double)total;
	double mean = (double)((uint64_t)MEAN << memory.budget.shift);
	cr_expect(lt(dbl, error * error, 25 * (told.squares + mean * mean)),
	          "%lu samples, off by %.3f", told.samples, error / (double)total);
}

// What a thread takes and gives back again and again is not told each time, and yet no peak is
// missed.
Test(memory, the_peak_of_threads_that_lag_is_that_of_all_together)
{
	static struct memory_thread *lagging;

	memory_allocated(at(4096), 10 << 20);
	memory_freed(at(4096), 10 << 20);
	lagging = (struct memory_thread *)op_memory;
	op_memory = NULL; // as if of another thread
	memory_allocated(at(8192), 10 << 20);
	memory_finish();
	read_of(0);
	cr_expect(eq(u64, told.sum.live_bytes, 10 << 20));
	cr_expect(eq(u64, told.sum.peak_bytes, 10 << 20));
	op_memory = &lagging->totals;
	memory_allocated(at(4096), 10 << 20);
	memory_freed(at(4096), 10 << 20);
	memory_finish();
	read_of(0);
	cr_expect(eq(u64, told.sum.live_bytes, 10 << 20));
	cr_expect(eq(u64, told.sum.peak_bytes, 20 << 20));
}

static void *swing(void *argument)
{
	uint64_t bytes = (uint64_t)(uintptr_t)argument;

	for (int i = 0; i < 20000; i++) {
		memory_allocated(at(4096), bytes);
		memory_freed(at(4096), bytes);
	}
	return NULL;
}

Test(memory, threads_that_swing_leave_nothing_behind)
{
	pthread_t threads[8];

	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 8; i++)
			cr_assert(pthread_create(&threads[i], NULL, swing,
			                         (void *)(uintptr_t)(1 << 20)) == 0);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
		read_of(0);
	}
	memory_finish();
	read_of(0);
	cr_expect(eq(u64, told.sum.allocations, 800000));
	cr_expect(eq(u64, told.sum.live_bytes, 0));
	cr_expect(ge(u64, told.sum.peak_bytes, 1 << 20));
	cr_expect(le(u64, told.sum.peak_bytes, 8 << 20));
}

static void *swing_once(void *unused)
{
	(void)unused;
	memory_allocated(at(4096), MEMORY_STEP_BYTES);
	memory_freed(at(4096), MEMORY_STEP_BYTES);
	return NULL;
}

// The first ones keep to themselves what they have freed, and are gone when that ends.
Test(memory, the_peak_of_many_threads_in_turn_is_that_of_one)
{
	pthread_t thread;

	for (int i = 0; i < 2 * MEMORY_LAZY_THREADS; i++) {
		cr_assert(pthread_create(&thread, NULL, swing_once, NULL) == 0);
		pthread_join(thread, NULL);
	}
	memory_finish();
	read_of(0);
	cr_expect(eq(u64, told.sum.live_bytes, 0));
	cr_expect(eq(u64, told.sum.peak_bytes, MEMORY_STEP_BYTES));
}

Test(memory, a_failed_realloc_frees_nothing)
{
	memory_allocated(at(4096), 1000);
	memory_freed(at(4096), 1000);
	memory_kept(1000);
	memory_finish();
	read_of(0);
	expect_totals(1, 1000, 0, 0);
	cr_expect(eq(u64, told.sum.live_bytes, 1000));
}

static void *allocate(void *argument)
{
	uint64_t bytes = (uint64_t)(uintptr_t)argument;

	for (int i = 0; i < 100; i++)
		memory_allocated(at(4096), bytes);
	for (int i = 0; i < 50; i++)
		memory_freed(at(4096), bytes);
	return NULL;
}

static void run_threads(uint64_t count, uint64_t at_once, uint64_t bytes)
{
	pthread_t threads[64];

	for (uint64_t i = 0; i < count; i += at_once) {
		for (uint64_t k = 0; k < at_once; k++)
			cr_assert(pthread_create(&threads[k], NULL, allocate,
			                         (void *)(uintptr_t)bytes) == 0);
		for (uint64_t k = 0; k < at_once; k++)
			pthread_join(threads[k], NULL);
		read_of(0);
	}
}

Test(memory, what_threads_counted_that_are_gone_is_not_lost)
{
	run_threads(64, 64, 1000);
	memory_finish();
	read_of(0);
	expect_totals(6400, 6400000, 3200, 3200000);
	cr_expect(eq(u64, told.sum.live_bytes, 3200000));
}

Test(memory, more_threads_than_slots_come_and_go)
{
	run_threads(MEMORY_THREADS + 1024, 16, 10);
	memory_finish();
	read_of(0);
	uint64_t n = MEMORY_THREADS + 1024;
	expect_totals(100 * n, 1000 * n, 50 * n, 500 * n);
	cr_expect(eq(u64, told.sum.live_bytes, 500 * n));
	cr_expect(le(u32, memory.thread_count, MEMORY_THREADS));
}

Test(memory, threads_without_a_slot_are_counted_all_the_same)
{
	// All are taken, by a thread that lives: this one.
	memory_allocated(at(4096), 1);
	for (uint32_t i = 1; i < MEMORY_THREADS; i++)
		memory.threads[i].tid = memory.threads[0].tid;
	memory.thread_count = MEMORY_THREADS;
	run_threads(4, 4, 1000);
	memory_finish();
	read_of(0);
	expect_totals(401, 400001, 200, 200000);
	cr_expect(eq(u64, told.sum.live_bytes, 200001));
}

Test(memory, errno_stays)
{
	errno = 42;
	for (uint64_t i = 1; i <= 10000; i++) {
		memory_allocated(at(i * 4096), 10000);
		memory_freed(at(i * 4096), 10000);
		cr_assert(eq(int, errno, 42));
	}
}

Test(memory, a_forked_child_counts_its_own_and_inherits_what_lives)
{
	for (int i = 0; i < 1000; i++)
		memory_allocated(at(4096), 1000);
	memory_finish();
	pid_t child = fork();
	if (child == 0) {
		op_fork(&agent);
		agent_fork(&agent);
		threads_fork(&agent);
		memory_fork();
		for (int i = 0; i < 10; i++)
			memory_allocated(at(4096), 7);
		memory_freed(at(4096), 1000);
		memory_finish();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	read_of((uint32_t)child);
	expect_totals(10, 70, 1, 1000);
	cr_expect(eq(u64, told.sum.live_bytes, 1000000 + 70 - 1000));
	cr_expect(ge(u64, told.sum.peak_bytes, 1000000));
	cr_expect(le(u64, told.sum.peak_bytes, 1000000 + 70));
}

Test(memory, ops_know_what_their_thread_allocated)
{
	uint64_t allocated = 0, self = 0;
	struct op_here here = { 4096, 1 };
	struct op_thread *t = op_enter();

	op_begin(t, op_name(t, OP_NVTX, 0, "outer"), here, NULL);
	op_begin(t, op_name(t, OP_NVTX, 0, "inner"), here, NULL);
	op_leave(t);
	memory_allocated(at(4096), 500);
	op_end(op_enter());
	op_leave(t);
	memory_allocated(at(8192), 30);
	op_end(op_enter());
	op_leave(t);
	reader_poll(reader);
	for (const struct record *r; (r = reader_next(reader, UINT64_MAX, NULL));)
		if (r->type == RECORD_OP_END) {
			allocated = ((const struct record_op_end *)r)->allocated_bytes;
			self = ((const struct record_op_end *)r)->self_allocated_bytes;
		}
	cr_expect(eq(u64, allocated, 530));
	cr_expect(eq(u64, self, 30));
}

static __attribute__((noinline)) void allocate_deep(uint64_t address, size_t bytes)
{
	char deep[MEMORY_STACK];

	__asm__ volatile("" : : "r"(deep) : "memory");
	memory_allocated(at(address), bytes);
	__asm__ volatile("" : : "r"(deep) : "memory");
}

// Nobody reads: three times as many as have room with whole stacks.
Test(memory, stacks_are_cut_before_samples_are_lost)
{
	enum {
		COUNT = 400
	};

	for (int i = 0; i < COUNT; i++) {
		memory.budget.taken = 0;
		allocate_deep(4096 * (1 + (uint64_t)i), 16 * MEAN);
	}
	read_of(0);
	cr_expect(ge(u64, told.samples, COUNT * 9 / 10));
	cr_expect(ge(u64, told.longest_stack, MEMORY_STACK - 8));
	cr_expect(le(u64, told.last_stack, MEMORY_STACK / 4));
	cr_expect(ge(u64, told.last_stack, 256));
}

Test(memory, a_process_that_allocates_fast_keeps_to_its_budget)
{
	uint64_t count = 0, total = 0;
	uint32_t most = 0; // while it runs: after a pause the budget allows more

	// Some 4000 means, in much less than a second.
	for (; count < 4000; count++) {
		memory_allocated(at(4096), 16 * MEAN);
		memory_freed(at(4096), 16 * MEAN);
		total += 16 * MEAN;
		most = memory.budget.shift > most ? memory.budget.shift : most;
		if (count % 32 == 0)
			read_of(0);
	}
	memory_finish();
	read_of(0);
	expect_totals(count, total, count, total);
	cr_expect(lt(u64, told.samples, count / 2));
	cr_expect(gt(u64, told.samples, POISSON_BUDGET));
	cr_expect(gt(u32, most, 0));
}

// Counting in part.

#define PART_RUNS  200
#define PART_CALLS 60000
#define PART_KEPT  512

enum part_sum {
	PART_ALLOCATIONS,
	PART_ALLOCATED,
	PART_FREES,
	PART_FREED,
	PART_LIVE,
	PART_SUMS
};

static void begin_in_part(void)
{
	memset(&memory, 0, sizeof(memory));
	op_memory = NULL;
	memory_left = 0;
	memory_way = MEMORY_IN_PART;
}

static void allocate_in_part(uint64_t address, size_t asked, size_t bytes)
{
	if (!memory_passes(asked))
		memory_allocated_in_part(at(address), asked, bytes);
}

// A program whose blocks live for different times, and the difference of what is said of it.
static void run_in_part(double off[PART_SUMS])
{
	static const size_t sizes[] = { 24, 24, 1000, 24, 200, 24, 24, 5000 };
	static uint64_t kept[PART_KEPT], kept_bytes[PART_KEPT];
	double truth[PART_SUMS] = { 0 };

	memset(kept, 0, sizeof(kept));
	for (uint64_t i = 0; i < PART_CALLS; i++) {
		size_t bytes = i % 2000 == 7 ? 300000 : sizes[i % 8];
		uint64_t slot = i * i % PART_KEPT, address = (i + 1) * 48;
		if (kept[slot]) {
			memory_freed_in_part(at(kept[slot]), kept_bytes[slot]);
			truth[PART_FREES]++;
			truth[PART_FREED] += (double)kept_bytes[slot];
		}
		allocate_in_part(address, bytes - 8, bytes);
		kept[slot] = address;
		kept_bytes[slot] = bytes;
		truth[PART_ALLOCATIONS]++;
		truth[PART_ALLOCATED] += (double)bytes;
	}
	truth[PART_LIVE] = truth[PART_ALLOCATED] - truth[PART_FREED];
	off[PART_ALLOCATIONS] = (double)op_memory->allocations - truth[PART_ALLOCATIONS];
	off[PART_ALLOCATED] = (double)op_memory->allocated_bytes - truth[PART_ALLOCATED];
	off[PART_FREES] = (double)op_memory->frees - truth[PART_FREES];
	off[PART_FREED] = (double)op_memory->freed_bytes - truth[PART_FREED];
	off[PART_LIVE] = (double)op_memory->allocated_bytes - (double)op_memory->freed_bytes -
	                 truth[PART_LIVE];
}

Test(memory, what_is_counted_in_part_is_without_bias_and_its_interval_covers)
{
	double sum[PART_SUMS] = { 0 }, squares[PART_SUMS] = { 0 };
	int covered[2] = { 0 };

	for (int run = 0; run < PART_RUNS; run++) {
		double off[PART_SUMS];
		begin_in_part();
		run_in_part(off);
		for (int i = 0; i < PART_SUMS; i++) {
			sum[i] += off[i];
			squares[i] += off[i] * off[i];
		}
		covered[0] += fabs(off[PART_ALLOCATIONS]) <=
		              1.96 * sqrt((double)op_memory->allocations_variance);
		covered[1] += fabs(off[PART_ALLOCATED]) <=
		              1.96 * 1024 * sqrt((double)op_memory->bytes_variance);
		read_of(0);
	}
	for (int i = 0; i < PART_SUMS; i++) {
		double mean = sum[i] / PART_RUNS;
		double error = sqrt((squares[i] / PART_RUNS - mean * mean) / PART_RUNS);
		cr_expect(gt(dbl, error, 0), "sum %d", i);
		cr_expect(lt(dbl, fabs(mean), 4 * error), "sum %d: off by %.1f, +- %.1f", i, mean,
		          error);
	}
	// 95 %, less 4 standard deviations of so many runs.
	cr_expect(ge(int, covered[0], PART_RUNS * 89 / 100));
	cr_expect(ge(int, covered[1], PART_RUNS * 89 / 100));
}

Test(memory, in_part_most_calls_pass_and_a_sampled_block_is_known_when_it_is_freed)
{
	uint64_t hits = 0;

	begin_in_part();
	for (uint64_t i = 1; i <= 100000; i++) {
		bool passes = memory_passes(48);
		hits += !passes;
		if (!passes)
			memory_allocated_in_part(at(i * 64), 48, 56);
		if (!passes && i > 1)
			cr_expect(memory_table_may_hold(&memory.sampled, i * 64));
	}
	cr_expect(lt(u64, hits, 300)); // 98 in the mean
	uint64_t live = op_memory->allocated_bytes;
	cr_expect(gt(u64, live, 0));
	for (uint64_t i = 1; i <= 100000; i++)
		memory_freed_in_part(at(i * 64), 56);
	cr_expect(eq(u64, op_memory->freed_bytes, live));
	cr_expect(eq(u32, memory.sampled.used, 0));
}
