/* SPDX-License-Identifier: MIT */
/*
 * What the report's limits say of --trace: patterns that no function matched, and functions that
 * matched and are not traced.
 */
#pragma once

struct option_list;
struct traced;

/* Calls LINE with each line that is to be said of PATTERNS. */
void trace_notes(const struct traced *t, const struct option_list *patterns,
                 void (*line)(void *context, const char *text), void *context);
