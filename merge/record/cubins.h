/* SPDX-License-Identifier: MIT */
/*
 * Machine code of GPUs that the agents have kept, where instructions of it were sampled.
 */
#pragma once

struct profile;

/* DIRECTORY is the session's, and still there. What is missing, or damaged, gives no lines. */
void cubins_name_lines(struct profile *p, const char *directory);
