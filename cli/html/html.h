/* SPDX-License-Identifier: MIT */
/*
 * The report as one page for a browser: cli/html/ with the profile's answers in it as JSON.
 *
 * The page needs no network, no server and nothing beside it. The data is what its own scripts
 * read: for other programs there are the exports, which are documented.
 */
#pragma once

#include <stdio.h>

struct error;
struct profile;
struct rule_limits;
struct view;

/* BASE: another run to compare with; NULL: none. CUT: what VIEW leaves out, in words, or "". Where
   it leaves out no time, the page can be switched to the parts of the run. -1 if a question could
   not be answered: what has been written by then is no page. */
int html_write(const struct profile *profile, const struct view *view,
               const struct rule_limits *limits, const struct profile *base, const char *cut,
               FILE *out, struct error *err);
