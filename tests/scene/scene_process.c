// SPDX-License-Identifier: MIT
#include "scene/scene_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool scene_process_start(struct scene_process *process, const char *path, const char *name,
                         const char *argument)
{
	char *const command[] = { (char *)path, (char *)name, (char *)argument, NULL };
	posix_spawn_file_actions_t actions;
	int in[2], out[2];

	if (access(path, X_OK) < 0 || pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	int error = posix_spawn(&process->pid, path, &actions, NULL, command, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(in[0]);
	close(out[1]);
	process->input = in[1];
	process->output = fdopen(out[0], "r");
	return !error;
}

void scene_process_stop(struct scene_process *process)
{
	close(process->input);
	fclose(process->output);
	waitpid(process->pid, NULL, 0);
}
