// SPDX-License-Identifier: MIT
#include "tests/gpu/fake_functions.h"

#include "tracer/agent/cupti/cupti_abi.h"

#include <stddef.h>

struct name {
	const char *plain, *full;
};

#define NAMED(name, id, suffix) [id] = { #name, #name suffix },
static const struct name runtime[FAKE_RUNTIME_IDS] = { FAKE_RUNTIME_FUNCTIONS(NAMED) };
static const struct name driver[FAKE_DRIVER_IDS] = { FAKE_DRIVER_FUNCTIONS(NAMED) };

static const struct name *find(uint32_t domain, uint32_t id)
{
	static const struct name invalid = { "INVALID", "INVALID" };
	static const struct name unnamed = { FAKE_UNNAMED, FAKE_UNNAMED };
	const struct name *n = NULL;

	if (domain == CUPTI_DOMAIN_RUNTIME && id < FAKE_RUNTIME_IDS)
		n = &runtime[id];
	else if (domain == CUPTI_DOMAIN_DRIVER && id < FAKE_DRIVER_IDS)
		n = &driver[id];
	if (n && !id)
		return &invalid;
	return n && !n->full ? &unnamed : n;
}

const char *fake_function_name(uint32_t domain, uint32_t id)
{
	const struct name *n = find(domain, id);

	return n ? n->full : NULL;
}

const char *fake_function_plain_name(uint32_t domain, uint32_t id)
{
	const struct name *n = find(domain, id);

	return n ? n->plain : NULL;
}
