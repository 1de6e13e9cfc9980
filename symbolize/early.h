/* SPDX-License-Identifier: MIT */
/*
 * Looks addresses up in a thread of its own, while the program still runs.
 *
 * What is found stays with the symbolizer, so that at the program's end only
 * addresses that nobody asked about are left. Nothing else comes of it: who
 * never asks, or asks too late, gets the same answers later.
 *
 * The symbolizer belongs to the thread up to early_finish(), which waits for
 * the module that is in work and drops the others. The functions are for one
 * thread at a time.
 */
#pragma once

#include "symbolize/symbolizer.h"

#include <stddef.h>

struct early;

/* Nothing is opened or started yet. NULL if there is no memory. */
struct early *early_new(const struct symbolizer_options *options, struct error *err);
void early_free(struct early *e); /* and its symbolizer. NULL is fine */

CLEANUP(early, struct early *, early_free)

/* Whether all that was asked has been looked up. */
bool early_is_idle(struct early *e);

/*
 * Asks about ADDRESSES (as for symbolizer_resolve(), copied) in MODULE, which must live as long
 * as the early. Only files and the vDSO have answers that hold: others are passed over.
 * False if there is no memory, or no thread.
 */
bool early_ask(struct early *e, const struct module *module, const uint64_t *addresses,
               size_t count);

/* Ends the thread. The symbolizer, which stays E's, is the caller's to use from now on. */
struct symbolizer *early_finish(struct early *e);
