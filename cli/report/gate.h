/* SPDX-License-Identifier: MIT */
/*
 * What batch jobs ask of a run: the thresholds of its findings, and with which status to exit.
 *
 *	--rule IO-WAIT=20 --rules FILE    thresholds
 *	--fail-on CPU-LOCK --fail-on warn status 90 if one of these was found; 92 if a severity
 *found nothing but doubts about the measurement, or if nothing was measured
 *	--strict                          status 92 if the measurement cannot be trusted, or if
 *	                                  what --fail-on names could not be looked for
 */
#pragma once

#include "merge/rules/rule.h"

struct error;
struct findings;
struct profile;
struct view;

/* The thresholds that VIEW names; checks --fail-on, too. NULL with one line in ERR. */
struct rule_limits *gate_limits(const struct view *view, struct error *err);

/*
 * 0, EXIT_FINDING or EXIT_INCONCLUSIVE, which goes first; says on stderr why. -1 if a question
 * could not be answered.
 */
int gate_status(const struct profile *profile, const struct view *view,
                const struct rule_limits *limits, struct error *err);
