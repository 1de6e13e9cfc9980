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

struct code_section {
	char name[32]; /* cut to that */
	uint64_t address, size;
};

/* The sections of MODULE that hold code, up to MAX of them; 0 if its file cannot be read. */
size_t elf_code_sections(const struct module *module, struct code_section *sections, size_t max);
