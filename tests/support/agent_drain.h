/* SPDX-License-Identifier: MIT */
/*
 * Counts what comes out of the agents' rings.
 */
#pragma once

#include "base/cleanup.h"
#include "tests/support/agent_run.h"

struct agent_drain;

struct agent_drain *agent_drain_new(const char *directory);
void agent_drain_free(struct agent_drain *d);

CLEANUP(agent_drain, struct agent_drain *, agent_drain_free)

/* Adds all that is there now to RUN, and shows it to the visitor of OPTIONS. */
void agent_drain_round(struct agent_drain *d, struct agent_run *run,
                       const struct agent_run_options *options);
