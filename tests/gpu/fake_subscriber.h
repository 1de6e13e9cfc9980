/* SPDX-License-Identifier: MIT */
/* Who is told of calls and events. Only what was enabled is told. Any thread. */
#pragma once

#include "tracer/agent/cupti/cupti_abi.h"

#include <stdbool.h>

bool fake_subscriber_wants(uint32_t domain, uint32_t id);

/* Calls the subscriber, if he wants it. DATA is a struct cupti_call, or cupti_resource_event. */
void fake_subscriber_tell(uint32_t domain, uint32_t id, const void *data);

/* As if there never had been one. */
void fake_subscriber_forget(void);

/* This thread is in the callback of a call. */
extern __thread bool fake_in_call;
