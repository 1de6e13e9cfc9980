// SPDX-License-Identifier: MIT
#include "tracer/agent/nvtx/nvtx_object.h"

#include "base/hash.h"
#include "tracer/agent/store.h"
#include "tracer/agent/table.h"

#include <string.h>

#define UNNAMED "(unnamed)"

enum kind {
	DOMAIN = 0x4e564458, // no address of ours begins so
	STRING = 0x4e565358
};

struct nvtx_domain nvtx_nameless = { .kind = DOMAIN, .owner = OP_OWNER(OP_NVTX, 0) };
AGENT_TABLE static struct table by_text, by_handle, categories;
static uint32_t domain_count; // atomic
static bool foreign;          // some handles are another library's

static uint64_t text_key(uint64_t salt, const char *text)
{
	return hash_pair(hash_bytes(text, strnlen(text, PROTOCOL_NAME_TEXT)), salt);
}

static bool is_called(const char *known, const char *text)
{
	return strncmp(known, text, PROTOCOL_NAME_TEXT) == 0;
}

struct nvtx_domain *nvtx_domain_create(const char *text)
{
	if (!text)
		return NULL;
	uint64_t key = text_key(DOMAIN, text);
	const struct nvtx_domain *known = table_get(&by_text, key);
	if (known && is_called(known->text, text))
		return (struct nvtx_domain *)known;
	struct nvtx_domain *d = store_take(sizeof(*d));
	if (!d)
		return NULL;
	d->kind = DOMAIN;
	d->owner = OP_OWNER(OP_NVTX, __atomic_add_fetch(&domain_count, 1, __ATOMIC_RELAXED));
	d->text = store_text(text, PROTOCOL_NAME_TEXT);
	if (!d->text)
		return NULL;
	table_put(&by_text, key, d);
	return d;
}

struct nvtx_string *nvtx_string_create(const struct nvtx_domain *domain, const char *text)
{
	if (!text)
		return NULL;
	uint64_t key = text_key((uintptr_t)domain, text);
	const struct nvtx_string *known = table_get(&by_text, key);
	if (known && known->domain == domain && is_called(known->text, text))
		return (struct nvtx_string *)known;
	struct nvtx_string *s = store_take(sizeof(*s));
	if (!s)
		return NULL;
	s->kind = STRING;
	s->domain = domain;
	s->text = store_text(text, PROTOCOL_NAME_TEXT);
	if (!s->text)
		return NULL;
	table_put(&by_text, key, s);
	return s;
}

void nvtx_object_call(const void *handle, const void *object)
{
	if (!handle || !object)
		return;
	table_put(&by_handle, (uintptr_t)handle, object);
	__atomic_store_n(&foreign, true, __ATOMIC_RELEASE);
}

// The object that HANDLE stands for, of which the first BYTES can be looked at; else NULL.
static const void *object_of(const void *handle, size_t bytes)
{
	const void *known = NULL;

	if (__builtin_expect(__atomic_load_n(&foreign, __ATOMIC_RELAXED), 0))
		known = table_get(&by_handle, (uintptr_t)handle);
	if (!known)
		known = handle;
	return known && store_holds(known, bytes) ? known : NULL;
}

struct nvtx_domain *nvtx_domain_of(const void *handle)
{
	const struct nvtx_domain *d = object_of(handle, sizeof(*d));

	return d && d->kind == DOMAIN ? (struct nvtx_domain *)d : &nvtx_nameless;
}

struct nvtx_string *nvtx_string_of(const void *handle)
{
	const struct nvtx_string *s = object_of(handle, sizeof(*s));

	return s && s->kind == STRING ? (struct nvtx_string *)s : NULL;
}

static bool is_named(const uint64_t *named, const struct op_thread *t, uint32_t *id)
{
	uint64_t known = __atomic_load_n(named, __ATOMIC_RELAXED);

	*id = (uint32_t)known;
	return known >> 32 == t->generation && *id;
}

static uint32_t keep_name(uint64_t *named, const struct op_thread *t, uint32_t id)
{
	__atomic_store_n(named, (uint64_t)t->generation << 32 | id, __ATOMIC_RELAXED);
	return id;
}

uint32_t nvtx_domain_name(struct op_thread *t, struct nvtx_domain *domain)
{
	uint32_t id;

	if (!domain->text || is_named(&domain->named, t, &id))
		return domain->text ? id : 0;
	return keep_name(&domain->named, t, op_name(t, OP_NVTX, 0, domain->text));
}

static uint64_t category_key(const struct nvtx_domain *domain, uint32_t number)
{
	return hash_pair(domain->owner, number) | 1;
}

void nvtx_category_create(const struct nvtx_domain *domain, uint32_t number, const char *text)
{
	const char *known = table_get(&categories, category_key(domain, number));

	if (!text || (known && is_called(known, text)))
		return;
	text = store_text(text, PROTOCOL_NAME_TEXT);
	if (text)
		table_put(&categories, category_key(domain, number), text);
}

// A category without a name is called by its number.
static uint32_t category_name(struct op_thread *t, const struct nvtx_domain *domain,
                              uint32_t domain_name, uint32_t number)
{
	const char *text = table_get(&categories, category_key(domain, number));
	char digits[12], *first = digits + sizeof(digits) - 1;

	if (text)
		return op_name(t, OP_NVTX, domain_name, text);
	*first = '\0';
	for (uint32_t rest = number; rest; rest /= 10)
		*--first = (char)('0' + rest % 10);
	return op_name(t, OP_NVTX, domain_name, first);
}

uint32_t nvtx_name(struct op_thread *t, struct nvtx_domain *domain, const char *text,
                   uint32_t category)
{
	struct name name = { .provider = OP_NVTX,
		             .domain = nvtx_domain_name(t, domain),
		             .text = text ? text : UNNAMED };
	uint32_t known = op_name_known(t, OP_NVTX, name.domain, name.text);

	if (__builtin_expect(known != 0, 1))
		return known;
	if (category)
		name.category = category_name(t, domain, name.domain, category);
	return op_name_in(t, &name);
}

uint32_t nvtx_string_name(struct op_thread *t, struct nvtx_domain *domain,
                          struct nvtx_string *string, uint32_t category)
{
	uint32_t id;

	if (string->domain != domain)
		return nvtx_name(t, domain, string->text, category);
	if (is_named(&string->named, t, &id))
		return id;
	return keep_name(&string->named, t, nvtx_name(t, domain, string->text, category));
}
