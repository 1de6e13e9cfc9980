/* SPDX-License-Identifier: MIT */
/*
 * What can be determined about a run before it begins.
 */
#pragma once

#include "merge/profile/profile.h"

struct facts {
	char *command; /* quoted as a shell would take it, its secrets masked */
	char directory[4096];
	char host[256];
	char kernel[256];
};

/*
 * Collects the facts about ARGV here and now, and begins RUN with them; RUN borrows them until
 * facts_fini(). -1: no memory.
 */
int facts_take(struct facts *facts, char *const *argv, struct run *run);
void facts_fini(struct facts *facts);

/* CPUs that this process may use; 0 if unknown. */
uint32_t facts_cpus(void);
