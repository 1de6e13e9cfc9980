// SPDX-License-Identifier: MIT
#include "tracer/agent/itt/itt_object.h"

#include "base/hash.h"
#include "tracer/agent/itt/itt_hooks.h"
#include "tracer/agent/store.h"
#include "tracer/agent/table.h"
#include "tracer/protocol.h"

#include <stdbool.h>
#include <string.h>

AGENT_TABLE static struct table domains; // by address
AGENT_TABLE static struct table texts;   // domains and strings, by what they are called
static uint32_t domain_count;            // atomic

struct itt_owner itt_nameless = { .owner = OP_OWNER(OP_ITT, 0) };

enum made { // of what is in `texts`
	DOMAIN,
	ITT_DOMAIN,
	ITT_STRING
};

static uint64_t text_key(enum made kind, const char *text)
{
	return hash_pair(hash_bytes(text, strnlen(text, PROTOCOL_NAME_TEXT)), kind + 1) | 1;
}

static bool is_called(const char *known, const char *text)
{
	return known && strncmp(known, text, PROTOCOL_NAME_TEXT) == 0;
}

struct itt_owner *itt_owner_called(const char *text)
{
	const struct itt_owner *known = table_get(&texts, text_key(DOMAIN, text));

	if (known && is_called(known->text, text))
		return (struct itt_owner *)known;
	struct itt_owner *d = store_take(sizeof(*d));
	if (!d || !(d->text = store_text(text, PROTOCOL_NAME_TEXT)))
		return &itt_nameless;
	d->owner = OP_OWNER(OP_ITT, __atomic_add_fetch(&domain_count, 1, __ATOMIC_RELAXED));
	table_put(&texts, text_key(DOMAIN, text), d);
	return d;
}

// A library that is unloaded frees its domains, and others may come to lie there.
struct itt_owner *itt_owner_known(const struct itt_domain *d)
{
	if (!d || !d->name)
		return &itt_nameless;
	const struct itt_owner *known = table_get(&domains, (uintptr_t)d);
	if (known && is_called(known->text, d->name))
		return (struct itt_owner *)known;
	known = itt_owner_called(d->name);
	table_put(&domains, (uintptr_t)d, known);
	return (struct itt_owner *)known;
}

static uint32_t domain_name(struct op_thread *t, struct itt_owner *d)
{
	uint64_t known = __atomic_load_n(&d->named, __ATOMIC_RELAXED);

	if (!d->text)
		return 0;
	if (known >> 32 == t->generation && (uint32_t)known)
		return (uint32_t)known;
	uint32_t id = op_name(t, OP_ITT, 0, d->text);
	__atomic_store_n(&d->named, (uint64_t)t->generation << 32 | id, __ATOMIC_RELAXED);
	return id;
}

uint32_t itt_name(struct op_thread *t, struct itt_owner *d, const char *text)
{
	return op_name(t, OP_ITT, domain_name(t, d), text ? text : ITT_UNNAMED);
}

uint32_t itt_name_of_kind(struct op_thread *t, struct itt_owner *d, const char *text,
                          const char *kind)
{
	struct name name = { .provider = OP_ITT,
		             .domain = domain_name(t, d),
		             .category = op_name(t, OP_ITT, 0, kind),
		             .text = text ? text : ITT_UNNAMED };

	return op_name_in(t, &name);
}

uint32_t itt_name_string_anew(struct op_thread *t, struct itt_owner *d, const struct itt_string *s)
{
	uint32_t id = itt_name(t, d, itt_text(s));

	if (s && s->reserved == ITT_MADE)
		__atomic_store_n(&((struct itt_made_string *)s)->named, itt_pack(t, d, id),
		                 __ATOMIC_RELAXED);
	return id;
}

size_t itt_append(char *to, size_t at, const char *text, size_t length)
{
	size_t room = ITT_TEXT_MAX - 1 - at;

	memcpy(to + at, text, length < room ? length : room);
	return at + (length < room ? length : room);
}

/*
 * Domains and strings. Most programs could make them themselves; some of 2018 get one domain
 * without a name for all if the collector does not.
 */

typedef struct itt_domain *domain_create(const char *name);
static struct itt_domain *hook_domain_create(const char *name)
{
	domain_create *forward = ITT_THEIRS(domain_create, DOMAIN_CREATE);

	if (forward || !name)
		return forward ? forward(name) : NULL;
	const struct itt_domain *known = table_get(&texts, text_key(ITT_DOMAIN, name));
	if (known && is_called(known->name, name))
		return (struct itt_domain *)known;
	struct itt_domain *d = store_take(sizeof(*d));
	if (!d || !(d->name = store_text(name, PROTOCOL_NAME_TEXT)))
		return NULL;
	d->flags = 1;
	d->reserved_pointer = itt_owner_called(name);
	d->reserved = ITT_MADE;
	table_put(&texts, text_key(ITT_DOMAIN, name), d);
	return d;
}

typedef struct itt_string *string_create(const char *text);
static struct itt_string *hook_string_create(const char *text)
{
	string_create *forward = ITT_THEIRS(string_create, STRING_CREATE);

	if (forward || !text)
		return forward ? forward(text) : NULL;
	const struct itt_string *known = table_get(&texts, text_key(ITT_STRING, text));
	if (known && is_called(known->text, text))
		return (struct itt_string *)known;
	struct itt_made_string *made = store_take(sizeof(*made));
	if (!made || !(made->seen.text = store_text(text, PROTOCOL_NAME_TEXT)))
		return NULL;
	made->seen.reserved = ITT_MADE;
	table_put(&texts, text_key(ITT_STRING, text), made);
	return &made->seen;
}

const struct itt_hook itt_object_hooks[] = {
	ITT_HOOK(DOMAIN_CREATE, "__itt_domain_create", hook_domain_create),
	ITT_HOOK(STRING_CREATE, "__itt_string_handle_create", hook_string_create),
	{ 0 },
};
