/* SPDX-License-Identifier: MIT */
/*
 * The index of a DWARF package (.dwp): which parts of its sections belong to a
 * split unit. Version 2 (GNU, DWARF 4) and version 5.
 */
#pragma once

#include "symbolize/dwarf/dwarf_file.h"

struct elf_file;

/* The sections of the unit DWO_ID, cut to its contributions. False if it is not there. */
bool dwp_index_find(struct elf_file *package, uint64_t dwo_id, struct dwarf_sections *sections);
