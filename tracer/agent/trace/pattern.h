/* SPDX-License-Identifier: MIT */
/*
 * Which functions --trace asks for.
 *
 * A pattern is the name of a function or a glob (*, ?, [abc], [!a-z]), and before it, if it is
 * meant for some libraries alone, the name or glob of their files and a colon: "libcrypto*:EVP_*".
 * It is held against a symbol as it stands in the file and, of C++ and Rust, as it was written,
 * with parameters and without. What compilers append to the names of clones does not count.
 *
 * Nothing is allocated but by the demangler for rare names of Rust.
 */
#pragma once

#include "tracer/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERNS_MAX       32
#define PATTERNS_TEXT      PROTOCOL_TRACE_BYTES
#define PATTERN_NAME_BYTES 1024 /* longer names are cut */

struct pattern {
	const char *library; /* NULL: any */
	const char *name;
	const char *literal;  /* a part of NAME that a mangled name would have in it, too */
	size_t literal_bytes; /* 0: there is none */
};

struct patterns {
	uint32_t count;
	struct pattern of[PATTERNS_MAX];
	char text[PATTERNS_TEXT];
};

/* TEXT: patterns, a line each. False if there are too many. */
bool patterns_parse(struct patterns *p, const char *text);

/* Whether it is for the file PATH: it names none, or that one, by its path or its name. */
bool pattern_is_for(const struct pattern *pattern, const char *path);

/* Whether any is for the object that is loaded from PATH. */
bool patterns_want(const struct patterns *p, const char *path);

/*
 * The first one that SYMBOL of the object at PATH matches, or -1; then NAME gets what people call
 * it. Needs some 100 KB of stack.
 */
int patterns_match(const struct patterns *p, const char *path, const char *symbol,
                   char name[PATTERN_NAME_BYTES]);

/* Whether TEXT as a whole matches GLOB. */
bool pattern_glob(const char *glob, const char *text);
