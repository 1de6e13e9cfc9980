// SPDX-License-Identifier: MIT
#include "cli/report/display.h"

static const char *const colors[] = { "auto", "always", "never", NULL };

static const struct option_spec specs[] = {
	{ .name = "width",
	  .argument = "COLUMNS",
	  .kind = OPTION_NUMBER,
	  .offset = offsetof(struct display, width),
	  .min = TERMINAL_WIDTH_MIN,
	  .max = TERMINAL_WIDTH_MAX,
	  .help = "of the output (the terminal's, else 100)" },
	{ .name = "color",
	  .argument = "WHEN",
	  .kind = OPTION_CHOICE,
	  .offset = offsetof(struct display, color),
	  .choices = colors,
	  .help = "auto, always or never" },
	{ .letter = 'h',
	  .name = "help",
	  .kind = OPTION_SWITCH,
	  .offset = offsetof(struct display, help),
	  .help = "print this and exit" },
};

struct option_group display_options(struct display *display)
{
	return (struct option_group){ "Other", specs, sizeof(specs) / sizeof(specs[0]), display };
}
