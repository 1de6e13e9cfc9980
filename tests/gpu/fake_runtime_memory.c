// SPDX-License-Identifier: MIT
// The runtime: memory, copies and sets.
#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_managed.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/fake_work.h"

int cudaMemGetInfo(size_t *available, size_t *total)
{
	FAKE_CALL(call, cudaMemGetInfo, NO_DRIVER_CALL, NULL, FAKE_POINTER(available),
	          FAKE_POINTER(total));
	*total = fake_settings()->memory_bytes;
	*available = *total - fake_memory_used(fake_device_current());
	return fake_call_end(&call, 0);
}

// STREAM: NULL unless the allocation is a stream's.
static int allocate(struct fake_call *call, void **memory, size_t bytes,
                    enum cupti_memory_kind kind, const struct cuda_stream *stream)
{
	uint32_t device = fake_device_current();

	*memory = call->refused ? NULL : fake_memory_new(bytes, kind, device);
	if (!*memory)
		return fake_call_end(call, CUDA_NO_MEMORY);
	struct fake_block block = {
		.data = *memory, .bytes = bytes, .kind = kind, .device = device
	};
	fake_work_memory(&block, CUPTI_ALLOCATED, stream, call->correlation);
	return fake_call_end(call, 0);
}

static int release(struct fake_call *call, void *memory, const struct cuda_stream *stream)
{
	struct fake_block was;

	if (!memory || call->refused)
		return fake_call_end(call, 0);
	if (!fake_memory_free(memory, &was))
		return fake_call_end(call, CUDA_INVALID_VALUE);
	fake_work_memory(&was, CUPTI_RELEASED, stream, call->correlation);
	return fake_call_end(call, 0);
}

int cudaMalloc(void **memory, size_t bytes)
{
	FAKE_CALL(call, cudaMalloc, cuMemAlloc_v2, NULL, FAKE_POINTER(memory), bytes);
	return allocate(&call, memory, bytes, CUPTI_MEMORY_DEVICE, NULL);
}

int cudaFree(void *memory)
{
	FAKE_CALL(call, cudaFree, cuMemFree_v2, NULL, FAKE_POINTER(memory));
	// The driver waits for the device, which may still use the memory.
	if (!call.refused && memory)
		fake_wait_until(fake_device_ready(fake_device_current()));
	return release(&call, memory, NULL);
}

int cudaMallocHost(void **memory, size_t bytes)
{
	FAKE_CALL(call, cudaMallocHost, cuMemHostAlloc_v2, NULL, FAKE_POINTER(memory), bytes);
	return allocate(&call, memory, bytes, CUPTI_MEMORY_PINNED, NULL);
}

int cudaHostAlloc(void **memory, size_t bytes, unsigned int flags)
{
	FAKE_CALL(call, cudaHostAlloc, cuMemHostAlloc_v2, NULL, FAKE_POINTER(memory), bytes, flags);
	return allocate(&call, memory, bytes, CUPTI_MEMORY_PINNED, NULL);
}

int cudaFreeHost(void *memory)
{
	FAKE_CALL(call, cudaFreeHost, cuMemFreeHost, NULL, FAKE_POINTER(memory));
	return release(&call, memory, NULL);
}

int cudaMallocManaged(void **memory, size_t bytes, unsigned int flags)
{
	FAKE_CALL(call, cudaMallocManaged, cuMemAllocManaged, NULL, FAKE_POINTER(memory), bytes,
	          flags);
	fake_managed_watch();
	return allocate(&call, memory, bytes, CUPTI_MEMORY_MANAGED, NULL);
}

static int prefetch(uint32_t function, const void *memory, size_t bytes,
                    struct cuda_location location, cudaStream_t handle)
{
	struct fake_call call;

	fake_call_begin(&call, function, FAKE_cuMemPrefetchAsync_v2,
	                FAKE_PARAMETERS(FAKE_POINTER(memory), bytes, (uint64_t)location.type,
	                                FAKE_POINTER(handle)),
	                NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	bool to_device = location.type == CUDA_LOCATION_DEVICE;
	fake_managed_prefetch(s, memory, to_device);
	return fake_call_end(&call, 0);
}

int cudaMemPrefetchAsync(const void *memory, size_t bytes, struct cuda_location location,
                         unsigned int flags, cudaStream_t stream)
{
	return flags ? CUDA_INVALID_VALUE
	             : prefetch(FAKE_cudaMemPrefetchAsync, memory, bytes, location, stream);
}

int cudaMemPrefetchAsync_ptsz(const void *memory, size_t bytes, struct cuda_location location,
                              unsigned int flags, cudaStream_t stream)
{
	return flags ? CUDA_INVALID_VALUE
	             : prefetch(FAKE_cudaMemPrefetchAsync_ptsz, memory, bytes, location,
	                        fake_per_thread(stream));
}

static int allocate_async(uint32_t function, void **memory, size_t bytes, cudaStream_t handle)
{
	struct fake_call call;

	fake_call_begin(&call, function, FAKE_cuMemAllocAsync,
	                FAKE_PARAMETERS(FAKE_POINTER(memory), bytes, FAKE_POINTER(handle)), NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	return allocate(&call, memory, bytes, CUPTI_MEMORY_DEVICE, s);
}

int cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream)
{
	return allocate_async(FAKE_cudaMallocAsync, memory, bytes, stream);
}

int cudaMallocAsync_ptsz(void **memory, size_t bytes, cudaStream_t stream)
{
	return allocate_async(FAKE_cudaMallocAsync_ptsz, memory, bytes, fake_per_thread(stream));
}

static int release_async(uint32_t function, void *memory, cudaStream_t handle)
{
	struct fake_call call;

	fake_call_begin(&call, function, FAKE_cuMemFreeAsync,
	                FAKE_PARAMETERS(FAKE_POINTER(memory), FAKE_POINTER(handle)), NULL);
	struct cuda_stream *s = call.refused ? NULL : fake_stream(handle);
	if (!s)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	return release(&call, memory, s);
}

int cudaFreeAsync(void *memory, cudaStream_t stream)
{
	return release_async(FAKE_cudaFreeAsync, memory, stream);
}

int cudaFreeAsync_ptsz(void *memory, cudaStream_t stream)
{
	return release_async(FAKE_cudaFreeAsync_ptsz, memory, fake_per_thread(stream));
}

// The driver's function beneath, by what is copied where.
static uint32_t driver_copy(int kind, bool is_async)
{
	switch (kind) {
	case CUDA_HOST_TO_DEVICE:
		return is_async ? FAKE_cuMemcpyHtoDAsync_v2 : FAKE_cuMemcpyHtoD_v2;
	case CUDA_DEVICE_TO_HOST:
		return is_async ? FAKE_cuMemcpyDtoHAsync_v2 : FAKE_cuMemcpyDtoH_v2;
	default:
		return is_async ? FAKE_cuMemcpyAsync : FAKE_cuMemcpy;
	}
}

static int copy(uint32_t function, struct fake_work *work, cudaStream_t stream)
{
	struct fake_call call;

	work->type = FAKE_COPY;
	fake_call_begin(&call, function, driver_copy((int)work->copy.kind, work->is_async),
	                FAKE_PARAMETERS(FAKE_POINTER(work->copy.to), FAKE_POINTER(work->copy.from),
	                                work->copy.bytes, work->copy.kind, FAKE_POINTER(stream)),
	                NULL);
	return fake_work_do(&call, work, stream);
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
	struct fake_work work = { .copy = { to, from, bytes, (uint32_t)kind } };

	return copy(FAKE_cudaMemcpy, &work, CUDA_STREAM_LEGACY);
}

int cudaMemcpy_ptds(void *to, const void *from, size_t bytes, int kind)
{
	struct fake_work work = { .copy = { to, from, bytes, (uint32_t)kind } };

	return copy(FAKE_cudaMemcpy_ptds, &work, CUDA_STREAM_PER_THREAD);
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream)
{
	struct fake_work work = { .is_async = true, .copy = { to, from, bytes, (uint32_t)kind } };

	return copy(FAKE_cudaMemcpyAsync, &work, stream);
}

int cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream)
{
	struct fake_work work = { .is_async = true, .copy = { to, from, bytes, (uint32_t)kind } };

	return copy(FAKE_cudaMemcpyAsync_ptsz, &work, fake_per_thread(stream));
}

int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
	struct fake_work work = { .type = FAKE_COPY,
		                  .copy = { to, from, bytes, CUDA_DEVICE_TO_DEVICE } };

	FAKE_CALL(call, cudaMemcpyPeer, cuMemcpyPeer, NULL, FAKE_POINTER(to), (uint64_t)to_device,
	          FAKE_POINTER(from), (uint64_t)from_device, bytes);
	return fake_work_do(&call, &work, CUDA_STREAM_LEGACY);
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                        cudaStream_t stream)
{
	struct fake_work work = { .type = FAKE_COPY,
		                  .is_async = true,
		                  .copy = { to, from, bytes, CUDA_DEVICE_TO_DEVICE } };

	FAKE_CALL(call, cudaMemcpyPeerAsync, cuMemcpyPeerAsync, NULL, FAKE_POINTER(to),
	          (uint64_t)to_device, FAKE_POINTER(from), (uint64_t)from_device, bytes,
	          FAKE_POINTER(stream));
	return fake_work_do(&call, &work, stream);
}

static int set(uint32_t function, struct fake_work *work, cudaStream_t stream)
{
	struct fake_call call;

	work->type = FAKE_SET;
	fake_call_begin(&call, function, work->is_async ? FAKE_cuMemsetD8Async : FAKE_cuMemsetD8_v2,
	                FAKE_PARAMETERS(FAKE_POINTER(work->set.memory), (uint64_t)work->set.value,
	                                work->set.bytes, FAKE_POINTER(stream)),
	                NULL);
	return fake_work_do(&call, work, stream);
}

int cudaMemset(void *memory, int value, size_t bytes)
{
	struct fake_work work = { .set = { memory, bytes, value } };

	return set(FAKE_cudaMemset, &work, CUDA_STREAM_LEGACY);
}

int cudaMemset_ptds(void *memory, int value, size_t bytes)
{
	struct fake_work work = { .set = { memory, bytes, value } };

	return set(FAKE_cudaMemset_ptds, &work, CUDA_STREAM_PER_THREAD);
}

int cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream)
{
	struct fake_work work = { .is_async = true, .set = { memory, bytes, value } };

	return set(FAKE_cudaMemsetAsync, &work, stream);
}

int cudaMemsetAsync_ptsz(void *memory, int value, size_t bytes, cudaStream_t stream)
{
	struct fake_work work = { .is_async = true, .set = { memory, bytes, value } };

	return set(FAKE_cudaMemsetAsync_ptsz, &work, fake_per_thread(stream));
}
