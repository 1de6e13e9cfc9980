/* SPDX-License-Identifier: MIT */
/*
 * Functions that cannot return by way of us: they return twice, take their return address for
 * something else, or are called in ways of their own.
 */
#pragma once

#include <stdbool.h>

bool trace_is_special(const char *symbol);
