/* SPDX-License-Identifier: MIT */
/*
 * The window of time that the options of a view mean in one profile.
 */
#pragma once

#include "cli/report/view.h"

struct error;
struct findings;
struct profile;
struct rule_limits;

/* -1 if VIEW is to begin when the run of PROFILE has ended. */
int cut_check(const struct view *view, const struct profile *profile, struct error *err);

/*
 * Sets from_ns and to_ns of VIEW to what --phase, --from-steady, --skip-first and --schedule leave
 * of them, its schedule and steps to those of the recording if there are no others, and its miss if
 * that part of the run is not there; then they stay. Once: what is resolved stays as it is. -1 on
 * error.
 */
int cut_resolve(struct view *view, const struct profile *profile, struct error *err);

/* Where that, if it is resolved, ends: since the start of the run. */
uint64_t cut_end(const struct view *view, const struct profile *profile);

/* Calls EACH with VIEW cut to one cycle of its schedule after the other; to its own alone, if it
   names one. What is not 0 ends it, and is returned; -1 also if they could not be found. */
int cut_each_cycle(const struct view *view, const struct profile *profile,
                   int (*each)(void *context, const struct view *cycle, struct error *err),
                   void *context, struct error *err);

/* When the warm-up ended in what VIEW shows, since the start of the run; *NS 0: there is none. */
int cut_steady(const struct view *view, const struct profile *profile, uint64_t *ns,
               struct error *err);

/* What VIEW, which is resolved, leaves of the run: "only waiting, thread main"; "" if that is all
   of it. The caller frees it; NULL if there is no memory. */
char *cut_words(const struct view *view, const struct profile *profile);

/* "no warm-up was found: all of the run is shown", where VIEW, which is resolved, asked for a part
   that is not there; else NULL. */
const char *cut_missed(const struct view *view);

/*
 * What is wrong in that window, of all threads, whichever VIEW shows; LIMITS may be NULL. For
 * findings_free(). NULL on error.
 */
struct findings *cut_findings(const struct view *view, const struct profile *profile,
                              const struct rule_limits *limits, struct error *err);
