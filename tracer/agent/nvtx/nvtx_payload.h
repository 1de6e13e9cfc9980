/* SPDX-License-Identifier: MIT */
/*
 * Structured payloads of NVTX events: the program registers what its structs
 * look like, and passes pointers to them.
 *
 * Read are the numbers of static schemas, nested ones too, and of arrays of
 * fixed length; a message and a category that stand in them. Not read is what a
 * payload points to, but for its message.
 */
#pragma once

#include "tracer/agent/nvtx/nvtx_abi.h"
#include "tracer/agent/nvtx/nvtx_event.h"
#include "tracer/agent/nvtx/nvtx_object.h"

/* The id under which payloads will name it. 0: refused. */
uint64_t nvtx_payload_register(const struct nvtx_domain *domain, const struct nvtx_schema *schema);
uint64_t nvtx_payload_register_enum(const struct nvtx_domain *domain, const struct nvtx_enum *e);

/* The same, under an ID that another library has chosen. */
void nvtx_payload_register_as(const struct nvtx_domain *domain, const struct nvtx_schema *schema,
                              uint64_t id);
void nvtx_payload_register_enum_as(const struct nvtx_domain *domain, const struct nvtx_enum *e,
                                   uint64_t id);

/* How large what SCHEMA, or a predefined type, describes is; 0 if that is not known. */
uint64_t nvtx_payload_bytes(const struct nvtx_domain *domain, uint64_t schema);

/*
 * What the program calls number INDEX of the COUNT numbers that were read by SCHEMA; NULL if it has
 * no name, or not each entry is one number.
 */
const char *nvtx_payload_part(const struct nvtx_domain *domain, uint64_t schema, uint32_t index,
                              uint32_t count);

/* When an event was, which COUNT payloads describe: time stamps of the clock TIME_DOMAIN. */
struct nvtx_times {
	uint64_t time_domain; /* 0: not known */
	int64_t begin, end;
	bool has_begin, has_end;
};
void nvtx_payload_times(struct nvtx_times *times, const struct nvtx_domain *domain,
                        const struct nvtx_payload *payloads, size_t count);

/* Adds what COUNT payloads say to EVENT, but for when it was. */
void nvtx_payload_read(struct nvtx_event *event, const struct nvtx_domain *domain,
                       const struct nvtx_payload *payloads, size_t count);
