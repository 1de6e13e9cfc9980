/* SPDX-License-Identifier: MIT */
/*
 * Where the agent's variables lie.
 *
 * A process that lives for a millisecond pays for each page that it touches first. Tables, which
 * most processes never use, lie behind all other variables, so that those fill few pages: see
 * tracer/hooks.ld.in. Without that script they lie among the others.
 */
#pragma once

/* A variable without initial values that has 2 KB or more and that no start writes to. */
#define AGENT_TABLE __attribute__((section(".bss.agent_table")))

/* The same, but a start writes to it: the rest of the small ones is not torn apart by it. */
#define AGENT_LARGE __attribute__((section(".bss.agent_large")))
