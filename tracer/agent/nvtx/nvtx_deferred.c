// SPDX-License-Identifier: MIT
#include "tracer/agent/nvtx/nvtx_deferred.h"

#include "base/clock.h"
#include "base/hash.h"
#include "tracer/agent/nvtx/nvtx_hooks.h"
#include "tracer/agent/nvtx/nvtx_payload.h"
#include "tracer/agent/store.h"
#include "tracer/agent/table.h"

struct clock {
	uint64_t clock; // enum nvtx_clock
	int64_t frequency_hz;
};

AGENT_TABLE static struct table clocks; // by domain and id
static uint64_t last_clock_id;          // atomic

static uint64_t key_of(const struct nvtx_domain *domain, uint64_t id)
{
	return hash_pair(id, (uintptr_t)domain) | 1;
}

static void keep_clock(const struct nvtx_domain *domain, uint64_t id,
                       const struct nvtx_time_domain *d)
{
	struct clock *clock = store_take(sizeof(*clock));

	if (!clock)
		return;
	*clock = (struct clock){ d->clock, d->frequency_hz };
	table_put(&clocks, key_of(domain, id), clock);
}

// False if nobody knows how fast CLOCK ticks.
static bool to_ns(const struct op_thread *t, const struct clock *clock, uint64_t ticks,
                  uint64_t *ns)
{
	bool ours = clock->clock == NVTX_CLOCK_OURS &&
	            !NVTX_THEIRS(nvtx_function, payload[NVTX_TIMESTAMP_GET]);

	if (clock->frequency_hz > 0)
		*ns = (uint64_t)((double)ticks * 1e9 / (double)clock->frequency_hz);
	else if (clock->clock == NVTX_CLOCK_TSC && t->watch.scale)
		*ns = (uint64_t)((unsigned __int128)ticks * t->watch.scale >> 32);
	else if (ours ||
	         (clock->clock >= NVTX_CLOCK_GETTIME_FIRST &&
	          clock->clock <= NVTX_CLOCK_GETTIME_LAST) ||
	         (clock->clock >= NVTX_CLOCK_STEADY && clock->clock <= NVTX_CLOCK_SYSTEM))
		*ns = ticks;
	else
		return false;
	return true;
}

static bool take_ns(const struct op_thread *t, const struct nvtx_domain *domain,
                    const struct nvtx_times *times, uint64_t *ns)
{
	const struct clock *known = table_get(&clocks, key_of(domain, times->time_domain));
	const struct clock predefined = { times->time_domain, 0 };

	if (!times->has_begin || !times->has_end || times->end < times->begin)
		return false;
	return to_ns(t, known ? known : &predefined, (uint64_t)(times->end - times->begin), ns);
}

static void submit(struct op_thread *t, struct nvtx_domain *d, const struct nvtx_payload *payloads,
                   size_t count, struct op_here here)
{
	struct nvtx_event event;
	struct nvtx_times times;
	uint64_t ns;

	nvtx_event_clear(&event);
	nvtx_payload_read(&event, d, payloads, count);
	nvtx_payload_times(&times, d, payloads, count);
	uint32_t name = nvtx_event_name(t, d, &event);
	struct op_details details = { event.kind, (uint16_t)event.count, event.values };
	if (take_ns(t, d, &times, &ns))
		op_count(t, name, ns);
	else
		op_mark(t, name, here, event.count ? &details : NULL);
}

int64_t nvtx_timestamp_get(void)
{
	typedef int64_t get(void);
	get *forward = NVTX_THEIRS(get, payload[NVTX_TIMESTAMP_GET]);

	return forward ? forward() : (int64_t)clock_now_ns();
}

uint64_t nvtx_time_domain_register(const void *domain, const struct nvtx_time_domain *d)
{
	typedef uint64_t function(const void *domain, const struct nvtx_time_domain *d);
	function *forward = NVTX_THEIRS(function, payload[NVTX_TIME_DOMAIN_REGISTER]);
	uint64_t id = forward ? forward(domain, d) : 0;

	if (!d)
		return id;
	if (!forward)
		id = d->id ? d->id
		           : NVTX_SCHEMA_DYNAMIC_FIRST +
		                     __atomic_add_fetch(&last_clock_id, 1, __ATOMIC_RELAXED);
	keep_clock(nvtx_domain_of(domain), id, d);
	return id;
}

void nvtx_event_submit(const void *domain, const struct nvtx_payload *payloads, size_t count)
{
	typedef void function(const void *domain, const struct nvtx_payload *payloads,
	                      size_t count);
	function *forward = NVTX_THEIRS(function, payload[NVTX_EVENT_SUBMIT]);
	struct op_thread *t = payloads && count ? op_enter() : NULL;

	if (t) {
		submit(t, nvtx_domain_of(domain), payloads, count, OP_HERE());
		op_leave(t);
	}
	if (forward)
		forward(domain, payloads, count);
}

void nvtx_event_batch_submit(const void *domain, const struct nvtx_event_batch *batch)
{
	typedef void function(const void *domain, const struct nvtx_event_batch *batch);
	function *forward = NVTX_THEIRS(function, payload[NVTX_EVENT_BATCH_SUBMIT]);
	struct op_thread *t = batch && batch->events ? op_enter() : NULL;

	if (t) {
		struct nvtx_domain *d = nvtx_domain_of(domain);
		uint64_t stride = nvtx_payload_bytes(d, batch->schema);
		const char *events = batch->events;
		for (uint64_t at = 0; stride && stride <= batch->bytes - at; at += stride) {
			const struct nvtx_payload one = { batch->schema, stride, events + at };
			submit(t, d, &one, 1, OP_HERE());
		}
		op_leave(t);
	}
	if (forward)
		forward(domain, batch);
}
