/* SPDX-License-Identifier: MIT */
/*
 * Whether a unit was compiled without optimization: as its compiler says, or as the places of its
 * variables show. Functions without state; one thread at a time for each file.
 */
#pragma once

#include "symbolize/dwarf/dwarf_file.h"

/* PRODUCER is what the compiler of UNIT says of itself and its options; it may be NULL. */
bool optimization_is_off(const struct unit *unit, const char *producer);

/* Whether PRODUCER says -O0. */
bool producer_is_unoptimized(const char *producer);
