/* SPDX-License-Identifier: MIT */
/*
 * The name of one function by its module's symbol table: no lines, no debug
 * files, some microseconds. For questions that come up while the target runs.
 */
#pragma once

#include "base/module.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies the mangled name of the function that holds ADDRESS (stepped back into the call) of
 * MODULE, cut to SIZE. False if it is not known.
 */
bool elf_function_name(const struct module *module, uint64_t address, char *name, size_t size);
