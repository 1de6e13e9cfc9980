/* SPDX-License-Identifier: MIT */
/*
 * The exports that options ask for: "--export FORMAT[=FILE]".
 *
 * A file is complete or not there: it is written beside its place and renamed, unless something
 * that is no regular file (a pipe, a device) is there already.
 */
#pragma once

#include <stdbool.h>

struct error;
struct profile;
struct rule_limits;
struct view;

/*
 * -1 with one line in ERR if VIEW asks for what cannot be: before a run, not after hours of it.
 * TO_STDOUT: standard output is free, for one export that names no file.
 */
int exports_check(const struct view *view, bool to_stdout, struct error *err);

/* Writes them all. VIEW need not be resolved. */
int exports_write(const struct profile *profile, const struct view *view,
                  const struct rule_limits *limits, struct error *err);
