/* SPDX-License-Identifier: MIT */
/*
 * Reads where a Go program has its goroutines, in a thread of its own: large programs take a few
 * hundred milliseconds, and samples have to be drained meanwhile.
 *
 * A reader owns its thread and its file. Its functions are for one thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "sampler/go/go_layout.h"

#include <stdbool.h>

struct go_reader;

/* Begins to read FD, which is the reader's from now on. NULL if that cannot be. */
struct go_reader *go_reader_new(int fd);
void go_reader_free(struct go_reader *r); /* waits for its end; NULL is fine */

CLEANUP(go_reader, struct go_reader *, go_reader_free)

/* False: it reads still. Otherwise *FOUND and *LAYOUT are as from go_layout_read(). */
bool go_reader_done(struct go_reader *r, enum go_found *found, struct go_layout *layout);
