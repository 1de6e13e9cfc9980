/* SPDX-License-Identifier: MIT */
/*
 * Where the user's own code is in a call path: see base/origin.h. For the files of merge/ alone.
 */
#pragma once

#include "merge/profile/profile_parts.h"

/* Whether PLACE of LOCATION is of others' code (base/origin.h), and whether its module is an
   interpreter. A report asks each of them of a place once (merge/scope/kept.h). */
bool place_is_foreign(const struct profile *p, const struct location *location,
                      const struct place *place);
bool place_is_interpreters(const struct profile *p, const struct location *location,
                           const struct place *place);

/* The innermost of LOCATION's places that is the user's own, with its line; NULL if none is. */
const struct place *own_place_at(const struct profile *p, const struct location *location);

/* The same of the path that ends at NODE, from there outwards. */
const struct place *own_place_above(const struct profile *p, uint32_t node);

/*
 * The same for many nodes of one tree, which does not change meanwhile: each node on their paths is
 * looked at once. OF is the caller's to free; NULL if there is no memory, which only takes longer.
 */
struct own_places {
	const struct profile *profile;
	const struct place **of; /* [node - 1]; NULL: not known yet */
};
struct own_places own_places_of(const struct profile *p);
const struct place *own_places_above(const struct own_places *places, uint32_t node);
