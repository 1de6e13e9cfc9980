/* SPDX-License-Identifier: MIT */
/*
 * Where the last run is kept: $XDG_STATE_HOME/bottleneck/last.bneck, or below
 * ~/.local/state. The directory is ours alone (0700), for a profile tells what
 * ran and where.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

/*
 * Whether the environment names another user's directory, which root does not use: then it is the
 * same below root's own home.
 */
bool state_is_moved(void);

/* Writes the path into BUFFER; makes nothing. -1 if the environment names no home. */
int state_path(char *buffer, size_t size, struct error *err);

/* The same, and the directory is there and can be written to. */
int state_prepare(char *buffer, size_t size, struct error *err);

/* Where the kernel's list of functions is kept beside it (base/kallsyms_cache.h). */
int state_kallsyms(char *buffer, size_t size, struct error *err);

/* The file beside it for what recording costs (merge/record/prices.h). */
int state_prices(char *buffer, size_t size, struct error *err);

/* The directory beside it for names of functions of libraries (symbolize/names_cache.h). */
int state_names(char *buffer, size_t size, struct error *err);

/*
 * Whether a file can be put at PATH: its directory can be written to, and what
 * is there now, if anything, is a file that can be replaced. 0, else -1.
 */
int state_check_output(const char *path, struct error *err);
