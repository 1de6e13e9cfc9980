/* SPDX-License-Identifier: MIT */
/*
 * What NVTX programs and an injection library tell each other, as far as we
 * use it: NVTX 2 and 3, modules CORE and CORE2, and the payload extension. The
 * layouts are frozen; tests/ops/nvtx_abi_test.c compares them with NVIDIA's headers.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#define NVTX_NO_TRACKING (-2) /* NVTX_NO_PUSH_POP_TRACKING: what push and pop return then */
#define NVTX_ERROR       (-1) /* any other negative number */

typedef void nvtx_function(void);

/* An array of pointers to the program's function pointers, by callback id. */
typedef nvtx_function ***nvtx_table;

enum nvtx_module {
	NVTX_CORE = 1,
	NVTX_CUDA = 2,
	NVTX_OPENCL = 3,
	NVTX_CUDART = 4,
	NVTX_CORE2 = 5,
	NVTX_SYNC = 6
};

enum nvtx_core {
	NVTX_MARK_EX = 1,
	NVTX_MARK_A = 2,
	NVTX_MARK_W = 3,
	NVTX_RANGE_START_EX = 4,
	NVTX_RANGE_START_A = 5,
	NVTX_RANGE_START_W = 6,
	NVTX_RANGE_END = 7,
	NVTX_RANGE_PUSH_EX = 8,
	NVTX_RANGE_PUSH_A = 9,
	NVTX_RANGE_PUSH_W = 10,
	NVTX_RANGE_POP = 11,
	NVTX_NAME_CATEGORY_A = 12,
	NVTX_NAME_CATEGORY_W = 13,
	NVTX_NAME_OS_THREAD_A = 14,
	NVTX_NAME_OS_THREAD_W = 15,
	NVTX_CORE_SIZE
};

enum nvtx_core2 {
	NVTX_DOMAIN_MARK_EX = 1,
	NVTX_DOMAIN_RANGE_START_EX = 2,
	NVTX_DOMAIN_RANGE_END = 3,
	NVTX_DOMAIN_RANGE_PUSH_EX = 4,
	NVTX_DOMAIN_RANGE_POP = 5,
	NVTX_DOMAIN_RESOURCE_CREATE = 6,
	NVTX_DOMAIN_RESOURCE_DESTROY = 7,
	NVTX_DOMAIN_NAME_CATEGORY_A = 8,
	NVTX_DOMAIN_NAME_CATEGORY_W = 9,
	NVTX_DOMAIN_REGISTER_STRING_A = 10,
	NVTX_DOMAIN_REGISTER_STRING_W = 11,
	NVTX_DOMAIN_CREATE_A = 12,
	NVTX_DOMAIN_CREATE_W = 13,
	NVTX_DOMAIN_DESTROY = 14,
	NVTX_INITIALIZE = 15,
	NVTX_CORE2_SIZE
};

#define NVTX_EXPORT_CALLBACKS 1 /* NVTX_ETID_CALLBACKS */

struct nvtx_callbacks {
	size_t size; /* of this struct */
	int (*get_table)(int module, nvtx_table *table, unsigned *count);
};

typedef const void *nvtx_get_export(uint32_t id);
typedef int nvtx_initialize(nvtx_get_export *get_export);

enum nvtx_message_type {
	NVTX_MESSAGE_NARROW = 1, /* NVTX_MESSAGE_TYPE_ASCII */
	NVTX_MESSAGE_WIDE = 2,
	NVTX_MESSAGE_STRING = 3 /* a registered one; version 2 */
};

union nvtx_message {
	const char *narrow;
	const wchar_t *wide;
	const void *string;
};

enum nvtx_payload_type {
	NVTX_PAYLOAD_U64 = 1,
	NVTX_PAYLOAD_I64 = 2,
	NVTX_PAYLOAD_DOUBLE = 3,
	NVTX_PAYLOAD_U32 = 4, /* this and the next two: version 2 */
	NVTX_PAYLOAD_I32 = 5,
	NVTX_PAYLOAD_FLOAT = 6,
	/* A pointer to that many (struct nvtx_attributes: payload_count) struct nvtx_payload. */
	NVTX_PAYLOAD_EXTENDED = (int32_t)0xdfbd0009
};

struct nvtx_attributes {
	uint16_t version;
	uint16_t size; /* of this struct, as the program knows it */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t payload_count;
	union {
		uint64_t u64;
		int64_t i64;
		double real;
		uint32_t u32;
		int32_t i32;
		float real32;
		const void *extended;
	} payload;
	int32_t message_type;
	union nvtx_message message;
};
_Static_assert(sizeof(struct nvtx_attributes) == 48, "event attributes");
_Static_assert(offsetof(struct nvtx_attributes, payload) == 24, "payload");
_Static_assert(offsetof(struct nvtx_attributes, message) == 40, "message");

#define NVTX_RESOURCE_THREAD 0x10003 /* NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE: a tid */

struct nvtx_resource {
	uint16_t version;
	uint16_t size;
	int32_t identifier_type;
	uint64_t identifier;
	int32_t message_type;
	union nvtx_message message;
};
_Static_assert(sizeof(struct nvtx_resource) == 32, "resource attributes");

/* Extensions: an array of slots, 0: not initialized yet. */
struct nvtx_segment {
	size_t id;
	size_t count;
	intptr_t *slots;
};

struct nvtx_extension {
	uint16_t version;
	uint16_t size; /* of this struct */
	uint16_t module;
	uint16_t compatibility;
	size_t segment_count;
	struct nvtx_segment *segments;
	intptr_t (*get_export)(uint32_t id);
	const void *information;
};
_Static_assert(sizeof(struct nvtx_extension) == 40, "extension");

typedef int nvtx_initialize_extension(struct nvtx_extension *extension);

#define NVTX_MODULE_PAYLOAD  2
#define NVTX_MODULE_COUNTERS 4
#define NVTX_EXTENSION_SLOTS 63 /* of each of the two */

enum nvtx_payload_slot {
	NVTX_SCHEMA_REGISTER = 0,
	NVTX_ENUM_REGISTER = 1,
	NVTX_MARK_PAYLOAD = 2,
	NVTX_PUSH_PAYLOAD = 3,
	NVTX_POP_PAYLOAD = 4,
	NVTX_START_PAYLOAD = 5,
	NVTX_END_PAYLOAD = 6,
	NVTX_IS_ENABLED = 7,
	NVTX_TIMESTAMP_GET = 8,
	NVTX_TIME_DOMAIN_REGISTER = 9,
	NVTX_EVENT_SUBMIT = 16,
	NVTX_EVENT_BATCH_SUBMIT = 17
};

struct nvtx_payload {
	uint64_t schema;
	size_t bytes; /* SIZE_MAX: not known */
	const void *data;
};

/* More about an entry or a counter: a list of structs that begin with this. */
struct nvtx_semantics {
	uint32_t size; /* of the whole struct */
	uint16_t id;   /* enum nvtx_semantic */
	uint16_t version;
	const struct nvtx_semantics *next;
};
_Static_assert(sizeof(struct nvtx_semantics) == 16, "semantics");

enum nvtx_semantic {
	NVTX_SEMANTIC_TIME = 2,
	NVTX_SEMANTIC_COUNTER = 5
};

struct nvtx_semantics_time {
	struct nvtx_semantics head;
	uint64_t time_domain; /* registered, or enum nvtx_clock */
};

struct nvtx_semantics_counter {
	struct nvtx_semantics head;
	uint64_t flags; /* enum nvtx_counter_flags */
	const char *unit;
};

struct nvtx_schema_entry {
	uint64_t flags; /* enum nvtx_entry_flags */
	uint64_t type;  /* enum nvtx_entry_type, or a schema's id */
	const char *name;
	const char *description;
	uint64_t detail; /* length of an array or a string */
	uint64_t offset;
	const struct nvtx_semantics *semantics;
	const void *reserved;
};
_Static_assert(sizeof(struct nvtx_schema_entry) == 64, "schema entry");

enum nvtx_schema_field { /* of FIELDS */
	NVTX_SCHEMA_NAME = 1 << 1,
	NVTX_SCHEMA_TYPE = 1 << 2,
	NVTX_SCHEMA_FLAGS = 1 << 3,
	NVTX_SCHEMA_ENTRIES = 1 << 4,
	NVTX_SCHEMA_COUNT = 1 << 5,
	NVTX_SCHEMA_BYTES = 1 << 6,
	NVTX_SCHEMA_ALIGNMENT = 1 << 7,
	NVTX_SCHEMA_ID = 1 << 8
};

enum nvtx_schema_type {
	NVTX_SCHEMA_STATIC = 1,
	NVTX_SCHEMA_DYNAMIC = 2
};

struct nvtx_schema {
	uint64_t fields; /* those that are set: enum nvtx_schema_field */
	const char *name;
	uint64_t type; /* enum nvtx_schema_type, or one that we do not read */
	uint64_t flags;
	const struct nvtx_schema_entry *entries;
	size_t count;
	size_t bytes;
	size_t alignment;
	uint64_t id;
	void *extension;
};
_Static_assert(sizeof(struct nvtx_schema) == 80, "schema");

enum nvtx_enum_field {
	NVTX_ENUM_BYTES = 1 << 4,
	NVTX_ENUM_ID = 1 << 5
};

struct nvtx_enum {
	uint64_t fields; /* enum nvtx_enum_field */
	const char *name;
	const void *entries;
	size_t count;
	size_t bytes; /* of a value */
	uint64_t id;
	void *extension;
};
_Static_assert(sizeof(struct nvtx_enum) == 56, "enum");

enum nvtx_entry_flags {
	NVTX_ENTRY_POINTER = 1 << 1,
	NVTX_ENTRY_OFFSET_FROM_BASE = 1 << 2,
	NVTX_ENTRY_OFFSET_FROM_HERE = 1 << 3,
	NVTX_ENTRY_ELSEWHERE =
		NVTX_ENTRY_POINTER | NVTX_ENTRY_OFFSET_FROM_BASE | NVTX_ENTRY_OFFSET_FROM_HERE,
	NVTX_ENTRY_ARRAY = 7 << 4, /* how long it is: */
	NVTX_ENTRY_ARRAY_FIXED = 1 << 4,
	NVTX_ENTRY_ARRAY_TERMINATED = 2 << 4,
	NVTX_ENTRY_MESSAGE = 1 << 10,
	NVTX_ENTRY_TIME = 2 << 10,
	NVTX_ENTRY_EVENT = 7 << 12, /* what happens then: */
	NVTX_ENTRY_BEGIN = 1 << 12,
	NVTX_ENTRY_END = 2 << 12
};

enum nvtx_entry_type {
	NVTX_TYPE_CHAR = 1,
	NVTX_TYPE_CHAR32 = 27,
	NVTX_TYPE_BYTE = 32,
	NVTX_TYPE_FLOAT32 = 43,
	NVTX_TYPE_FLOAT64 = 44,
	NVTX_TYPE_CATEGORY = 68,
	NVTX_TYPE_TID64 = 74,
	NVTX_TYPE_STRING = 75, /* char *, in the system's locale */
	NVTX_TYPE_STRING_UTF8 = 76,
	NVTX_TYPE_REGISTERED = 80,
	NVTX_TYPE_REFERENCED = 1022, /* of a payload: other payloads point there */
	NVTX_TYPE_RAW = 1023
};

/* What a time stamp is read from; those that count nanoseconds, and the time stamp counter. */
enum nvtx_clock {
	NVTX_CLOCK_OURS = 1, /* NVTX_TIMESTAMP_GET */
	NVTX_CLOCK_TSC = 10,
	NVTX_CLOCK_GETTIME_FIRST = 12,
	NVTX_CLOCK_GETTIME_LAST = 19,
	NVTX_CLOCK_STEADY = 50, /* C++'s */
	NVTX_CLOCK_HIGH_RESOLUTION = 51,
	NVTX_CLOCK_SYSTEM = 52,
	NVTX_CLOCK_STATIC_FIRST = 1 << 24 /* registered ones */
};

struct nvtx_time_domain {
	uint64_t scope;
	uint64_t clock; /* enum nvtx_clock */
	uint64_t id;    /* 0: ours to choose */
	uint64_t flags;
	int64_t frequency_hz; /* 0: unknown */
	uint64_t start;
};
_Static_assert(sizeof(struct nvtx_time_domain) == 48, "time domain");

/* Events one behind the other, each as the schema says. */
struct nvtx_event_batch {
	uint64_t schema;
	size_t bytes; /* of all of them */
	const void *events;
	uint64_t scope, flags;
	const void *more;
	size_t more_bytes, more_offset;
};
_Static_assert(sizeof(struct nvtx_event_batch) == 64, "event batch");

enum nvtx_counter_slot {
	NVTX_COUNTER_REGISTER = 0,
	NVTX_COUNTER_INT64 = 1,
	NVTX_COUNTER_FLOAT64 = 2,
	NVTX_COUNTER_SAMPLE = 3,
	NVTX_COUNTER_NO_VALUE = 4,
	NVTX_COUNTER_BATCH = 5
};

enum nvtx_counter_flags {
	NVTX_COUNTER_KIND = 3 << 4,
	NVTX_COUNTER_DELTA = 2 << 4 /* to the value before */
};

enum nvtx_no_value {
	NVTX_NO_VALUE_ZERO = 0,
	NVTX_NO_VALUE_UNCHANGED = 1
};

struct nvtx_counter_attributes {
	size_t size;     /* of this struct */
	uint64_t schema; /* or enum nvtx_entry_type: what a sample is */
	const char *name;
	const char *description;
	uint64_t scope;
	const struct nvtx_semantics *semantics;
	uint64_t id; /* 0: ours to choose */
};
_Static_assert(sizeof(struct nvtx_counter_attributes) == 56, "counter attributes");

/* Samples one behind the other. */
struct nvtx_counter_batch {
	uint64_t counter;
	const void *samples;
	size_t bytes; /* of all of them */
	uint64_t flags;
	const int64_t *times;
	size_t times_bytes;
};
_Static_assert(sizeof(struct nvtx_counter_batch) == 48, "counter batch");

#define NVTX_SCHEMA_STATIC_FIRST  ((uint64_t)1 << 24) /* ids of the program's choice */
#define NVTX_SCHEMA_DYNAMIC_FIRST ((uint64_t)1 << 32) /* ids of ours */
