/* SPDX-License-Identifier: MIT */
/*
 * CUPTI as far as we use it: CUDA 11.0 to 13.x, without its headers (cupti_activity.h,
 * cupti_callbacks.h, cupti_result.h). Records only ever grew at their end: each struct here is what
 * all generations begin with (Kernel5 to Kernel10, Memcpy3 to Memcpy6, …), so that its size is
 * never a stride: the next record is where cuptiActivityGetNextRecord() says.
 * tests/gpu/cupti_abi_test.c compares all of it with NVIDIA's headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_INVALID_PARAMETER = 1,
	CUPTI_INVALID_OPERATION = 7,
	CUPTI_END_OF_BUFFER = 12, /* MAX_LIMIT_REACHED */
	CUPTI_NOT_COMPATIBLE = 14,
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_INVALID_KIND = 21,
	CUPTI_NOT_SUPPORTED = 27,
	CUPTI_MANAGED_NOT_SUPPORTED = 28, /* UM_PROFILING_NOT_SUPPORTED */
	CUPTI_MANAGED_NOT_ON_DEVICE = 29,
	CUPTI_MANAGED_NOT_WITHOUT_PEERS = 30,
	CUPTI_MANAGED_NOT_WITH_MPS = 31,
	CUPTI_VIRTUALIZED = 33,
	CUPTI_NO_PRIVILEGES = 35,
	CUPTI_BUSY = 39, /* MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
	CUPTI_VIRTUALIZED_NO_PRIVILEGES = 40,
	CUPTI_CONFIDENTIAL = 41,
	CUPTI_MIG = 43,
	CUPTI_UNKNOWN = 999 /* from nearly everything where there is no driver */
};

enum cupti_kind {
	CUPTI_KIND_MEMCPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_KERNEL = 3, /* makes kernels run one after the other: never enabled */
	CUPTI_KIND_DRIVER = 4,
	CUPTI_KIND_RUNTIME = 5,
	CUPTI_KIND_DEVICE = 8,
	CUPTI_KIND_CONTEXT = 9,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_OVERHEAD = 17,
	CUPTI_KIND_PEER_MEMCPY = 22, /* MEMCPY2 */
	CUPTI_KIND_MANAGED = 25,     /* UNIFIED_MEMORY_COUNTER */
	CUPTI_KIND_STREAM = 37,
	CUPTI_KIND_SYNCHRONIZATION = 38,
	CUPTI_KIND_INTERNAL_LAUNCH = 48,
	CUPTI_KIND_MEMORY = 49, /* MEMORY2 */
	CUPTI_KIND_MEMORY_POOL = 50,
	CUPTI_KIND_GRAPH_TRACE = 51,
	CUPTI_KIND_JIT = 52
};

enum cupti_attribute {
	CUPTI_DEVICE_BUFFER_POOL_LIMIT = 2,
	CUPTI_ZEROED_OUT_BUFFER = 5
};

enum cupti_domain {
	CUPTI_DOMAIN_DRIVER = 1,
	CUPTI_DOMAIN_RUNTIME = 2,
	CUPTI_DOMAIN_RESOURCE = 3
};

enum cupti_resource {
	CUPTI_CONTEXT_CREATED = 1,
	CUPTI_CONTEXT_DESTROY = 2,
	CUPTI_MODULE_LOADED = 6,
	CUPTI_MODULE_UNLOAD = 7
};

enum cupti_site {
	CUPTI_ENTER = 0,
	CUPTI_EXIT = 1
};

#define CUPTI_THREAD_ID_SYSTEM 1 /* cuptiSetThreadIdType(): gettid(), not pthread_self() */
#define CUPTI_FLUSH_FORCED     1 /* cuptiActivityFlushAll(): buffers that are not full, too */
#define CUPTI_BUFFER_ALIGNMENT 8

/* Where memory lies: cupti_copy's source and target, cupti_memory's kind. */
enum cupti_memory_kind {
	CUPTI_MEMORY_UNKNOWN = 0,
	CUPTI_MEMORY_PAGEABLE = 1,
	CUPTI_MEMORY_PINNED = 2,
	CUPTI_MEMORY_DEVICE = 3,
	CUPTI_MEMORY_ARRAY = 4,
	CUPTI_MEMORY_MANAGED = 5,
	CUPTI_MEMORY_MANAGED_STATIC = 7
};

/* What the driver does with pages of managed memory: cupti_managed's counter. */
enum cupti_managed_kind {
	CUPTI_MANAGED_TO_DEVICE = 1,
	CUPTI_MANAGED_TO_HOST = 2,
	CUPTI_MANAGED_HOST_FAULT = 3,
	CUPTI_MANAGED_DEVICE_FAULT = 4,
	CUPTI_MANAGED_THRASHING = 5,
	CUPTI_MANAGED_THROTTLING = 6,
	CUPTI_MANAGED_REMOTE_MAP = 7,
	CUPTI_MANAGED_BETWEEN_DEVICES = 8
};
#define CUPTI_MANAGED_KINDS 8
#define CUPTI_MANAGED_SCOPE 1          /* of CUDA 6; later ones want one all the same */
#define CUPTI_HOST          UINT32_MAX /* cupti_managed's from and to */

enum cupti_managed_cause {
	CUPTI_MANAGED_BY_USER = 1, /* the program asked for it */
	CUPTI_MANAGED_BY_ACCESS = 2
};

/* Of faults. */
enum cupti_managed_access {
	CUPTI_MANAGED_READ = 1,
	CUPTI_MANAGED_WRITE = 2
};

#define CUPTI_MANAGED_MAP_THRASHING 2 /* why pages are used from afar */
#define CUPTI_MANAGED_ON_HOST       1 /* thrashing, throttling: it is the host that does */

enum cupti_copy_kind {
	CUPTI_COPY_HOST_TO_DEVICE = 1,
	CUPTI_COPY_DEVICE_TO_HOST = 2,
	CUPTI_COPY_DEVICE_TO_DEVICE = 8,
	CUPTI_COPY_HOST_TO_HOST = 9,
	CUPTI_COPY_PEER = 10
};

enum cupti_synchronization {
	CUPTI_SYNC_EVENT = 1,
	CUPTI_SYNC_STREAM_WAIT = 2, /* a stream waits, the host does not */
	CUPTI_SYNC_STREAM = 3,
	CUPTI_SYNC_CONTEXT = 4
};

enum cupti_memory_operation {
	CUPTI_ALLOCATED = 1,
	CUPTI_RELEASED = 2
};

enum cupti_pool_operation {
	CUPTI_POOL_CREATED = 1,
	CUPTI_POOL_DESTROYED = 2,
	CUPTI_POOL_TRIMMED = 3
};

enum cupti_pool_type {
	CUPTI_POOL_LOCAL = 1,
	CUPTI_POOL_IMPORTED = 2
};

#define CUPTI_COPY_ASYNC 1 /* of cupti_copy.flags */

/* Times are ns of the clock that cuptiActivityRegisterTimestampCallback() set; 0: not known. */
struct cupti_kernel {
	uint32_t kind;
	uint8_t cache, shared_config;
	uint16_t registers; /* of a thread */
	uint32_t cache_wanted, cache_executed;
	uint64_t begin_ns, end_ns, completed_ns;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared; /* bytes of a block */
	uint32_t local_per_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name; /* mangled; of the target's memory */
	void *reserved;
	uint64_t queued_ns, submitted_ns;
	uint8_t launch_type, carveout_requested, carveout, padding;
	uint32_t shared_executed;
	uint64_t graph_node;
	uint32_t shared_limit;
	uint32_t graph; /* 0: launched by none, or CUDA 11.0 */
};

struct cupti_copy {
	uint32_t kind;
	uint8_t copy_kind, from, to, flags;
	uint64_t bytes;
	uint64_t begin_ns, end_ns;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint32_t runtime_correlation, padding;
	void *reserved;
	uint64_t graph_node;
};

struct cupti_peer_copy {
	uint32_t kind;
	uint8_t copy_kind, from, to, flags;
	uint64_t bytes;
	uint64_t begin_ns, end_ns;
	uint32_t device, context, stream;
	uint32_t from_device, from_context, to_device, to_context;
	uint32_t correlation;
};

struct cupti_set {
	uint32_t kind;
	uint32_t value;
	uint64_t bytes;
	uint64_t begin_ns, end_ns;
	uint32_t device, context, stream;
	uint32_t correlation;
	uint16_t flags, memory_kind;
	uint32_t padding;
	void *reserved;
	uint64_t graph_node;
};

/* A call of the runtime or of the driver. */
struct cupti_api {
	uint32_t kind;
	uint32_t function; /* see cuptiGetCallbackName() */
	uint64_t begin_ns, end_ns;
	uint32_t pid, tid;
	uint32_t correlation;
	uint32_t result;
};

struct cupti_sync {
	uint32_t kind;
	uint32_t type; /* enum cupti_synchronization */
	uint64_t begin_ns, end_ns;
	uint32_t correlation;
	uint32_t context, stream;
	uint32_t event;
};

/* CUPTI's own cost; the generation of CUDA 11 had no correlation, which is not read here. */
struct cupti_overhead {
	uint32_t kind;
	uint32_t what;
	uint32_t object_kind;
	uint32_t object[3];
	uint64_t begin_ns, end_ns;
};

struct cupti_memory {
	uint32_t kind;
	uint32_t operation;   /* enum cupti_memory_operation */
	uint32_t memory_kind; /* enum cupti_memory_kind */
	uint32_t correlation;
	uint64_t address, bytes;
	uint64_t time_ns;
	uint64_t pc;
	uint32_t pid, device, context, stream;
	const char *name;
	uint32_t is_async;
	uint32_t padding;
	struct {
		uint32_t type, padding;
		uint64_t address, release_threshold;
		uint64_t pid_or_size, used;
	} pool;
};

struct cupti_pool {
	uint32_t kind;
	uint32_t operation; /* enum cupti_pool_operation */
	uint32_t type;      /* enum cupti_pool_type */
	uint32_t correlation;
	uint32_t pid, device;
	uint64_t kept_bytes;
	uint64_t address, bytes;
	uint64_t release_threshold;
	uint64_t time_ns;
};

struct cupti_graph {
	uint32_t kind;
	uint32_t correlation;
	uint64_t begin_ns, end_ns;
	uint32_t device, graph, context, stream;
};

struct cupti_device {
	uint32_t kind;
	uint32_t flags;
	uint64_t memory_kb_per_s, memory_bytes;
	uint32_t constant_bytes, l2_bytes;
	uint32_t warp_threads, clock_khz;
	uint32_t copy_engines, multiprocessors;
	uint32_t max_ipc, max_warps, max_blocks, max_shared, max_registers; /* of one SM */
	uint32_t block_registers, block_shared, block_threads;
	uint32_t block_max[3], grid_max[3];
	uint32_t compute_major, compute_minor;
	uint32_t id;
	uint32_t ecc;
	uint8_t uuid[16];
	const char *name;
};

struct cupti_context {
	uint32_t kind;
	uint32_t context, device;
	uint16_t api, null_stream;
};

struct cupti_stream {
	uint32_t kind;
	uint32_t context, stream, priority;
	uint32_t flag;
	uint32_t correlation;
};

struct cupti_jit {
	uint32_t kind;
	uint32_t entry, operation;
	uint32_t device;
	uint64_t begin_ns, end_ns;
	uint32_t correlation;
};

/* UnifiedMemoryCounter2 of CUDA 7.0, and all that came later. */
struct cupti_managed {
	uint32_t kind;
	uint32_t counter; /* enum cupti_managed_kind */
	uint64_t value; /* bytes; of faults of the device: groups; of the host's: the instruction */
	uint64_t begin_ns, end_ns; /* the end is only that of copies, device's faults, throttling */
	uint64_t address;
	uint32_t from, to; /* devices, or CUPTI_HOST; of thrashing FROM is a set of them */
	uint32_t stream;   /* never valid */
	uint32_t pid;
	uint32_t flags; /* of copies: enum cupti_managed_cause; of faults: …_access */
	uint32_t padding;
};

/* cuptiActivityConfigureUnifiedMemoryCounter() */
struct cupti_managed_setting {
	uint32_t scope;
	uint32_t counter;
	uint32_t device;
	uint32_t enable;
};

/* What a subscriber's callback is given. */
struct cupti_call {
	uint32_t site; /* enum cupti_site */
	uint32_t padding;
	const char *function; /* "cudaLaunchKernel" */
	const void *parameters;
	void *result;
	const char *symbol; /* the kernel's mangled name, where one is launched */
	void *context;
	uint32_t context_id;
	uint32_t padding2;
	uint64_t *own; /* the subscriber's, from enter to exit */
	uint32_t correlation;
};

struct cupti_resource_event {
	void *context;
	void *handle;
	void *descriptor; /* modules: struct cupti_module */
};

struct cupti_module {
	uint32_t id;
	size_t bytes;
	const char *cubin;
};

/* cuptiSubscribe_v2(), from CUDA 12.7 on */
struct cupti_subscriber {
	size_t size; /* of this struct */
	const char *name;
	char *other; /* room for the name of who was first; NULL: not wanted */
	size_t other_size;
};
#define CUPTI_OTHER_NAME_MIN 64

typedef void cupti_callback(void *own, uint32_t domain, uint32_t id, const void *data);
typedef void cupti_request(uint8_t **buffer, size_t *size, size_t *records_max);
typedef void cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid_size);
typedef uint64_t cupti_clock(void);
