/* SPDX-License-Identifier: MIT */
/*
 * Reads what callgrind has written (the format is Valgrind's manual, "Callgrind Format
 * Specification"): lines of costs, by function, file and line, and what calls have cost.
 *
 * Of several events the one called Ir counts, else the first. Jumps are left out.
 */
#pragma once

#include "base/bytes.h"

struct counts;
struct error;
struct strings;

/*
 * Adds what TEXT has counted to COUNTS, with names in STRINGS. -1 if it is not that format, or
 * ends within its header; ERR says in which line. What stood before that line was added.
 */
int callgrind_read(struct bytes text, struct counts *counts, struct strings *strings,
                   struct error *err);
