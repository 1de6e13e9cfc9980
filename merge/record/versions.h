/* SPDX-License-Identifier: MIT */
/*
 * Which versions of an interpreter, of its packages and of libraries a run has used.
 *
 * All is known from the files that were mapped: their names, the texts that they hold, what an
 * installer has left beside them. Nothing of them is run or imported. To be called when the run is
 * over; functions without state.
 */
#pragma once

#include <stdio.h>

struct modules;

/* Writes a row (merge/table/environment.h) for each of them to OUT: of kinds "python" and
   "library". What cannot be read is left out, or has no version. */
void versions_print(FILE *out, const struct modules *modules);

/* The version, up to SIZE, of the installed package whose modules are in the folder SITE/NAME: by
   its .dist-info or .egg-info. "" if there is none. */
void versions_of_package(const char *site, const char *name, char *version, size_t size);
