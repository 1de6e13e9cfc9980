/* SPDX-License-Identifier: MIT */
/*
 * What widely used libraries and programs are for: it says what a run does where their functions
 * have no names. Constant data, for any thread.
 */
#pragma once

struct known_work {
	const char *name;   /* "compression" */
	const char *advice; /* a sentence or two */
};

/* Of the library at path MODULE, which may be NULL; NULL if it is none of those. */
const struct known_work *known_work_of_library(const char *module);

/* The same of the program at path MODULE, of that name, or of a process's title: "gzip a.bin". */
const struct known_work *known_work_of_program(const char *module);
