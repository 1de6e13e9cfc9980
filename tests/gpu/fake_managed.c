// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_managed.h"

#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_memory.h"
#include "tests/gpu/fake_settings.h"

#include <stdatomic.h>
#include <unistd.h>

static _Atomic uint32_t configured; // 1 << counter

struct move {
	struct fake_span span; // of what uses the memory, or moves it
	struct cuda_stream *stream;
	uint32_t cause;
	bool to_device;
};

int fake_managed_configure(const struct cupti_managed_setting *settings, uint32_t count)
{
	if (fake_faults()->managed)
		return (int)fake_faults()->managed;
	if (!settings || !count)
		return CUPTI_INVALID_PARAMETER;
	for (uint32_t i = 0; i < count; i++)
		if (!settings[i].counter || settings[i].counter > CUPTI_MANAGED_KINDS ||
		    settings[i].scope != CUPTI_MANAGED_SCOPE)
			return CUPTI_INVALID_PARAMETER;
	for (uint32_t i = 0; i < count; i++)
		if (settings[i].enable)
			configured |= 1u << settings[i].counter;
	return 0;
}

bool fake_managed_is_configured(void)
{
	return configured != 0;
}

static uint64_t copy_ns(const struct fake_block *block)
{
	return (uint64_t)((double)block->bytes / fake_settings()->pinned_bytes_per_ns);
}

static void tell(const struct fake_block *block, const struct cupti_managed *more)
{
	struct cupti_managed record = *more;

	record.kind = CUPTI_KIND_MANAGED;
	record.address = (uint64_t)(uintptr_t)block->data;
	record.pid = (uint32_t)getpid();
	if (fake_cupti_wants(CUPTI_KIND_MANAGED) && configured >> record.counter & 1)
		fake_buffers_write_later(&record, sizeof(record), record.end_ns);
}

static void tell_move(const struct fake_block *block, const struct move *move,
                      struct fake_span span)
{
	const struct cupti_managed record = {
		.counter = move->to_device ? CUPTI_MANAGED_TO_DEVICE : CUPTI_MANAGED_TO_HOST,
		.value = block->bytes,
		.begin_ns = span.begin_ns,
		.end_ns = span.end_ns,
		.from = move->to_device ? CUPTI_HOST : block->device,
		.to = move->to_device ? block->device : CUPTI_HOST,
		.flags = move->cause,
	};

	tell(block, &record);
}

static void on_use(void *context, const struct fake_block *block)
{
	const struct move *move = context;
	struct fake_span span = { move->span.begin_ns, move->span.begin_ns + copy_ns(block) };
	const struct cupti_managed fault = {
		.counter = CUPTI_MANAGED_DEVICE_FAULT,
		.value = (block->bytes + FAKE_GROUP_BYTES - 1) / FAKE_GROUP_BYTES,
		.begin_ns = span.begin_ns,
		.end_ns = span.end_ns,
		.from = block->device,
		.flags = 1, // read
	};

	tell(block, &fault);
	tell_move(block, move, span);
}

void fake_managed_use(struct fake_span kernel)
{
	struct move move = { .span = kernel, .cause = CUPTI_MANAGED_BY_ACCESS, .to_device = true };

	fake_memory_move(NULL, true, &move, on_use);
}

static void on_prefetch(void *context, const struct fake_block *block)
{
	const struct move *move = context;

	tell_move(block, move,
	          fake_stream_run(move->stream, copy_ns(block),
	                          move->to_device ? FAKE_TO_DEVICE : FAKE_TO_HOST));
}

void fake_managed_prefetch(struct cuda_stream *stream, const void *data, bool to_device)
{
	struct move move = { .stream = stream,
		             .cause = CUPTI_MANAGED_BY_USER,
		             .to_device = to_device };

	fake_memory_move(data, to_device, &move, on_prefetch);
}
