/* SPDX-License-Identifier: MIT */
/*
 * Which compilation unit an address belongs to: by .debug_aranges where a unit
 * is listed there, else by what its root entry says it covers.
 *
 * The file must outlive it. One thread at a time.
 */
#pragma once

#include "symbolize/dwarf/dwarf_file.h"

struct dwarf_units;

/* Ranges that start below LOWEST_CODE are of functions that the linker discarded. */
struct dwarf_units *dwarf_units_new(struct dwarf_file *file, uint64_t lowest_code,
                                    struct error *err);
void dwarf_units_free(struct dwarf_units *units);

CLEANUP(dwarf_units, struct dwarf_units *, dwarf_units_free)

/* NULL if no unit covers ADDRESS. */
struct unit *dwarf_units_find(const struct dwarf_units *units, uint64_t address);
