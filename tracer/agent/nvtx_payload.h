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

#include "tracer/agent/nvtx_abi.h"
#include "tracer/agent/nvtx_object.h"

/* What an event says. */
struct nvtx_event {
	const char *text;           /* NULL: none */
	struct nvtx_string *string; /* instead of it */
	uint32_t category;          /* 0: none */
	uint32_t count;
	uint16_t kind; /* enum op_detail of VALUES */
	uint64_t values[OP_DETAILS_MAX];
};

/* The id under which payloads will name it. 0: refused. */
uint64_t nvtx_payload_register(const struct nvtx_domain *domain, const struct nvtx_schema *schema);
uint64_t nvtx_payload_register_enum(const struct nvtx_domain *domain, const struct nvtx_enum *e);

/* The same, under an ID that another library has chosen. */
void nvtx_payload_register_as(const struct nvtx_domain *domain, const struct nvtx_schema *schema,
                              uint64_t id);
void nvtx_payload_register_enum_as(const struct nvtx_domain *domain, const struct nvtx_enum *e,
                                   uint64_t id);

/* Adds what COUNT payloads say to EVENT. */
void nvtx_payload_read(struct nvtx_event *event, const struct nvtx_domain *domain,
                       const struct nvtx_payload *payloads, size_t count);
