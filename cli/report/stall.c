// SPDX-License-Identifier: MIT
#include "cli/report/stall.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *reason, *text;
} texts[] = {
	{ "barrier", "other threads of the block" },
	{ "branch_resolving", "a jump" },
	{ "dispatch_stall", "the dispatcher" },
	{ "drain", "stores at the end" },
	{ "gmma", "tensor cores" },
	{ "imc_miss", "constants" },
	{ "lg_throttle", "the queue to memory" },
	{ "long_scoreboard", "memory" },
	{ "math_pipe_throttle", "arithmetic units" },
	{ "membar", "a memory fence" },
	{ "mio_throttle", "the queue to shared memory" },
	{ "misc", "something else" },
	{ "no_instructions", "instructions to load" },
	{ "not_selected", "its turn" },
	{ "selected", "nothing: it runs" },
	{ "short_scoreboard", "shared memory" },
	{ "sleeping", "sleep" },
	{ "tex_throttle", "the queue to textures" },
	{ "wait", "the instruction before" },
};

const char *stall_text(const char *reason)
{
	static const char *const prefixes[] = { "smsp__pcsamp_warps_issue_stalled_",
		                                "smsp__pcsamp_" };

	if (!reason)
		return "";
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(reason, prefixes[i], strlen(prefixes[i])) == 0) {
			reason += strlen(prefixes[i]);
			break;
		}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (strcmp(texts[i].reason, reason) == 0)
			return texts[i].text;
	return reason;
}
