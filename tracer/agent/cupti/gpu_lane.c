// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/gpu_lane.h"

#include "base/clock.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DATA_BYTES  (16u << 20) // what some seven buffers of CUPTI's hold
#define PATIENCE_NS (200 * NS_PER_MS)
#define TURN_NS     (200 * NS_PER_US)
#define KINDS       64 // of CUPTI's; what is beyond is counted as of kind 0

static struct agent *agent;
static struct lane lane;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool gave_up;                                   // nobody has read for a while
AGENT_TABLE static uint64_t losses[GPU_LOSSES][KINDS]; // atomic: since the last report

bool gpu_lane_start(struct agent *a)
{
	agent = a;
	return agent_attach(a) && rings_make_apart(&a->rings, "gpu", DATA_BYTES, &lane);
}

void gpu_lane_fork(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	mutex = fresh; // whoever held it is not there
	rings_drop_apart(&lane);
	agent = NULL;
}

void gpu_lane_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void gpu_lane_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

// What a filler takes at the end is not free.
static bool has_room(size_t size)
{
	bool has = lane_room(&lane) >= 2 * size;

	gave_up &= !has;
	return has;
}

// Not by libc's nanosleep(), where a thread may be cancelled.
static bool wait_for_room(size_t size)
{
	struct timespec turn = { 0, TURN_NS };
	uint64_t until = clock_now_ns() + PATIENCE_NS;
	int error = errno;

	while (!gave_up && !has_room(size)) {
		syscall(SYS_nanosleep, &turn, NULL);
		gave_up = clock_now_ns() >= until;
	}
	errno = error;
	return !gave_up;
}

void *gpu_lane_reserve(enum record_type type, size_t size, uint32_t kind)
{
	struct record *record = NULL;

	if (lane.ring.header && (has_room(size) || wait_for_room(size)))
		record = agent_reserve(agent, &lane, type, size);
	if (!record)
		gpu_lane_lose(GPU_LOST_NO_ROOM, kind, 1);
	else
		record->size = (uint32_t)size;
	return record;
}

void gpu_lane_commit(void *record)
{
	lane_commit(&lane, record, ((struct record *)record)->size);
}

uint64_t gpu_lane_written(void)
{
	struct ring_header *header = lane.ring.header;

	return header ? __atomic_load_n(&header->head, __ATOMIC_RELAXED) : 0;
}

void gpu_lane_lose(enum gpu_lost what, uint32_t kind, uint64_t count)
{
	__atomic_fetch_add(&losses[what][kind < KINDS ? kind : 0], count, __ATOMIC_RELAXED);
}

static void tell(uint32_t what, uint32_t kind)
{
	struct record_gpu_lost *lost;
	uint64_t count = __atomic_load_n(&losses[what][kind], __ATOMIC_RELAXED);

	if (!count || !lane.ring.header || !has_room(sizeof(*lost)))
		return;
	lost = (struct record_gpu_lost *)agent_reserve(agent, &lane, RECORD_GPU_LOST,
	                                               sizeof(*lost));
	if (!lost)
		return;
	*lost = (struct record_gpu_lost){ lost->head, count, what, kind };
	lane_commit(&lane, &lost->head, sizeof(*lost));
	__atomic_fetch_sub(&losses[what][kind], count, __ATOMIC_RELAXED);
}

void gpu_lane_tell_lost(void)
{
	for (uint32_t what = 1; what < GPU_LOSSES; what++)
		for (uint32_t kind = 0; kind < KINDS; kind++)
			tell(what, kind);
}
