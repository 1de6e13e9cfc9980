/* SPDX-License-Identifier: MIT */
/*
 * How the agent in the target and the collector find each other.
 *
 * The collector makes a private directory (mode 0700, in $XDG_RUNTIME_DIR or
 * /tmp, never in the working directory or /dev/shm) and names it in the
 * environment; a descriptor would not survive close_fds. Each process of the
 * target makes one file there, "PID-STARTTIME", whose mapping holds the rings
 * of its threads; the collector scans the directory, checks owner and size,
 * maps the file, unlinks it, and drains the rings (base/ring.h).
 */
#pragma once

#include <stdint.h>

#define PROTOCOL_ENV_DIRECTORY "BOTTLENECK_AGENT_DIR" /* path of the directory */
#define PROTOCOL_ENV_CONFIG    "BOTTLENECK_AGENT"     /* "hz=999,stack=32768", see agent.c */
#define PROTOCOL_AGENT_LIBRARY "libbottleneck-agent.so"
