// SPDX-License-Identifier: MIT
// The agent's rings, timers and threads, and the collector's side of them, under TSan: a plain
// program, as Criterion does not start there. Fails by what it finds missing, or by TSan.
#include "base/clock.h"
#include "tests/support/temporary.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/sample/signals.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/reader/reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WRITERS 4
#define LIVES   8    // lanes that a writer has, one after the other
#define RECORDS 4000 // in each: enough to begin again at a ring's start
#define BURNERS 6
#define BURN_MS 150

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "agent_race: %s\n", what);
	exit(1);
}

// Lanes: many writers claim, fill and release them, one reader drains. Both use one mapping, as
// TSan goes by address; so the reader is this one and not tracer/reader.

static struct rings lanes;
static int writing; // atomic: how many writers are still at it
static uint64_t written, dropped;

static void write_life(uint32_t tid)
{
	struct lane *lane;
	uint64_t count = 0;

	while (!(lane = rings_claim_patiently(&lanes, tid)))
		sched_yield();
	for (uint64_t i = 1; i <= RECORDS; i++) {
		struct record *record = lane_reserve(lane, lanes.by_populate, sizeof(*record) + 64);
		if (!record)
			continue;
		memset(record, 0, sizeof(*record) + 64);
		record->type = RECORD_EXIT;
		record->tid = tid;
		record->time_ns = i;
		lane_commit(lane, record, sizeof(*record) + 64);
		count++;
	}
	rings_release(lane);
	__atomic_fetch_add(&written, count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&dropped, RECORDS - count, __ATOMIC_RELAXED);
}

static void *write_lives(void *number)
{
	uint32_t hint = 0;

	for (uint32_t life = 0; life < LIVES; life++) {
		uint32_t tid = (uint32_t)(uintptr_t)number * 1000 + life + 1;
		write_life(tid);
		check(!rings_find(&lanes, tid, &hint), "a released lane is still found");
	}
	__atomic_fetch_sub(&writing, 1, __ATOMIC_RELEASE);
	return NULL;
}

// One view of each ring, and what came from it last.
static struct view {
	struct ring ring;
	bool open;
	uint32_t tid;
	uint64_t time_ns;
} views[RINGS_LANES_MAX];

static bool open_view(struct view *view, uint32_t index)
{
	struct protocol_file *file = lanes.files[index / RINGS_PER_FILE];
	uint32_t number = index % RINGS_PER_FILE;
	uint32_t made = __atomic_load_n(&file->made, __ATOMIC_ACQUIRE);

	if (!view->open && made & 1u << number)
		view->open = ring_open(
			&view->ring, (char *)file + protocol_ring_offset(number, lanes.data_bytes),
			protocol_ring_bytes(lanes.data_bytes));
	return view->open;
}

static uint64_t drain_view(struct view *view)
{
	const struct record *record;
	uint64_t count = 0;

	for (; (record = ring_peek(&view->ring, NULL)); count++) {
		check(record->tid != view->tid || record->time_ns > view->time_ns,
		      "a record came twice, or out of order");
		view->tid = record->tid;
		view->time_ns = record->time_ns;
		ring_advance(&view->ring);
	}
	return count;
}

static uint64_t drain_views(void)
{
	uint32_t count = __atomic_load_n(&lanes.lane_count, __ATOMIC_ACQUIRE);
	uint64_t records = 0;

	for (uint32_t i = 0; i < count; i++)
		if (open_view(&views[i], i))
			records += drain_view(&views[i]);
	return records;
}

static void race_lanes(const char *directory)
{
	pthread_t threads[WRITERS];
	uint64_t records = 0;

	check(rings_start(&lanes, directory, 1, 1), "the rings could not be made");
	writing = WRITERS;
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&threads[i], NULL, write_lives, (void *)(i + 1));
	while (__atomic_load_n(&writing, __ATOMIC_ACQUIRE))
		records += drain_views();
	for (int i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	records += drain_views();
	check(records == written, "records were lost between the two sides");
	check(written + dropped == (uint64_t)WRITERS * LIVES * RECORDS, "records were not counted");
	printf("%lu records, %lu dropped, %u lanes\n", (unsigned long)records,
	       (unsigned long)dropped, lanes.lane_count);
	rings_abandon(&lanes);
}

// The whole agent in this process, by its real timers, and the real reader.

static struct agent agent;

static void *burn(void *argument)
{
	uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + BURN_MS * NS_PER_MS;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 10000; i++)
			;
	return argument;
}

struct seen {
	unsigned samples, begun, ended;
	uint64_t weight_ns;
};

static void drain(struct reader *reader, struct seen *seen)
{
	const struct record *record;

	reader_poll(reader);
	while ((record = reader_next(reader, UINT64_MAX, NULL))) {
		seen->begun += record->type == RECORD_FORK && record->tid != record->pid;
		seen->ended += record->type == RECORD_EXIT;
		if (record->type != RECORD_SAMPLE)
			continue;
		seen->samples++;
		seen->weight_ns += ((const struct record_sample *)record)->weight_ns;
	}
}

static void *drain_until_told(void *argument)
{
	const char *directory = argument;
	static struct seen seen;
	struct reader *reader = reader_new(directory, NULL);

	check(reader != NULL, "the reader could not be made");
	while (__atomic_load_n(&writing, __ATOMIC_ACQUIRE)) {
		drain(reader, &seen);
		usleep(1000);
	}
	drain(reader, &seen);
	check(reader_damaged(reader) == 0, "a ring is damaged");
	reader_free(reader);
	return &seen;
}

static void start_burner(pthread_t *thread)
{
	struct lane *lane = threads_prepare(&agent, burn, NULL, 0);

	check(lane != NULL, "a thread got no lane");
	if (pthread_create(thread, NULL, threads_run, lane) != 0)
		threads_cancel(lane);
}

static void race_agent(char *directory)
{
	pthread_t drainer, threads[BURNERS];
	void *result;

	check(signals_start(SIGNALS_TIMER, sigaction, pthread_sigmask), "no signal was to be had");
	check(agent_start(&agent, directory, "hz=999,stack=4096"), "the agent could not start");
	threads_start(&agent, false);
	// Not by threads_prepare(): a scan finds it.
	writing = 1;
	pthread_create(&drainer, NULL, drain_until_told, directory);
	for (int i = 0; i < BURNERS; i++)
		start_burner(&threads[i]);
	burn(NULL);
	agent_before_unload(&agent);
	agent_after_unload(&agent);
	for (int i = 0; i < BURNERS; i++)
		pthread_join(threads[i], NULL);
	threads_finish(&agent);
	__atomic_store_n(&writing, 0, __ATOMIC_RELEASE);
	pthread_join(drainer, &result);

	const struct seen *seen = result;
	printf("%u samples of %.0f ms, %u threads begun, %u ended\n", seen->samples,
	       (double)seen->weight_ns / 1e6, seen->begun, seen->ended);
	check(seen->begun >= BURNERS && seen->ended >= BURNERS, "a thread's life was not told");
	check(seen->weight_ns >= BURNERS * BURN_MS * NS_PER_MS * 9 / 10, "CPU time is missing");
	check(seen->samples > BURNERS * 2, "there were no samples");
}

int main(void)
{
	char directory[64];

	for (int round = 0; round < 2; round++) {
		temporary_make(directory, sizeof(directory));
		if (round == 0)
			race_lanes(directory);
		else
			race_agent(directory);
		temporary_remove(directory);
	}
	return 0;
}
