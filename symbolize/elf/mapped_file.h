/* SPDX-License-Identifier: MIT */
/*
 * The file that a module was mapped from, and no other that now has its name.
 *
 * Functions without state.
 */
#pragma once

#include "base/module.h"
#include "symbolize/elf/elf_file.h"

struct error;

/* Room for "/proc/PID/root". */
#define MAPPED_ROOT_BYTES 32

/*
 * Opens MODULE's file: by its descriptor, through its process's root, by its
 * path; the vDSO from our own memory. The caller frees it, and uses it in one thread at a time.
 * NULL with ERR, where the hint is set if the file has changed since. ROOT gets what other files of
 * it are to be looked for under: "" or "/proc/PID/root".
 */
struct elf_file *mapped_file_open(const struct module *module, char root[MAPPED_ROOT_BYTES],
                                  struct error *err);
