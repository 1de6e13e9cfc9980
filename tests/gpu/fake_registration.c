// SPDX-License-Identifier: MIT
// What a compiled CUDA program calls before main(), and around each <<<>>>.
#include "tests/gpu/cuda_api.h"
#include "tests/gpu/fake_call.h"
#include "tests/gpu/fake_device.h"
#include "tests/gpu/fake_kernel.h"
#include "tests/gpu/fake_managed.h"

#include <stddef.h>

static __thread struct {
	dim3 grid, block;
	size_t shared;
	void *stream;
} configuration;

void **__cudaRegisterFatBinary(void *fat_binary)
{
	static void *handle;

	handle = fat_binary;
	return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *thread, void *block, void *block_dim,
                            void *grid_dim, int *warp_size)
{
	(void)handle, (void)device, (void)thread_limit, (void)thread, (void)block;
	(void)block_dim, (void)grid_dim, (void)warp_size;
	fake_kernel_add(host, name);
}

void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global)
{
	(void)handle, (void)host, (void)device, (void)name, (void)external, (void)size;
	(void)constant, (void)global;
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int external, size_t size, int constant, int global)
{
	(void)handle, (void)device, (void)name, (void)external, (void)constant, (void)global;
	fake_managed_variable(host, size);
}

// A program calls it before it first touches a variable that is __managed__.
char __cudaInitModule(void **handle)
{
	(void)handle;
	if (fake_driver_init())
		return 0;
	fake_device_ensure();
	fake_managed_load();
	return 1;
}

unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
	configuration.grid = grid;
	configuration.block = block;
	configuration.shared = shared;
	configuration.stream = stream;
	return 0;
}

int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*shared = configuration.shared;
	*(void **)stream = configuration.stream;
	return 0;
}

int __cudaGetKernel(const void **kernel, const void *host)
{
	*kernel = fake_kernel_find(host);
	return *kernel ? 0 : CUDA_INVALID_IMAGE;
}

int __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                       cudaStream_t stream)
{
	return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

int __cudaLaunchKernel_ptsz(const void *kernel, dim3 grid, dim3 block, void **arguments,
                            size_t shared, cudaStream_t stream)
{
	return cudaLaunchKernel_ptsz(kernel, grid, block, arguments, shared, stream);
}
