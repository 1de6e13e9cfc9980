/* SPDX-License-Identifier: MIT */
/*
 * The report of one screen: the answer last, as a terminal shows the end of what was printed, and
 * above it what the answer is about. What is not about it is left out where the lines of a screen
 * do not suffice; one line says what that is, and the whole report has it.
 */
#pragma once

#define SCREEN_LINES     40 /* of a report, with the one after it that says where the profile is */
#define SCREEN_LINES_OPS 55 /* of one with ops, GPUs or ranks, which are subjects of their own */

struct error;
struct outline_format;
struct profile;
struct rule_limits;
struct view;

/* As outline_print(); VIEW is resolved, and brief. */
int screen_print(const struct outline_format *format, const struct profile *profile,
                 const struct view *view, const struct rule_limits *limits, struct error *err);
