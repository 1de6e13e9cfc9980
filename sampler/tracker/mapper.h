/* SPDX-License-Identifier: MIT */
/*
 * From the mappings that events report to modules and address spaces.
 *
 * Code that was there before we looked, or that a source cannot report, is
 * found in /proc/PID/maps when a sample meets it. No state of its own: what
 * has been tried is kept in the process.
 *
 * What leads to the files of a run-time compiler (perf maps, jitdumps) is noted with the module
 * while the process lives: its user, its number and its /tmp where it lives.
 */
#pragma once

#include "base/module.h"
#include "sampler/event/event.h"
#include "sampler/task/tasks.h"

#include <stdbool.h>
#include <stdint.h>

/* Maps MAP into PROCESS if it is executable. False if there is no memory. */
bool mapper_add(struct modules *modules, struct process *process, const struct event_map *map);

/*
 * Takes in what /proc/PID/maps says and the events have not. False if that is
 * nothing new; then it waits longer before it looks again.
 */
bool mapper_reread(struct modules *modules, struct process *process, uint64_t now_ns);

/* Makes the next mapper_reread() look at once (after an exec). */
void mapper_reset(struct process *process);

/*
 * One line of /proc/PID/maps. False if it is none. MAP->path points into LINE,
 * which loses its newline.
 */
bool mapper_parse(char *line, struct event_map *map);
