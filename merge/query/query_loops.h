/* SPDX-License-Identifier: MIT */
/*
 * The loop that code without symbols spends most CPU time in: what machine code tells where names
 * do not.
 */
#pragma once

#include "merge/profile/profile.h"
#include "symbolize/loop/loop_fact.h"

struct nameless_loop {
	struct loop_fact fact;
	uint64_t address; /* in its file: of the sample in it that took most */
	uint64_t ns;      /* CPU time in loops of this kind at no known line, all threads */
	uint64_t all_ns;  /* of all code without a name in the module */
};

/* In MODULE, a path. False if nothing is known of any. The fact's file is the profile's. */
bool query_nameless_loop(const struct profile *p, const char *module, struct nameless_loop *loop);
