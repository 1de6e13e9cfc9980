/* SPDX-License-Identifier: MIT */
/*
 * Injection libraries of the user's own, in front of which ours has been put:
 * the session has moved their paths to variables that only we read.
 */
#pragma once

#include "base/provider.h"

/*
 * The user's own library for PROVIDER, which has an injection library; NULL if there is none, or it
 * cannot be loaded, which is noted. Not for handlers.
 */
void *chain_open(enum op_provider provider);

/* Its function NAME; NULL if it has none, or that is OURS: we were put in front of ourselves. */
void *chain_find(void *library, const char *name, const void *ours);

/*
 * Held while a binary is initialized, of which there may be several, and their libraries' loading
 * may begin with another. A child of fork() does not wait for threads that it has not got.
 */
void chain_lock(void);
void chain_unlock(void);
