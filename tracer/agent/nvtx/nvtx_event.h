/* SPDX-License-Identifier: MIT */
/*
 * What an NVTX program says of an event: a message, a category, numbers.
 *
 * Texts are the program's own, and objects those of nvtx_object.h: an event is read and used
 * within one call of the program's.
 */
#pragma once

#include "tracer/agent/nvtx/nvtx_abi.h"
#include "tracer/agent/nvtx/nvtx_object.h"
#include "tracer/protocol.h"

#include <stddef.h>

#define NVTX_TEXT_BYTES (PROTOCOL_NAME_TEXT + 1)

/* Whether A, a struct T of A->size bytes as the program knows it, has FIELD. */
#define NVTX_HAS(a, field, t) (offsetof(t, field) + sizeof((a)->field) <= (a)->size)

struct nvtx_event {
	const char *text;           /* NULL: none */
	struct nvtx_string *string; /* instead of it */
	uint32_t category;          /* 0: none */
	uint32_t count;
	uint16_t kind; /* enum op_detail of VALUES */
	uint64_t values[OP_DETAILS_MAX];
};

/* Nothing is said. The values are left as they are: there are many. */
void nvtx_event_clear(struct nvtx_event *event);

/* What a message of TYPE says. A wide one is written to BUFFER, of NVTX_TEXT_BYTES. */
void nvtx_event_read_message(struct nvtx_event *event, int type, union nvtx_message message,
                             char *buffer);

/* All that A (NULL: nothing) says, for an event of DOMAIN; BUFFER as above. */
void nvtx_event_read(struct nvtx_event *event, const struct nvtx_domain *domain,
                     const struct nvtx_attributes *a, char *buffer);

/* The id of an op's name. */
uint32_t nvtx_event_name(struct op_thread *t, struct nvtx_domain *domain,
                         const struct nvtx_event *event);
