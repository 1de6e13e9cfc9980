/* SPDX-License-Identifier: MIT */
/*
 * What bottleneck says on stderr when something is wrong: the one place.
 */
#pragma once

struct error;

/*
 * Prints "bottleneck COMMAND: text: cause" and the hint below it. COMMAND is
 * NULL for run, which people start without naming it.
 */
void message_error(const char *command, const struct error *err);

/* The same without a struct error: one line, no hint. */
void message_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
