/* SPDX-License-Identifier: MIT */
/* A running scene (tests/scene/scene.c). Apart from the tests because <sys/wait.h> brings
   <sys/ucontext.h>, whose REG_* are not those of base/record.h. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct scene_process {
	pid_t pid;
	FILE *output;
	int input; /* it ends when this is closed */
};

/* False if PATH cannot be run. */
bool scene_process_start(struct scene_process *process, const char *path, const char *name,
                         const char *argument);
void scene_process_stop(struct scene_process *process);
