// SPDX-License-Identifier: MIT
// Our NVTX layouts and numbers are those of NVIDIA's headers: compiling this is the test.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#if __has_include(<nvtx3/nvToolsExtCounters.h>)
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#endif

#include "tracer/agent/nvtx/nvtx_abi.h"

#define SAME(ours, theirs)      _Static_assert((int64_t)(ours) == (int64_t)(theirs), #theirs)
#define SAME_SIZE(ours, theirs) SAME(sizeof(struct ours), sizeof(theirs))
#define SAME_PLACE(ours, field, theirs, their_field)                                               \
	SAME(offsetof(struct ours, field), offsetof(theirs, their_field))

SAME_SIZE(nvtx_attributes, nvtxEventAttributes_t);
SAME_PLACE(nvtx_attributes, category, nvtxEventAttributes_t, category);
SAME_PLACE(nvtx_attributes, payload_type, nvtxEventAttributes_t, payloadType);
SAME_PLACE(nvtx_attributes, payload_count, nvtxEventAttributes_t, reserved0);
SAME_PLACE(nvtx_attributes, payload, nvtxEventAttributes_t, payload);
SAME_PLACE(nvtx_attributes, message_type, nvtxEventAttributes_t, messageType);
SAME_PLACE(nvtx_attributes, message, nvtxEventAttributes_t, message);
SAME(NVTX_PAYLOAD_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
SAME(NVTX_PAYLOAD_I64, NVTX_PAYLOAD_TYPE_INT64);
SAME(NVTX_PAYLOAD_DOUBLE, NVTX_PAYLOAD_TYPE_DOUBLE);
SAME(NVTX_PAYLOAD_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
SAME(NVTX_PAYLOAD_I32, NVTX_PAYLOAD_TYPE_INT32);
SAME(NVTX_PAYLOAD_FLOAT, NVTX_PAYLOAD_TYPE_FLOAT);
SAME((int32_t)NVTX_PAYLOAD_EXTENDED, NVTX_PAYLOAD_TYPE_EXT);
SAME(NVTX_MESSAGE_NARROW, NVTX_MESSAGE_TYPE_ASCII);
SAME(NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
SAME(NVTX_MESSAGE_STRING, NVTX_MESSAGE_TYPE_REGISTERED);
SAME(NVTX_NO_TRACKING, NVTX_NO_PUSH_POP_TRACKING);

SAME_SIZE(nvtx_resource, nvtxResourceAttributes_t);
SAME_PLACE(nvtx_resource, identifier, nvtxResourceAttributes_t, identifier);
SAME_PLACE(nvtx_resource, message, nvtxResourceAttributes_t, message);
SAME(NVTX_RESOURCE_THREAD, NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE);

SAME(NVTX_CORE, NVTX_CB_MODULE_CORE);
SAME(NVTX_CORE2, NVTX_CB_MODULE_CORE2);
SAME(NVTX_CORE_SIZE, NVTX_CBID_CORE_SIZE);
SAME(NVTX_CORE2_SIZE, NVTX_CBID_CORE2_SIZE);
SAME(NVTX_RANGE_POP, NVTX_CBID_CORE_RangePop);
SAME(NVTX_NAME_OS_THREAD_W, NVTX_CBID_CORE_NameOsThreadW);
SAME(NVTX_DOMAIN_RANGE_POP, NVTX_CBID_CORE2_DomainRangePop);
SAME(NVTX_DOMAIN_RESOURCE_DESTROY, NVTX_CBID_CORE2_DomainResourceDestroy);
SAME(NVTX_DOMAIN_REGISTER_STRING_W, NVTX_CBID_CORE2_DomainRegisterStringW);
SAME(NVTX_DOMAIN_DESTROY, NVTX_CBID_CORE2_DomainDestroy);
SAME(NVTX_EXPORT_CALLBACKS, NVTX_ETID_CALLBACKS);
SAME_SIZE(nvtx_callbacks, NvtxExportTableCallbacks);

SAME_SIZE(nvtx_segment, nvtxExtModuleSegment_t);
SAME_PLACE(nvtx_segment, slots, nvtxExtModuleSegment_t, functionSlots);
SAME_SIZE(nvtx_extension, nvtxExtModuleInfo_t);
SAME_PLACE(nvtx_extension, module, nvtxExtModuleInfo_t, moduleId);
SAME_PLACE(nvtx_extension, segments, nvtxExtModuleInfo_t, segments);
SAME(NVTX_MODULE_PAYLOAD, NVTX_EXT_PAYLOAD_MODULEID);
SAME(NVTX_IS_ENABLED, NVTX3EXT_CBID_nvtxDomainIsEnabled);
SAME(NVTX_END_PAYLOAD, NVTX3EXT_CBID_nvtxRangeEndPayload);
SAME_SIZE(nvtx_payload, nvtxPayloadData_t);
SAME_SIZE(nvtx_schema, nvtxPayloadSchemaAttr_t);
SAME_PLACE(nvtx_schema, entries, nvtxPayloadSchemaAttr_t, entries);
SAME_PLACE(nvtx_schema, id, nvtxPayloadSchemaAttr_t, schemaId);
SAME_SIZE(nvtx_schema_entry, nvtxPayloadSchemaEntry_t);
SAME_PLACE(nvtx_schema_entry, detail, nvtxPayloadSchemaEntry_t, arrayOrUnionDetail);
SAME_PLACE(nvtx_schema_entry, offset, nvtxPayloadSchemaEntry_t, offset);
SAME_SIZE(nvtx_enum, nvtxPayloadEnumAttr_t);
SAME_PLACE(nvtx_enum, id, nvtxPayloadEnumAttr_t, schemaId);
SAME(NVTX_SCHEMA_BYTES, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE);
SAME(NVTX_SCHEMA_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_ENUM_BYTES, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE);
SAME(NVTX_ENUM_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
SAME(NVTX_ENTRY_MESSAGE, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE);
SAME(NVTX_ENTRY_ARRAY_FIXED, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE);
SAME(NVTX_TYPE_CHAR32, NVTX_PAYLOAD_ENTRY_TYPE_CHAR32);
SAME(NVTX_TYPE_FLOAT64, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT64);
SAME(NVTX_TYPE_CATEGORY, NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY);
SAME(NVTX_TYPE_TID64, NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64);
SAME(NVTX_TYPE_STRING, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING);
SAME(NVTX_TYPE_REGISTERED, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);
SAME(NVTX_TYPE_RAW, NVTX_TYPE_PAYLOAD_SCHEMA_RAW);
SAME(NVTX_SCHEMA_STATIC_FIRST, NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
SAME(NVTX_SCHEMA_DYNAMIC_FIRST, NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);

#ifdef NVTX_EXT_COUNTERS_MODULEID
SAME(NVTX_MODULE_COUNTERS, NVTX_EXT_COUNTERS_MODULEID);
SAME(NVTX_COUNTER_FLOAT64, NVTX3EXT_CBID_nvtxCounterSampleFloat64);
SAME(NVTX_COUNTER_BATCH, NVTX3EXT_CBID_nvtxCounterBatchSubmit);
SAME(NVTX_COUNTER_DELTA, NVTX_COUNTER_FLAG_VALUETYPE_DELTA);
SAME(NVTX_NO_VALUE_UNCHANGED, NVTX_COUNTER_SAMPLE_UNCHANGED);
SAME_SIZE(nvtx_counter_attributes, nvtxCounterAttr_t);
SAME_PLACE(nvtx_counter_attributes, semantics, nvtxCounterAttr_t, semantics);
SAME_SIZE(nvtx_counter_batch, nvtxCounterBatch_t);
SAME_PLACE(nvtx_counter_batch, times, nvtxCounterBatch_t, timestamps);
SAME_SIZE(nvtx_semantics, nvtxSemanticsHeader_t);
SAME(NVTX_SEMANTIC_TIME, NVTX_SEMANTIC_ID_TIME_V1);
SAME(NVTX_SEMANTIC_COUNTER, NVTX_SEMANTIC_ID_COUNTERS_V1);
SAME_SIZE(nvtx_semantics_time, nvtxSemanticsTime_t);
SAME_PLACE(nvtx_semantics_counter, flags, nvtxSemanticsCounter_t, flags);
SAME(NVTX_TIMESTAMP_GET, NVTX3EXT_CBID_nvtxTimestampGet);
SAME(NVTX_TIME_DOMAIN_REGISTER, NVTX3EXT_CBID_nvtxTimeDomainRegister);
SAME(NVTX_EVENT_SUBMIT, NVTX3EXT_CBID_nvtxEventSubmit);
SAME(NVTX_EVENT_BATCH_SUBMIT, NVTX3EXT_CBID_nvtxEventBatchSubmit);
SAME_SIZE(nvtx_time_domain, nvtxTimeDomainAttr_t);
SAME_PLACE(nvtx_time_domain, frequency_hz, nvtxTimeDomainAttr_t, timerResolution);
SAME_SIZE(nvtx_event_batch, nvtxEventBatch_t);
SAME_PLACE(nvtx_event_batch, events, nvtxEventBatch_t, events);
SAME(NVTX_CLOCK_TSC, NVTX_TIMESTAMP_TYPE_CPU_TSC);
SAME(NVTX_CLOCK_GETTIME_FIRST, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_REALTIME);
SAME(NVTX_CLOCK_GETTIME_LAST, NVTX_TIMESTAMP_TYPE_CPU_CLOCK_GETTIME_THREAD_CPUTIME_ID);
SAME(NVTX_CLOCK_SYSTEM, NVTX_TIMESTAMP_TYPE_CPP_SYSTEM_CLOCK);
SAME(NVTX_CLOCK_STATIC_FIRST, NVTX_TIME_DOMAIN_ID_STATIC_START);
SAME(NVTX_ENTRY_TIME, NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP);
SAME(NVTX_ENTRY_BEGIN, NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN);
SAME(NVTX_ENTRY_END, NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END);
#endif

int main(void)
{
	return 0;
}
