/* SPDX-License-Identifier: MIT */
/*
 * The types of CUDA 13's runtime and driver as far as the fake GPU and our programs use them,
 * without NVIDIA's headers (driver_types.h, cuda.h).
 * Results are cudaError_t and CUresult: 0 is success, and the numbers are the same in both.
 * tests/gpu/cuda_abi_test.c compares the layouts with NVIDIA's headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cuda_error {
	CUDA_OK = 0,
	CUDA_INVALID_VALUE = 1,
	CUDA_NO_MEMORY = 2,
	CUDA_NOT_INITIALIZED = 3,
	CUDA_NO_DEVICE = 100,
	CUDA_INVALID_DEVICE = 101,
	CUDA_INVALID_IMAGE = 200,
	CUDA_INVALID_HANDLE = 400,
	CUDA_NOT_FOUND = 500,
	CUDA_NOT_READY = 600,
	CUDA_CAPTURE_UNSUPPORTED = 900
};

enum cuda_copy_kind {
	CUDA_HOST_TO_HOST = 0,
	CUDA_HOST_TO_DEVICE = 1,
	CUDA_DEVICE_TO_HOST = 2,
	CUDA_DEVICE_TO_DEVICE = 3,
	CUDA_BY_ADDRESS = 4 /* cudaMemcpyDefault */
};

#define CUDA_STREAM_NON_BLOCKING 1
#define CUDA_CAPTURE_GLOBAL      0

typedef struct dim3 {
	unsigned int x, y, z;
} dim3;

/* A default stream: NULL means the legacy one, or each thread's own in the _ptsz functions. */
#define CUDA_STREAM_LEGACY     ((struct cuda_stream *)1)
#define CUDA_STREAM_PER_THREAD ((struct cuda_stream *)2)

typedef struct cuda_stream *cudaStream_t;
typedef struct cuda_event *cudaEvent_t;
typedef struct cuda_graph *cudaGraph_t;
typedef struct cuda_graph_exec *cudaGraphExec_t;
typedef struct cuda_graph_node *cudaGraphNode_t;

/* cudaDeviceProp */
struct cuda_properties {
	char name[256];
	uint8_t uuid[16];
	char luid[8];
	unsigned int luid_mask;
	size_t memory_bytes;
	size_t block_shared;
	int block_registers, warp_threads;
	size_t pitch;
	int block_threads, block_max[3], grid_max[3];
	size_t constant_bytes;
	int major, minor;
	size_t texture[2];
	int multiprocessors, integrated;
	char textures[168];
	int concurrent_kernels;
	char ecc_to_tcc[20];
	int copy_engines, unified, memory_bits, l2_bytes, persisting_l2_bytes, threads;
	char rest[400];
};

/* cudaMemLocation */
struct cuda_location {
	int type, id;
};
#define CUDA_LOCATION_DEVICE 1
#define CUDA_LOCATION_HOST   2

/* cudaLaunchConfig_t */
struct cuda_launch {
	dim3 grid, block;
	size_t shared;
	cudaStream_t stream;
	void *attributes;
	unsigned int attribute_count;
};

/* cudaKernelNodeParams */
struct cuda_kernel_node {
	const void *function;
	dim3 grid, block;
	unsigned int shared;
	void **arguments;
	void **extra;
};

/* CUlaunchConfig */
struct cuda_driver_launch {
	unsigned int grid[3], block[3];
	unsigned int shared;
	void *stream;
	void *attributes;
	unsigned int attribute_count;
};
