/* SPDX-License-Identifier: MIT */
/*
 * The functions that are told of to a subscriber, with CUPTI's numbers for them
 * (cupti_runtime_cbid.h, cupti_driver_cbid.h). tests/gpu/fake_names_test.c compares both with what
 * NVIDIA's libcupti says.
 */
#pragma once

#include <stdint.h>

/* How many numbers CUDA 13.0 has; those that the fake does not know have a name of their own. */
#define FAKE_RUNTIME_IDS 523
#define FAKE_DRIVER_IDS  807
#define FAKE_UNNAMED     "notInTheFake"

/* X(name of the function, CUPTI's number, the suffix of CUPTI's name) */
#define FAKE_RUNTIME_FUNCTIONS(X)                                                                  \
	X(cudaDriverGetVersion, 1, "_v3020")                                                       \
	X(cudaRuntimeGetVersion, 2, "_v3020")                                                      \
	X(cudaGetDeviceCount, 3, "_v3020")                                                         \
	X(cudaSetDevice, 16, "_v3020")                                                             \
	X(cudaGetDevice, 17, "_v3020")                                                             \
	X(cudaMalloc, 20, "_v3020")                                                                \
	X(cudaFree, 22, "_v3020")                                                                  \
	X(cudaMallocHost, 25, "_v3020")                                                            \
	X(cudaFreeHost, 26, "_v3020")                                                              \
	X(cudaHostAlloc, 27, "_v3020")                                                             \
	X(cudaMemGetInfo, 30, "_v3020")                                                            \
	X(cudaMemcpy, 31, "_v3020")                                                                \
	X(cudaMemcpyAsync, 41, "_v3020")                                                           \
	X(cudaMemset, 49, "_v3020")                                                                \
	X(cudaMemsetAsync, 51, "_v3020")                                                           \
	X(cudaStreamCreate, 129, "_v3020")                                                         \
	X(cudaStreamSynchronize, 131, "_v3020")                                                    \
	X(cudaStreamQuery, 132, "_v3020")                                                          \
	X(cudaEventCreate, 133, "_v3020")                                                          \
	X(cudaEventCreateWithFlags, 134, "_v3020")                                                 \
	X(cudaEventRecord, 135, "_v3020")                                                          \
	X(cudaEventDestroy, 136, "_v3020")                                                         \
	X(cudaEventSynchronize, 137, "_v3020")                                                     \
	X(cudaEventQuery, 138, "_v3020")                                                           \
	X(cudaStreamWaitEvent, 147, "_v3020")                                                      \
	X(cudaMemcpyPeer, 160, "_v4000")                                                           \
	X(cudaMemcpyPeerAsync, 161, "_v4000")                                                      \
	X(cudaDeviceReset, 164, "_v3020")                                                          \
	X(cudaDeviceSynchronize, 165, "_v3020")                                                    \
	X(cudaStreamCreateWithFlags, 198, "_v5000")                                                \
	X(cudaStreamDestroy, 201, "_v5050")                                                        \
	X(cudaStreamCreateWithPriority, 202, "_v5050")                                             \
	X(cudaMallocManaged, 206, "_v6000")                                                        \
	X(cudaLaunchKernel, 211, "_v7000")                                                         \
	X(cudaLaunchKernel_ptsz, 214, "_v7000")                                                    \
	X(cudaMemcpy_ptds, 215, "_v7000")                                                          \
	X(cudaMemcpyAsync_ptsz, 225, "_v7000")                                                     \
	X(cudaMemset_ptds, 233, "_v7000")                                                          \
	X(cudaMemsetAsync_ptsz, 235, "_v7000")                                                     \
	X(cudaStreamSynchronize_ptsz, 239, "_v7000")                                               \
	X(cudaStreamQuery_ptsz, 240, "_v7000")                                                     \
	X(cudaEventRecord_ptsz, 242, "_v7000")                                                     \
	X(cudaStreamWaitEvent_ptsz, 247, "_v7000")                                                 \
	X(cudaGraphCreate, 286, "_v10000")                                                         \
	X(cudaGraphAddKernelNode, 289, "_v10000")                                                  \
	X(cudaGraphLaunch, 311, "_v10000")                                                         \
	X(cudaGraphLaunch_ptsz, 312, "_v10000")                                                    \
	X(cudaGraphExecDestroy, 313, "_v10000")                                                    \
	X(cudaGraphDestroy, 314, "_v10000")                                                        \
	X(cudaStreamBeginCapture, 315, "_v10000")                                                  \
	X(cudaStreamBeginCapture_ptsz, 316, "_v10000")                                             \
	X(cudaStreamEndCapture, 319, "_v10000")                                                    \
	X(cudaStreamEndCapture_ptsz, 320, "_v10000")                                               \
	X(cudaMallocAsync, 373, "_v11020")                                                         \
	X(cudaMallocAsync_ptsz, 374, "_v11020")                                                    \
	X(cudaFreeAsync, 375, "_v11020")                                                           \
	X(cudaFreeAsync_ptsz, 376, "_v11020")                                                      \
	X(cudaLaunchKernelExC, 430, "_v11060")                                                     \
	X(cudaLaunchKernelExC_ptsz, 431, "_v11060")                                                \
	X(cudaGraphInstantiate, 443, "_v12000")                                                    \
	X(cudaMemPrefetchAsync, 449, "_v12020")                                                    \
	X(cudaMemPrefetchAsync_ptsz, 450, "_v12020")

#define FAKE_DRIVER_FUNCTIONS(X)                                                                   \
	X(cuInit, 1, "")                                                                           \
	X(cuCtxSynchronize, 17, "")                                                                \
	X(cuModuleLoadData, 19, "")                                                                \
	X(cuModuleUnload, 22, "")                                                                  \
	X(cuModuleGetFunction, 23, "")                                                             \
	X(cuMemFreeHost, 38, "")                                                                   \
	X(cuEventCreate, 118, "")                                                                  \
	X(cuEventRecord, 119, "")                                                                  \
	X(cuEventQuery, 120, "")                                                                   \
	X(cuEventSynchronize, 121, "")                                                             \
	X(cuStreamCreate, 124, "")                                                                 \
	X(cuStreamQuery, 125, "")                                                                  \
	X(cuStreamSynchronize, 126, "")                                                            \
	X(cuMemsetD8Async, 216, "")                                                                \
	X(cuMemAlloc_v2, 243, "")                                                                  \
	X(cuMemFree_v2, 245, "")                                                                   \
	X(cuMemsetD8_v2, 249, "")                                                                  \
	X(cuMemHostAlloc_v2, 271, "")                                                              \
	X(cuMemcpyHtoD_v2, 276, "")                                                                \
	X(cuMemcpyHtoDAsync_v2, 277, "")                                                           \
	X(cuMemcpyDtoH_v2, 278, "")                                                                \
	X(cuMemcpyDtoHAsync_v2, 279, "")                                                           \
	X(cuMemcpyDtoD_v2, 280, "")                                                                \
	X(cuStreamWaitEvent, 295, "")                                                              \
	X(cuMemcpy, 305, "")                                                                       \
	X(cuMemcpyAsync, 306, "")                                                                  \
	X(cuLaunchKernel, 307, "")                                                                 \
	X(cuMemcpyPeer, 318, "")                                                                   \
	X(cuMemcpyPeerAsync, 319, "")                                                              \
	X(cuStreamDestroy_v2, 326, "")                                                             \
	X(cuMemAllocManaged, 371, "")                                                              \
	X(cuGraphLaunch, 514, "")                                                                  \
	X(cuMemAllocAsync, 598, "")                                                                \
	X(cuMemFreeAsync, 600, "")                                                                 \
	X(cuGraphInstantiateWithFlags, 643, "")                                                    \
	X(cuLaunchKernelEx, 652, "")                                                               \
	X(cuMemPrefetchAsync_v2, 716, "")

#define FAKE_ID(name, id, suffix) FAKE_##name = (id),
enum fake_runtime {
	FAKE_RUNTIME_FUNCTIONS(FAKE_ID)
};
enum fake_driver {
	FAKE_NO_DRIVER_CALL = 0,
	FAKE_DRIVER_FUNCTIONS(FAKE_ID)
};
#undef FAKE_ID

/* CUPTI's name ("cudaMalloc_v3020"), FAKE_UNNAMED, or NULL if there is no such number. */
const char *fake_function_name(uint32_t domain, uint32_t id);

/* The function's own name ("cudaMalloc"), which a callback is told. */
const char *fake_function_plain_name(uint32_t domain, uint32_t id);
