/* SPDX-License-Identifier: MIT */
/*
 * How a Python was started: with its program in a file, or on its command line.
 *
 * Code of a program on the command line (python3 -c ...) is in a file that Python calls "<string>",
 * and so is what libraries make by exec(), as the methods of dataclasses.
 *
 * Functions without state. A command line may hold anything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether WORDS, SIZE bytes as in /proc/PID/cmdline with a NUL behind them, start a Python whose
   program is in a file, or one of multiprocessing's. False for programs that embed Python. */
bool python_command_has_file(const char *words, size_t size);

/* The same of process PID as it is now. False if nobody knows. */
bool python_has_file(uint32_t pid);
