/* SPDX-License-Identifier: MIT */
/*
 * What the collector asks of the agent: "hz=999,stack=32768".
 *
 * Unknown words are skipped, so that an older agent runs under a newer
 * collector; values out of range are clamped.
 */
#pragma once

#include <stdint.h>

#define CONFIG_STACK_MAX 65528

struct config {
	uint32_t frequency_hz;
	uint32_t stack_bytes; /* a multiple of 8 */
};

/* TEXT may be NULL: then everything has its default. */
struct config config_parse(const char *text);
