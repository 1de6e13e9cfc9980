// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_buffers.h"

#include "tracer/agent/cupti/cupti_records.h"
#include "tracer/agent/cupti/gpu_lane.h"
#include "tracer/agent/table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define BUFFER_BYTES ((size_t)4 << 20)
#define PAGE         ((size_t)4096)
#define BUFFERS      256 // each thread that launches may have one

enum state {
	ABSENT,
	FREE,
	OUT, // CUPTI has it
};

AGENT_TABLE static struct buffer {
	int state;       // atomic: enum state
	uint8_t *memory; // NULL: not mapped yet
} buffers[BUFFERS];

static const struct cupti_functions *functions; // NULL: nothing is ours
static struct cupti_fit fit;                    // under the lane's lock
static bool fitted;
static cupti_request *other_request;   // atomic
static cupti_complete *other_complete; // atomic
static bool handed_over;               // atomic

void cupti_buffers_start(const struct cupti_functions *f, bool is_fitted)
{
	gpu_lane_lock();
	functions = f;
	fitted = is_fitted;
	fit = (struct cupti_fit){ 0 };
	if (fitted)
		cupti_fit_read(&fit, f);
	gpu_lane_unlock();
}

void cupti_buffers_fork(void)
{
	functions = NULL;
	for (int i = 0; i < BUFFERS; i++)
		if (buffers[i].memory)
			munmap(buffers[i].memory, BUFFER_BYTES);
	memset(buffers, 0, sizeof(buffers));
}

void cupti_buffers_set_other(cupti_request *request, cupti_complete *complete)
{
	__atomic_store_n(&other_request, request, __ATOMIC_RELEASE);
	__atomic_store_n(&other_complete, complete, __ATOMIC_RELEASE);
}

bool cupti_buffers_has_other(void)
{
	return __atomic_load_n(&other_request, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&other_complete, __ATOMIC_ACQUIRE);
}

void cupti_buffers_hand_over(bool over)
{
	__atomic_store_n(&handed_over, over, __ATOMIC_RELEASE);
}

static bool take(struct buffer *b, int from)
{
	return __atomic_compare_exchange_n(&b->state, &from, OUT, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_RELAXED);
}

static struct buffer *take_any(int from)
{
	for (int i = 0; i < BUFFERS; i++)
		if (take(&buffers[i], from))
			return &buffers[i];
	return NULL;
}

static uint8_t *take_buffer(void)
{
	struct buffer *b = take_any(FREE);

	if (b)
		return b->memory;
	b = take_any(ABSENT);
	if (!b)
		return NULL;
	void *memory = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                    -1, 0);
	if (memory != MAP_FAILED) {
		__atomic_store_n(&b->memory, memory, __ATOMIC_RELEASE);
		return memory;
	}
	__atomic_store_n(&b->state, ABSENT, __ATOMIC_RELEASE);
	return NULL;
}

static struct buffer *find(const uint8_t *memory)
{
	for (int i = 0; i < BUFFERS; i++)
		if (__atomic_load_n(&buffers[i].memory, __ATOMIC_ACQUIRE) == memory)
			return &buffers[i];
	return NULL;
}

void cupti_buffers_request(uint8_t **buffer, size_t *size, size_t *records_max)
{
	cupti_request *other = __atomic_load_n(&handed_over, __ATOMIC_ACQUIRE)
	                               ? __atomic_load_n(&other_request, __ATOMIC_ACQUIRE)
	                               : NULL;
	int error = errno;

	if (other) {
		other(buffer, size, records_max);
		return;
	}
	*buffer = functions ? take_buffer() : NULL;
	*size = *buffer ? BUFFER_BYTES : 0;
	*records_max = 0;
	if (!*buffer)
		gpu_lane_lose(GPU_LOST_BUFFER, 0, 1);
	errno = error;
}

static void settle(void)
{
	size_t dropped = 0;

	if (functions->get_dropped && functions->get_dropped(NULL, 0, &dropped) == CUPTI_OK &&
	    dropped)
		gpu_lane_lose(GPU_LOST_DROPPED, 0, dropped);
	gpu_lane_tell_lost();
}

// All zeros again. What has been in use stays in memory: the next faults would be the target's.
static void give_back(struct buffer *b, size_t used)
{
	used = (used + PAGE - 1) & ~(PAGE - 1);
	memset(b->memory, 0, used);
	if (used < BUFFER_BYTES &&
	    madvise(b->memory + used, BUFFER_BYTES - used, MADV_DONTNEED) < 0)
		memset(b->memory + used, 0, BUFFER_BYTES - used);
	__atomic_store_n(&b->state, FREE, __ATOMIC_RELEASE);
}

static void read_buffer(struct buffer *b, size_t valid)
{
	valid = valid < BUFFER_BYTES ? valid : BUFFER_BYTES;
	gpu_lane_lock();
	if (functions) {
		if (fitted)
			cupti_fit_read(&fit, functions);
		cupti_records_take(functions, &fit, b->memory, valid);
		settle();
	}
	gpu_lane_unlock();
	give_back(b, valid);
}

void cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size)
{
	struct buffer *b = buffer ? find(buffer) : NULL;
	cupti_complete *other = __atomic_load_n(&other_complete, __ATOMIC_ACQUIRE);
	int error = errno;

	if (b)
		read_buffer(b, valid_size);
	else if (other && buffer)
		other(context, stream, buffer, size, valid_size);
	errno = error;
}

void cupti_buffers_settle(void)
{
	gpu_lane_lock();
	if (functions) {
		if (fitted)
			cupti_fit_read(&fit, functions);
		settle();
	}
	gpu_lane_unlock();
}
