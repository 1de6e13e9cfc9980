/* SPDX-License-Identifier: MIT */
/*
 * From the agents' own samples, and what they report of Python, to events.
 *
 * RECORD must be sound (tracer/reader/reader.h); events borrow from it.
 */
#pragma once

#include "base/record.h"
#include "sampler/event/event.h"

/* A RECORD_SAMPLE with registers and stack. */
struct event_sample agent_sample(const struct record_sample *sample);

/* A RECORD_PYTHON or RECORD_PYTHON_…: fills what the type has in EVENT. False if it is neither. */
bool agent_python_take(const struct record *record, struct event *event);
