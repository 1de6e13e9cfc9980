// SPDX-License-Identifier: MIT
/*
 * nvtx_counters: NVTX's counters, and its events that are told afterwards; what the agent should
 * say is in golden/nvtx/counters.txt. Compiled with NVIDIA's headers of CUDA 13 where they are
 * there, and with nvtx_shim.h.
 */
#ifdef NVTX_HEADERS
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSemanticsTime.h>
#else
#include "tests/ops/nvtx_shim.h"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define INT64  NVTX_PAYLOAD_ENTRY_TYPE_INT64
#define DOUBLE NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE

static int failures;

static void expect(const char *what, bool holds)
{
	if (holds)
		return;
	fprintf(stderr, "%s does not hold\n", what);
	failures++;
}
#define EXPECT(condition) expect(#condition, condition)

static uint64_t add_counter(nvtxDomainHandle_t domain, const char *name, uint64_t schema,
                            const nvtxSemanticsHeader_t *semantics, uint64_t id)
{
	nvtxCounterAttr_t a;

	memset(&a, 0, sizeof(a));
	a.structSize = sizeof(a);
	a.schemaId = schema;
	a.name = name;
	a.semantics = semantics;
	a.counterId = id;
	return nvtxCounterRegister(domain, &a);
}

static uint64_t add_schema(nvtxDomainHandle_t domain, const nvtxPayloadSchemaEntry_t *entries,
                           size_t count, size_t bytes)
{
	nvtxPayloadSchemaAttr_t schema;

	memset(&schema, 0, sizeof(schema));
	schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
	                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
	                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
	                   NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE;
	schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
	schema.entries = entries;
	schema.numEntries = count;
	schema.payloadStaticSize = bytes;
	return nvtxPayloadSchemaRegister(domain, &schema);
}

static void single_ones(nvtxDomainHandle_t domain)
{
	uint64_t whole = add_counter(domain, "whole", INT64, NULL, 0);
	uint64_t real = add_counter(domain, "real", DOUBLE, NULL, NVTX_COUNTER_ID_STATIC_START + 7);
	double value = -2.5;

	EXPECT(whole != 0 && real == NVTX_COUNTER_ID_STATIC_START + 7);
	nvtxCounterSampleInt64(domain, whole, 3);
	nvtxCounterSampleInt64(domain, whole, -4);
	nvtxCounterSampleNoValue(domain, whole, NVTX_COUNTER_SAMPLE_UNCHANGED);
	nvtxCounterSampleNoValue(domain, whole, NVTX_COUNTER_SAMPLE_ZERO);
	nvtxCounterSampleNoValue(domain, whole, NVTX_COUNTER_SAMPLE_UNAVAILABLE);
	nvtxCounterSampleFloat64(domain, real, 0.5);
	nvtxCounterSample(domain, real, &value, sizeof(value));
	nvtxCounterSample(domain, real, NULL, 0);
	nvtxCounterSampleInt64(domain, 77, 1);  // nobody's
	nvtxCounterSampleInt64(NULL, whole, 1); // another domain's
}

static void differences(nvtxDomainHandle_t domain)
{
	nvtxSemanticsCounter_t semantics;

	memset(&semantics, 0, sizeof(semantics));
	semantics.header.structSize = sizeof(semantics);
	semantics.header.semanticId = NVTX_SEMANTIC_ID_COUNTERS_V1;
	semantics.flags = NVTX_COUNTER_FLAG_VALUETYPE_DELTA;
	uint64_t whole = add_counter(domain, "sum", INT64, &semantics.header, 0);
	uint64_t real = add_counter(domain, "real sum", DOUBLE, &semantics.header, 0);
	nvtxCounterSampleInt64(domain, whole, 30);
	nvtxCounterSampleInt64(domain, whole, -10);
	nvtxCounterSampleFloat64(domain, real, 0.25);
	nvtxCounterSampleFloat64(domain, real, 0.5);
	nvtxCounterSampleNoValue(domain, real, NVTX_COUNTER_SAMPLE_UNCHANGED);
}

struct link {
	int64_t time, bytes;
	double errors;
};

static void groups(nvtxDomainHandle_t domain)
{
	nvtxPayloadSchemaEntry_t entries[3];
	const struct link links[] = { { 1, 100, 0.5 }, { 2, 200, 0.25 } };
	nvtxCounterBatch_t batch;

	memset(entries, 0, sizeof(entries));
	entries[0].flags = NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP;
	entries[0].type = INT64;
	entries[1].type = INT64;
	entries[1].name = "bytes";
	entries[1].offset = offsetof(struct link, bytes);
	entries[2].type = DOUBLE;
	entries[2].offset = offsetof(struct link, errors);
	uint64_t schema = add_schema(domain, entries, 3, sizeof(struct link));
	uint64_t link = add_counter(domain, "link", schema, NULL, 0);
	nvtxCounterSample(domain, link, &links[0], sizeof(links[0]));
	nvtxCounterSample(domain, link, &links[0], 20); // cut
	memset(&batch, 0, sizeof(batch));
	batch.counterId = link;
	batch.counters = links;
	batch.countersSize = sizeof(links) + 5;
	nvtxCounterBatchSubmit(domain, &batch);
	nvtxCounterBatchSubmit(domain, NULL);
}

struct range {
	int64_t begin, end;
	const char *text;
};

static uint64_t add_range_schema(nvtxDomainHandle_t domain, uint64_t time_domain)
{
	nvtxPayloadSchemaEntry_t entries[3];
	nvtxSemanticsTime_t time;

	memset(&time, 0, sizeof(time));
	time.header.structSize = sizeof(time);
	time.header.semanticId = NVTX_SEMANTIC_ID_TIME_V1;
	time.timeDomainId = time_domain;
	memset(entries, 0, sizeof(entries));
	entries[0].flags = NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN;
	entries[0].type = INT64;
	entries[0].semantics = (const void *)&time;
	entries[1].flags = NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP | NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END;
	entries[1].type = INT64;
	entries[1].offset = offsetof(struct range, end);
	entries[2].flags = NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE | NVTX_PAYLOAD_ENTRY_FLAG_POINTER;
	entries[2].type = NVTX_PAYLOAD_ENTRY_TYPE_CSTRING;
	entries[2].offset = offsetof(struct range, text);
	return add_schema(domain, entries, 3, sizeof(struct range));
}

static uint64_t add_clock(nvtxDomainHandle_t domain, int64_t frequency_hz)
{
	nvtxTimeDomainAttr_t a;

	memset(&a, 0, sizeof(a));
	a.timestampTypeId = NVTX_TIMESTAMP_TYPE_NONE;
	a.timerResolution = frequency_hz;
	return nvtxTimeDomainRegister(domain, &a);
}

static void submit_one(nvtxDomainHandle_t domain, uint64_t schema, const struct range *range)
{
	const nvtxPayloadData_t data = { schema, sizeof(*range), range };

	nvtxEventSubmit(domain, &data, 1);
}

// The names tell how many us each should have taken.
static void deferred(nvtxDomainHandle_t domain)
{
	int64_t now = nvtxTimestampGet();
	uint64_t ours = add_range_schema(domain, NVTX_TIMESTAMP_TYPE_TOOL_PROVIDED);
	uint64_t slow = add_range_schema(domain, add_clock(domain, 1000));
	uint64_t unknown = add_range_schema(domain, add_clock(domain, 0));
	const struct range one = { now, now + 5000, "took 5" };
	const struct range ticks = { 100, 103, "took 3000" };
	const struct range backwards = { 100, 99, "backwards" };
	const struct range timeless = { 100, 200, "of a clock that nobody knows" };
	const struct range many[] = { { 10, 11, "took 1000" }, { 11, 13, "took 2000" } };
	nvtxEventBatch_t batch;

	EXPECT(now > 0);
	submit_one(domain, ours, &one);
	submit_one(domain, slow, &ticks);
	submit_one(domain, slow, &backwards);
	submit_one(domain, unknown, &timeless);
	memset(&batch, 0, sizeof(batch));
	batch.eventSchemaId = slow;
	batch.events = many;
	batch.size = sizeof(many);
	nvtxEventBatchSubmit(domain, &batch);
	batch.eventSchemaId = 12345678;
	nvtxEventBatchSubmit(domain, &batch);
	nvtxEventBatchSubmit(domain, NULL);
	nvtxEventSubmit(domain, NULL, 0);
}

int main(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("counted");

	single_ones(domain);
	differences(domain);
	groups(domain);
	deferred(domain);
	return failures != 0;
}
