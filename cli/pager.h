/* SPDX-License-Identifier: MIT */
/*
 * The user's pager, for output that is longer than a screen: PAGER, else less(1), which ends by
 * itself where all of it fits. One thread at a time.
 */
#pragma once

#include <stdio.h>

/* Where to print; NULL: to standard output itself, as it is no terminal, no pager is wanted (PAGER
   is empty or "cat"), or none could be started. Until pager_close() a Ctrl-C is the pager's. */
FILE *pager_open(void);

/* Waits until the user has left it. That they did so before the end is no error. */
void pager_close(FILE *pager);
