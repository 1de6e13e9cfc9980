/* SPDX-License-Identifier: MIT */
/*
 * What the figures rest on and what could not be seen, for programs: the last part of the text
 * report.
 */
#pragma once

struct error;
struct json;
struct profile;
struct view;

/* The member "limits": an array of its paragraphs. Nothing has been printed on error: -1. */
int limits_json(struct json *j, const struct profile *profile, const struct view *view,
                struct error *err);
