// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_work.h"

#include "base/clock.h"
#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_clock.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_graph.h"
#include "tests/gpu/fake_managed.h"
#include "tests/gpu/fake_pc.h"
#include "tests/gpu/fake_settings.h"

#include <string.h>
#include <unistd.h>

#define COPY_NS             1500 /* of a copy of nothing */
#define DEVICE_BYTES_PER_NS 1500

static struct fake_span run_kernel(struct cuda_stream *s, const struct fake_work *w,
                                   uint32_t correlation, struct fake_graph_place place)
{
	struct fake_span span = fake_stream_run(s, w->kernel.duration_ns, FAKE_COMPUTE);
	dim3 grid = w->kernel.grid, block = w->kernel.block;
	struct cupti_kernel record = {
		.kind = CUPTI_KIND_CONCURRENT_KERNEL,
		.registers = 32,
		.begin_ns = span.begin_ns,
		.end_ns = span.end_ns,
		.completed_ns = span.end_ns,
		.device = s->device,
		.context = fake_device_context_id(s->device),
		.stream = s->id,
		.grid = { (int32_t)grid.x, (int32_t)grid.y, (int32_t)grid.z },
		.block = { (int32_t)block.x, (int32_t)block.y, (int32_t)block.z },
		.dynamic_shared = (int32_t)w->kernel.shared,
		.correlation = correlation,
		.grid_id = correlation,
		.name = w->kernel.function->name,
		.graph_node = place.node,
		.graph = place.graph,
	};

	fake_managed_use(span);
	if (fake_cupti_wants(CUPTI_KIND_CONCURRENT_KERNEL) && !place.is_untold)
		fake_buffers_write_later(&record, sizeof(record), span.end_ns);
	return span;
}

static bool is_host(uint32_t kind)
{
	return kind == CUPTI_MEMORY_PAGEABLE || kind == CUPTI_MEMORY_PINNED;
}

// By the addresses, as CUPTI tells it; the program's word only stands for memory that is not ours.
static enum cupti_copy_kind copy_kind(const struct fake_block *from, const struct fake_block *to)
{
	if (is_host(from->kind))
		return is_host(to->kind) ? CUPTI_COPY_HOST_TO_HOST : CUPTI_COPY_HOST_TO_DEVICE;
	return is_host(to->kind) ? CUPTI_COPY_DEVICE_TO_HOST : CUPTI_COPY_DEVICE_TO_DEVICE;
}

static uint64_t copy_ns(const struct fake_work *w, const struct fake_block *from,
                        const struct fake_block *to)
{
	double speed = fake_settings()->pinned_bytes_per_ns;

	if (from->kind == CUPTI_MEMORY_PAGEABLE || to->kind == CUPTI_MEMORY_PAGEABLE)
		speed = fake_settings()->pageable_bytes_per_ns;
	else if (!is_host(from->kind) && !is_host(to->kind) && from->device == to->device)
		speed = DEVICE_BYTES_PER_NS;
	return COPY_NS + (uint64_t)((double)w->copy.bytes / speed);
}

static void record_peer_copy(const struct cupti_copy *copy, const struct fake_block *from,
                             const struct fake_block *to)
{
	struct cupti_peer_copy record = {
		.kind = CUPTI_KIND_PEER_MEMCPY,
		.copy_kind = CUPTI_COPY_PEER,
		.from = copy->from,
		.to = copy->to,
		.flags = copy->flags,
		.bytes = copy->bytes,
		.begin_ns = copy->begin_ns,
		.end_ns = copy->end_ns,
		.device = copy->device,
		.context = copy->context,
		.stream = copy->stream,
		.from_device = from->device,
		.from_context = fake_device_context_id(from->device),
		.to_device = to->device,
		.to_context = fake_device_context_id(to->device),
		.correlation = copy->correlation,
	};

	if (fake_cupti_wants(CUPTI_KIND_PEER_MEMCPY))
		fake_buffers_write_later(&record, sizeof(record), record.end_ns);
}

static struct fake_span run_copy(struct cuda_stream *s, const struct fake_work *w,
                                 uint32_t correlation, struct fake_graph_place place)
{
	struct fake_block from = fake_memory_find(w->copy.from), to = fake_memory_find(w->copy.to);
	enum cupti_copy_kind kind = copy_kind(&from, &to);
	enum fake_engine engine = kind == CUPTI_COPY_HOST_TO_DEVICE   ? FAKE_TO_DEVICE
	                          : kind == CUPTI_COPY_DEVICE_TO_HOST ? FAKE_TO_HOST
	                                                              : FAKE_COMPUTE;
	struct fake_span span = fake_stream_run(s, copy_ns(w, &from, &to), engine);
	struct cupti_copy record = {
		.kind = CUPTI_KIND_MEMCPY,
		.copy_kind = (uint8_t)kind,
		.from = (uint8_t)from.kind,
		.to = (uint8_t)to.kind,
		.flags = w->is_async ? CUPTI_COPY_ASYNC : 0,
		.bytes = w->copy.bytes,
		.begin_ns = span.begin_ns,
		.end_ns = span.end_ns,
		.device = s->device,
		.context = fake_device_context_id(s->device),
		.stream = s->id,
		.correlation = correlation,
		.graph_node = place.node,
	};

	fake_memory_copy(w->copy.to, w->copy.from, w->copy.bytes);
	if (place.is_untold)
		return span;
	if (kind == CUPTI_COPY_DEVICE_TO_DEVICE && from.device != to.device)
		record_peer_copy(&record, &from, &to);
	else if (fake_cupti_wants(CUPTI_KIND_MEMCPY))
		fake_buffers_write_later(&record, sizeof(record), span.end_ns);
	return span;
}

static struct fake_span run_set(struct cuda_stream *s, const struct fake_work *w,
                                uint32_t correlation, struct fake_graph_place place)
{
	uint64_t ns = COPY_NS + w->set.bytes / DEVICE_BYTES_PER_NS;
	struct fake_span span = fake_stream_run(s, ns, FAKE_COMPUTE);
	struct cupti_set record = {
		.kind = CUPTI_KIND_MEMSET,
		.value = (uint8_t)w->set.value,
		.bytes = w->set.bytes,
		.begin_ns = span.begin_ns,
		.end_ns = span.end_ns,
		.device = s->device,
		.context = fake_device_context_id(s->device),
		.stream = s->id,
		.correlation = correlation,
		.flags = w->is_async ? CUPTI_COPY_ASYNC : 0,
		.memory_kind = (uint16_t)fake_memory_find(w->set.memory).kind,
		.graph_node = place.node,
	};

	fake_memory_set(w->set.memory, w->set.value, w->set.bytes);
	if (fake_cupti_wants(CUPTI_KIND_MEMSET) && !place.is_untold)
		fake_buffers_write_later(&record, sizeof(record), span.end_ns);
	return span;
}

struct fake_span fake_work_run(struct cuda_stream *stream, const struct fake_work *work,
                               uint32_t correlation, struct fake_graph_place place)
{
	switch (work->type) {
	case FAKE_KERNEL:
		fake_pc_launch(fake_device_context_of(stream->device), work->kernel.function->name);
		return run_kernel(stream, work, correlation, place);
	case FAKE_COPY:
		return run_copy(stream, work, correlation, place);
	case FAKE_SET:
		break;
	}
	return run_set(stream, work, correlation, place);
}

struct fake_span fake_work_submit(struct cuda_stream *stream, const struct fake_work *work,
                                  uint32_t correlation)
{
	if (stream->captured) {
		fake_graph_add(stream->captured, work);
		return (struct fake_span){ 0 };
	}
	return fake_work_run(stream, work, correlation, (struct fake_graph_place){ 0 });
}

static bool host_waits(const struct fake_work *work)
{
	if (work->type != FAKE_COPY)
		return false;
	uint32_t from = fake_memory_find(work->copy.from).kind;
	uint32_t to = fake_memory_find(work->copy.to).kind;
	if (work->is_async)
		return from == CUPTI_MEMORY_PAGEABLE || to == CUPTI_MEMORY_PAGEABLE;
	return is_host(from) || is_host(to);
}

int fake_work_do(struct fake_call *call, const struct fake_work *work, cudaStream_t stream)
{
	struct cuda_stream *s = call->refused ? NULL : fake_stream(stream);

	if (!s)
		return fake_call_end(call, CUDA_INVALID_HANDLE);
	struct fake_span span = fake_work_submit(s, work, call->correlation);
	if (host_waits(work))
		fake_wait_until(span.end_ns);
	return fake_call_end(call, 0);
}

int fake_work_launch(struct fake_call *call, const struct fake_kernel *k,
                     const struct cuda_launch *launch, void **arguments)
{
	if (!k || call->refused)
		return fake_call_end(call, CUDA_INVALID_IMAGE);
	struct fake_work work = {
		.type = FAKE_KERNEL,
		.is_async = true,
		.kernel = { k, fake_kernel_ns(k, arguments), launch->grid, launch->block,
		            (uint32_t)launch->shared },
	};
	if (fake_settings()->launch_ns)
		fake_burn(fake_settings()->launch_ns);
	return fake_work_do(call, &work, launch->stream);
}

void fake_work_wait(enum cupti_synchronization type, const struct cuda_stream *stream,
                    const struct cuda_event *event, uint64_t until_ns, uint32_t correlation)
{
	struct cupti_sync record = {
		.kind = CUPTI_KIND_SYNCHRONIZATION,
		.type = type,
		.begin_ns = clock_now_ns(),
		.correlation = correlation,
		.context = fake_device_context_id(fake_device_current()),
		.stream = stream ? stream->id : UINT32_MAX, // SYNCHRONIZATION_INVALID_VALUE
		.event = event ? event->id : UINT32_MAX,
	};

	if (type != CUPTI_SYNC_STREAM_WAIT)
		fake_wait_until(until_ns);
	record.end_ns = clock_now_ns();
	if (fake_cupti_wants(CUPTI_KIND_SYNCHRONIZATION))
		fake_buffers_write(&record, sizeof(record));
}

static void record_pool(uint32_t device, uint32_t correlation)
{
	static bool is_told[FAKE_DEVICES_MAX];
	struct cupti_pool record = {
		.kind = CUPTI_KIND_MEMORY_POOL,
		.operation = CUPTI_POOL_CREATED,
		.type = CUPTI_POOL_LOCAL,
		.correlation = correlation,
		.pid = (uint32_t)getpid(),
		.device = device,
		.address = 0x700000000000 + device,
		.time_ns = clock_now_ns(),
	};

	if (!fake_cupti_wants(CUPTI_KIND_MEMORY_POOL) || is_told[device])
		return;
	is_told[device] = true;
	fake_buffers_write(&record, sizeof(record));
}

void fake_work_memory(const struct fake_block *block, enum cupti_memory_operation operation,
                      const struct cuda_stream *stream, uint32_t correlation)
{
	struct cupti_memory record = {
		.kind = CUPTI_KIND_MEMORY,
		.operation = operation,
		.memory_kind = block->kind,
		.correlation = correlation,
		.address = (uint64_t)(uintptr_t)block->data,
		.bytes = block->bytes,
		.time_ns = clock_now_ns(),
		.pid = (uint32_t)getpid(),
		.device = block->device,
		.context = fake_device_context_id(block->device),
		.stream = stream ? stream->id : UINT32_MAX,
		.is_async = stream != NULL,
	};

	if (stream) {
		record_pool(block->device, correlation);
		record.pool.type = CUPTI_POOL_LOCAL;
		record.pool.address = 0x700000000000 + block->device;
	}
	if (fake_cupti_wants(CUPTI_KIND_MEMORY))
		fake_buffers_write(&record, sizeof(record));
}
