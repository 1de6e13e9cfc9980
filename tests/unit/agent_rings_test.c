// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/error.h"
#include "base/namespaces.h"
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/rings.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];
static struct rings *rings;

static void open_rings(void)
{
	temporary_make(directory, sizeof(directory));
	rings = calloc(1, sizeof(*rings));
	cr_assert(rings_start(rings, directory, 77, 5));
}

static void close_rings(void)
{
	rings_abandon(rings);
	free(rings);
	temporary_remove(directory);
}

TestSuite(agent_rings, .init = open_rings, .fini = close_rings);

static bool put(struct lane *lane, uint16_t type, size_t size)
{
	struct record *record = lane_reserve(lane, rings->by_populate, size);

	if (!record)
		return false;
	memset(record, 0, size);
	record->type = type;
	lane_commit(lane, record, size);
	return true;
}

static struct ring consumer_of(const struct lane *lane)
{
	struct ring ring;

	cr_assert(ring_open(&ring, lane->ring.header, RING_HEADER_BYTES + lane->ring.mask + 1));
	return ring;
}

// What a process finds whose collector is the parent, as it says of itself.
static struct namespaces namespaces_below(const struct rings *said)
{
	struct namespaces found = { 0 };
	int ends[2];

	cr_assert(pipe(ends) == 0);
	pid_t child = fork();
	if (child == 0) {
		struct rings *r = calloc(1, sizeof(*r));
		*r = *said;
		rings_introduce(r, (uint32_t)getpid(), 5);
		_exit(write(ends[1], &r->namespaces, sizeof(found)) != sizeof(found));
	}
	cr_assert(read(ends[0], &found, sizeof(found)) == sizeof(found));
	waitpid(child, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	return found;
}

Test(agent_rings, who_counts_as_the_collector_does_does_not_ask_proc)
{
	struct flock byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = PROTOCOL_ALIVE_BYTE, .l_len = 1
	};
	struct rings *said = calloc(1, sizeof(*said));
	struct namespaces own;
	char path[128];

	namespaces_read(&own);
	said->collector_namespace = own.pid + 1; // which proc does not say
	said->collector_pid = (uint32_t)getpid();
	uint64_t now_ns = clock_now_ns();
	said->collector_zero_ns = clock_ns(CLOCK_REALTIME) - now_ns;
	snprintf(said->directory, sizeof(said->directory), "%s", directory);
	snprintf(path, sizeof(path), "%s/" PROTOCOL_ALIVE_FILE, directory);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	cr_assert(fd >= 0);
	cr_expect(eq(u32, namespaces_below(said).pid, own.pid), "nobody has locked it");

	cr_assert(fcntl(fd, F_SETLK, &byte) == 0);
	cr_expect(eq(u32, namespaces_below(said).pid, own.pid + 1));
	said->collector_zero_ns += NS_PER_SEC;
	cr_expect(eq(u32, namespaces_below(said).pid, own.pid), "another time");
	said->collector_zero_ns -= NS_PER_SEC;
	said->collector_pid++;
	cr_expect(eq(u32, namespaces_below(said).pid, own.pid), "another number");
	said->collector_pid = 0;
	cr_expect(eq(u32, namespaces_below(said).pid, own.pid), "it says nothing");
	close(fd);
	unlink(path);
	free(said);
}

Test(agent_rings, the_file_is_private_and_named_after_process_and_image)
{
	char path[128];
	struct stat status;

	snprintf(path, sizeof(path), "%s/77-5-0", directory);
	cr_assert(eq(int, stat(path, &status), 0));
	cr_expect(eq(u32, status.st_mode & 07777, 0600));
	cr_expect(lt(ulong, (unsigned long)status.st_blocks * 512, 65536),
	          "only what is used is there");
}

Test(agent_rings, a_file_that_is_there_is_not_taken)
{
	struct rings *second = calloc(1, sizeof(*second));

	cr_expect(not(rings_start(second, directory, 77, 5)));
	free(second);
}

Test(agent_rings, a_thousand_threads_have_a_lane_each)
{
	for (uint32_t tid = 1; tid <= 1000; tid++) {
		struct lane *lane = rings_claim(rings, tid);
		cr_assert(lane != NULL, "thread %u", tid);
		cr_assert(put(lane, (uint16_t)tid, 64));
	}
	uint32_t hint = 0;
	for (uint32_t tid = 1; tid <= 1000; tid++) {
		struct lane *lane = rings_find(rings, tid, &hint);
		cr_assert(lane != NULL);
		struct ring ring = consumer_of(lane);
		cr_expect(eq(u16, ring_peek(&ring, NULL)->type, (uint16_t)tid));
	}
}

Test(agent_rings, a_lane_is_given_again_only_when_it_is_drained)
{
	struct lane *first = rings_claim(rings, 1);

	put(first, 7, 64);
	rings_release(first);
	cr_expect(ne(ptr, rings_claim(rings, 2), first), "its record has not been read");

	struct ring ring = consumer_of(first);
	cr_assert(ring_peek(&ring, NULL) != NULL);
	ring_advance(&ring);
	cr_expect(eq(ptr, rings_claim(rings, 3), first));
	cr_expect(put(first, 8, 64));
	cr_expect(eq(u16, ring_peek(&ring, NULL)->type, 8), "the reader goes on in the same ring");
}

Test(agent_rings, a_drained_ring_starts_over_and_stays_small)
{
	struct lane *lane = rings_claim(rings, 1);
	struct ring ring = consumer_of(lane);

	for (int i = 0; i < 1000; i++) {
		cr_assert(put(lane, 9, 32000));
		cr_assert(ring_peek(&ring, NULL) != NULL);
		ring_advance(&ring);
	}
	cr_expect(lt(ulong, lane->ready, (unsigned long)512 << 10));
}

Test(agent_rings, a_full_ring_drops_counts_and_loses_nothing_that_it_has)
{
	struct lane *lane = rings_claim(rings, 1);
	struct ring ring = consumer_of(lane);
	int kept = 0, read = 0;

	for (int i = 0; i < 100; i++)
		kept += put(lane, 9, 32000);
	cr_expect(lt(int, kept, 100));
	cr_expect(eq(u64, ring_dropped(&ring), (uint64_t)(100 - kept)));
	for (; ring_peek(&ring, NULL); read++)
		ring_advance(&ring);
	cr_expect(eq(int, read, kept));
	cr_expect(put(lane, 9, 32000), "and goes on");
}

Test(agent_rings, a_process_that_may_not_write_files_that_large_does_without)
{
	struct rings *second = calloc(1, sizeof(*second));
	struct rlimit limit = { 1 << 20, 1 << 20 };

	setrlimit(RLIMIT_FSIZE, &limit);
	cr_expect(not(rings_start(second, directory, 78, 5)), "and gets no SIGXFSZ");
	free(second);
}

Test(agent_rings, a_full_disk_is_a_dropped_record_and_not_a_signal)
{
	char path[64];
	struct rings *second = calloc(1, sizeof(*second));
	int kept = 0;

	temporary_make(path, sizeof(path));
	if (!temporary_mount_small(path, 256)) {
		temporary_remove(path);
		free(second);
		cr_skip("needs the right to mount a small file system");
	}
	// Whether the first file fits or not, nothing here may die.
	struct lane *lane = rings_start(second, path, 1, 1) ? rings_claim(second, 1) : NULL;
	for (int i = 0; lane && i < 30; i++) {
		struct record *record = lane_reserve(lane, second->by_populate, 32000);
		if (!record)
			continue;
		memset(record, 1, 32000);
		lane_commit(lane, record, 32000);
		kept++;
	}
	cr_expect(lt(int, kept, 8));
	if (lane)
		cr_expect(gt(u64, ring_dropped(&lane->ring), 0));
	rings_abandon(second);
	free(second);
	temporary_unmount(path);
	temporary_remove(path);
}

Test(agent_rings, without_populate_files_are_allocated_whole_and_work_too)
{
	char path[64];
	struct rings *second = calloc(1, sizeof(*second));

	temporary_make(path, sizeof(path));
	cr_assert(rings_start_with(second, path, 1, 1, false));
	struct lane *lane = rings_claim(second, 1);
	for (int i = 0; i < 8; i++) {
		struct record *record = lane_reserve(lane, false, 32000);
		cr_assert(record != NULL);
		memset(record, 1, 32000);
		lane_commit(lane, record, 32000);
	}
	rings_abandon(second);
	free(second);
	temporary_remove(path);
}

static void limit_space(size_t more)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	cr_assert(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	struct rlimit limit = { pages * 4096 + more, RLIM_INFINITY };
	setrlimit(RLIMIT_AS, &limit);
}

Test(agent_rings, short_address_space_makes_small_rings)
{
	struct rings *small = calloc(1, sizeof(*small));

	limit_space((size_t)64 << 20);
	cr_assert(rings_start(small, directory, 78, 6));
	cr_expect(le(sz, protocol_ring_offset(RINGS_PER_FILE, small->data_bytes), (size_t)8 << 20));
	struct lane *lane = rings_claim(small, 78);
	cr_expect(put(lane, RECORD_EXIT, 24));
	rings_abandon(small);
	free(small);
}

Test(agent_rings, no_address_space_is_said_in_the_totals)
{
	struct rings *none = calloc(1, sizeof(*none));
	char path[128];
	struct stat status;

	limit_space((size_t)4 << 20);
	cr_expect(not(rings_start(none, directory, 79, 7)));
	snprintf(path, sizeof(path), "%s/" PROTOCOL_TOTALS_FILE "%u", directory, geteuid());
	cr_assert(eq(int, stat(path, &status), 0));
	cr_expect(eq(long, (long)status.st_size, (long)sizeof(struct record_memory)));
	free(none);
}
