// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_device.h"

#include "base/clock.h"
#include "tests/gpu/fake_buffers.h"
#include "tests/gpu/fake_cupti.h"
#include "tests/gpu/fake_pc.h"
#include "tests/gpu/fake_settings.h"
#include "tests/gpu/fake_subscriber.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct device {
	_Atomic bool has_context;
	uint64_t ready_ns;          // of all streams
	uint64_t blocking_ready_ns; // of those that the legacy default stream waits for
	uint64_t engine_ns[FAKE_ENGINES];
	struct cuda_stream legacy;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct device devices[FAKE_DEVICES_MAX];
static struct cuda_stream *streams;
static uint32_t last_stream = 12; // as CUPTI counts: the first that a program makes is 13
static __thread uint32_t current;
static __thread struct cuda_stream *own[FAKE_DEVICES_MAX];

uint32_t fake_device_current(void)
{
	return current;
}

bool fake_device_set_current(uint32_t device)
{
	if (device >= fake_settings()->devices || device >= FAKE_DEVICES_MAX)
		return false;
	current = device;
	return true;
}

uint32_t fake_device_context_id(uint32_t device)
{
	return device + 1;
}

void *fake_device_context_of(uint32_t device)
{
	return devices[device].has_context ? &devices[device] : NULL;
}

void *fake_device_context(void)
{
	return fake_device_context_of(current);
}

bool fake_device_of_context(const void *context, uint32_t *device)
{
	for (uint32_t i = 0; i < FAKE_DEVICES_MAX; i++)
		if (context == &devices[i] && devices[i].has_context) {
			*device = i;
			return true;
		}
	return false;
}

static void record_context(uint32_t device)
{
	struct cupti_context record = {
		.kind = CUPTI_KIND_CONTEXT,
		.context = fake_device_context_id(device),
		.device = device,
		.api = 1,
		.null_stream = FAKE_NULL_STREAM,
	};

	if (fake_cupti_wants(CUPTI_KIND_CONTEXT))
		fake_buffers_write(&record, sizeof(record));
}

static void tell_context(uint32_t device, uint32_t event)
{
	struct cupti_resource_event data = { .context = &devices[device] };

	fake_subscriber_tell(CUPTI_DOMAIN_RESOURCE, event, &data);
}

void fake_device_ensure(void)
{
	struct device *d = &devices[current];

	if (d->has_context || current >= fake_settings()->devices)
		return;
	pthread_mutex_lock(&lock);
	bool is_new = !d->has_context;
	if (is_new) {
		d->legacy = (struct cuda_stream){ .id = FAKE_NULL_STREAM, .device = current };
		d->has_context = true;
	}
	pthread_mutex_unlock(&lock);
	if (!is_new)
		return;
	tell_context(current, CUPTI_CONTEXT_CREATED);
	record_context(current);
}

void fake_device_reset(uint32_t device)
{
	if (!devices[device].has_context)
		return;
	tell_context(device, CUPTI_CONTEXT_DESTROY);
	fake_pc_context_ends(&devices[device]);
	devices[device].has_context = false;
}

static void record_device(uint32_t device)
{
	static char names[FAKE_DEVICES_MAX][32];
	struct cupti_device record = {
		.kind = CUPTI_KIND_DEVICE,
		.memory_kb_per_s = 3352000000,
		.memory_bytes = fake_settings()->memory_bytes,
		.constant_bytes = 65536,
		.l2_bytes = 50 << 20,
		.warp_threads = 32,
		.clock_khz = 1980000,
		.copy_engines = 3,
		.multiprocessors = 132,
		.max_ipc = 4,
		.max_warps = 64,
		.max_blocks = 32,
		.max_shared = 228 << 10,
		.max_registers = 65536,
		.block_registers = 65536,
		.block_shared = 48 << 10,
		.block_threads = 1024,
		.block_max = { 1024, 1024, 64 },
		.grid_max = { INT32_MAX, 65535, 65535 },
		.compute_major = 9,
		.id = device,
		.uuid = { 0xfa, 0x4e, (uint8_t)device },
		.name = names[device],
	};

	snprintf(names[device], sizeof(names[device]), "Fake GPU %u", device);
	fake_buffers_write(&record, sizeof(record));
}

void fake_device_tell_kind(uint32_t kind)
{
	for (uint32_t i = 0; i < fake_settings()->devices && i < FAKE_DEVICES_MAX; i++) {
		if (kind == CUPTI_KIND_DEVICE)
			record_device(i);
		else if (kind == CUPTI_KIND_CONTEXT && devices[i].has_context)
			record_context(i);
	}
}

void fake_device_properties(uint32_t device, struct cuda_properties *out)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "Fake GPU %u", device);
	out->memory_bytes = fake_settings()->memory_bytes;
	out->block_shared = 48 << 10;
	out->block_registers = 65536;
	out->warp_threads = 32;
	out->block_threads = 1024;
	out->block_max[0] = out->block_max[1] = 1024;
	out->block_max[2] = 64;
	out->grid_max[0] = INT32_MAX;
	out->grid_max[1] = out->grid_max[2] = 65535;
	out->constant_bytes = 65536;
	out->major = 9;
	out->multiprocessors = 132;
	out->concurrent_kernels = 1;
	out->copy_engines = 3;
	out->unified = 1;
	out->memory_bits = 5120;
	out->l2_bytes = 50 << 20;
	out->threads = 2048;
}

uint64_t fake_device_ready(uint32_t device)
{
	pthread_mutex_lock(&lock);
	uint64_t ready = devices[device].ready_ns;
	pthread_mutex_unlock(&lock);
	return ready;
}

static void record_stream(const struct cuda_stream *s)
{
	struct cupti_stream record = {
		.kind = CUPTI_KIND_STREAM,
		.context = fake_device_context_id(s->device),
		.stream = s->id,
		.flag = s->is_blocking ? 1 : 2,
	};

	if (fake_cupti_wants(CUPTI_KIND_STREAM))
		fake_buffers_write(&record, sizeof(record));
}

struct cuda_stream *fake_stream_new(bool is_blocking)
{
	struct cuda_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->device = current;
	s->is_blocking = is_blocking;
	pthread_mutex_lock(&lock);
	s->id = ++last_stream;
	s->next = streams;
	streams = s;
	pthread_mutex_unlock(&lock);
	record_stream(s);
	return s;
}

bool fake_stream_free(struct cuda_stream *stream)
{
	struct cuda_stream **at;

	pthread_mutex_lock(&lock);
	for (at = &streams; *at && *at != stream; at = &(*at)->next)
		;
	bool is_known = *at;
	if (is_known)
		*at = stream->next;
	pthread_mutex_unlock(&lock);
	if (is_known)
		free(stream);
	return is_known;
}

struct cuda_stream *fake_stream(cudaStream_t handle)
{
	struct cuda_stream *s;

	if (!handle || handle == CUDA_STREAM_LEGACY)
		return &devices[current].legacy;
	if (handle == CUDA_STREAM_PER_THREAD) {
		if (!own[current])
			own[current] = fake_stream_new(true);
		return own[current];
	}
	pthread_mutex_lock(&lock);
	for (s = streams; s && s != handle; s = s->next)
		;
	pthread_mutex_unlock(&lock);
	return s;
}

static void raise_to(uint64_t *value, uint64_t least)
{
	if (*value < least)
		*value = least;
}

struct fake_span fake_stream_run(struct cuda_stream *stream, uint64_t duration_ns,
                                 enum fake_engine engine)
{
	struct device *d = &devices[stream->device];
	uint64_t begin = clock_now_ns() + FAKE_LATENCY_NS;

	pthread_mutex_lock(&lock);
	raise_to(&begin, stream->ready_ns);
	if (stream == &d->legacy)
		raise_to(&begin, d->blocking_ready_ns);
	else if (stream->is_blocking)
		raise_to(&begin, d->legacy.ready_ns);
	if (engine != FAKE_COMPUTE)
		raise_to(&begin, d->engine_ns[engine]);
	struct fake_span span = { begin, begin + duration_ns };
	stream->ready_ns = d->engine_ns[engine] = span.end_ns;
	raise_to(&d->ready_ns, span.end_ns);
	if (stream->is_blocking)
		raise_to(&d->blocking_ready_ns, span.end_ns);
	pthread_mutex_unlock(&lock);
	return span;
}

uint64_t fake_stream_ready(struct cuda_stream *stream)
{
	pthread_mutex_lock(&lock);
	uint64_t ready = stream->ready_ns;
	pthread_mutex_unlock(&lock);
	return ready;
}

void fake_stream_wait_for(struct cuda_stream *stream, uint64_t ns)
{
	pthread_mutex_lock(&lock);
	raise_to(&stream->ready_ns, ns);
	if (stream->is_blocking)
		raise_to(&devices[stream->device].blocking_ready_ns, ns);
	pthread_mutex_unlock(&lock);
}
