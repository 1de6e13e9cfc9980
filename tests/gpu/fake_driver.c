// SPDX-License-Identifier: MIT
// The driver: what sets it up, and what programs without a runtime call.
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/fake_work.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic pid_t initialized;     // the process that has done it; 0: none
static __thread bool is_initializing; // what is injected may call us

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	int (*begin)(void) = NULL;

	if (library)
		*(void **)&begin = dlsym(library, "InitializeInjection");
	if (begin)
		begin();
}

// Threads that come meanwhile wait: nothing happens before what is injected is ready for it.
static void initialize(void)
{
	pthread_mutex_lock(&lock);
	if (!initialized) {
		is_initializing = true;
		inject();
		is_initializing = false;
		initialized = getpid();
	}
	pthread_mutex_unlock(&lock);
}

int fake_driver_init(void)
{
	if (!initialized && !is_initializing)
		initialize();
	// CUDA does not survive a fork.
	if (initialized != getpid() && !is_initializing)
		return CUDA_NOT_INITIALIZED;
	return fake_settings()->devices ? 0 : CUDA_NO_DEVICE;
}

int cuInit(unsigned int flags)
{
	(void)flags;
	return fake_driver_init();
}

int cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

int cuDeviceGetCount(int *count)
{
	*count = (int)fake_settings()->devices;
	return fake_driver_init();
}

int cuDeviceGet(int *device, int ordinal)
{
	*device = ordinal;
	return (uint32_t)ordinal < fake_settings()->devices ? 0 : CUDA_INVALID_DEVICE;
}

int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Fake GPU %d", device);
	return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	int refused = fake_driver_init();

	if (refused || !fake_device_set_current((uint32_t)device))
		return refused ? refused : CUDA_INVALID_DEVICE;
	fake_device_ensure();
	*context = fake_device_context();
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	fake_device_reset((uint32_t)device);
	return 0;
}

int cuCtxGetCurrent(void **context)
{
	*context = fake_device_context();
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	uint32_t device;

	if (!fake_device_of_context(context, &device))
		return CUDA_INVALID_VALUE;
	return fake_device_set_current(device) ? 0 : CUDA_INVALID_DEVICE;
}

int cuCtxSynchronize(void)
{
	FAKE_DRIVER_CALL(call, cuCtxSynchronize, NULL, 0);
	if (!call.refused)
		fake_work_wait(CUPTI_SYNC_CONTEXT, NULL, NULL,
		               fake_device_ready(fake_device_current()), call.correlation);
	return fake_call_end(&call, 0);
}

int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                   unsigned int block_x, unsigned int block_y, unsigned int block_z,
                   unsigned int shared, void *stream, void **arguments, void **extra)
{
	struct cuda_launch l = {
		{ grid_x, grid_y, grid_z }, { block_x, block_y, block_z }, shared, stream, NULL, 0
	};
	// As cuLaunchKernel_params has it.
	struct {
		void *function;
		unsigned int grid[3], block[3], shared;
		void *stream;
		void **arguments, **extra;
	} parameters = { function,
		         { grid_x, grid_y, grid_z },
		         { block_x, block_y, block_z },
		         shared,
		         stream,
		         arguments,
		         extra };
	const struct fake_kernel *k = fake_kernel_find(function);
	struct fake_call call;

	fake_call_begin(&call, 0, FAKE_cuLaunchKernel, &parameters, k ? k->name : NULL);
	return fake_work_launch(&call, k, &l, arguments);
}

int cuLaunchKernelEx(const struct cuda_driver_launch *l, void *function, void **arguments,
                     void **extra)
{
	struct cuda_launch own = { { l->grid[0], l->grid[1], l->grid[2] },
		                   { l->block[0], l->block[1], l->block[2] },
		                   l->shared,
		                   l->stream,
		                   NULL,
		                   0 };
	const struct fake_kernel *k = fake_kernel_find(function);

	FAKE_DRIVER_CALL(call, cuLaunchKernelEx, k ? k->name : NULL, FAKE_POINTER(l),
	                 FAKE_POINTER(function), FAKE_POINTER(arguments), FAKE_POINTER(extra));
	return fake_work_launch(&call, k, &own, arguments);
}

int cuMemAlloc_v2(uint64_t *memory, size_t bytes)
{
	FAKE_DRIVER_CALL(call, cuMemAlloc_v2, NULL, FAKE_POINTER(memory), bytes);
	uint32_t device = fake_device_current();
	void *data = call.refused ? NULL : fake_memory_new(bytes, CUPTI_MEMORY_DEVICE, device);
	if (!data)
		return fake_call_end(&call, CUDA_NO_MEMORY);
	struct fake_block block = {
		.data = data, .bytes = bytes, .kind = CUPTI_MEMORY_DEVICE, .device = device
	};
	*memory = FAKE_POINTER(data);
	fake_work_memory(&block, CUPTI_ALLOCATED, NULL, call.correlation);
	return fake_call_end(&call, 0);
}

int cuMemFree_v2(uint64_t memory)
{
	struct fake_block was;

	FAKE_DRIVER_CALL(call, cuMemFree_v2, NULL, memory);
	if (call.refused || !fake_memory_free((void *)(uintptr_t)memory, &was))
		return fake_call_end(&call, CUDA_INVALID_VALUE);
	fake_work_memory(&was, CUPTI_RELEASED, NULL, call.correlation);
	return fake_call_end(&call, 0);
}

static struct fake_work copy_of(uint64_t to, uint64_t from, size_t bytes, enum cuda_copy_kind kind)
{
	return (struct fake_work){ .type = FAKE_COPY,
		                   .copy = { (uint8_t *)(uintptr_t)to,
		                             (const uint8_t *)(uintptr_t)from, bytes, kind } };
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	struct fake_work work = copy_of(to, FAKE_POINTER(from), bytes, CUDA_HOST_TO_DEVICE);

	FAKE_DRIVER_CALL(call, cuMemcpyHtoD_v2, NULL, to, FAKE_POINTER(from), bytes);
	return fake_work_do(&call, &work, NULL);
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	struct fake_work work = copy_of(FAKE_POINTER(to), from, bytes, CUDA_DEVICE_TO_HOST);

	FAKE_DRIVER_CALL(call, cuMemcpyDtoH_v2, NULL, FAKE_POINTER(to), from, bytes);
	return fake_work_do(&call, &work, NULL);
}

int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes)
{
	struct fake_work work = copy_of(to, from, bytes, CUDA_DEVICE_TO_DEVICE);

	FAKE_DRIVER_CALL(call, cuMemcpyDtoD_v2, NULL, to, from, bytes);
	return fake_work_do(&call, &work, NULL);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream)
{
	struct fake_work work = copy_of(to, FAKE_POINTER(from), bytes, CUDA_HOST_TO_DEVICE);

	work.is_async = true;
	FAKE_DRIVER_CALL(call, cuMemcpyHtoDAsync_v2, NULL, to, FAKE_POINTER(from), bytes,
	                 FAKE_POINTER(stream));
	return fake_work_do(&call, &work, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream)
{
	struct fake_work work = copy_of(FAKE_POINTER(to), from, bytes, CUDA_DEVICE_TO_HOST);

	work.is_async = true;
	FAKE_DRIVER_CALL(call, cuMemcpyDtoHAsync_v2, NULL, FAKE_POINTER(to), from, bytes,
	                 FAKE_POINTER(stream));
	return fake_work_do(&call, &work, stream);
}

int cuMemsetD8_v2(uint64_t memory, unsigned char value, size_t bytes)
{
	struct fake_work work = { .type = FAKE_SET,
		                  .set = { (uint8_t *)(uintptr_t)memory, bytes, value } };

	FAKE_DRIVER_CALL(call, cuMemsetD8_v2, NULL, memory, value, bytes);
	return fake_work_do(&call, &work, NULL);
}

int cuStreamCreate(void **stream, unsigned int flags)
{
	FAKE_DRIVER_CALL(call, cuStreamCreate, NULL, FAKE_POINTER(stream), flags);
	*stream = call.refused ? NULL : fake_stream_new(!(flags & CUDA_STREAM_NON_BLOCKING));
	return fake_call_end(&call, *stream ? 0 : CUDA_NO_MEMORY);
}

int cuStreamDestroy_v2(void *stream)
{
	FAKE_DRIVER_CALL(call, cuStreamDestroy_v2, NULL, FAKE_POINTER(stream));
	bool is_gone = !call.refused && fake_stream_free(stream);
	return fake_call_end(&call, is_gone ? 0 : CUDA_INVALID_HANDLE);
}

int cuStreamSynchronize(void *stream)
{
	FAKE_DRIVER_CALL(call, cuStreamSynchronize, NULL, FAKE_POINTER(stream));
	struct cuda_stream *s = call.refused ? NULL : fake_stream(stream);
	if (!s)
		return fake_call_end(&call, CUDA_INVALID_HANDLE);
	fake_work_wait(CUPTI_SYNC_STREAM, s, NULL, fake_stream_ready(s), call.correlation);
	return fake_call_end(&call, 0);
}

int cuGetErrorName(int error, const char **name)
{
	*name = cudaGetErrorName(error);
	return 0;
}

int cuGetErrorString(int error, const char **text)
{
	*text = cudaGetErrorString(error);
	return 0;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
	static void *own;
	char versioned[128];

	(void)version, (void)flags;
	// By name, since a program may have loaded us for itself alone.
	if (!own)
		own = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	snprintf(versioned, sizeof(versioned), "%s_v2", name);
	*function = dlsym(own, versioned);
	if (!*function)
		*function = dlsym(own, name);
	if (status)
		*status = *function ? 0 : 1; // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
	return *function ? 0 : CUDA_NOT_FOUND;
}
