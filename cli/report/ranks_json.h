/* SPDX-License-Identifier: MIT */
/*
 * The ranks of a merged profile, as the member "ranks" of an object in JSON.
 */
#pragma once

struct error;
struct json;
struct profile;

/* Nothing if the profile is not merged. -1 if they could not be compared. */
int ranks_json(struct json *j, const struct profile *profile, struct error *err);
