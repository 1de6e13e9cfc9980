/* SPDX-License-Identifier: MIT */
/*
 * Where a program of Go has what go_table_find() needs.
 *
 * Go's own linker and later versions of Go give the table a section of its own. In a
 * position-independent program that a linker of C has made, it stands somewhere in .data.rel.ro.
 * The rest is in runtime.firstmoduledata, which begins with the address of the table. Functions
 * without state; nothing in the sections is trusted.
 */
#pragma once

#include "base/bytes.h"

/* A section that the program has in memory, with what the file has there. */
struct go_section {
	const char *name;
	uint64_t address;
	struct bytes bytes;
	bool is_writable;
};

#define GO_SECTIONS_MAX 128 // there are some 30; what lies beyond is not looked at

struct go_module {
	struct bytes table; /* empty: it is no program of Go, or of an unknown version */
	uint64_t table_address;
	uint64_t text;      /* 0: unknown */
	struct bytes funcs; /* empty: unknown */
};

/* Takes only the table, which is soon found. */
void go_module_find_table(const struct go_section *sections, size_t count,
                          struct go_module *module);

/* Fills in the rest, if there is a table. */
void go_module_find_rest(const struct go_section *sections, size_t count, struct go_module *module);
