// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "sampler/agent/op_source.h"
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/rings.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static struct ops *ops;
static struct op_source *source;
static struct rings *rings; // of CHILD, which lives until end_child()
static pid_t child;

static void open_all(void)
{
	child = fork();
	cr_assert(child >= 0);
	if (child == 0)
		for (;;)
			pause();
	temporary_make(directory, sizeof(directory));
	rings = calloc(1, sizeof(*rings));
	cr_assert(rings_start(rings, directory, (uint32_t)child, 5));
	ops = ops_new();
	source = op_source_new(directory, ops, NULL);
	cr_assert(source != NULL);
}

static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	rings_abandon(rings); // its own mappings
}

static void close_all(void)
{
	op_source_free(source);
	ops_free(ops);
	free(rings);
	temporary_remove(directory);
}

TestSuite(op_source, .init = open_all, .fini = close_all);

static void put(uint64_t time_ns)
{
	struct lane *lane = rings_claim(rings, (uint32_t)child);
	struct record *record =
		lane_reserve(lane, rings->by_populate, sizeof(struct record_memory));

	cr_assert(record != NULL);
	memset(record, 0, sizeof(struct record_memory));
	record->type = RECORD_MEMORY;
	record->tid = lane->tid;
	record->time_ns = time_ns;
	lane_commit(lane, record, sizeof(struct record_memory));
}

// How many files of the directory this process has mapped.
static int mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	cr_assert(maps != NULL);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, directory) != NULL;
	fclose(maps);
	return count;
}

// A round of the collector's: how many events there are.
static int drain(void)
{
	int count = 0;

	op_source_poll(source, clock_now_ns());
	while (op_source_next(source, UINT64_MAX))
		count++;
	return count;
}

Test(op_source, what_a_process_has_left_is_taken_and_its_files_go)
{
	put(1);
	put(2);
	end_child();
	op_source_forget(source, (uint32_t)child, clock_now_ns());
	cr_expect(eq(int, drain(), 2));
	cr_expect(gt(int, mapped(), 0), "there may be more in it yet");
	for (int i = 0; i < 3; i++)
		cr_expect(eq(int, drain(), 0));
	cr_expect(eq(int, mapped(), 0));
}

Test(op_source, a_process_whose_end_was_told_wrongly_is_heard_on)
{
	int before = mapped();

	put(1);
	cr_expect(eq(int, drain(), 1));
	cr_expect(gt(int, mapped(), before));
	op_source_forget(source, (uint32_t)child, clock_now_ns());
	for (int i = 0; i < 4; i++)
		cr_expect(eq(int, drain(), 0));
	put(2);
	cr_expect(eq(int, drain(), 1), "it lives");
	end_child();
	for (int i = 0; i < 4; i++)
		drain();
	cr_expect(eq(int, mapped(), 0), "that is noticed later, too");
}
