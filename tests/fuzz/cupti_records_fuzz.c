// SPDX-License-Identifier: MIT
/*
 * A buffer of CUPTI's, whose walk is the input's as well: how far each record is from the one
 * before, forth or back, and out of the buffer. What the agent makes of it is read, and taken in as
 * the collector does. Names are pointers, which CUPTI is trusted with: here they are ours.
 */
#include "base/cleanup.h"
#include "base/op.h"
#include "sampler/agent/op_records.h"
#include "tests/support/temporary.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/cupti/cupti_records.h"
#include "tracer/agent/cupti/gpu_lane.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/reader/reader.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUFFER_BYTES 16384

static struct agent agent;
static struct reader *reader;
static struct ops *ops;
static struct op_records *records;
static char directory[64];
static uint8_t buffer[BUFFER_BYTES] __attribute__((aligned(8)));
static const uint8_t *steps; // each where the next record is, in units of 4 bytes, signed
static size_t step_count;

static void end(void)
{
	op_records_free(records);
	ops_free(ops);
	reader_free(reader);
	temporary_remove(directory);
}

static void begin(void)
{
	if (reader)
		return;
	temporary_make(directory, sizeof(directory));
	if (!agent_start(&agent, directory, "hz=0,ops=512"))
		abort();
	threads_start(&agent, false);
	op_start(&agent);
	reader = reader_new(directory, NULL);
	ops = ops_new();
	records = ops ? op_records_new(ops) : NULL;
	if (!gpu_lane_start(&agent) || !reader || !records)
		abort();
	atexit(end);
}

static void set_names(uint8_t *record, size_t left)
{
	static const char *const texts[] = { NULL, "", "_Z6kernelPf", "name" };
	uint32_t kind;

	if (left < sizeof(kind))
		return;
	memcpy(&kind, record, sizeof(kind));
	if ((kind == CUPTI_KIND_KERNEL || kind == CUPTI_KIND_CONCURRENT_KERNEL) &&
	    left >= sizeof(struct cupti_kernel))
		((struct cupti_kernel *)record)->name = texts[record[4] % 4];
	if (kind == CUPTI_KIND_DEVICE && left >= sizeof(struct cupti_device))
		((struct cupti_device *)record)->name = texts[record[4] % 4];
}

static int next_record(uint8_t *start, size_t valid, void **record)
{
	if (!step_count)
		return CUPTI_END_OF_BUFFER;
	uint8_t *next = *record ? *record : start;
	next += *record || *steps % 2 ? 4 * (int8_t)*steps : 0;
	steps++;
	step_count--;
	if (next >= start && next < start + valid && (next - start) % 8 == 0)
		set_names(next, (size_t)(start + valid - next));
	*record = next;
	return CUPTI_OK;
}

static void drain(void)
{
	const struct record *record;
	struct event event;
	uint64_t image_ns;

	reader_poll(reader);
	while ((record = reader_next(reader, UINT64_MAX, &image_ns)))
		op_records_take(records, record, image_ns, &event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cupti_functions functions = { .next_record = next_record };
	struct cupti_fit fit = { { 0, 0 }, { 0, 0 } };

	begin();
	if (size < 8)
		return 0;
	step_count = data[0];
	if (step_count > size - 1)
		step_count = size - 1;
	steps = data + 1;
	size_t valid = size - 1 - step_count;
	if (valid > BUFFER_BYTES)
		valid = BUFFER_BYTES;
	memcpy(buffer, data + 1 + step_count, valid);
	if (data[0] % 3 == 0)
		fit.to = (struct cupti_clock_pair){ 1000, 2000 };
	gpu_lane_lock();
	cupti_records_take(&functions, &fit, buffer, valid);
	gpu_lane_tell_lost();
	gpu_lane_unlock();
	drain();
	return 0;
}
