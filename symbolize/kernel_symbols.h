/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own list of its functions and those of its modules.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct kernel_symbols;

/* Reads PATH, /proc/kallsyms or a file like it. NULL with ERR. */
struct kernel_symbols *kernel_symbols_new(const char *path, struct error *err);
void kernel_symbols_free(struct kernel_symbols *k);

CLEANUP(kernel_symbols, struct kernel_symbols *, kernel_symbols_free)

/* True if the kernel has shown names only: all addresses are zero. */
bool kernel_symbols_are_hidden(const struct kernel_symbols *k);

/* "tcp_sendmsg" or "ext4_readdir [ext4]"; NULL if unknown. Lives as long as K. */
const char *kernel_symbols_find(const struct kernel_symbols *k, uint64_t address);
