// SPDX-License-Identifier: MIT
#include "sampler/agent/absence.h"

#include "base/cleanup.h"
#include "tracer/reader/target.h"

#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_privileged(uint32_t pid)
{
	char path[32];
	Elf64_auxv_t entry;

	snprintf(path, sizeof(path), "/proc/%u/auxv", pid);
	cleanup_fclose FILE *vector = fopen(path, "re");
	while (vector && fread(&entry, sizeof(entry), 1, vector) == 1)
		if (entry.a_type == AT_SECURE)
			return entry.a_un.a_val != 0;
	return false;
}

static bool is_of_another_user(uint32_t pid)
{
	char path[32];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return stat(path, &status) == 0 && status.st_uid != geteuid();
}

enum absence absence_of(uint32_t pid)
{
	char program[32];

	if (target_has_agent(pid))
		return target_is_shut_out(pid) ? ABSENCE_DIRECTORY : ABSENCE_NONE;
	if (is_privileged(pid))
		return ABSENCE_PRIVILEGED;
	snprintf(program, sizeof(program), "/proc/%u/exe", pid);
	enum target_kind kind = target_kind(program);
	if (kind != TARGET_GLIBC && kind != TARGET_PRIVILEGED)
		return ABSENCE_NONE;
	if (target_has_other_environment(pid))
		return ABSENCE_ENVIRONMENT;
	return is_of_another_user(pid) ? ABSENCE_LIBRARY : ABSENCE_NONE;
}
