/* SPDX-License-Identifier: MIT */
/*
 * What is known of a module's names, and what would bring more. Plain values.
 */
#pragma once

/* How much a module can tell. */
enum debug_level {
	DEBUG_NONE = 0,    /* no names at all */
	DEBUG_DYNAMIC = 1, /* exported names only (.dynsym) */
	DEBUG_SYMBOLS = 2, /* all function names (.symtab, .gnu_debugdata, JIT map) */
	DEBUG_LINES = 3    /* DWARF: lines and inlines */
};

/* The remedy of a script's interpreter, where there is nothing to be done. */
#define DEBUG_REMEDY_SCRIPT "symbols would name nothing of a script"

struct debug_status {
	enum debug_level level;
	char source[256]; /* the file the best of it came from; "" if none */
	char reason[256]; /* why not more: "build-id of ... differs", "no debug information"; or ""
	                   */
	char remedy[256]; /* "install its debug symbols ...", "compile with -g"; or "" */
};
