/* SPDX-License-Identifier: MIT */
/*
 * What the exports for people need: a run, and the one that --base names, if they are to compare
 * with it. Functions without state.
 */
#pragma once

struct error;
struct exporting;
struct profile;

/* -1 if E's profile is of counts or of repeated runs: it has no threads that WHAT could show. */
int other_run_check(const struct exporting *e, const char *what, struct error *err);

/* Reads it into *BASE, for profile_free(); NULL where none is named. -1 on error. */
int other_run_read(const struct exporting *e, struct profile **base, struct error *err);
