// SPDX-License-Identifier: MIT
#include "tracer/agent/nvtx/nvtx_event.h"

#include "base/record.h"
#include "tracer/agent/nvtx/nvtx_payload.h"
#include "tracer/agent/utf8.h"

#include <string.h>

void nvtx_event_read_message(struct nvtx_event *event, int type, union nvtx_message message,
                             char *buffer)
{
	if (type == NVTX_MESSAGE_NARROW)
		event->text = message.narrow;
	else if (type == NVTX_MESSAGE_WIDE)
		event->text = utf8_from_wide(buffer, NVTX_TEXT_BYTES, message.wide);
	else if (type == NVTX_MESSAGE_STRING)
		event->string = nvtx_string_of(message.string);
}

static void set_value(struct nvtx_event *event, uint16_t kind, uint64_t value)
{
	event->kind = kind;
	event->count = 1;
	event->values[0] = value;
}

static void set_real(struct nvtx_event *event, double real)
{
	set_value(event, OP_DETAIL_DOUBLE, 0);
	memcpy(event->values, &real, sizeof(real));
}

static void read_value(struct nvtx_event *event, const struct nvtx_domain *d,
                       const struct nvtx_attributes *a)
{
	switch (a->payload_type) {
	case NVTX_PAYLOAD_U64:
		set_value(event, OP_DETAIL_UNSIGNED, a->payload.u64);
		break;
	case NVTX_PAYLOAD_I64:
		set_value(event, OP_DETAIL_SIGNED, a->payload.u64);
		break;
	case NVTX_PAYLOAD_DOUBLE:
		set_real(event, a->payload.real);
		break;
	case NVTX_PAYLOAD_U32:
		set_value(event, OP_DETAIL_UNSIGNED, a->payload.u32);
		break;
	case NVTX_PAYLOAD_I32:
		set_value(event, OP_DETAIL_SIGNED, (uint64_t)(int64_t)a->payload.i32);
		break;
	case NVTX_PAYLOAD_FLOAT:
		set_real(event, (double)a->payload.real32);
		break;
	case NVTX_PAYLOAD_EXTENDED:
		if (a->payload_count > 0)
			nvtx_payload_read(event, d, a->payload.extended, (size_t)a->payload_count);
		break;
	default:
		break;
	}
}

void nvtx_event_clear(struct nvtx_event *event)
{
	event->text = NULL;
	event->string = NULL;
	event->category = 0;
	event->count = 0;
	event->kind = OP_DETAIL_NONE;
}

// Fields beyond the size that the program has given are not there.
void nvtx_event_read(struct nvtx_event *event, const struct nvtx_domain *d,
                     const struct nvtx_attributes *a, char *buffer)
{
	nvtx_event_clear(event);
	if (!a)
		return;
	if (NVTX_HAS(a, category, struct nvtx_attributes))
		event->category = a->category;
	if (NVTX_HAS(a, message, struct nvtx_attributes))
		nvtx_event_read_message(event, a->message_type, a->message, buffer);
	if (a->payload_type && NVTX_HAS(a, payload, struct nvtx_attributes))
		read_value(event, d, a);
}

uint32_t nvtx_event_name(struct op_thread *t, struct nvtx_domain *d, const struct nvtx_event *event)
{
	if (event->string)
		return nvtx_string_name(t, d, event->string, event->category);
	return nvtx_name(t, d, event->text, event->category);
}
