/* SPDX-License-Identifier: MIT */
/*
 * How a command prints: the options that all of them share.
 */
#pragma once

#include "cli/option.h"
#include "cli/terminal.h"

#include <stdbool.h>
#include <stdint.h>

struct display {
	uint32_t width; /* 0: the terminal's */
	int color;      /* enum color_when */
	bool help;
};

/* --width, --color and --help. */
struct option_group display_options(struct display *display);

static inline struct terminal display_terminal(const struct display *display, FILE *out)
{
	return terminal_of(out, (int)display->width, (enum color_when)display->color);
}
