/* SPDX-License-Identifier: MIT */
/*
 * The part of the NVTX API that nvtx_target.c uses, for machines without
 * NVIDIA's headers: it finds the injection library as theirs do, and calls
 * through the same tables.
 */
#pragma once

#include "tracer/agent/nvtx/nvtx_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

typedef uint64_t nvtxRangeId_t;
typedef const void *nvtxDomainHandle_t, *nvtxStringHandle_t, *nvtxResourceHandle_t;

typedef struct {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	union {
		uint64_t ullValue;
		int64_t llValue;
		double dValue;
		uint32_t uiValue;
		int32_t iValue;
		float fValue;
	} payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
		nvtxStringHandle_t registered;
	} message;
} nvtxEventAttributes_t;

typedef struct {
	uint16_t version, size;
	int32_t identifierType;
	union {
		const void *pValue;
		uint64_t ullValue;
	} identifier;
	int32_t messageType;
	union {
		const char *ascii;
	} message;
} nvtxResourceAttributes_t;

typedef struct {
	uint64_t flags, type;
	const char *name, *description;
	uint64_t arrayOrUnionDetail, offset;
	const void *semantics, *reserved;
} nvtxPayloadSchemaEntry_t;

typedef struct {
	uint64_t fieldMask;
	const char *name;
	uint64_t type, flags;
	const nvtxPayloadSchemaEntry_t *entries;
	size_t numEntries, payloadStaticSize, packAlign;
	uint64_t schemaId;
	void *extension;
} nvtxPayloadSchemaAttr_t;

typedef struct {
	uint64_t fieldMask;
	const char *name;
	const void *entries;
	size_t numEntries, sizeOfEnum;
	uint64_t schemaId;
	void *extension;
} nvtxPayloadEnumAttr_t;

typedef struct {
	uint64_t schemaId;
	size_t size;
	const void *payload;
} nvtxPayloadData_t;

typedef struct nvtxSemanticsHeader {
	uint32_t structSize;
	uint16_t semanticId, version;
	const struct nvtxSemanticsHeader *next;
} nvtxSemanticsHeader_t;

typedef struct {
	nvtxSemanticsHeader_t header;
	uint64_t timeDomainId;
} nvtxSemanticsTime_t;

typedef struct {
	nvtxSemanticsHeader_t header;
	uint64_t flags;
	const char *unit;
} nvtxSemanticsCounter_t;

typedef struct {
	size_t structSize;
	uint64_t schemaId;
	const char *name, *description;
	uint64_t scopeId;
	const nvtxSemanticsHeader_t *semantics;
	uint64_t counterId;
} nvtxCounterAttr_t;

typedef struct {
	uint64_t counterId;
	const void *counters;
	size_t countersSize;
	uint64_t flags;
	const int64_t *timestamps;
	size_t timestampsSize;
} nvtxCounterBatch_t;

typedef struct {
	uint64_t scopeId, timestampTypeId, timeDomainId, timerFlags;
	int64_t timerResolution;
	uint64_t timerStart;
} nvtxTimeDomainAttr_t;

typedef struct {
	uint64_t eventSchemaId;
	size_t size;
	const void *events;
	uint64_t scope, flags;
	const void *flexData;
	size_t flexDataSize, flexDataOffset;
} nvtxEventBatch_t;

#define NVTX_VERSION                               3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE              ((uint16_t)sizeof(nvtxEventAttributes_t))
#define NVTX_RESOURCE_ATTRIB_STRUCT_SIZE           ((uint16_t)sizeof(nvtxResourceAttributes_t))
#define NVTX_NO_PUSH_POP_TRACKING                  (-2)
#define NVTX_MESSAGE_TYPE_ASCII                    NVTX_MESSAGE_NARROW
#define NVTX_MESSAGE_TYPE_UNICODE                  NVTX_MESSAGE_WIDE
#define NVTX_MESSAGE_TYPE_REGISTERED               NVTX_MESSAGE_STRING
#define NVTX_PAYLOAD_TYPE_UNSIGNED_INT64           NVTX_PAYLOAD_U64
#define NVTX_PAYLOAD_TYPE_INT64                    NVTX_PAYLOAD_I64
#define NVTX_PAYLOAD_TYPE_DOUBLE                   NVTX_PAYLOAD_DOUBLE
#define NVTX_PAYLOAD_TYPE_UNSIGNED_INT32           NVTX_PAYLOAD_U32
#define NVTX_PAYLOAD_TYPE_INT32                    NVTX_PAYLOAD_I32
#define NVTX_PAYLOAD_TYPE_FLOAT                    NVTX_PAYLOAD_FLOAT
#define NVTX_PAYLOAD_TYPE_EXT                      NVTX_PAYLOAD_EXTENDED
#define NVTX_RESOURCE_TYPE_GENERIC_HANDLE          0x10002
#define NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE   NVTX_RESOURCE_THREAD
#define NVTX_PAYLOAD_ENTRY_FLAG_POINTER            NVTX_ENTRY_POINTER
#define NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE   NVTX_ENTRY_ARRAY_FIXED
#define NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE      NVTX_ENTRY_MESSAGE
#define NVTX_PAYLOAD_ENTRY_TYPE_INT8               11
#define NVTX_PAYLOAD_ENTRY_TYPE_INT32              15
#define NVTX_PAYLOAD_ENTRY_TYPE_UINT64             18
#define NVTX_PAYLOAD_ENTRY_TYPE_FLOAT              19
#define NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE             20
#define NVTX_PAYLOAD_ENTRY_TYPE_CATEGORY           NVTX_TYPE_CATEGORY
#define NVTX_PAYLOAD_ENTRY_TYPE_CSTRING            NVTX_TYPE_STRING
#define NVTX_PAYLOAD_SCHEMA_TYPE_STATIC            NVTX_SCHEMA_STATIC
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME        NVTX_SCHEMA_NAME
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE        NVTX_SCHEMA_TYPE
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES     NVTX_SCHEMA_ENTRIES
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES NVTX_SCHEMA_COUNT
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE NVTX_SCHEMA_BYTES
#define NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID   NVTX_SCHEMA_ID
#define NVTX_PAYLOAD_SCHEMA_ID_STATIC_START        NVTX_SCHEMA_STATIC_FIRST
#define NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE          NVTX_ENUM_BYTES
#define NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID     NVTX_ENUM_ID
#define NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP          NVTX_ENTRY_TIME
#define NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN        NVTX_ENTRY_BEGIN
#define NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END          NVTX_ENTRY_END
#define NVTX_PAYLOAD_ENTRY_TYPE_INT64              17
#define NVTX_SEMANTIC_ID_TIME_V1                   NVTX_SEMANTIC_TIME
#define NVTX_SEMANTIC_ID_COUNTERS_V1               NVTX_SEMANTIC_COUNTER
#define NVTX_COUNTER_FLAG_VALUETYPE_DELTA          NVTX_COUNTER_DELTA
#define NVTX_COUNTER_SAMPLE_ZERO                   NVTX_NO_VALUE_ZERO
#define NVTX_COUNTER_SAMPLE_UNCHANGED              NVTX_NO_VALUE_UNCHANGED
#define NVTX_COUNTER_SAMPLE_UNAVAILABLE            2
#define NVTX_COUNTER_ID_STATIC_START               NVTX_SCHEMA_STATIC_FIRST
#define NVTX_TIMESTAMP_TYPE_NONE                   0
#define NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED          NVTX_CLOCK_OURS

static nvtx_function *shim_core[NVTX_CORE_SIZE], *shim_core2[NVTX_CORE2_SIZE];
static intptr_t shim_payload[NVTX_EXTENSION_SLOTS], shim_counters[NVTX_EXTENSION_SLOTS];

static inline int shim_get_table(int module, nvtx_table *table, unsigned *count)
{
	static nvtx_function **core[NVTX_CORE_SIZE], **core2[NVTX_CORE2_SIZE];

	for (int i = 0; i < NVTX_CORE_SIZE; i++)
		core[i] = &shim_core[i];
	for (int i = 0; i < NVTX_CORE2_SIZE; i++)
		core2[i] = &shim_core2[i];
	if (module != NVTX_CORE && module != NVTX_CORE2)
		return 0;
	*table = module == NVTX_CORE ? core : core2;
	*count = module == NVTX_CORE ? NVTX_CORE_SIZE : NVTX_CORE2_SIZE;
	return 1;
}

static inline const void *shim_get_export(uint32_t id)
{
	static const struct nvtx_callbacks callbacks = { sizeof(callbacks), shim_get_table };

	return id == NVTX_EXPORT_CALLBACKS ? &callbacks : NULL;
}

// The first call loads, and those of other threads wait for it, as with NVIDIA's headers.
static pthread_once_t shim_loaded = PTHREAD_ONCE_INIT;

static void shim_load(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;

	if (!library)
		return;
	nvtx_initialize *start = (nvtx_initialize *)dlsym(library, "InitializeInjectionNvtx2");
	nvtx_initialize_extension *extend =
		(nvtx_initialize_extension *)dlsym(library, "InitializeInjectionNvtxExtension");
	struct nvtx_segment segment = { 0, NVTX_EXTENSION_SLOTS, shim_payload };
	struct nvtx_extension payload = {
		3, sizeof(payload), NVTX_MODULE_PAYLOAD, 0x104, 1, &segment, NULL, NULL
	};
	struct nvtx_segment counter_segment = { 0, NVTX_EXTENSION_SLOTS, shim_counters };
	struct nvtx_extension counters = {
		3, sizeof(counters), NVTX_MODULE_COUNTERS, 0x102, 1, &counter_segment, NULL, NULL
	};
	if (start)
		start(shim_get_export);
	if (extend)
		extend(&payload);
	if (extend)
		extend(&counters);
}

// A function of the API: RETURN NAME ARGUMENTS calls what stands in SLOT, or gives NOTHING.
#define SHIM(return_type, name, arguments, values, slot, nothing)                                  \
	static inline return_type name arguments                                                   \
	{                                                                                          \
		typedef return_type function arguments;                                            \
		pthread_once(&shim_loaded, shim_load);                                             \
		function *f = (function *)(slot);                                                  \
		return f ? f values : nothing;                                                     \
	}
#define SHIM_VOID(name, arguments, values, slot)                                                   \
	static inline void name arguments                                                          \
	{                                                                                          \
		typedef void function arguments;                                                   \
		pthread_once(&shim_loaded, shim_load);                                             \
		function *f = (function *)(slot);                                                  \
		if (f)                                                                             \
			f values;                                                                  \
	}
#define D nvtxDomainHandle_t domain
#define E const nvtxEventAttributes_t *event
#define P const nvtxPayloadData_t *payloads, size_t count

SHIM_VOID(nvtxMarkEx, (E), (event), shim_core[NVTX_MARK_EX])
SHIM_VOID(nvtxMarkA, (const char *s), (s), shim_core[NVTX_MARK_A])
SHIM_VOID(nvtxMarkW, (const wchar_t *s), (s), shim_core[NVTX_MARK_W])
SHIM(nvtxRangeId_t, nvtxRangeStartEx, (E), (event), shim_core[NVTX_RANGE_START_EX], 0)
SHIM(nvtxRangeId_t, nvtxRangeStartA, (const char *s), (s), shim_core[NVTX_RANGE_START_A], 0)
SHIM(nvtxRangeId_t, nvtxRangeStartW, (const wchar_t *s), (s), shim_core[NVTX_RANGE_START_W], 0)
SHIM_VOID(nvtxRangeEnd, (nvtxRangeId_t id), (id), shim_core[NVTX_RANGE_END])
SHIM(int, nvtxRangePushEx, (E), (event), shim_core[NVTX_RANGE_PUSH_EX], -2)
SHIM(int, nvtxRangePushA, (const char *s), (s), shim_core[NVTX_RANGE_PUSH_A], -2)
SHIM(int, nvtxRangePushW, (const wchar_t *s), (s), shim_core[NVTX_RANGE_PUSH_W], -2)
SHIM(int, nvtxRangePop, (void), (), shim_core[NVTX_RANGE_POP], -2)
SHIM_VOID(nvtxNameCategoryA, (uint32_t c, const char *s), (c, s), shim_core[NVTX_NAME_CATEGORY_A])
SHIM_VOID(nvtxNameCategoryW, (uint32_t c, const wchar_t *s), (c, s),
          shim_core[NVTX_NAME_CATEGORY_W])
SHIM_VOID(nvtxNameOsThreadA, (uint32_t t, const char *s), (t, s), shim_core[NVTX_NAME_OS_THREAD_A])
SHIM_VOID(nvtxNameOsThreadW, (uint32_t t, const wchar_t *s), (t, s),
          shim_core[NVTX_NAME_OS_THREAD_W])
SHIM_VOID(nvtxDomainMarkEx, (D, E), (domain, event), shim_core2[NVTX_DOMAIN_MARK_EX])
SHIM(nvtxRangeId_t, nvtxDomainRangeStartEx, (D, E), (domain, event),
     shim_core2[NVTX_DOMAIN_RANGE_START_EX], 0)
SHIM_VOID(nvtxDomainRangeEnd, (D, nvtxRangeId_t id), (domain, id),
          shim_core2[NVTX_DOMAIN_RANGE_END])
SHIM(int, nvtxDomainRangePushEx, (D, E), (domain, event), shim_core2[NVTX_DOMAIN_RANGE_PUSH_EX], -2)
SHIM(int, nvtxDomainRangePop, (D), (domain), shim_core2[NVTX_DOMAIN_RANGE_POP], -2)
SHIM(nvtxResourceHandle_t, nvtxDomainResourceCreate, (D, nvtxResourceAttributes_t *r), (domain, r),
     shim_core2[NVTX_DOMAIN_RESOURCE_CREATE], NULL)
SHIM_VOID(nvtxDomainResourceDestroy, (nvtxResourceHandle_t r), (r),
          shim_core2[NVTX_DOMAIN_RESOURCE_DESTROY])
SHIM_VOID(nvtxDomainNameCategoryA, (D, uint32_t c, const char *s), (domain, c, s),
          shim_core2[NVTX_DOMAIN_NAME_CATEGORY_A])
SHIM_VOID(nvtxDomainNameCategoryW, (D, uint32_t c, const wchar_t *s), (domain, c, s),
          shim_core2[NVTX_DOMAIN_NAME_CATEGORY_W])
SHIM(nvtxStringHandle_t, nvtxDomainRegisterStringA, (D, const char *s), (domain, s),
     shim_core2[NVTX_DOMAIN_REGISTER_STRING_A], NULL)
SHIM(nvtxStringHandle_t, nvtxDomainRegisterStringW, (D, const wchar_t *s), (domain, s),
     shim_core2[NVTX_DOMAIN_REGISTER_STRING_W], NULL)
SHIM(nvtxDomainHandle_t, nvtxDomainCreateA, (const char *s), (s), shim_core2[NVTX_DOMAIN_CREATE_A],
     NULL)
SHIM(nvtxDomainHandle_t, nvtxDomainCreateW, (const wchar_t *s), (s),
     shim_core2[NVTX_DOMAIN_CREATE_W], NULL)
SHIM_VOID(nvtxDomainDestroy, (D), (domain), shim_core2[NVTX_DOMAIN_DESTROY])
SHIM(uint64_t, nvtxPayloadSchemaRegister, (D, const nvtxPayloadSchemaAttr_t *a), (domain, a),
     shim_payload[NVTX_SCHEMA_REGISTER], 0)
SHIM(uint64_t, nvtxPayloadEnumRegister, (D, const nvtxPayloadEnumAttr_t *a), (domain, a),
     shim_payload[NVTX_ENUM_REGISTER], 0)
SHIM_VOID(nvtxMarkPayload, (D, P), (domain, payloads, count), shim_payload[NVTX_MARK_PAYLOAD])
SHIM(int, nvtxRangePushPayload, (D, P), (domain, payloads, count), shim_payload[NVTX_PUSH_PAYLOAD],
     -2)
SHIM(int, nvtxRangePopPayload, (D, P), (domain, payloads, count), shim_payload[NVTX_POP_PAYLOAD],
     -2)
SHIM(nvtxRangeId_t, nvtxRangeStartPayload, (D, P), (domain, payloads, count),
     shim_payload[NVTX_START_PAYLOAD], 0)
SHIM_VOID(nvtxRangeEndPayload, (D, nvtxRangeId_t id, P), (domain, id, payloads, count),
          shim_payload[NVTX_END_PAYLOAD])
SHIM(uint8_t, nvtxDomainIsEnabled, (D), (domain), shim_payload[NVTX_IS_ENABLED], 1)
SHIM(int64_t, nvtxTimestampGet, (void), (), shim_payload[NVTX_TIMESTAMP_GET], 0)
SHIM(uint64_t, nvtxTimeDomainRegister, (D, const nvtxTimeDomainAttr_t *a), (domain, a),
     shim_payload[NVTX_TIME_DOMAIN_REGISTER], 0)
SHIM_VOID(nvtxEventSubmit, (D, P), (domain, payloads, count), shim_payload[NVTX_EVENT_SUBMIT])
SHIM_VOID(nvtxEventBatchSubmit, (D, const nvtxEventBatch_t *b), (domain, b),
          shim_payload[NVTX_EVENT_BATCH_SUBMIT])
SHIM(uint64_t, nvtxCounterRegister, (D, const nvtxCounterAttr_t *a), (domain, a),
     shim_counters[NVTX_COUNTER_REGISTER], 0)
SHIM_VOID(nvtxCounterSampleInt64, (D, uint64_t id, int64_t value), (domain, id, value),
          shim_counters[NVTX_COUNTER_INT64])
SHIM_VOID(nvtxCounterSampleFloat64, (D, uint64_t id, double value), (domain, id, value),
          shim_counters[NVTX_COUNTER_FLOAT64])
SHIM_VOID(nvtxCounterSample, (D, uint64_t id, const void *data, size_t bytes),
          (domain, id, data, bytes), shim_counters[NVTX_COUNTER_SAMPLE])
SHIM_VOID(nvtxCounterSampleNoValue, (D, uint64_t id, uint8_t reason), (domain, id, reason),
          shim_counters[NVTX_COUNTER_NO_VALUE])
SHIM_VOID(nvtxCounterBatchSubmit, (D, const nvtxCounterBatch_t *b), (domain, b),
          shim_counters[NVTX_COUNTER_BATCH])

#undef D
#undef E
#undef P
