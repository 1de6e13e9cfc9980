/* SPDX-License-Identifier: MIT */
/*
 * Options that several commands have, word for word: entries of tables of struct option_spec. AT is
 * the offset of the value.
 */
#pragma once

#include "cli/option.h"
#include "merge/profile/profile.h"

#define COMMON_TOP(at)                                                                             \
	{                                                                                          \
		.letter = 'n', .name = "top", .argument = "N", .kind = OPTION_NUMBER,              \
		.offset = (at), .min = 1, .max = 1000000, .help = "rows of each table (15)"        \
	}

#define COMMON_QUIET(at)                                                                           \
	{                                                                                          \
		.letter = 'q', .name = "quiet", .kind = OPTION_SWITCH, .offset = (at),             \
		.help = "the answer only: no tables"                                               \
	}

/* Of commands that read profiles. */
#define COMMON_DEBUGINFOD(at)                                                                      \
	{                                                                                          \
		.name = "debuginfod", .kind = OPTION_SWITCH, .offset = (at),                       \
		.help = "for unfinished runs: fetch debug information"                             \
	}

/* Of those that make them. */
#define COMMON_FREQUENCY(at)                                                                       \
	{                                                                                          \
		.letter = 'F', .name = "frequency", .argument = "HZ", .kind = OPTION_NUMBER,       \
		.offset = (at), .min = 1, .max = 50000,                                            \
		.help = "samples per second of CPU time of each thread (999; with -p 399)"         \
	}

#define COMMON_TIMELINE_LIMIT(at)                                                                  \
	{                                                                                          \
		.name = "timeline-limit", .argument = "N", .kind = OPTION_NUMBER, .offset = (at),  \
		.max = PROFILE_TIMELINE_MAX,                                                       \
		.help = "calls, waits and GPU activities to keep one by one (250000)"              \
	}
