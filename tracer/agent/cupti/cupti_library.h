/* SPDX-License-Identifier: MIT */
/*
 * CUPTI's functions, found at run time: the agent links against nothing of CUDA.
 *
 * A copy that the process has already is taken first: two of them do not know of each other, and
 * only one gets the driver. Then what BOTTLENECK_CUPTI names, what lies beside the CUDA runtime
 * that is loaded, what the loader finds, and where toolkits are installed.
 */
#pragma once

#include "tracer/agent/cupti/cupti_abi.h"
#include "tracer/agent/cupti/cupti_pc_abi.h"

#include <stdbool.h>
#include <stddef.h>

#define CUPTI_LIBRARY_ENV "BOTTLENECK_CUPTI" /* the path of a libcupti */

/* X(field, name, parameters, whether there is no way without it) */
#define CUPTI_FUNCTIONS(X)                                                                         \
	X(get_version, cuptiGetVersion, (uint32_t * version), true)                                \
	X(get_result_string, cuptiGetResultString, (int result, const char **text), false)         \
	X(get_timestamp, cuptiGetTimestamp, (uint64_t * ns), false)                                \
	X(subscribe, cuptiSubscribe, (void **subscriber, cupti_callback *callback, void *own),     \
	  true)                                                                                    \
	X(subscribe_v2, cuptiSubscribe_v2,                                                         \
	  (void **subscriber, cupti_callback *callback, void *own,                                 \
	   struct cupti_subscriber *wanted),                                                       \
	  false)                                                                                   \
	X(unsubscribe, cuptiUnsubscribe, (void *subscriber), true)                                 \
	X(enable_callback, cuptiEnableCallback,                                                    \
	  (uint32_t enable, void *subscriber, int domain, uint32_t id), true)                      \
	X(get_callback_name, cuptiGetCallbackName, (int domain, uint32_t id, const char **name),   \
	  true)                                                                                    \
	X(set_thread_id_type, cuptiSetThreadIdType, (int type), false)                             \
	X(register_callbacks, cuptiActivityRegisterCallbacks,                                      \
	  (cupti_request * request, cupti_complete * complete), true)                              \
	X(register_clock, cuptiActivityRegisterTimestampCallback, (cupti_clock * clock), false)    \
	X(set_attribute, cuptiActivitySetAttribute, (int attribute, size_t *size, void *value),    \
	  false)                                                                                   \
	X(configure_managed, cuptiActivityConfigureUnifiedMemoryCounter,                           \
	  (struct cupti_managed_setting *, uint32_t count), false)                                 \
	X(enable, cuptiActivityEnable, (int kind), true)                                           \
	X(disable, cuptiActivityDisable, (int kind), true)                                         \
	X(flush_all, cuptiActivityFlushAll, (uint32_t flag), true)                                 \
	X(flush_period, cuptiActivityFlushPeriod, (uint32_t ms), false)                            \
	X(finalize, cuptiFinalize, (void), false) /* another client's: never called by us */       \
	X(next_record, cuptiActivityGetNextRecord,                                                 \
	  (uint8_t * buffer, size_t valid_size, void **record), true)                              \
	X(get_dropped, cuptiActivityGetNumDroppedRecords,                                          \
	  (void *context, uint32_t stream, size_t *count), false)                                  \
	X(pc_enable, cuptiPCSamplingEnable, (struct cupti_pc_context *), false)                    \
	X(pc_disable, cuptiPCSamplingDisable, (struct cupti_pc_context *), false)                  \
	X(pc_configure, cuptiPCSamplingSetConfigurationAttribute, (struct cupti_pc_settings *),    \
	  false)                                                                                   \
	X(pc_get, cuptiPCSamplingGetData, (struct cupti_pc_get *), false)                          \
	X(pc_stall_count, cuptiPCSamplingGetNumStallReasons, (struct cupti_pc_stall_count *),      \
	  false)                                                                                   \
	X(pc_stall_names, cuptiPCSamplingGetStallReasons, (struct cupti_pc_stall_names *), false)  \
	X(cubin_crc, cuptiGetCubinCrc, (struct cupti_cubin_crc *), false)

#define CUPTI_FUNCTION_FIELD(field, name, parameters, needed) int(*field) parameters;
struct cupti_functions {
	CUPTI_FUNCTIONS(CUPTI_FUNCTION_FIELD)
};

/*
 * False if there is none that will do; WHY says so, and what helps. It stays loaded. Not for
 * handlers.
 */
bool cupti_library_open(struct cupti_functions *f, char *why, size_t size);

/* From its first byte to behind its last. */
struct cupti_bounds {
	uintptr_t low, high;
};

struct cupti_bounds cupti_library_bounds(const struct cupti_functions *f);

/* CUPTI's own word for RESULT; "" if it has none. */
const char *cupti_result_text(const struct cupti_functions *f, int result);
