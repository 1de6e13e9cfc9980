// SPDX-License-Identifier: MIT
// What programs hand to the fake runtime is laid out as NVIDIA's headers say: compiling this is the
// test. Their functions have the names of ours, and so do a few types.
#define dim3            our_dim3
#define cudaStream_t    our_stream
#define cudaEvent_t     our_event
#define cudaGraph_t     our_graph
#define cudaGraphExec_t our_graph_exec
#define cudaGraphNode_t our_graph_node
#include "tests/gpu/cuda_api_types.h"
#undef dim3
#undef cudaStream_t
#undef cudaEvent_t
#undef cudaGraph_t
#undef cudaGraphExec_t
#undef cudaGraphNode_t

#include <cuda.h>
#include <driver_types.h>

#define SAME(ours, theirs) _Static_assert((int64_t)(ours) == (int64_t)(theirs), #theirs)
#define PLACE(ours, field, theirs, their_field)                                                    \
	SAME(offsetof(struct ours, field), offsetof(theirs, their_field));                         \
	SAME(sizeof(((struct ours *)0)->field), sizeof(((theirs *)0)->their_field))

SAME(sizeof(struct cuda_properties), sizeof(struct cudaDeviceProp));
#define PROPERTY(field, their_field)                                                               \
	PLACE(cuda_properties, field, struct cudaDeviceProp, their_field)
PROPERTY(name, name);
PROPERTY(uuid, uuid);
PROPERTY(memory_bytes, totalGlobalMem);
PROPERTY(block_shared, sharedMemPerBlock);
PROPERTY(block_registers, regsPerBlock);
PROPERTY(warp_threads, warpSize);
PROPERTY(block_threads, maxThreadsPerBlock);
PROPERTY(block_max, maxThreadsDim);
PROPERTY(grid_max, maxGridSize);
PROPERTY(constant_bytes, totalConstMem);
PROPERTY(major, major);
PROPERTY(minor, minor);
PROPERTY(multiprocessors, multiProcessorCount);
PROPERTY(concurrent_kernels, concurrentKernels);
PROPERTY(copy_engines, asyncEngineCount);
PROPERTY(unified, unifiedAddressing);
PROPERTY(memory_bits, memoryBusWidth);
PROPERTY(l2_bytes, l2CacheSize);
PROPERTY(threads, maxThreadsPerMultiProcessor);

SAME(sizeof(struct cuda_launch), sizeof(cudaLaunchConfig_t));
PLACE(cuda_launch, block, cudaLaunchConfig_t, blockDim);
PLACE(cuda_launch, shared, cudaLaunchConfig_t, dynamicSmemBytes);
PLACE(cuda_launch, stream, cudaLaunchConfig_t, stream);
PLACE(cuda_launch, attribute_count, cudaLaunchConfig_t, numAttrs);

SAME(sizeof(struct cuda_kernel_node), sizeof(struct cudaKernelNodeParams));
PLACE(cuda_kernel_node, function, struct cudaKernelNodeParams, func);
PLACE(cuda_kernel_node, grid, struct cudaKernelNodeParams, gridDim);
PLACE(cuda_kernel_node, block, struct cudaKernelNodeParams, blockDim);
PLACE(cuda_kernel_node, shared, struct cudaKernelNodeParams, sharedMemBytes);
PLACE(cuda_kernel_node, arguments, struct cudaKernelNodeParams, kernelParams);

SAME(sizeof(struct cuda_driver_launch), sizeof(CUlaunchConfig));
PLACE(cuda_driver_launch, shared, CUlaunchConfig, sharedMemBytes);
PLACE(cuda_driver_launch, stream, CUlaunchConfig, hStream);
PLACE(cuda_driver_launch, attribute_count, CUlaunchConfig, numAttrs);

SAME(sizeof(struct cuda_location), sizeof(struct cudaMemLocation));
PLACE(cuda_location, id, struct cudaMemLocation, id);
SAME(CUDA_LOCATION_DEVICE, cudaMemLocationTypeDevice);
SAME(CUDA_LOCATION_HOST, cudaMemLocationTypeHost);
SAME(CUDA_INVALID_VALUE, cudaErrorInvalidValue);
SAME(CUDA_NO_MEMORY, cudaErrorMemoryAllocation);
SAME(CUDA_NOT_INITIALIZED, cudaErrorInitializationError);
SAME(CUDA_NO_DEVICE, cudaErrorNoDevice);
SAME(CUDA_INVALID_DEVICE, cudaErrorInvalidDevice);
SAME(CUDA_INVALID_IMAGE, cudaErrorInvalidKernelImage);
SAME(CUDA_INVALID_HANDLE, cudaErrorInvalidResourceHandle);
SAME(CUDA_NOT_FOUND, cudaErrorSymbolNotFound);
SAME(CUDA_NOT_READY, cudaErrorNotReady);
SAME(CUDA_CAPTURE_UNSUPPORTED, cudaErrorStreamCaptureUnsupported);
SAME(CUDA_HOST_TO_DEVICE, cudaMemcpyHostToDevice);
SAME(CUDA_DEVICE_TO_HOST, cudaMemcpyDeviceToHost);
SAME(CUDA_DEVICE_TO_DEVICE, cudaMemcpyDeviceToDevice);
SAME(CUDA_BY_ADDRESS, cudaMemcpyDefault);
SAME(CUDA_STREAM_NON_BLOCKING, cudaStreamNonBlocking);
SAME(CUDA_CAPTURE_GLOBAL, cudaStreamCaptureModeGlobal);

int main(void)
{
	return 0;
}
