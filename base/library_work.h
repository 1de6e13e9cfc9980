/* SPDX-License-Identifier: MIT */
/*
 * What widely used libraries are for: it tells what a program does where their functions have no
 * names. Constant data, for any thread.
 */
#pragma once

struct library_work {
	const char *name;   /* "compression" */
	const char *advice; /* one sentence */
};

/* Of the library at path MODULE, which may be NULL; NULL if it is none of those. */
const struct library_work *library_work_of(const char *module);
