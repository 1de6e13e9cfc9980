/* SPDX-License-Identifier: MIT */
/*
 * Debug files from the servers that DEBUGINFOD_URLS names, through elfutils'
 * libdebuginfod, which is loaded only if it is asked for.
 *
 * The context of its progress must outlive it. One thread at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/cleanup.h"

struct debuginfod;
struct error;

/* PROGRESS may be NULL. NULL with ERR and a hint if there is no library or no server. */
struct debuginfod *debuginfod_new(void (*progress)(void *context, const char *what), void *context,
                                  struct error *err);
void debuginfod_free(struct debuginfod *d);

CLEANUP(debuginfod, struct debuginfod *, debuginfod_free)

/*
 * A descriptor, to be closed, of the debug file of BUILD_ID. Waits no longer than
 * a fixed time for it, and for all files together. -1 with ERR.
 */
int debuginfod_fetch(struct debuginfod *d, struct bytes build_id, const char *module,
                     struct error *err);
