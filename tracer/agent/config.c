// SPDX-License-Identifier: MIT
#include "tracer/agent/config.h"

#include "base/clock.h"
#include "tracer/protocol.h"

#include <stddef.h>
#include <string.h>

#define DIGITS_LIMIT UINT64_C(1000000000)

// The number behind KEY in TEXT, or FALLBACK; strtoul() would change errno and follow the locale.
static uint64_t number(const char *text, const char *key, uint64_t fallback)
{
	size_t length = strlen(key);

	for (const char *word = text; word;
	     word = strchr(word, ','), word = word ? word + 1 : NULL) {
		if (strncmp(word, key, length) != 0)
			continue;
		uint64_t value = 0;
		const char *digit = word + length;
		for (; *digit >= '0' && *digit <= '9' && value < DIGITS_LIMIT; digit++)
			value = value * 10 + (uint64_t)(*digit - '0');
		return digit > word + length ? value : fallback;
	}
	return fallback;
}

static uint32_t clamp(uint64_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : (uint32_t)value;
}

struct config config_parse(const char *text)
{
	return (struct config){
		.frequency_hz = clamp(number(text, "hz=", 999), 0, 100000),
		.stack_bytes = clamp(number(text, "stack=", 32768), 256, CONFIG_STACK_MAX) & ~7u,
		.kernel_only = number(text, "kernel=", 0) != 0,
		.python_hz = clamp(number(text, "python=", 0), 0, 100000),
		.ops = clamp(number(text, "ops=", 0), 0, UINT32_MAX),
		.ops_allowed = clamp(number(text, "opshare=", 0), 0, 1000000),
		.count_calls = number(text, "calls=", 0) != 0,
		.waits = number(text, "waits=", 0) != 0,
		.malloc_allowed = clamp(number(text, "mallocshare=", 0), 0, 1000000),
		.malloc_bytes = clamp(number(text, "malloc=", 0), 0, 1u << 30),
		.gpu = clamp(number(text, "gpu=", 0), 0, UINT32_MAX),
		.launches = clamp(number(text, "launches=", PROTOCOL_LAUNCHES_SAMPLED),
		                  PROTOCOL_LAUNCHES_OFF, PROTOCOL_LAUNCHES_ALL),
		.filters = clamp(number(text, "filters=", UINT32_MAX), 0, UINT32_MAX),
		.pid_namespace = clamp(number(text, "pidns=", 0), 0, UINT32_MAX),
		.collector = clamp(number(text, "collector=", 0), 0, INT32_MAX),
		.zero_ns = number(text, "zero=", 0) * NS_PER_SEC + number(text, "zerons=", 0),
	};
}
