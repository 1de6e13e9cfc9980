// SPDX-License-Identifier: MIT
#include "cli/command.h"

#include "base/error.h"
#include "base/nearest.h"
#include "cli/option.h"

#include <stdio.h>

int command_help(const struct command *command, const struct option_group *groups,
                 size_t group_count)
{
	for (size_t i = 0; i < COMMAND_USAGES && command->usage[i]; i++)
		printf("%s bottleneck %s\n", i ? "      " : "usage:", command->usage[i]);
	option_help(groups, group_count, stdout);
	return 0;
}

int command_no_program(const struct command *command, struct error *err)
{
	error_set(err, 0, "there is no program to run");
	return error_hint(err, "bottleneck %s", command->usage[0]);
}

const char *command_meant(const char *word)
{
#define NAME(name) #name,
	static const char *const names[] = { COMMANDS(NAME) };
#undef NAME
	struct nearest nearest = { .word = word };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_try(&nearest, names[i]);
	return nearest.name;
}
