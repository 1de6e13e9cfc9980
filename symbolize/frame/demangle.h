/* SPDX-License-Identifier: MIT */
/*
 * Names as people wrote them: C++, Rust (legacy and v0) and Go, each name once.
 *
 * By libiberty. A name that would be longer than 32 KB readable stays as it is. One thread at a
 * time.
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>

struct demangler;

struct demangler *demangler_new(void); /* NULL if there is no memory */
void demangler_free(struct demangler *d);

CLEANUP(demangler, struct demangler *, demangler_free)

/*
 * The readable form of NAME, or NAME itself if it is not mangled; lives as long
 * as the demangler. NULL if there is no memory.
 */
const char *demangler_name(struct demangler *d, const char *name, size_t length);
