// SPDX-License-Identifier: MIT
// limited_spawns HOW: limits its own address space, and starts a shell by HOW that prints which
// libraries it is to load before others.
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SPACE_BYTES ((rlim_t)200 << 20)
#define COMMAND     "echo \"${LD_PRELOAD:-none}\""

extern char **environ;

static int by_spawn(int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                                 const posix_spawnattr_t *, char *const[], char *const[]),
                    const char *program)
{
	char *arguments[] = { (char *)"sh", (char *)"-c", (char *)COMMAND, NULL };
	pid_t child;
	int status = -1;

	if (spawn(&child, program, NULL, NULL, arguments, environ) != 0)
		return 1;
	return waitpid(child, &status, 0) == child ? status : 1;
}

static int by_popen(void)
{
	char line[4096] = "";
	FILE *shell = popen(COMMAND, "r");

	if (!shell)
		return 1;
	if (fgets(line, sizeof(line), shell))
		fputs(line, stdout);
	return pclose(shell);
}

int main(int argc, char **argv)
{
	struct rlimit limit = { SPACE_BYTES, SPACE_BYTES };
	const char *how = argc > 1 ? argv[1] : "";

	if (setrlimit(RLIMIT_AS, &limit) != 0)
		return 2;
	if (strcmp(how, "posix_spawn") == 0)
		return by_spawn(posix_spawn, "/bin/sh") != 0;
	if (strcmp(how, "posix_spawnp") == 0)
		return by_spawn(posix_spawnp, "sh") != 0;
	if (strcmp(how, "system") == 0)
		return system(COMMAND) != 0; // NOLINT(cert-env33-c): what is tested
	return strcmp(how, "popen") == 0 ? by_popen() != 0 : 2;
}
