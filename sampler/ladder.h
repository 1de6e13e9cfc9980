/* SPDX-License-Identifier: MIT */
/*
 * The capture ladder: the best source that this machine allows.
 *
 * Probed by opening: what a sysctl says and what a container, a security
 * module or a distribution's kernel allows are different things.
 */
#pragma once

#include "sampler/event/source.h"

#include <stddef.h>

struct error;

/* Why a better rung is not in use. */
struct ladder_report {
	char reason[640]; /* "" if the best one is */
	char remedy[384]; /* a sentence, or "" */
};

/*
 * Opens the first of COUNT sources, from BEST_RUNG down, that opens; NULL slots
 * are passed over. NULL if none does: then ERR holds what the report says.
 */
struct source *ladder_climb(const struct source_ops *const *rungs, size_t count,
                            enum rung best_rung, const struct source_request *request,
                            struct ladder_report *report, struct error *err);

/* The sources that are built in, best first; ends at *COUNT. */
const struct source_ops *const *ladder_rungs(size_t *count);
