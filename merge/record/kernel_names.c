// SPDX-License-Identifier: MIT
#include "merge/record/kernel_names.h"

#include "base/array.h"
#include "base/op.h"
#include "symbolize/frame/demangle.h"

#include <stdlib.h>
#include <string.h>

void kernel_names_fini(struct kernel_names *k)
{
	demangler_free(k->demangler);
	free(k->readable);
	*k = (struct kernel_names){ 0 };
}

static uint32_t make(struct kernel_names *k, struct ops *ops, uint32_t id)
{
	const struct op *op = ops_get(ops, id);

	if (!op)
		return id;
	if (!k->demangler)
		k->demangler = demangler_new();
	const char *name =
		k->demangler ? demangler_name(k->demangler, op->name, strlen(op->name)) : NULL;
	if (!name || strcmp(name, op->name) == 0)
		return id;
	struct op wanted = {
		.provider = op->provider, .domain = op->domain, .category = "", .name = name
	};
	const struct op *added = ops_add(ops, &wanted);
	return added ? added->id : id;
}

uint32_t kernel_names_get(struct kernel_names *k, struct ops *ops, uint32_t op)
{
	if (!op || !array_reserve(&k->readable, &k->capacity, op))
		return op;
	for (; k->count < op; k->count++)
		k->readable[k->count] = 0;
	if (!k->readable[op - 1])
		k->readable[op - 1] = make(k, ops, op);
	return k->readable[op - 1];
}
