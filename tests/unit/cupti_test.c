// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "tests/support/expect.h"
#include "tests/support/temporary.h"
#include "tracer/agent/agent.h"
#include "tracer/agent/cupti/cupti_buffers.h"
#include "tracer/agent/cupti/cupti_calls.h"
#include "tracer/agent/cupti/cupti_clock.h"
#include "tracer/agent/cupti/cupti_place.h"
#include "tracer/agent/cupti/cupti_records.h"
#include "tracer/agent/cupti/gpu_lane.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/reader/reader.h"

#include <stdlib.h>
#include <string.h>

Test(cupti_calls, functions_that_use_the_gpu_are_wanted)
{
	static const struct {
		const char *name;
		bool wanted;
	} rows[] = {
		{ "cudaLaunchKernel_v7000", true },
		{ "cudaLaunchKernelExC_ptsz_v11060", true },
		{ "__cudaLaunchKernel_v13000", true },
		{ "cuLaunchKernelEx", true },
		{ "cuLaunchCooperativeKernel_ptsz", true },
		{ "cudaMemcpyAsync_v3020", true },
		{ "cuMemcpyHtoD_v2", true },
		{ "cu64MemcpyHtoD", true },
		{ "cuMemsetD8Async", true },
		{ "cudaStreamSynchronize_v3020", true },
		{ "cuCtxSynchronize", true },
		{ "cudaThreadSynchronize_v3020", true },
		{ "cudaMallocAsync_v11020", true },
		{ "cuMemAllocFromPoolAsync", true },
		{ "cudaFreeHost_v3020", true },
		{ "cudaHostAlloc_v3020", true },
		{ "cuGraphLaunch_ptsz", true },
		{ "cudaGraphInstantiate_v12000", true },
		{ "cuModuleLoadDataEx", true },
		{ "cuLibraryLoadData", true },
		{ "cudaGetDevice_v3020", false },
		{ "cudaEventQuery_v3020", false },
		{ "cuGraphAddMemcpyNode", false },
		{ "cuPointerGetAttributes", false },
		{ "launch", false },
		{ "", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(int, cupti_calls_want(rows[i].name), rows[i].wanted), "%s",
		          rows[i].name);
}

Test(cupti_clock, one_clock_is_left_as_it_is)
{
	struct cupti_fit fit = { 0 };

	cr_expect(eq(u64, cupti_fit_ns(&fit, 12345), 12345));
}

Test(cupti_clock, one_reading_is_an_offset)
{
	struct cupti_fit fit = { 0 };

	cupti_fit_add(&fit, (struct cupti_clock_pair){ 1000000, 5000 });
	cr_expect(eq(u64, cupti_fit_ns(&fit, 1000100), 5100));
	cr_expect(eq(u64, cupti_fit_ns(&fit, 999900), 4900), "before it, too");
	cr_expect(eq(u64, cupti_fit_ns(&fit, 0), 0), "what is unknown stays so");
}

Test(cupti_clock, times_lie_on_the_line_through_two_readings)
{
	const uint64_t epoch = UINT64_C(1790000000) * NS_PER_SEC;
	struct cupti_fit fit = { 0 };

	// Theirs runs fast by 100 ppm.
	cupti_fit_add(&fit, (struct cupti_clock_pair){ epoch, 10 * NS_PER_SEC });
	cupti_fit_add(&fit, (struct cupti_clock_pair){ epoch + 2 * NS_PER_SEC + 200000,
	                                               12 * NS_PER_SEC });
	uint64_t half = cupti_fit_ns(&fit, epoch + NS_PER_SEC + 100000);
	cr_expect(le(u64, half - 11 * NS_PER_SEC + 1, 2));
}

Test(cupti_clock, readings_that_are_close_do_not_move_the_line)
{
	struct cupti_fit fit = { 0 };

	cupti_fit_add(&fit, (struct cupti_clock_pair){ NS_PER_SEC, NS_PER_SEC });
	cupti_fit_add(&fit, (struct cupti_clock_pair){ 3 * NS_PER_SEC, 3 * NS_PER_SEC });
	cupti_fit_add(&fit, (struct cupti_clock_pair){ 3 * NS_PER_SEC + 500, 3 * NS_PER_SEC + 9 });
	cr_expect(eq(u64, cupti_fit_ns(&fit, 2 * NS_PER_SEC), 2 * NS_PER_SEC));
}

/* Who calls: the program's functions call api(), which has CUPTI call the hook. */

#define NOINLINE __attribute__((noinline, noclone))
#define KEEP     asm volatile("" ::: "memory") // no tail call

static NOINLINE uint64_t hook(const char *function, bool runtime)
{
	struct op_here here = OP_HERE();

	return cupti_place_find(function, runtime, &here) ? here.caller : 0;
}

static NOINLINE uint64_t dispatch(const char *function, bool runtime)
{
	uint64_t caller = hook(function, runtime);

	KEEP;
	return caller;
}

static NOINLINE uint64_t api(const char *function, bool runtime)
{
	uint64_t caller = dispatch(function, runtime);

	KEEP;
	return caller;
}

static NOINLINE uint64_t first_caller(const char *function, bool runtime)
{
	uint64_t caller = api(function, runtime);

	KEEP;
	return caller;
}

static NOINLINE uint64_t second_caller(const char *function, bool runtime)
{
	uint64_t caller = api(function, runtime);

	KEEP;
	return caller + 0 * (uint64_t)runtime;
}

// In none of the others.
static bool lies_in(uint64_t address, uint64_t (*function)(const char *, bool))
{
	uint64_t (*const all[])(const char *, bool) = { hook, dispatch, api, first_caller,
		                                        second_caller };
	uintptr_t start = (uintptr_t)function, end = start + 256;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if ((uintptr_t)all[i] > start && (uintptr_t)all[i] < end)
			end = (uintptr_t)all[i];
	return address > start && address <= end;
}

Test(cupti_place, a_runtime_that_is_linked_in_is_not_the_caller)
{
	cupti_place_start();
	for (int i = 0; i < 3; i++) { // found by a walk at first
		cr_expect(lies_in(first_caller("cudaLaunchKernel", true), first_caller));
		cr_expect(lies_in(second_caller("cudaLaunchKernel", true), second_caller));
	}
}

Test(cupti_place, a_function_of_the_drivers_is_called_by_who_stands_above)
{
	cupti_place_start();
	for (int i = 0; i < 3; i++)
		cr_expect(lies_in(first_caller("cuLaunchKernel", false), api));
}

/* Records, by a CUPTI of our own. */

static char directory[64];
static struct agent agent;
static struct reader *reader;
static size_t strides[64]; // [kind]
static size_t odd;         // added to each record's place

static int next_record(uint8_t *buffer, size_t valid, void **record)
{
	const uint32_t *kind = *record;
	uint8_t *next = kind ? (uint8_t *)*record + strides[*kind % 64] : buffer + odd;

	if (next >= buffer + valid)
		return CUPTI_END_OF_BUFFER;
	if (*(const uint32_t *)next == 0)
		return CUPTI_INVALID_KIND;
	*record = next;
	return CUPTI_OK;
}

static size_t dropped;

static int get_dropped(void *context, uint32_t stream, size_t *count)
{
	(void)context;
	(void)stream;
	*count = dropped;
	dropped = 0;
	return CUPTI_OK;
}

static const struct cupti_functions functions = { .next_record = next_record,
	                                          .get_dropped = get_dropped };

static void open_all(void)
{
	temporary_make(directory, sizeof(directory));
	cr_assert(agent_start(&agent, directory, "hz=0,ops=512"));
	threads_start(&agent, false);
	op_start(&agent);
	cr_assert(gpu_lane_start(&agent));
	reader = reader_new(directory, NULL);
	cr_assert(reader != NULL);
	strides[CUPTI_KIND_CONCURRENT_KERNEL] = 216;
	strides[CUPTI_KIND_MEMCPY] = 96;
	strides[CUPTI_KIND_DEVICE] = sizeof(struct cupti_device);
	strides[60] = 24;
}

static void close_all(void)
{
	reader_free(reader);
	temporary_remove(directory);
}

TestSuite(cupti_records, .init = open_all, .fini = close_all);
TestSuite(cupti_buffers, .init = open_all, .fini = close_all);

static uint8_t buffer[65536] __attribute__((aligned(8)));

static void take(size_t valid)
{
	static const struct cupti_fit same = { 0 };

	gpu_lane_lock();
	cupti_records_take(&functions, &same, buffer, valid);
	gpu_lane_tell_lost();
	gpu_lane_unlock();
	reader_poll(reader);
}

static const struct record *next(void)
{
	return reader_next(reader, UINT64_MAX, NULL);
}

// The next of TYPE; NULL if there is none.
static const void *next_of(enum record_type type)
{
	const struct record *record;

	while ((record = next()) && record->type != type)
		;
	return record;
}

static void expect_lost(enum gpu_lost what, uint32_t kind, uint64_t count)
{
	const struct record_gpu_lost *lost = next_of(RECORD_GPU_LOST);

	cr_assert(lost != NULL);
	cr_expect(eq(u32, lost->what, what));
	cr_expect(eq(u32, lost->kind, kind));
	cr_expect(eq(u64, lost->count, count));
	cr_expect(next_of(RECORD_GPU_LOST) == NULL);
}

static struct cupti_kernel a_kernel(void)
{
	return (struct cupti_kernel){
		.kind = CUPTI_KIND_CONCURRENT_KERNEL,
		.registers = 40,
		.begin_ns = 1000,
		.end_ns = 3000,
		.device = 1,
		.context = 2,
		.stream = 7,
		.grid = { 70000, 2, 3 },
		.block = { 1024, 1, 1 },
		.static_shared = 16,
		.dynamic_shared = 49152,
		.correlation = 77,
		.name = "_Z6vecaddPKfS0_Pfi",
		.graph_node = 5,
	};
}

Test(cupti_records, a_kernel_says_what_it_was_and_by_whom)
{
	struct cupti_kernel kernel = a_kernel();

	memcpy(buffer, &kernel, sizeof(kernel));
	take(216);
	const struct record_op_name *name = next_of(RECORD_OP_NAME);
	cr_assert(name != NULL);
	cr_expect(eq(str, (char *)(name + 1), (char *)kernel.name));
	cr_expect(eq(int, name->provider, OP_GPU));
	uint32_t id = name->name;
	const struct record_gpu_kernel *ours = next_of(RECORD_GPU_KERNEL);
	cr_assert(ours != NULL);
	cr_expect(eq(u32, ours->name, id));
	cr_expect(eq(u64, ours->begin_ns, 1000));
	cr_expect(eq(u64, ours->end_ns, 3000));
	cr_expect(eq(u32, ours->place.correlation, 77));
	cr_expect(eq(u32, ours->place.stream, 7));
	cr_expect(eq(u32, ours->grid[0], 70000));
	cr_expect(eq(int, ours->block[0], 1024));
	cr_expect(eq(u32, ours->dynamic_shared, 49152));
	cr_expect(eq(u64, ours->graph_node, 5));
	cr_expect(eq(u32, ours->head.flags, 0));
}

Test(cupti_records, a_name_is_told_once)
{
	struct cupti_kernel kernel = a_kernel();
	int names = 0, kernels = 0;

	for (int i = 0; i < 100; i++)
		memcpy(buffer + i * 216, &kernel, sizeof(kernel));
	take(100 * 216);
	for (const struct record *r; (r = next());) {
		names += r->type == RECORD_OP_NAME;
		kernels += r->type == RECORD_GPU_KERNEL;
	}
	cr_expect(eq(int, names, 1));
	cr_expect(eq(int, kernels, 100));
}

Test(cupti_records, names_of_templates_are_long)
{
	static char longest[3000];
	struct cupti_kernel kernel = a_kernel();

	memset(longest, 'x', sizeof(longest) - 1);
	kernel.name = longest;
	memcpy(buffer, &kernel, sizeof(kernel));
	take(216);
	const struct record_op_name *name = next_of(RECORD_OP_NAME);
	cr_assert(name != NULL);
	cr_expect(eq(str, (char *)(name + 1), longest));
}

Test(cupti_records, times_that_cannot_be_are_unknown_and_counted)
{
	struct cupti_kernel kernel = a_kernel();

	kernel.end_ns = 0;
	memcpy(buffer, &kernel, sizeof(kernel));
	kernel.end_ns = 999;
	memcpy(buffer + 216, &kernel, sizeof(kernel));
	take(2 * 216);
	const struct record_gpu_kernel *ours = next_of(RECORD_GPU_KERNEL);
	cr_assert(ours != NULL);
	cr_expect(eq(u32, ours->head.flags, GPU_UNTIMED));
	cr_expect(eq(u64, ours->begin_ns, 0));
	expect_lost(GPU_LOST_UNTIMED, CUPTI_KIND_CONCURRENT_KERNEL, 2);
}

Test(cupti_records, unknown_kinds_are_counted_and_passed_over)
{
	struct cupti_kernel kernel = a_kernel();

	buffer[0] = 60;
	memcpy(buffer + 24, &kernel, sizeof(kernel));
	take(24 + 216);
	cr_expect(next_of(RECORD_GPU_KERNEL) != NULL);
	expect_lost(GPU_LOST_UNKNOWN, 60, 1);
}

Test(cupti_records, a_buffer_that_ends_within_a_record_is_damaged)
{
	struct cupti_kernel kernel = a_kernel();

	memcpy(buffer, &kernel, sizeof(kernel));
	take(80);
	expect_lost(GPU_LOST_DAMAGED, 0, 1);
}

Test(cupti_records, records_out_of_place_are_damage)
{
	struct cupti_kernel kernel = a_kernel();

	odd = 4;
	memcpy(buffer + odd, &kernel, sizeof(kernel));
	take(odd + 216);
	expect_lost(GPU_LOST_DAMAGED, 0, 1);
}

Test(cupti_records, a_walk_that_goes_nowhere_ends)
{
	struct cupti_kernel kernel = a_kernel();

	strides[CUPTI_KIND_CONCURRENT_KERNEL] = 0;
	memcpy(buffer, &kernel, sizeof(kernel));
	take(4096);
	cr_expect(next_of(RECORD_GPU_KERNEL) != NULL);
	expect_lost(GPU_LOST_DAMAGED, 0, 1);
}

Test(cupti_records, pages_that_move_say_where_and_why)
{
	const struct cupti_managed move = {
		.kind = CUPTI_KIND_MANAGED,
		.counter = CUPTI_MANAGED_TO_HOST,
		.value = 65536,
		.begin_ns = 1000,
		.end_ns = 3000,
		.address = 0x7000,
		.from = 2,
		.to = CUPTI_HOST,
		.flags = CUPTI_MANAGED_BY_ACCESS,
	};

	memcpy(buffer, &move, sizeof(move));
	take(104);
	const struct record_gpu_managed *told = next_of(RECORD_GPU_MANAGED);
	cr_assert(told != NULL);
	cr_expect(eq(u32, told->kind, GPU_MANAGED_TO_HOST));
	cr_expect(eq(u32, told->cause, GPU_MANAGED_ACCESS));
	cr_expect(eq(u32, told->device, 2));
	cr_expect(eq(u64, told->value, 65536));
	cr_expect(eq(u64, told->begin_ns, 1000));
	cr_expect(eq(u64, told->end_ns, 3000));
}

Test(cupti_records, who_is_kept_waiting_is_the_host_or_a_device)
{
	struct cupti_managed throttling = {
		.kind = CUPTI_KIND_MANAGED,
		.counter = CUPTI_MANAGED_THROTTLING,
		.begin_ns = 1000,
		.end_ns = 3000,
		.from = 1,
	};

	memcpy(buffer, &throttling, sizeof(throttling));
	throttling.flags = CUPTI_MANAGED_ON_HOST;
	memcpy(buffer + 64, &throttling, sizeof(throttling));
	strides[CUPTI_KIND_MANAGED] = sizeof(throttling);
	take(128);
	const struct record_gpu_managed *told = next_of(RECORD_GPU_MANAGED);
	cr_assert(told != NULL);
	cr_expect(eq(u32, told->device, 1));
	told = next_of(RECORD_GPU_MANAGED);
	cr_assert(told != NULL);
	cr_expect(eq(u32, told->device, GPU_MANAGED_HOST));
	cr_expect(eq(u32, told->cause, 0));
	cr_expect(eq(u64, told->end_ns - told->begin_ns, 2000));
}

// CUPTI says to ignore the end there: it may be anything.
Test(cupti_records, a_fault_of_the_host_has_no_end_and_no_device)
{
	const struct cupti_managed fault = {
		.kind = CUPTI_KIND_MANAGED,
		.counter = CUPTI_MANAGED_HOST_FAULT,
		.value = 0x401234,
		.begin_ns = 1000,
		.end_ns = 7,
		.from = 1,
	};

	memcpy(buffer, &fault, sizeof(fault));
	take(64);
	const struct record_gpu_managed *told = next_of(RECORD_GPU_MANAGED);
	cr_assert(told != NULL);
	cr_expect(eq(u32, told->kind, GPU_MANAGED_HOST_FAULT));
	cr_expect(eq(u32, told->device, GPU_MANAGED_HOST));
	cr_expect(eq(u64, told->value, 0x401234));
	cr_expect(eq(u64, told->begin_ns, told->end_ns));
	cr_expect(eq(int, told->head.flags &GPU_UNTIMED, 0));
}

Test(cupti_records, a_device_has_its_name)
{
	struct cupti_device device = { .kind = CUPTI_KIND_DEVICE,
		                       .memory_kb_per_s = 3350000000,
		                       .memory_bytes = UINT64_C(80) << 30,
		                       .multiprocessors = 132,
		                       .compute_major = 9,
		                       .name = "NVIDIA H100 80GB HBM3" };

	memcpy(buffer, &device, sizeof(device));
	take(sizeof(device));
	const struct record_gpu_device *ours = next_of(RECORD_GPU_DEVICE);
	cr_assert(ours != NULL);
	cr_expect(eq(str, (char *)(ours + 1), (char *)device.name));
	cr_expect(eq(u64, ours->memory_bytes_per_s, UINT64_C(3350000000000)));
	cr_expect(eq(u32, ours->multiprocessors, 132));
}

Test(cupti_records, what_finds_no_room_is_counted_when_there_is_some)
{
	struct cupti_copy copy = { .kind = CUPTI_KIND_MEMCPY, .begin_ns = 1, .end_ns = 2 };
	uint64_t there = 0, lost = 0, all = 0;

	for (int i = 0; i < 600; i++)
		memcpy(buffer + i * 96, &copy, sizeof(copy));
	for (int round = 0; round < 500; round++, all += 600) { // 24 MB in a ring of 16
		gpu_lane_lock();
		cupti_records_take(&functions, &(struct cupti_fit){ 0 }, buffer, 600 * 96);
		gpu_lane_unlock();
	}
	for (int round = 0; round < 2; round++) {
		reader_poll(reader);
		for (const struct record *r; (r = next());) {
			there += r->type == RECORD_GPU_COPY;
			if (r->type == RECORD_GPU_LOST)
				lost += ((const struct record_gpu_lost *)r)->count;
		}
		gpu_lane_lock();
		gpu_lane_tell_lost();
		gpu_lane_unlock();
	}
	cr_expect(gt(u64, lost, 0));
	cr_expect(eq(u64, there + lost, all));
}

/* Buffers. */

static int others; // buffers that the other client was asked for, or given

static void other_request(uint8_t **theirs, size_t *size, size_t *records_max)
{
	static uint64_t memory[512];

	*theirs = (uint8_t *)memory;
	*size = sizeof(memory);
	*records_max = 1;
	others++;
}

static void other_complete(void *context, uint32_t stream, uint8_t *theirs, size_t size,
                           size_t valid)
{
	(void)context;
	(void)stream;
	(void)theirs;
	cr_expect(eq(sz, size, 4096));
	cr_expect(eq(sz, valid, 96));
	others++;
}

Test(cupti_buffers, they_are_aligned_zeroed_and_used_again)
{
	struct cupti_kernel kernel = a_kernel();
	uint8_t *first, *again;
	size_t size, records;

	cupti_buffers_start(&functions, false);
	cupti_buffers_request(&first, &size, &records);
	cr_assert(first != NULL);
	cr_expect(eq(u64, (uint64_t)(uintptr_t)first % CUPTI_BUFFER_ALIGNMENT, 0));
	cr_expect(eq(sz, records, 0));
	memcpy(first, &kernel, sizeof(kernel));
	first[size - 1] = 1;
	dropped = 3;
	cupti_buffers_complete(NULL, 0, first, size, 216);
	cupti_buffers_request(&again, &size, &records);
	cr_expect(again == first);
	for (size_t i = 0; i < size; i++)
		if (again[i])
			cr_fatal("byte %zu is not zero", i);
	reader_poll(reader);
	cr_expect(next_of(RECORD_GPU_KERNEL) != NULL);
	expect_lost(GPU_LOST_DROPPED, 0, 3);
}

Test(cupti_buffers, each_reaches_whose_it_is)
{
	struct cupti_kernel kernel = a_kernel();
	uint8_t *ours, *theirs;
	size_t size, records;

	cupti_buffers_start(&functions, false);
	cupti_buffers_request(&ours, &size, &records);
	memcpy(ours, &kernel, sizeof(kernel));
	cupti_buffers_set_other(other_request, other_complete);
	cupti_buffers_hand_over(true);
	cupti_buffers_request(&theirs, &size, &records);
	cr_expect(eq(int, others, 1));
	cupti_buffers_complete(NULL, 0, ours, (size_t)4 << 20, 216);
	cr_expect(eq(int, others, 1), "ours is read here");
	cupti_buffers_hand_over(false);
	cupti_buffers_complete(NULL, 0, theirs, size, 96);
	cr_expect(eq(int, others, 2), "theirs is theirs, also afterwards");
	reader_poll(reader);
	cr_expect(next_of(RECORD_GPU_KERNEL) != NULL);
}

Test(cupti_buffers, there_is_an_end_to_them)
{
	uint8_t *one = buffer;
	size_t size, records;
	int got = 0;

	cupti_buffers_start(&functions, false);
	for (; one && got < 10000; got += one != NULL)
		cupti_buffers_request(&one, &size, &records);
	cr_expect(eq(int, got, 256));
	cupti_buffers_settle();
	reader_poll(reader);
	expect_lost(GPU_LOST_BUFFER, 0, 1);
}
