/* SPDX-License-Identifier: MIT */
/*
 * Why a thread waits, told from the kernel functions on its stack.
 *
 * Of the hundred thousand names in kallsyms only those that say something
 * about waiting are kept (sampler/wait/wait.h), some hundreds.
 */
#pragma once

#include "base/cleanup.h"
#include "sampler/wait/wait.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct kallsyms;
struct kernel_map;

/* Loads NAMES. NULL on error, also if the addresses in it are hidden. */
struct kernel_map *kernel_map_new(struct kallsyms *names, struct error *err);

/* The same from a file of its own. */
struct kernel_map *kernel_map_open(const char *path, struct error *err);
void kernel_map_free(struct kernel_map *m); /* NULL is fine */

CLEANUP(kernel_map, struct kernel_map *, kernel_map_free)

/* CHAIN: kernel addresses, innermost first, may be unaligned. */
struct wait kernel_map_wait(const struct kernel_map *m, const uint64_t *chain, size_t count);

/* How many ranges of addresses are known. */
size_t kernel_map_count(const struct kernel_map *m);
