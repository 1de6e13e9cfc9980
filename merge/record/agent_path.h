/* SPDX-License-Identifier: MIT */
/*
 * Where the agent library is: installed beside us, or in the build tree.
 */
#pragma once

#include <stddef.h>

struct error;

/* Writes the absolute path into BUFFER. -1 if there is no agent. */
int agent_path_find(char *buffer, size_t size, struct error *err);
