/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's PC Sampling API as far as we use it (cupti_pcsampling.h): CUDA 11.3 to 13.x. Each struct
 * begins with its size, by which CUPTI knows what its client has; only the one of a PC stands in
 * an array, and grew in CUDA 12.4. tests/gpu/cupti_abi_test.c compares all of it with NVIDIA's
 * headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CUPTI_PC_VERSION_CORRELATION 22 /* cuptiGetVersion(): a PC has a correlation since */
#define CUPTI_OUT_OF_MEMORY          8  /* the result of GetData when the GPU's buffer is full */
#define CUPTI_STALL_NAME             128

#define CUPTI_PC_CONTINUOUS          1 /* kernels run as they would */

enum cupti_pc_attribute {
	CUPTI_PC_PERIOD = 1,
	CUPTI_PC_STALL_REASONS = 2,
	CUPTI_PC_MODE = 5,
	CUPTI_PC_DATA_BUFFER = 8
};

struct cupti_stall {
	uint32_t index;
	uint32_t samples;
};

struct cupti_pc {
	size_t size;
	uint64_t cubin_crc;
	uint64_t offset; /* in the function */
	uint32_t function_index;
	uint32_t padding;
	char *function; /* mangled; shared, and never freed by us */
	size_t stall_count;
	struct cupti_stall *stalls; /* its client's room, for as many as are asked for */
	uint32_t correlation;       /* of serialized mode only */
	uint32_t padding2;
};
#define CUPTI_PC_OLDER_BYTES offsetof(struct cupti_pc, correlation)

struct cupti_pc_data {
	size_t size;
	size_t room; /* PCs */
	uint64_t samples, dropped;
	size_t count, left; /* PCs: given here, and to be given by the next call */
	uint64_t range;
	struct cupti_pc *pcs;
	uint64_t other_samples; /* of kernels that are not the program's */
	uint8_t hardware_full;
	uint8_t padding[7];
};

struct cupti_pc_setting {
	uint32_t attribute; /* enum cupti_pc_attribute */
	uint32_t status;
	union {
		uint64_t space[3];
		uint32_t number;
		struct {
			size_t count;
			uint32_t *indices;
		} stalls;
		void *buffer; /* struct cupti_pc_data */
	};
};

struct cupti_pc_settings {
	size_t size;
	void *own;
	void *context;
	size_t count;
	struct cupti_pc_setting *settings;
};

/* For enabling, disabling. */
struct cupti_pc_context {
	size_t size;
	void *own;
	void *context;
};

struct cupti_pc_get {
	size_t size;
	void *own;
	void *context;
	void *data; /* struct cupti_pc_data */
};

struct cupti_pc_stall_count {
	size_t size;
	void *own;
	void *context;
	size_t *count;
};

struct cupti_pc_stall_names {
	size_t size;
	void *own;
	void *context;
	size_t count;
	uint32_t *indices;
	char **names; /* each room for CUPTI_STALL_NAME bytes */
};

struct cupti_cubin_crc {
	size_t size;
	size_t cubin_size;
	const void *cubin;
	uint64_t crc;
};
