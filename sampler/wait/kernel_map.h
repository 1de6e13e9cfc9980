/* SPDX-License-Identifier: MIT */
/*
 * Why a thread waits, told from the kernel functions on its stack.
 *
 * The hundred thousand names in kallsyms are looked at where they are, one for
 * each address of a stack: to look at all of them took 5 ms, more than a short
 * program runs. What an address says is remembered.
 */
#pragma once

#include "base/cleanup.h"
#include "sampler/wait/wait.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct kallsyms;
struct kernel_map;

/* Loads NAMES, which must stay. NULL on error, also if the addresses in it are hidden. */
struct kernel_map *kernel_map_new(struct kallsyms *names, struct error *err);

/* The same from a file of its own. */
struct kernel_map *kernel_map_open(const char *path, struct error *err);
void kernel_map_free(struct kernel_map *m); /* NULL is fine */

CLEANUP(kernel_map, struct kernel_map *, kernel_map_free)

/* CHAIN: kernel addresses, innermost first, may be unaligned. */
struct wait kernel_map_wait(struct kernel_map *m, const uint64_t *chain, size_t count);
