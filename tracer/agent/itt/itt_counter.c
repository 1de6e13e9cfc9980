// SPDX-License-Identifier: MIT
#include "tracer/agent/itt/itt_counter.h"

#include "base/hash.h"
#include "tracer/agent/store.h"
#include "tracer/agent/table.h"
#include "tracer/protocol.h"

#include <string.h>

AGENT_TABLE static struct table counters, counter_handles; // by domain and name; by handle
AGENT_TABLE static struct table events, event_handles;
static uint32_t event_count; // atomic

static uint64_t hash_text(const char *text)
{
	return text ? hash_bytes(text, strnlen(text, PROTOCOL_NAME_TEXT)) : 0;
}

static bool same(const char *known, const char *text)
{
	return known == text || (known && text && strncmp(known, text, PROTOCOL_NAME_TEXT) == 0);
}

struct itt_counter *itt_counter_called(const char *domain, const char *name, int type)
{
	uint64_t key = hash_pair(hash_text(name), hash_text(domain)) | 1;
	struct itt_counter *c = (struct itt_counter *)table_get(&counters, key);

	if (c && same(c->name, name) && same(c->domain, domain))
		return c;
	c = store_take(sizeof(*c));
	if (!c)
		return NULL;
	c->name = store_text(name, PROTOCOL_NAME_TEXT);
	c->domain = domain ? store_text(domain, PROTOCOL_NAME_TEXT) : NULL;
	c->type = type >= ITT_U64 && type <= ITT_DOUBLE ? type : ITT_U64;
	if (!c->name || !table_put(&counter_handles, (uintptr_t)c, c))
		return NULL;
	table_put(&counters, key, c);
	return c;
}

void itt_counter_alias(const void *handle, struct itt_counter *counter)
{
	if (handle)
		table_put(&counter_handles, (uintptr_t)handle, counter);
}

struct itt_counter *itt_counter_of(const void *handle)
{
	return handle ? (struct itt_counter *)table_get(&counter_handles, (uintptr_t)handle) : NULL;
}

uint64_t itt_counter_add(struct itt_counter *c, uint64_t delta)
{
	return __atomic_add_fetch(&c->value, delta, __ATOMIC_RELAXED);
}

int itt_event_called(const char *name)
{
	uint64_t key = hash_text(name) | 1;
	struct itt_event *e = (struct itt_event *)table_get(&events, key);

	if (e && same(e->name, name))
		return (int)e->number;
	e = store_take(sizeof(*e));
	if (!e || !(e->name = store_text(name, PROTOCOL_NAME_TEXT)))
		return 0;
	e->number = __atomic_add_fetch(&event_count, 1, __ATOMIC_RELAXED);
	table_put(&events, key, e);
	return table_put(&event_handles, e->number, e) ? (int)e->number : 0;
}

void itt_event_alias(int event, int number)
{
	const void *known = table_get(&event_handles, (uint64_t)number);

	// Their numbers are apart from ours, which nobody sees then.
	table_put(&event_handles, UINT64_C(1) << 32 | (uint32_t)event, known);
}

const struct itt_event *itt_event_of(int event)
{
	const void *theirs = table_get(&event_handles, UINT64_C(1) << 32 | (uint32_t)event);

	return theirs ? theirs : event ? table_get(&event_handles, (uint32_t)event) : NULL;
}
