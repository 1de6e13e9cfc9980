/* SPDX-License-Identifier: MIT */
/*
 * The kernel's list of functions as it was read before, in a file of ours.
 *
 * To have the kernel write the list takes some 30 ms of CPU time, to read the
 * file a twentieth of that. The file is good for one boot of one kernel with the
 * same modules at the same places, and for who may see addresses: its key is made of
 * all that. What comes and goes without a trace (BPF programs, trampolines) is not in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms_function {
	uint64_t address;
	uint32_t name; /* offset in the text */
	uint32_t zero;
};

struct kallsyms_table {
	struct kallsyms_function *functions; /* by address */
	size_t count, capacity;
	char *text; /* names, each with its NUL */
	size_t text_bytes, text_capacity;
};

/* What the list at PATH is recognized by. 0 if that cannot be told. */
uint64_t kallsyms_cache_key(const char *path);

/* False if FILE is not there, not ours alone, damaged or of another key. TABLE is empty before. */
bool kallsyms_cache_read(const char *file, uint64_t key, struct kallsyms_table *table);

/* Replaces FILE, mode 0600. It may fail: then the list is read from the kernel again. */
void kallsyms_cache_write(const char *file, uint64_t key, const struct kallsyms_table *table);
