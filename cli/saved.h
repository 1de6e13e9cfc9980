/* SPDX-License-Identifier: MIT */
/*
 * Profiles as the commands that show saved runs want them: read, and with names.
 */
#pragma once

#include <stdbool.h>

struct error;
struct profile;

/*
 * The profile in PATH; NULL: the last run's. A checkpoint of a run that did not end in order gets
 * its names now, with progress on stderr, DEBUGINFOD: from debuginfod servers, too. NULL on error.
 */
struct profile *saved_read(const char *path, bool debuginfod, struct error *err);
