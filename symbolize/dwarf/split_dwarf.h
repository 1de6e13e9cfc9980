/* SPDX-License-Identifier: MIT */
/*
 * Split DWARF: the units that the compiler put into .dwo files, or that dwp
 * gathered from them into one .dwp beside the program.
 *
 * Files that were opened stay open until it is freed, and so do the units in them. One thread at a
 * time.
 */
#pragma once

#include "symbolize/dwarf/dwarf_file.h"

struct split_dwarf;

/*
 * ROOT, "" or "/proc/PID/root", goes before every path; DWP_BASE is the path of
 * the program (without ROOT), MAIN the file with the skeletons, which must
 * outlive this. NULL if there is no memory.
 */
struct split_dwarf *split_dwarf_new(struct dwarf_file *main, const char *root,
                                    const char *dwp_base);
void split_dwarf_free(struct split_dwarf *split);

CLEANUP(split_dwarf, struct split_dwarf *, split_dwarf_free)

/* True if UNIT, which is prepared, is a skeleton: its entries are elsewhere. */
bool split_dwarf_is_skeleton(const struct unit *unit);

/* The unit that SKELETON stands for; NULL if it is not found. Opened once. */
struct unit *split_dwarf_find(struct split_dwarf *split, const struct unit *skeleton);

/* What could not be found, "" if nothing. */
const char *split_dwarf_trouble(const struct split_dwarf *split);
