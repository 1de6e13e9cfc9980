/* SPDX-License-Identifier: MIT */
/*
 * Programs that know what a profiler must say of what they have a GPU do. Each is C for the fake
 * GPU, whose kernels do nothing for as long as they are told, and CUDA for nvcc and a real one,
 * whose kernels wait as long. At its end a program prints the truth, a line each:
 *
 *	truth kernel NAME COUNT US         launches, and their time together (on a real GPU: about)
 *	truth copy FROM TO COUNT BYTES     pageable, pinned, device, managed; peer peer
 *	truth set COUNT BYTES
 *	truth sync WHAT COUNT              event, wait, stream, context
 *	truth graph COUNT US               launches of graphs
 *	truth allocated KIND COUNT BYTES
 *	truth released KIND COUNT BYTES
 *	truth moved WHERE COUNT BYTES      managed memory: to-device, to-host (real GPU: in parts)
 *	truth fault FILE:LINE COUNT BYTES  page faults of the host, and what came for them (real
 *	                                   GPU: at least one, in parts)
 *	truth jit COUNT                    compilations by the driver
 *	truth modules COUNT                loaded by the program itself
 *	truth calls COUNT                  launches of kernels and graphs
 *	truth line FILE:LINE MS            where the CPU works while the GPU has nothing to do
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#ifdef __CUDACC__
#include <cuda_runtime.h>

#define CUDA_HOST_TO_DEVICE      cudaMemcpyHostToDevice
#define CUDA_DEVICE_TO_HOST      cudaMemcpyDeviceToHost
#define CUDA_DEVICE_TO_DEVICE    cudaMemcpyDeviceToDevice
#define CUDA_STREAM_NON_BLOCKING cudaStreamNonBlocking
#define CUDA_CAPTURE_GLOBAL      cudaStreamCaptureModeGlobal
#define CUDA_STREAM_PER_THREAD   cudaStreamPerThread

/* A kernel that takes as many microseconds as its argument says. Its name ends in _us. */
#define KERNEL(name)                                                                               \
	extern "C" __global__ void name(unsigned int us)                                           \
	{                                                                                          \
		unsigned long long begin, now;                                                     \
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));                          \
		do                                                                                 \
			asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));                    \
		while (now - begin < us * 1000ull);                                                \
	}

static inline cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *after, const void *kernel,
                                   unsigned int us)
{
	void *arguments[] = { &us };
	cudaKernelNodeParams p = {};

	p.func = (void *)kernel;
	p.gridDim = dim3(1, 1, 1);
	p.blockDim = dim3(32, 1, 1);
	p.kernelParams = arguments;
	return cudaGraphAddKernelNode(node, graph, after, after ? 1 : 0, &p);
}
#else
#include "tests/gpu/cuda_api.h"

/* Known to the runtime by an address, as a compiled program's are by their stubs'. */
#define KERNEL(name)                                                                               \
	static char name[1];                                                                       \
	__attribute__((constructor)) static void register_##name(void)                             \
	{                                                                                          \
		static void *image;                                                                \
		__cudaRegisterFunction(__cudaRegisterFatBinary(&image), name, NULL, #name, -1,     \
		                       NULL, NULL, NULL, NULL, NULL);                              \
	}

static inline int add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after,
                           const void *kernel, unsigned int us)
{
	void *arguments[] = { &us };
	struct cuda_kernel_node p = { kernel, { 1, 1, 1 }, { 32, 1, 1 }, 0, arguments, NULL };

	return cudaGraphAddKernelNode(node, graph, after, after ? 1 : 0, &p);
}
#endif

/* Ends the program if a call of CUDA's failed. */
#define CUDA(call)                                                                                 \
	do {                                                                                       \
		int result_ = (int)(call);                                                         \
		if (result_) {                                                                     \
			fprintf(stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call,        \
			        result_);                                                          \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static inline void launch(const void *kernel, unsigned int us, cudaStream_t stream)
{
	void *arguments[] = { &us };
	dim3 grid = { 1, 1, 1 }, block = { 32, 1, 1 };

	CUDA(cudaLaunchKernel(kernel, grid, block, arguments, 0, stream));
}
#define LAUNCH(kernel, us, stream) launch((const void *)(kernel), us, stream)

/* The number that the environment variable NAME gives. */
static inline unsigned int setting(const char *name, unsigned int otherwise)
{
	const char *value = getenv(name);

	return value ? (unsigned int)strtoul(value, NULL, 10) : otherwise;
}
