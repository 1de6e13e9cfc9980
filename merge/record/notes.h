/* SPDX-License-Identifier: MIT */
/*
 * What a recording could not see, and why: lines for the limits of its report. Plain values.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct recorded;
struct recording_options;
struct sampler_status;
struct traced;

/* Zeroed at first. */
struct notes {
	char text[4096]; /* lines; what is beyond them is left out */
};

__attribute__((format(printf, 2, 3))) void notes_add(struct notes *n, const char *format, ...);

/* What is known at the end of a run. */
struct notes_facts {
	const struct recording_options *options;
	const struct sampler_status *status;
	const struct recorded *recorded;
	uint64_t recorded_ns, wall_ns;
	const struct profile *profile;
	uint32_t others_hz;          /* the rate for programs that do not sample themselves */
	const struct traced *traced; /* NULL: the agent was not in the program */
	uint32_t background;         /* processes that go on */
	const char *background_name; /* of the first */
	bool has_torch;              /* PyTorch is in the program */
	const struct error *broken;  /* why sampling ended early; no text: it did not */
};

void notes_at_end(struct notes *n, const struct notes_facts *facts);

/* Why nothing was recorded of a run of which a part was asked for. */
struct notes_nothing {
	char cause[256];  /* a clause; "": something was, or all was asked for */
	char remedy[256]; /* a sentence */
};

void notes_nothing(struct notes_nothing *out, const struct notes_facts *facts);
