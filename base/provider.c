// SPDX-License-Identifier: MIT
#include "base/provider.h"

#include <string.h>

#define PROVIDER(which, number, its_name, ...)                                                     \
	{ .id = OP_##which, .name = #its_name, .hooks_of = OP_##which, __VA_ARGS__ },
#define PROVIDER_WITHIN(which, number, its_name, owner, ...)                                       \
	{ .id = OP_##which, .name = #its_name, .hooks_of = (owner), __VA_ARGS__ },
#define PROVIDER_OF_MEMORY(which, its_name, ...)                                                   \
	{ .id = OP_##which, .name = #its_name, .hooks_of = OP_##which, __VA_ARGS__ },

const struct provider providers[] = {
#include "base/providers.def"
};

const size_t provider_count = sizeof(providers) / sizeof(providers[0]);

#define PROVIDER(id, number, name, ...)                                                            \
	_Static_assert(OP_##id > 0 && OP_##id < OP_PROVIDERS, "numbers are dense");
#include "base/providers.def"

enum place {
	NO_PLACE,
#define PROVIDER(id, number, name, ...)   PLACE_##id,
#define PROVIDER_OF_MEMORY(id, name, ...) PLACE_##id,
#include "base/providers.def"
};

static const uint8_t places[OP_PROVIDERS_ALL] = {
#define PROVIDER(id, number, name, ...)   [OP_##id] = PLACE_##id,
#define PROVIDER_OF_MEMORY(id, name, ...) [OP_##id] = PLACE_##id,
#include "base/providers.def"
};

const struct provider *provider_get(enum op_provider id)
{
	return (unsigned)id < OP_PROVIDERS_ALL && places[id] ? &providers[places[id] - 1] : NULL;
}

const struct provider *provider_called(const char *name)
{
	for (size_t i = 0; i < provider_count; i++)
		if (strcmp(providers[i].name, name) == 0)
			return &providers[i];
	return NULL;
}

const struct provider *provider_switch(const struct provider *p)
{
	const struct provider *with = p->switched_with ? provider_get(p->switched_with) : p;

	return with && with->option ? with : NULL;
}
