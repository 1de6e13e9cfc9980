// SPDX-License-Identifier: MIT
/*
 * NVTX's counters: each value is a mark of the category OP_COUNTER.
 *
 * A sample is one number, or, of a group, several: each is a counter of its own, "GROUP.PART". Of
 * a batch the values count, not their times. Values that are differences are added up.
 */
#include "base/hash.h"
#include "tracer/agent/nvtx/nvtx_hooks.h"
#include "tracer/agent/nvtx/nvtx_payload.h"
#include "tracer/agent/store.h"
#include "tracer/agent/table.h"
#include "tracer/protocol.h"

#include <stdio.h>
#include <string.h>

#define UNNAMED "(unnamed)"

struct counter {
	struct nvtx_domain *domain;
	const char *name;
	uint64_t schema;
	bool delta;
	uint16_t kind;  // atomic: of VALUE, enum op_detail; OP_DETAIL_NONE: none yet
	uint64_t value; // atomic: of a sample of one number
};

AGENT_TABLE static struct table counters; // by domain and id
static uint64_t last_id;                  // atomic

static uint64_t key_of(const struct nvtx_domain *domain, uint64_t id)
{
	return hash_pair(id, (uintptr_t)domain) | 1;
}

static struct counter *find(const void *domain, uint64_t id)
{
	const struct nvtx_domain *d = nvtx_domain_of(domain);
	const struct counter *c = table_get(&counters, key_of(d, id));

	return c && c->domain == d ? (struct counter *)c : NULL;
}

static bool is_delta(const struct nvtx_semantics *s)
{
	for (; s; s = s->next) {
		const struct nvtx_semantics_counter *counter = (const void *)s;
		if (s->id == NVTX_SEMANTIC_COUNTER && s->size >= sizeof(*counter))
			return (counter->flags & NVTX_COUNTER_KIND) == NVTX_COUNTER_DELTA;
	}
	return false;
}

static void keep(struct nvtx_domain *d, uint64_t id, const struct nvtx_counter_attributes *a)
{
	struct counter *c = store_take(sizeof(*c));

	if (!c)
		return;
	c->domain = d;
	c->name = store_text(a->name ? a->name : UNNAMED, PROTOCOL_NAME_TEXT);
	c->schema = a->schema;
	c->delta = NVTX_HAS(a, semantics, struct nvtx_counter_attributes) && is_delta(a->semantics);
	if (c->name)
		table_put(&counters, key_of(d, id), c);
}

static double real_of(uint64_t bits)
{
	double real;

	memcpy(&real, &bits, sizeof(real));
	return real;
}

static uint64_t bits_of(double real)
{
	uint64_t bits;

	memcpy(&bits, &real, sizeof(bits));
	return bits;
}

// What C stands at once it has been told VALUE, of KIND.
static uint64_t change(struct counter *c, uint16_t kind, uint64_t value)
{
	uint64_t before = __atomic_load_n(&c->value, __ATOMIC_RELAXED), after;

	do
		after = !c->delta                  ? value
		        : kind == OP_DETAIL_DOUBLE ? bits_of(real_of(before) + real_of(value))
		                                   : before + value;
	while (!__atomic_compare_exchange_n(&c->value, &before, after, true, __ATOMIC_RELAXED,
	                                    __ATOMIC_RELAXED));
	__atomic_store_n(&c->kind, kind, __ATOMIC_RELAXED);
	return after;
}

static void mark(struct op_thread *t, const struct counter *c, const char *text, uint16_t kind,
                 uint64_t value, struct op_here here)
{
	const struct op_details details = { kind, 1, &value };
	const struct name name = { .provider = OP_NVTX,
		                   .domain = nvtx_domain_name(t, c->domain),
		                   .category = op_name(t, OP_NVTX, 0, OP_COUNTER),
		                   .text = text };

	op_mark(t, op_name_in(t, &name), here, &details);
}

static void tell(struct counter *c, uint16_t kind, uint64_t value, struct op_here here)
{
	struct op_thread *t = c ? op_enter() : NULL;

	if (!t)
		return;
	mark(t, c, c->name, kind, change(c, kind, value), here);
	op_leave(t);
}

static void mark_part(struct op_thread *t, const struct counter *c, const struct nvtx_event *event,
                      uint32_t index, struct op_here here)
{
	const char *part = nvtx_payload_part(c->domain, c->schema, index, event->count);
	char text[PROTOCOL_NAME_TEXT + 1];

	if (part)
		snprintf(text, sizeof(text), "%s.%s", c->name, part);
	else
		snprintf(text, sizeof(text), "%s.%u", c->name, index + 1);
	mark(t, c, text, event->kind, event->values[index], here);
}

// A sample of BYTES at DATA, as C's schema says.
static void read_sample(struct op_thread *t, struct counter *c, const void *data, size_t bytes,
                        struct op_here here)
{
	const struct nvtx_payload sample = { c->schema, bytes, data };
	struct nvtx_event event;

	if (bytes < nvtx_payload_bytes(c->domain, c->schema))
		return; // it is cut: which numbers are there?
	nvtx_event_clear(&event);
	nvtx_payload_read(&event, c->domain, &sample, 1);
	if (event.count == 1)
		mark(t, c, c->name, event.kind, change(c, event.kind, event.values[0]), here);
	for (uint32_t i = 0; event.count > 1 && i < event.count; i++)
		mark_part(t, c, &event, i, here);
}

static uint64_t hook_register(const void *domain, const struct nvtx_counter_attributes *a)
{
	typedef uint64_t function(const void *domain, const struct nvtx_counter_attributes *a);
	function *forward = NVTX_THEIRS(function, counters[NVTX_COUNTER_REGISTER]);
	uint64_t id = forward ? forward(domain, a) : 0;

	if (!a || !NVTX_HAS(a, name, struct nvtx_counter_attributes))
		return id;
	if (!forward && NVTX_HAS(a, id, struct nvtx_counter_attributes))
		id = a->id;
	if (!id)
		id = NVTX_SCHEMA_DYNAMIC_FIRST + __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	keep(nvtx_domain_of(domain), id, a);
	return id;
}

static void hook_int64(const void *domain, uint64_t id, int64_t value)
{
	typedef void function(const void *domain, uint64_t id, int64_t value);
	function *forward = NVTX_THEIRS(function, counters[NVTX_COUNTER_INT64]);

	tell(find(domain, id), OP_DETAIL_SIGNED, (uint64_t)value, OP_HERE());
	if (forward)
		forward(domain, id, value);
}

static void hook_float64(const void *domain, uint64_t id, double value)
{
	typedef void function(const void *domain, uint64_t id, double value);
	function *forward = NVTX_THEIRS(function, counters[NVTX_COUNTER_FLOAT64]);

	tell(find(domain, id), OP_DETAIL_DOUBLE, bits_of(value), OP_HERE());
	if (forward)
		forward(domain, id, value);
}

static void hook_sample(const void *domain, uint64_t id, const void *data, size_t bytes)
{
	typedef void function(const void *domain, uint64_t id, const void *data, size_t bytes);
	function *forward = NVTX_THEIRS(function, counters[NVTX_COUNTER_SAMPLE]);
	struct counter *c = data ? find(domain, id) : NULL;
	struct op_thread *t = c ? op_enter() : NULL;

	if (t) {
		read_sample(t, c, data, bytes, OP_HERE());
		op_leave(t);
	}
	if (forward)
		forward(domain, id, data, bytes);
}

static void hook_no_value(const void *domain, uint64_t id, uint8_t reason)
{
	typedef void function(const void *domain, uint64_t id, uint8_t reason);
	function *forward = NVTX_THEIRS(function, counters[NVTX_COUNTER_NO_VALUE]);
	struct counter *c = find(domain, id);
	uint16_t kind = c ? __atomic_load_n(&c->kind, __ATOMIC_RELAXED) : OP_DETAIL_NONE;
	uint64_t stands = c && !c->delta ? __atomic_load_n(&c->value, __ATOMIC_RELAXED) : 0;

	// A double that is 0 has no bits set, either.
	if (reason == NVTX_NO_VALUE_ZERO)
		tell(c, kind ? kind : OP_DETAIL_SIGNED, 0, OP_HERE());
	else if (reason == NVTX_NO_VALUE_UNCHANGED && kind)
		tell(c, kind, stands, OP_HERE());
	if (forward)
		forward(domain, id, reason);
}

static void hook_batch(const void *domain, const struct nvtx_counter_batch *batch)
{
	typedef void function(const void *domain, const struct nvtx_counter_batch *batch);
	function *forward = NVTX_THEIRS(function, counters[NVTX_COUNTER_BATCH]);
	struct counter *c = batch && batch->samples ? find(domain, batch->counter) : NULL;
	uint64_t stride = c ? nvtx_payload_bytes(c->domain, c->schema) : 0;
	struct op_thread *t = stride ? op_enter() : NULL;

	if (t) {
		const char *samples = batch->samples;
		for (uint64_t at = 0; stride <= batch->bytes - at; at += stride)
			read_sample(t, c, samples + at, stride, OP_HERE());
		op_leave(t);
	}
	if (forward)
		forward(domain, batch);
}

#define HOOK(function) ((nvtx_function *)(function))

nvtx_function *const nvtx_counter_hooks[NVTX_EXTENSION_SLOTS] = {
	[NVTX_COUNTER_REGISTER] = HOOK(hook_register), [NVTX_COUNTER_INT64] = HOOK(hook_int64),
	[NVTX_COUNTER_FLOAT64] = HOOK(hook_float64),   [NVTX_COUNTER_SAMPLE] = HOOK(hook_sample),
	[NVTX_COUNTER_NO_VALUE] = HOOK(hook_no_value), [NVTX_COUNTER_BATCH] = HOOK(hook_batch),
};
