/* SPDX-License-Identifier: MIT */
/*
 * CUDA 13's runtime and driver as far as the fake GPU plays them and our programs call them,
 * without NVIDIA's headers (cuda_runtime_api.h, cuda.h, crt/host_runtime.h). All return an
 * enum cuda_error unless their type says otherwise.
 */
#pragma once

#include "tests/gpu/cuda_api_types.h"

/* What a compiled program calls before main() and for each <<<>>>. */
void **__cudaRegisterFatBinary(void *fat_binary);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int thread_limit, void *thread, void *block, void *block_dim,
                            void *grid_dim, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int external,
                       size_t size, int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                              int external, size_t size, int constant, int global);
char __cudaInitModule(void **handle);
unsigned int __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
int __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
int __cudaGetKernel(const void **kernel, const void *host);
int __cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                       cudaStream_t stream);
int __cudaLaunchKernel_ptsz(const void *kernel, dim3 grid, dim3 block, void **arguments,
                            size_t shared, cudaStream_t stream);

int cudaDriverGetVersion(int *version);
int cudaRuntimeGetVersion(int *version);
int cudaGetDeviceCount(int *count);
int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaGetDeviceProperties(struct cuda_properties *properties, int device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaDeviceCanAccessPeer(int *can, int device, int peer);
int cudaDeviceEnablePeerAccess(int peer, unsigned int flags);
int cudaDeviceSynchronize(void);
int cudaDeviceReset(void);
int cudaGetLastError(void);
int cudaPeekAtLastError(void);
const char *cudaGetErrorName(int error);
const char *cudaGetErrorString(int error);

int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared,
                     cudaStream_t stream);
int cudaLaunchKernel_ptsz(const void *function, dim3 grid, dim3 block, void **arguments,
                          size_t shared, cudaStream_t stream);
int cudaLaunchKernelExC(const struct cuda_launch *launch, const void *function, void **arguments);
int cudaLaunchKernelExC_ptsz(const struct cuda_launch *launch, const void *function,
                             void **arguments);

int cudaMemGetInfo(size_t *available, size_t *total);
int cudaMalloc(void **memory, size_t bytes);
int cudaFree(void *memory);
int cudaMallocHost(void **memory, size_t bytes);
int cudaHostAlloc(void **memory, size_t bytes, unsigned int flags);
int cudaFreeHost(void *memory);
int cudaMallocManaged(void **memory, size_t bytes, unsigned int flags);
int cudaMemPrefetchAsync(const void *memory, size_t bytes, struct cuda_location location,
                         unsigned int flags, cudaStream_t stream);
int cudaMemPrefetchAsync_ptsz(const void *memory, size_t bytes, struct cuda_location location,
                              unsigned int flags, cudaStream_t stream);
int cudaMallocAsync(void **memory, size_t bytes, cudaStream_t stream);
int cudaMallocAsync_ptsz(void **memory, size_t bytes, cudaStream_t stream);
int cudaFreeAsync(void *memory, cudaStream_t stream);
int cudaFreeAsync_ptsz(void *memory, cudaStream_t stream);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpy_ptds(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream);
int cudaMemcpyAsync_ptsz(void *to, const void *from, size_t bytes, int kind, cudaStream_t stream);
int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes);
int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                        cudaStream_t stream);
int cudaMemset(void *memory, int value, size_t bytes);
int cudaMemset_ptds(void *memory, int value, size_t bytes);
int cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);
int cudaMemsetAsync_ptsz(void *memory, int value, size_t bytes, cudaStream_t stream);

int cudaStreamCreate(cudaStream_t *stream);
int cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
int cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
int cudaStreamDestroy(cudaStream_t stream);
int cudaStreamSynchronize(cudaStream_t stream);
int cudaStreamSynchronize_ptsz(cudaStream_t stream);
int cudaStreamQuery(cudaStream_t stream);
int cudaStreamQuery_ptsz(cudaStream_t stream);
int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
int cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
int cudaEventCreate(cudaEvent_t *event);
int cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
int cudaEventDestroy(cudaEvent_t event);
int cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
int cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream);
int cudaEventSynchronize(cudaEvent_t event);
int cudaEventQuery(cudaEvent_t event);
int cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end);

int cudaStreamBeginCapture(cudaStream_t stream, int mode);
int cudaStreamBeginCapture_ptsz(cudaStream_t stream, int mode);
int cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
int cudaStreamEndCapture_ptsz(cudaStream_t stream, cudaGraph_t *graph);
int cudaGraphCreate(cudaGraph_t *graph, unsigned int flags);
int cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph,
                           const cudaGraphNode_t *dependencies, size_t dependency_count,
                           const struct cuda_kernel_node *parameters);
int cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
int cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
int cudaGraphLaunch_ptsz(cudaGraphExec_t exec, cudaStream_t stream);
int cudaGraphExecDestroy(cudaGraphExec_t exec);
int cudaGraphDestroy(cudaGraph_t graph);

int cuInit(unsigned int flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int size, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxGetCurrent(void **context);
int cuCtxSetCurrent(void *context);
int cuCtxSynchronize(void);
int cuModuleLoadData(void **module, const void *image);
int cuModuleUnload(void *module);
int cuModuleGetFunction(void **function, void *module, const char *name);
int cuLaunchKernel(void *function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                   unsigned int block_x, unsigned int block_y, unsigned int block_z,
                   unsigned int shared, void *stream, void **arguments, void **extra);
int cuLaunchKernelEx(const struct cuda_driver_launch *launch, void *function, void **arguments,
                     void **extra);
int cuMemAlloc_v2(uint64_t *memory, size_t bytes);
int cuMemFree_v2(uint64_t memory);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream);
int cuMemsetD8_v2(uint64_t memory, unsigned char value, size_t bytes);
int cuStreamCreate(void **stream, unsigned int flags);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuGetErrorName(int error, const char **name);
int cuGetErrorString(int error, const char **text);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status);
