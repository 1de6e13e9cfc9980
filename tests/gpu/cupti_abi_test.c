// SPDX-License-Identifier: MIT
// Our layouts and numbers are those of CUPTI's headers: compiling this is the test.
#include "base/record_gpu.h"
#include "tracer/agent/cupti/cupti_abi.h"
#include "tracer/agent/cupti/cupti_pc_abi.h"

#include <cupti.h>
#include <cupti_pcsampling.h>

#define SAME(ours, theirs) _Static_assert((int64_t)(ours) == (int64_t)(theirs), #theirs)
#define PLACE(ours, field, theirs, their_field)                                                    \
	SAME(offsetof(struct ours, field), offsetof(theirs, their_field));                         \
	SAME(sizeof(((struct ours *)0)->field), sizeof(((theirs *)0)->their_field))
// The first of three that stand beside each other.
#define PLACE3(ours, field, theirs, x, y, z)                                                       \
	SAME(offsetof(struct ours, field[0]), offsetof(theirs, x));                                \
	SAME(offsetof(struct ours, field[1]), offsetof(theirs, y));                                \
	SAME(offsetof(struct ours, field[2]), offsetof(theirs, z))

SAME(CUPTI_OK, CUPTI_SUCCESS);
SAME(CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME(CUPTI_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
SAME(CUPTI_END_OF_BUFFER, CUPTI_ERROR_MAX_LIMIT_REACHED);
SAME(CUPTI_NOT_COMPATIBLE, CUPTI_ERROR_NOT_COMPATIBLE);
SAME(CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME(CUPTI_INVALID_KIND, CUPTI_ERROR_INVALID_KIND);
SAME(CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
SAME(CUPTI_VIRTUALIZED, CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED);
SAME(CUPTI_NO_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_VIRTUALIZED_NO_PRIVILEGES, CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
SAME(CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
#if CUPTI_API_VERSION >= 130000
SAME(CUPTI_BUSY, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME(CUPTI_MIG, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
SAME(CUPTI_CONFIDENTIAL, CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED);
#endif

SAME(CUPTI_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY);
SAME(CUPTI_KIND_MEMSET, CUPTI_ACTIVITY_KIND_MEMSET);
SAME(CUPTI_KIND_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL);
SAME(CUPTI_KIND_DRIVER, CUPTI_ACTIVITY_KIND_DRIVER);
SAME(CUPTI_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_RUNTIME);
SAME(CUPTI_KIND_DEVICE, CUPTI_ACTIVITY_KIND_DEVICE);
SAME(CUPTI_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_CONTEXT);
SAME(CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
SAME(CUPTI_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD);
SAME(CUPTI_KIND_PEER_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2);
SAME(CUPTI_KIND_STREAM, CUPTI_ACTIVITY_KIND_STREAM);
SAME(CUPTI_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
SAME(CUPTI_KIND_INTERNAL_LAUNCH, CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API);
SAME(CUPTI_KIND_MEMORY, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME(CUPTI_KIND_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
SAME(CUPTI_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
SAME(CUPTI_KIND_JIT, CUPTI_ACTIVITY_KIND_JIT);

SAME(CUPTI_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT);
SAME(CUPTI_ZEROED_OUT_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
SAME(CUPTI_DOMAIN_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME(CUPTI_DOMAIN_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME(CUPTI_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME(CUPTI_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
SAME(CUPTI_CONTEXT_DESTROY, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
SAME(CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME(CUPTI_MODULE_UNLOAD, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
SAME(CUPTI_ENTER, CUPTI_API_ENTER);
SAME(CUPTI_EXIT, CUPTI_API_EXIT);
SAME(CUPTI_THREAD_ID_SYSTEM, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
SAME(CUPTI_FLUSH_FORCED, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
SAME(CUPTI_BUFFER_ALIGNMENT, ACTIVITY_RECORD_ALIGNMENT);
SAME(CUPTI_MEMORY_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
SAME(CUPTI_MEMORY_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_PINNED);
SAME(CUPTI_MEMORY_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
SAME(CUPTI_MEMORY_ARRAY, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY);
SAME(CUPTI_MEMORY_MANAGED, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED);
SAME(CUPTI_MEMORY_MANAGED_STATIC, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC);
SAME(CUPTI_KIND_MANAGED, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
#define SAME_COUNTER(ours, theirs)                                                                 \
	SAME(CUPTI_MANAGED_##ours, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##theirs);           \
	SAME(GPU_MANAGED_##ours, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_##theirs)
SAME_COUNTER(TO_DEVICE, BYTES_TRANSFER_HTOD);
SAME_COUNTER(TO_HOST, BYTES_TRANSFER_DTOH);
SAME_COUNTER(HOST_FAULT, CPU_PAGE_FAULT_COUNT);
SAME_COUNTER(DEVICE_FAULT, GPU_PAGE_FAULT);
SAME_COUNTER(THRASHING, THRASHING);
SAME_COUNTER(THROTTLING, THROTTLING);
SAME_COUNTER(REMOTE_MAP, REMOTE_MAP);
SAME(CUPTI_MANAGED_BETWEEN_DEVICES, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD);
SAME(GPU_MANAGED_BETWEEN, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD);
SAME(CUPTI_MANAGED_SCOPE, CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE);
SAME(CUPTI_HOST, CUPTI_UNIFIED_MEMORY_CPU_DEVICE_ID);
SAME(CUPTI_MANAGED_BY_USER, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER);
SAME(CUPTI_MANAGED_BY_ACCESS, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE);
SAME(GPU_MANAGED_ASKED, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_USER);
SAME(GPU_MANAGED_ACCESS, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE);
SAME(GPU_MANAGED_AHEAD, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH);
SAME(GPU_MANAGED_EVICTED, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION);
SAME(GPU_MANAGED_OFTEN, CUPTI_ACTIVITY_UNIFIED_MEMORY_MIGRATION_CAUSE_ACCESS_COUNTERS);
#define SAME_ACCESS(what) SAME(GPU_MANAGED_##what, CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_##what)
SAME_ACCESS(READ);
SAME_ACCESS(WRITE);
SAME_ACCESS(ATOMIC);
SAME_ACCESS(PREFETCH);
SAME(CUPTI_MANAGED_READ, GPU_MANAGED_READ);
SAME(CUPTI_MANAGED_WRITE, GPU_MANAGED_WRITE);
#define SAME_MAP(ours, theirs)                                                                     \
	SAME(GPU_MANAGED_MAP_##ours, CUPTI_ACTIVITY_UNIFIED_MEMORY_REMOTE_MAP_CAUSE_##theirs)
SAME_MAP(COHERENT, COHERENCE);
SAME_MAP(THRASHING, THRASHING);
SAME_MAP(ADVISED, POLICY);
SAME_MAP(NO_ROOM, OUT_OF_MEMORY);
SAME_MAP(EVICTED, EVICTION);
SAME(CUPTI_MANAGED_MAP_THRASHING, GPU_MANAGED_MAP_THRASHING);
SAME(CUPTI_MANAGED_ON_HOST, CUPTI_ACTIVITY_FLAG_THRASHING_IN_CPU);
SAME(CUPTI_MANAGED_ON_HOST, CUPTI_ACTIVITY_FLAG_THROTTLING_IN_CPU);
SAME(CUPTI_MANAGED_NOT_SUPPORTED, CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED);
SAME(CUPTI_MANAGED_NOT_ON_DEVICE, CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE);
SAME(CUPTI_MANAGED_NOT_WITHOUT_PEERS, CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES);
SAME(CUPTI_MANAGED_NOT_WITH_MPS, CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS);
SAME(CUPTI_COPY_HOST_TO_DEVICE, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
SAME(CUPTI_COPY_DEVICE_TO_HOST, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
SAME(CUPTI_COPY_DEVICE_TO_DEVICE, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
SAME(CUPTI_COPY_HOST_TO_HOST, CUPTI_ACTIVITY_MEMCPY_KIND_HTOH);
SAME(CUPTI_COPY_PEER, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
SAME(CUPTI_SYNC_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE);
SAME(CUPTI_SYNC_STREAM_WAIT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT);
SAME(CUPTI_SYNC_STREAM, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
SAME(CUPTI_SYNC_CONTEXT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
SAME(CUPTI_ALLOCATED, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION);
SAME(CUPTI_RELEASED, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
SAME(CUPTI_COPY_ASYNC, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);

#define SAME_KERNEL(theirs)                                                                        \
	PLACE(cupti_kernel, registers, theirs, registersPerThread);                                \
	PLACE(cupti_kernel, begin_ns, theirs, start);                                              \
	PLACE(cupti_kernel, end_ns, theirs, end);                                                  \
	PLACE(cupti_kernel, device, theirs, deviceId);                                             \
	PLACE(cupti_kernel, context, theirs, contextId);                                           \
	PLACE(cupti_kernel, stream, theirs, streamId);                                             \
	PLACE3(cupti_kernel, grid, theirs, gridX, gridY, gridZ);                                   \
	PLACE3(cupti_kernel, block, theirs, blockX, blockY, blockZ);                               \
	PLACE(cupti_kernel, static_shared, theirs, staticSharedMemory);                            \
	PLACE(cupti_kernel, dynamic_shared, theirs, dynamicSharedMemory);                          \
	PLACE(cupti_kernel, correlation, theirs, correlationId);                                   \
	PLACE(cupti_kernel, name, theirs, name);                                                   \
	PLACE(cupti_kernel, queued_ns, theirs, queued);                                            \
	PLACE(cupti_kernel, submitted_ns, theirs, submitted);                                      \
	PLACE(cupti_kernel, shared_executed, theirs, sharedMemoryExecuted);                        \
	PLACE(cupti_kernel, graph_node, theirs, graphNodeId);                                      \
	PLACE(cupti_kernel, graph, theirs, graphId)
SAME_KERNEL(CUpti_ActivityKernel5);
SAME_KERNEL(CUpti_ActivityKernel6);
SAME_KERNEL(CUpti_ActivityKernel7);
SAME_KERNEL(CUpti_ActivityKernel8);
SAME_KERNEL(CUpti_ActivityKernel9);
SAME_KERNEL(CUpti_ActivityKernel10);

#define SAME_COPY(ours, theirs)                                                                    \
	PLACE(ours, copy_kind, theirs, copyKind);                                                  \
	PLACE(ours, from, theirs, srcKind);                                                        \
	PLACE(ours, to, theirs, dstKind);                                                          \
	PLACE(ours, flags, theirs, flags);                                                         \
	PLACE(ours, bytes, theirs, bytes);                                                         \
	PLACE(ours, begin_ns, theirs, start);                                                      \
	PLACE(ours, end_ns, theirs, end);                                                          \
	PLACE(ours, device, theirs, deviceId);                                                     \
	PLACE(ours, context, theirs, contextId);                                                   \
	PLACE(ours, stream, theirs, streamId);                                                     \
	PLACE(ours, correlation, theirs, correlationId)
#define SAME_LOCAL_COPY(theirs)                                                                    \
	SAME_COPY(cupti_copy, theirs);                                                             \
	PLACE(cupti_copy, graph_node, theirs, graphNodeId)
SAME_LOCAL_COPY(CUpti_ActivityMemcpy3);
SAME_LOCAL_COPY(CUpti_ActivityMemcpy4);
SAME_LOCAL_COPY(CUpti_ActivityMemcpy5);
SAME_LOCAL_COPY(CUpti_ActivityMemcpy6);
SAME_COPY(cupti_peer_copy, CUpti_ActivityMemcpyPtoP4);
PLACE(cupti_peer_copy, from_device, CUpti_ActivityMemcpyPtoP4, srcDeviceId);
PLACE(cupti_peer_copy, to_device, CUpti_ActivityMemcpyPtoP4, dstDeviceId);

PLACE(cupti_set, value, CUpti_ActivityMemset4, value);
PLACE(cupti_set, bytes, CUpti_ActivityMemset4, bytes);
PLACE(cupti_set, begin_ns, CUpti_ActivityMemset4, start);
PLACE(cupti_set, end_ns, CUpti_ActivityMemset4, end);
PLACE(cupti_set, device, CUpti_ActivityMemset4, deviceId);
PLACE(cupti_set, stream, CUpti_ActivityMemset4, streamId);
PLACE(cupti_set, correlation, CUpti_ActivityMemset4, correlationId);
PLACE(cupti_set, memory_kind, CUpti_ActivityMemset4, memoryKind);
PLACE(cupti_set, graph_node, CUpti_ActivityMemset4, graphNodeId);
PLACE(cupti_set, graph_node, CUpti_ActivityMemset2, graphNodeId);

SAME(sizeof(struct cupti_api), sizeof(CUpti_ActivityAPI));
PLACE(cupti_api, function, CUpti_ActivityAPI, cbid);
PLACE(cupti_api, begin_ns, CUpti_ActivityAPI, start);
PLACE(cupti_api, end_ns, CUpti_ActivityAPI, end);
PLACE(cupti_api, pid, CUpti_ActivityAPI, processId);
PLACE(cupti_api, tid, CUpti_ActivityAPI, threadId);
PLACE(cupti_api, correlation, CUpti_ActivityAPI, correlationId);
PLACE(cupti_api, result, CUpti_ActivityAPI, returnValue);

PLACE(cupti_sync, type, CUpti_ActivitySynchronization2, type);
PLACE(cupti_sync, begin_ns, CUpti_ActivitySynchronization2, start);
PLACE(cupti_sync, end_ns, CUpti_ActivitySynchronization2, end);
PLACE(cupti_sync, correlation, CUpti_ActivitySynchronization2, correlationId);
PLACE(cupti_sync, context, CUpti_ActivitySynchronization2, contextId);
PLACE(cupti_sync, stream, CUpti_ActivitySynchronization2, streamId);
PLACE(cupti_sync, event, CUpti_ActivitySynchronization2, cudaEventId);
PLACE(cupti_sync, begin_ns, CUpti_ActivitySynchronization, start);
PLACE(cupti_sync, stream, CUpti_ActivitySynchronization, streamId);

PLACE(cupti_overhead, what, CUpti_ActivityOverhead3, overheadKind);
PLACE(cupti_overhead, begin_ns, CUpti_ActivityOverhead3, start);
PLACE(cupti_overhead, end_ns, CUpti_ActivityOverhead3, end);
PLACE(cupti_overhead, begin_ns, CUpti_ActivityOverhead2, start);

PLACE(cupti_memory, operation, CUpti_ActivityMemory4, memoryOperationType);
PLACE(cupti_memory, memory_kind, CUpti_ActivityMemory4, memoryKind);
PLACE(cupti_memory, correlation, CUpti_ActivityMemory4, correlationId);
PLACE(cupti_memory, address, CUpti_ActivityMemory4, address);
PLACE(cupti_memory, bytes, CUpti_ActivityMemory4, bytes);
PLACE(cupti_memory, time_ns, CUpti_ActivityMemory4, timestamp);
PLACE(cupti_memory, pid, CUpti_ActivityMemory4, processId);
PLACE(cupti_memory, device, CUpti_ActivityMemory4, deviceId);
PLACE(cupti_memory, stream, CUpti_ActivityMemory4, streamId);
PLACE(cupti_memory, is_async, CUpti_ActivityMemory4, isAsync);
PLACE(cupti_memory, pool, CUpti_ActivityMemory4, memoryPoolConfig);
PLACE(cupti_memory, is_async, CUpti_ActivityMemory3, isAsync);

SAME(CUPTI_POOL_CREATED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
SAME(CUPTI_POOL_DESTROYED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
SAME(CUPTI_POOL_TRIMMED, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
SAME(CUPTI_POOL_LOCAL, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
SAME(CUPTI_POOL_IMPORTED, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED);
#define SAME_POOL(theirs)                                                                          \
	PLACE(cupti_pool, operation, theirs, memoryPoolOperationType);                             \
	PLACE(cupti_pool, type, theirs, memoryPoolType);                                           \
	PLACE(cupti_pool, correlation, theirs, correlationId);                                     \
	PLACE(cupti_pool, pid, theirs, processId);                                                 \
	PLACE(cupti_pool, device, theirs, deviceId);                                               \
	PLACE(cupti_pool, address, theirs, address);                                               \
	PLACE(cupti_pool, bytes, theirs, size);                                                    \
	PLACE(cupti_pool, release_threshold, theirs, releaseThreshold);                            \
	PLACE(cupti_pool, time_ns, theirs, timestamp)
SAME_POOL(CUpti_ActivityMemoryPool);
SAME_POOL(CUpti_ActivityMemoryPool2);
SAME_POOL(CUpti_ActivityMemoryPool3);

#define SAME_MANAGED(theirs)                                                                       \
	PLACE(cupti_managed, counter, theirs, counterKind);                                        \
	PLACE(cupti_managed, value, theirs, value);                                                \
	PLACE(cupti_managed, begin_ns, theirs, start);                                             \
	PLACE(cupti_managed, end_ns, theirs, end);                                                 \
	PLACE(cupti_managed, address, theirs, address);                                            \
	PLACE(cupti_managed, from, theirs, srcId);                                                 \
	PLACE(cupti_managed, to, theirs, dstId);                                                   \
	PLACE(cupti_managed, pid, theirs, processId);                                              \
	PLACE(cupti_managed, flags, theirs, flags)
SAME_MANAGED(CUpti_ActivityUnifiedMemoryCounter2);
#if CUPTI_API_VERSION >= 130000
SAME_MANAGED(CUpti_ActivityUnifiedMemoryCounter3);
#endif
SAME(sizeof(struct cupti_managed), sizeof(CUpti_ActivityUnifiedMemoryCounter2));
SAME(sizeof(struct cupti_managed_setting), sizeof(CUpti_ActivityUnifiedMemoryCounterConfig));
PLACE(cupti_managed_setting, scope, CUpti_ActivityUnifiedMemoryCounterConfig, scope);
PLACE(cupti_managed_setting, counter, CUpti_ActivityUnifiedMemoryCounterConfig, kind);
PLACE(cupti_managed_setting, device, CUpti_ActivityUnifiedMemoryCounterConfig, deviceId);
PLACE(cupti_managed_setting, enable, CUpti_ActivityUnifiedMemoryCounterConfig, enable);

PLACE(cupti_graph, correlation, CUpti_ActivityGraphTrace2, correlationId);
PLACE(cupti_graph, begin_ns, CUpti_ActivityGraphTrace2, start);
PLACE(cupti_graph, end_ns, CUpti_ActivityGraphTrace2, end);
PLACE(cupti_graph, device, CUpti_ActivityGraphTrace2, deviceId);
PLACE(cupti_graph, graph, CUpti_ActivityGraphTrace2, graphId);
PLACE(cupti_graph, stream, CUpti_ActivityGraphTrace2, streamId);
PLACE(cupti_graph, stream, CUpti_ActivityGraphTrace, streamId);

PLACE(cupti_device, memory_kb_per_s, CUpti_ActivityDevice5, globalMemoryBandwidth);
PLACE(cupti_device, memory_bytes, CUpti_ActivityDevice5, globalMemorySize);
PLACE(cupti_device, clock_khz, CUpti_ActivityDevice5, coreClockRate);
PLACE(cupti_device, multiprocessors, CUpti_ActivityDevice5, numMultiprocessors);
PLACE(cupti_device, max_warps, CUpti_ActivityDevice5, maxWarpsPerMultiprocessor);
PLACE(cupti_device, max_blocks, CUpti_ActivityDevice5, maxBlocksPerMultiprocessor);
PLACE(cupti_device, max_shared, CUpti_ActivityDevice5, maxSharedMemoryPerMultiprocessor);
PLACE(cupti_device, max_registers, CUpti_ActivityDevice5, maxRegistersPerMultiprocessor);
PLACE(cupti_device, block_threads, CUpti_ActivityDevice5, maxThreadsPerBlock);
PLACE(cupti_device, compute_major, CUpti_ActivityDevice5, computeCapabilityMajor);
PLACE(cupti_device, compute_minor, CUpti_ActivityDevice5, computeCapabilityMinor);
PLACE(cupti_device, id, CUpti_ActivityDevice5, id);
PLACE(cupti_device, uuid, CUpti_ActivityDevice5, uuid);
PLACE(cupti_device, name, CUpti_ActivityDevice5, name);
PLACE(cupti_device, name, CUpti_ActivityDevice4, name);

PLACE(cupti_context, context, CUpti_ActivityContext3, contextId);
PLACE(cupti_context, device, CUpti_ActivityContext3, deviceId);
PLACE(cupti_context, null_stream, CUpti_ActivityContext3, nullStreamId);
PLACE(cupti_stream, context, CUpti_ActivityStream, contextId);
PLACE(cupti_stream, stream, CUpti_ActivityStream, streamId);
PLACE(cupti_stream, correlation, CUpti_ActivityStream, correlationId);
PLACE(cupti_jit, entry, CUpti_ActivityJit2, jitEntryType);
PLACE(cupti_jit, operation, CUpti_ActivityJit2, jitOperationType);
PLACE(cupti_jit, begin_ns, CUpti_ActivityJit2, start);
PLACE(cupti_jit, end_ns, CUpti_ActivityJit2, end);
PLACE(cupti_jit, correlation, CUpti_ActivityJit2, correlationId);

PLACE(cupti_call, site, CUpti_CallbackData, callbackSite);
PLACE(cupti_call, function, CUpti_CallbackData, functionName);
PLACE(cupti_call, parameters, CUpti_CallbackData, functionParams);
PLACE(cupti_call, symbol, CUpti_CallbackData, symbolName);
PLACE(cupti_call, context, CUpti_CallbackData, context);
PLACE(cupti_call, own, CUpti_CallbackData, correlationData);
PLACE(cupti_call, correlation, CUpti_CallbackData, correlationId);
PLACE(cupti_resource_event, context, CUpti_ResourceData, context);
PLACE(cupti_resource_event, descriptor, CUpti_ResourceData, resourceDescriptor);
PLACE(cupti_module, id, CUpti_ModuleResourceData, moduleId);
PLACE(cupti_module, bytes, CUpti_ModuleResourceData, cubinSize);
PLACE(cupti_module, cubin, CUpti_ModuleResourceData, pCubin);
#if CUPTI_API_VERSION >= 130000
PLACE(cupti_subscriber, size, CUpti_SubscriberParams, structSize);
PLACE(cupti_subscriber, name, CUpti_SubscriberParams, subscriberName);
PLACE(cupti_subscriber, other, CUpti_SubscriberParams, oldSubscriberName);
PLACE(cupti_subscriber, other_size, CUpti_SubscriberParams, oldSubscriberSize);
SAME(CUPTI_OTHER_NAME_MIN, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
#endif

SAME(CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
SAME(CUPTI_STALL_NAME, CUPTI_STALL_REASON_STRING_SIZE);
SAME(CUPTI_PC_CONTINUOUS, CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS);
SAME(CUPTI_PC_PERIOD, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD);
SAME(CUPTI_PC_STALL_REASONS, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON);
SAME(CUPTI_PC_MODE, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE);
SAME(CUPTI_PC_DATA_BUFFER, CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER);

PLACE(cupti_stall, index, CUpti_PCSamplingStallReason, pcSamplingStallReasonIndex);
PLACE(cupti_stall, samples, CUpti_PCSamplingStallReason, samples);
SAME(sizeof(struct cupti_stall), sizeof(CUpti_PCSamplingStallReason));
PLACE(cupti_pc, size, CUpti_PCSamplingPCData, size);
PLACE(cupti_pc, cubin_crc, CUpti_PCSamplingPCData, cubinCrc);
PLACE(cupti_pc, offset, CUpti_PCSamplingPCData, pcOffset);
PLACE(cupti_pc, function_index, CUpti_PCSamplingPCData, functionIndex);
PLACE(cupti_pc, function, CUpti_PCSamplingPCData, functionName);
PLACE(cupti_pc, stall_count, CUpti_PCSamplingPCData, stallReasonCount);
PLACE(cupti_pc, stalls, CUpti_PCSamplingPCData, stallReason);
#if CUPTI_API_VERSION >= 22
PLACE(cupti_pc, correlation, CUpti_PCSamplingPCData, correlationId);
SAME(sizeof(struct cupti_pc), sizeof(CUpti_PCSamplingPCData));
#else
SAME(CUPTI_PC_OLDER_BYTES, sizeof(CUpti_PCSamplingPCData));
#endif
PLACE(cupti_pc_data, room, CUpti_PCSamplingData, collectNumPcs);
PLACE(cupti_pc_data, samples, CUpti_PCSamplingData, totalSamples);
PLACE(cupti_pc_data, dropped, CUpti_PCSamplingData, droppedSamples);
PLACE(cupti_pc_data, count, CUpti_PCSamplingData, totalNumPcs);
PLACE(cupti_pc_data, left, CUpti_PCSamplingData, remainingNumPcs);
PLACE(cupti_pc_data, range, CUpti_PCSamplingData, rangeId);
PLACE(cupti_pc_data, pcs, CUpti_PCSamplingData, pPcData);
#if CUPTI_API_VERSION >= 22
PLACE(cupti_pc_data, other_samples, CUpti_PCSamplingData, nonUsrKernelsTotalSamples);
PLACE(cupti_pc_data, hardware_full, CUpti_PCSamplingData, hardwareBufferFull);
SAME(sizeof(struct cupti_pc_data), sizeof(CUpti_PCSamplingData));
#endif
PLACE(cupti_pc_setting, attribute, CUpti_PCSamplingConfigurationInfo, attributeType);
PLACE(cupti_pc_setting, status, CUpti_PCSamplingConfigurationInfo, attributeStatus);
SAME(offsetof(struct cupti_pc_setting, space),
     offsetof(CUpti_PCSamplingConfigurationInfo, attributeData));
SAME(sizeof(struct cupti_pc_setting), sizeof(CUpti_PCSamplingConfigurationInfo));
PLACE(cupti_pc_setting, stalls.count, CUpti_PCSamplingConfigurationInfo,
      attributeData.stallReasonData.stallReasonCount);
PLACE(cupti_pc_setting, stalls.indices, CUpti_PCSamplingConfigurationInfo,
      attributeData.stallReasonData.pStallReasonIndex);
SAME(sizeof(struct cupti_pc_settings), CUpti_PCSamplingConfigurationInfoParamsSize);
PLACE(cupti_pc_settings, context, CUpti_PCSamplingConfigurationInfoParams, ctx);
PLACE(cupti_pc_settings, count, CUpti_PCSamplingConfigurationInfoParams, numAttributes);
PLACE(cupti_pc_settings, settings, CUpti_PCSamplingConfigurationInfoParams,
      pPCSamplingConfigurationInfo);
SAME(sizeof(struct cupti_pc_context), CUpti_PCSamplingEnableParamsSize);
PLACE(cupti_pc_context, context, CUpti_PCSamplingEnableParams, ctx);
SAME(sizeof(struct cupti_pc_context), CUpti_PCSamplingDisableParamsSize);
SAME(sizeof(struct cupti_pc_get), CUpti_PCSamplingGetDataParamsSize);
PLACE(cupti_pc_get, data, CUpti_PCSamplingGetDataParams, pcSamplingData);
SAME(sizeof(struct cupti_pc_stall_count), CUpti_PCSamplingGetNumStallReasonsParamsSize);
PLACE(cupti_pc_stall_count, count, CUpti_PCSamplingGetNumStallReasonsParams, numStallReasons);
SAME(sizeof(struct cupti_pc_stall_names), CUpti_PCSamplingGetStallReasonsParamsSize);
PLACE(cupti_pc_stall_names, count, CUpti_PCSamplingGetStallReasonsParams, numStallReasons);
PLACE(cupti_pc_stall_names, indices, CUpti_PCSamplingGetStallReasonsParams, stallReasonIndex);
PLACE(cupti_pc_stall_names, names, CUpti_PCSamplingGetStallReasonsParams, stallReasons);
SAME(sizeof(struct cupti_cubin_crc), CUpti_GetCubinCrcParamsSize);
PLACE(cupti_cubin_crc, cubin_size, CUpti_GetCubinCrcParams, cubinSize);
PLACE(cupti_cubin_crc, cubin, CUpti_GetCubinCrcParams, cubin);
PLACE(cupti_cubin_crc, crc, CUpti_GetCubinCrcParams, cubinCrc);
int main(void)
{
	return 0;
}
