// SPDX-License-Identifier: MIT
// The fake driver and runtime as a program meets them. Times are those of queued work, which the
// machine's load does not change.
#include "tests/gpu/cuda_api.h"
#include "tests/support/expect.h"

#include <pthread.h>
#include <stdlib.h>

// Long enough for the next thing to be queued behind it, on a machine that does much else.
#define AHEAD_US 800000

static void *kernel(unsigned int us)
{
	static unsigned int kept;
	static void *arguments[] = { &kept };

	kept = us;
	return arguments;
}

static const char work_us; // stands for the kernel

static void launch(unsigned int us, cudaStream_t stream)
{
	dim3 one = { 1, 1, 1 };

	cr_assert(eq(int, cudaLaunchKernel(&work_us, one, one, kernel(us), 0, stream), 0));
}

static void setup(void)
{
	__cudaRegisterFunction(NULL, &work_us, NULL, "work_us", -1, NULL, NULL, NULL, NULL, NULL);
}

static cudaEvent_t events[4];
static size_t event_count;

static void clean(void)
{
	while (event_count)
		cudaEventDestroy(events[--event_count]);
}

// The event is clean()'s.
static cudaEvent_t record(cudaStream_t stream)
{
	cudaEvent_t event;

	cr_assert(eq(int, cudaEventCreate(&event), 0));
	cr_assert(eq(int, cudaEventRecord(event, stream), 0));
	events[event_count++] = event;
	return event;
}

static cudaStream_t new_stream(unsigned int flags)
{
	cudaStream_t stream;

	cr_assert(eq(int, cudaStreamCreateWithFlags(&stream, flags), 0));
	return stream;
}

static double elapsed(cudaEvent_t begin, cudaEvent_t end)
{
	float ms = -1;

	cudaEventSynchronize(begin);
	cudaEventSynchronize(end);
	cr_assert(eq(int, cudaEventElapsedTime(&ms, begin, end), 0));
	return (double)ms;
}

#define NEAR(a, b) cr_expect(ieee_ulp_eq(flt, (float)(a), (float)(b), 4))

Test(fake_cuda, a_stream_runs_one_thing_after_the_other, .init = setup, .fini = clean)
{
	cudaStream_t stream = new_stream(CUDA_STREAM_NON_BLOCKING);

	launch(AHEAD_US, stream);
	cudaEvent_t first = record(stream);
	launch(20000, stream);
	NEAR(elapsed(first, record(stream)), 20);
}

Test(fake_cuda, streams_run_side_by_side, .init = setup, .fini = clean)
{
	cudaStream_t busy = new_stream(CUDA_STREAM_NON_BLOCKING);
	cudaStream_t idle = new_stream(CUDA_STREAM_NON_BLOCKING);

	launch(AHEAD_US, busy);
	launch(1, idle);
	cr_expect(eq(int, cudaStreamSynchronize(idle), 0));
	cr_expect(eq(int, cudaStreamQuery(busy), CUDA_NOT_READY));
	cr_expect(eq(int, cudaStreamSynchronize(busy), 0));
	cr_expect(eq(int, cudaStreamQuery(busy), 0));
}

Test(fake_cuda, the_legacy_default_stream_waits_for_blocking_streams_and_they_for_it, .init = setup,
     .fini = clean)
{
	cudaStream_t blocking = new_stream(0);

	launch(AHEAD_US, blocking);
	cudaEvent_t first = record(blocking);
	launch(20000, NULL);
	cudaEvent_t second = record(NULL);
	launch(30000, blocking);
	cudaEvent_t third = record(blocking);
	NEAR(elapsed(first, second), 20);
	NEAR(elapsed(second, third), 30);
}

Test(fake_cuda, a_stream_waits_for_an_event_of_another, .init = setup, .fini = clean)
{
	cudaStream_t a = new_stream(CUDA_STREAM_NON_BLOCKING);
	cudaStream_t b = new_stream(CUDA_STREAM_NON_BLOCKING);

	launch(AHEAD_US, a);
	cudaEvent_t done = record(a);
	cr_expect(eq(int, cudaStreamWaitEvent(b, done, 0), 0));
	launch(20000, b);
	NEAR(elapsed(done, record(b)), 20);
}

static void *other_thread(void *is_ready)
{
	launch(1, CUDA_STREAM_PER_THREAD);
	*(int *)is_ready = cudaStreamSynchronize(CUDA_STREAM_PER_THREAD);
	return NULL;
}

Test(fake_cuda, each_thread_has_a_default_stream_of_its_own, .init = setup, .fini = clean)
{
	pthread_t thread;
	int result = -1;

	launch(AHEAD_US, CUDA_STREAM_PER_THREAD);
	cr_assert(eq(int, pthread_create(&thread, NULL, other_thread, &result), 0));
	pthread_join(thread, NULL);
	cr_expect(eq(int, result, 0));
	cr_expect(eq(int, cudaStreamQuery_ptsz(NULL), CUDA_NOT_READY));
}

Test(fake_cuda, copies_in_one_direction_share_an_engine, .init = setup, .fini = clean)
{
	size_t bytes = 25000000; // 1 ms at 25 GB/s
	void *gpu, *pinned;
	cudaStream_t a = new_stream(CUDA_STREAM_NON_BLOCKING);
	cudaStream_t b = new_stream(CUDA_STREAM_NON_BLOCKING);

	cr_assert(eq(int, cudaMalloc(&gpu, bytes), 0));
	cr_assert(eq(int, cudaMallocHost(&pinned, bytes), 0));
	launch(AHEAD_US, a);
	cudaMemcpyAsync(gpu, pinned, bytes, CUDA_HOST_TO_DEVICE, a);
	cudaEvent_t first = record(a);
	cudaMemcpyAsync(gpu, pinned, bytes, CUDA_HOST_TO_DEVICE, b);
	NEAR(elapsed(first, record(b)), 1.0015);
}

Test(fake_cuda, copies_copy_and_sets_set)
{
	char host[64] = "a text", back[64] = "";
	void *gpu;

	cr_assert(eq(int, cudaMalloc(&gpu, sizeof(host)), 0));
	cr_expect(eq(int, cudaMemcpy(gpu, host, sizeof(host), CUDA_HOST_TO_DEVICE), 0));
	cr_expect(eq(int, cudaMemcpy(back, gpu, sizeof(back), CUDA_DEVICE_TO_HOST), 0));
	cr_expect(eq(str, back, host));
	cr_expect(eq(int, cudaMemset(gpu, 'x', 1), 0));
	cudaMemcpy(back, gpu, sizeof(back), CUDA_DEVICE_TO_HOST);
	cr_expect(eq(str, back, "x text"));
}

Test(fake_cuda, a_capture_runs_nothing_until_it_is_launched, .init = setup, .fini = clean)
{
	cudaStream_t stream = new_stream(CUDA_STREAM_NON_BLOCKING);
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	cr_assert(eq(int, cudaStreamBeginCapture(stream, CUDA_CAPTURE_GLOBAL), 0));
	launch(10000, stream);
	launch(20000, stream);
	cr_assert(eq(int, cudaStreamEndCapture(stream, &graph), 0));
	cr_expect(eq(int, cudaStreamQuery(stream), 0));
	cr_assert(eq(int, cudaGraphInstantiate(&exec, graph, 0), 0));
	launch(AHEAD_US, stream);
	cudaEvent_t first = record(stream);
	cr_expect(eq(int, cudaGraphLaunch(exec, stream), 0));
	NEAR(elapsed(first, record(stream)), 30);
	cr_expect(eq(int, cudaGraphExecDestroy(exec), 0));
	cr_expect(eq(int, cudaGraphDestroy(graph), 0));
}

Test(fake_cuda, errors_are_returned_and_kept_until_they_are_asked_for)
{
	dim3 one = { 1, 1, 1 };
	char none;
	void *memory;

	cr_expect(eq(int, cudaMalloc(&memory, (size_t)1 << 40), CUDA_NO_MEMORY));
	cr_expect(eq(int, cudaPeekAtLastError(), CUDA_NO_MEMORY));
	cr_expect(eq(int, cudaGetLastError(), CUDA_NO_MEMORY));
	cr_expect(eq(int, cudaGetLastError(), 0));
	cr_expect(eq(int, cudaFree(&none), CUDA_INVALID_VALUE));
	cr_expect(eq(int, cudaStreamSynchronize((cudaStream_t)&none), CUDA_INVALID_HANDLE));
	cr_expect(eq(int, cudaLaunchKernel(&none, one, one, NULL, 0, NULL), CUDA_INVALID_IMAGE));
	cr_expect(eq(int, cudaSetDevice(1), CUDA_INVALID_DEVICE));
	cr_expect(eq(str, (char *)cudaGetErrorName(CUDA_NO_MEMORY), "cudaErrorMemoryAllocation"));
}

Test(fake_cuda, memory_that_is_freed_is_there_again)
{
	size_t before, less, after, total;
	void *memory;

	cudaMemGetInfo(&before, &total);
	cr_assert(eq(int, cudaMalloc(&memory, 1 << 20), 0));
	cudaMemGetInfo(&less, &total);
	cudaFree(memory);
	cudaMemGetInfo(&after, &total);
	cr_expect(eq(sz, before - less, 1 << 20));
	cr_expect(eq(sz, after, before));
}

Test(fake_cuda, a_program_without_a_runtime_finds_the_driver_by_names)
{
	int (*allocate)(uint64_t *, size_t) = NULL;
	void *module, *function, *none;
	uint64_t memory;
	int status;

	cr_assert(eq(int, cuInit(0), 0));
	cr_assert(eq(int, cuGetProcAddress_v2("cuMemAlloc", (void **)&allocate, 13000, 0, &status),
	             0));
	cr_expect(eq(int, allocate(&memory, 4096), 0));
	cr_expect(eq(int, cuMemFree_v2(memory), 0));
	cr_expect(eq(int, cuGetProcAddress_v2("cuNothing", &none, 13000, 0, &status),
	             CUDA_NOT_FOUND));
	cr_assert(eq(int, cuModuleLoadData(&module, "image"), 0));
	cr_assert(eq(int, cuModuleGetFunction(&function, module, "triton_us"), 0));
	cr_expect(eq(int,
	             cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, kernel(AHEAD_US), NULL),
	             0));
	cr_expect(eq(int, cudaStreamQuery(NULL), CUDA_NOT_READY));
	cr_expect(eq(int, cuCtxSynchronize(), 0));
	cr_expect(eq(int, cudaStreamQuery(NULL), 0));
	cr_expect(eq(int, cuModuleUnload(module), 0));
}
