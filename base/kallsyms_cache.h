/* SPDX-License-Identifier: MIT */
/*
 * The kernel's list of functions as it was read before, in a file of ours.
 *
 * To have the kernel write the list takes some 30 ms of CPU time. The file is mapped
 * and searched in place: a look-up reads a few pages of its megabytes. It is good for
 * one boot of one kernel with the same modules at the same places, and for who may see
 * addresses: its key is made of all that. What comes and goes without a trace (BPF programs,
 * trampolines) is not in it.
 */
#pragma once

#include "base/mapped.h"

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
	struct mapped file; /* that both are in, and that nobody may write to; else they are ours */
};

/* Zeroed is fine. */
void kallsyms_table_fini(struct kallsyms_table *table);

/* "" if the file does not say. */
const char *kallsyms_table_name(const struct kallsyms_table *table, size_t index);

/* What the list at PATH is recognized by. 0 if that cannot be determined. */
uint64_t kallsyms_cache_key(const char *path);

/*
 * Maps FILE. False if it is not there, not ours alone, of another size than it says or of another
 * key. TABLE is empty before. Whatever the rest of it holds, names are within the file.
 */
bool kallsyms_cache_read(const char *file, uint64_t key, struct kallsyms_table *table);

/* Replaces FILE, mode 0600. It may fail: then the list is read from the kernel again. */
void kallsyms_cache_write(const char *file, uint64_t key, const struct kallsyms_table *table);
