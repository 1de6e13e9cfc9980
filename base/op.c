// SPDX-License-Identifier: MIT
#include "base/op.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/strings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct ops {
	struct strings *texts;
	struct op **ops; // each on its own, so that it never moves
	size_t count, capacity;
	struct hash index;
};

const char *op_provider_name(enum op_provider provider)
{
	const struct provider *p = provider_get(provider);

	return p ? p->name : "unknown";
}

const char *op_domain(const struct op *op)
{
	return *op->domain ? op->domain : op_provider_name(op->provider);
}

bool op_is_counter(const struct op *op)
{
	return strcmp(op->category, OP_COUNTER) == 0;
}

// "tally.sh:11 (count)"
int op_line(const struct op *op)
{
	const char *colon = op->provider == OP_SHELL ? strchr(op->name, ':') : NULL;
	long line = colon ? strtol(colon + 1, NULL, 10) : 0;

	return line > 0 && line <= INT_MAX ? (int)line : 0;
}

bool op_is_step(const struct op *op)
{
	return op->provider == OP_API && strcmp(op->name, OP_API_STEP) == 0;
}

bool op_communicates(const struct op *op)
{
	static const char *const distributed[] = { "c10d::", "nccl:", "gloo:", "mpi:", "ucc:" };

	if (op->provider == OP_MPI)
		return true;
	for (size_t i = 0; i < sizeof(distributed) / sizeof(distributed[0]); i++)
		if (op->provider == OP_TORCH &&
		    strncmp(op->name, distributed[i], strlen(distributed[i])) == 0)
			return true;
	return false;
}

bool op_is_label(const struct op *op)
{
	static const char *const torch[] = { "ProfilerStep", "Optimizer.step#",
		                             "enumerate(DataLoader)" };

	if (op->provider == OP_TORCH) {
		for (size_t i = 0; i < sizeof(torch) / sizeof(torch[0]); i++)
			if (strncmp(op->name, torch[i], strlen(torch[i])) == 0)
				return true;
		// Ops have a namespace; so do the engine's own functions.
		return !strstr(op->name, "::") && !strstr(op->name, "Backward");
	}
	const struct provider *provider = provider_get(op->provider);

	return provider && provider->is_label;
}

struct ops *ops_new(void)
{
	struct ops *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->texts = strings_new();
	if (!o->texts || !hash_init(&o->index, 64)) {
		ops_free(o);
		return NULL;
	}
	return o;
}

void ops_free(struct ops *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->count; i++)
		free(o->ops[i]);
	free(o->ops);
	hash_fini(&o->index);
	strings_free(o->texts);
	free(o);
}

static uint64_t hash_of(const struct op *op)
{
	uint64_t name = hash_bytes(op->name, strlen(op->name));

	return hash_pair(name, hash_bytes(op->domain, strlen(op->domain)) + op->provider);
}

static bool same(const struct op *a, const struct op *b)
{
	return a->provider == b->provider && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->domain, b->domain) == 0;
}

static const char *keep(struct ops *o, const char *text)
{
	return strings_get(o->texts, strings_add(o->texts, text));
}

static struct op *append(struct ops *o, const struct op *wanted)
{
	cleanup_free struct op *op = malloc(sizeof(*op));

	if (!op || !array_reserve(&o->ops, &o->capacity, o->count + 1))
		return NULL;
	*op = (struct op){
		.id = (uint32_t)o->count + 1,
		.provider = wanted->provider,
		.domain = keep(o, wanted->domain),
		.category = keep(o, wanted->category),
		.name = keep(o, wanted->name),
	};
	op->domain_id = op->domain ? strings_add(o->texts, op_domain(op)) : 0;
	if (!op->domain_id || !op->category || !op->name)
		return NULL;
	o->ops[o->count++] = op;
	return steal(op);
}

const struct op *ops_add(struct ops *o, const struct op *wanted)
{
	if (!hash_make_room(&o->index))
		return NULL;

	uint32_t at;
	for (at = hash_start(&o->index, hash_of(wanted)); o->index.slots[at];
	     at = hash_next(&o->index, at)) {
		const struct op *known = o->ops[o->index.slots[at] - 1];
		if (same(known, wanted))
			return known;
	}
	const struct op *op = append(o, wanted);
	if (op)
		hash_insert(&o->index, at, hash_of(wanted), op->id);
	return op;
}

const struct op *ops_get(const struct ops *o, uint32_t id)
{
	return id && id <= o->count ? o->ops[id - 1] : NULL;
}

uint32_t ops_count(const struct ops *o)
{
	return (uint32_t)o->count;
}
