// SPDX-License-Identifier: MIT
// profile_name_programs(): programs by the names under which they were started.
#include "base/path.h"
#include "merge/profile/profile_data.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// The first file that a process maps is its program.
static struct module *program_of(const struct profile *p, uint32_t pid)
{
	for (uint32_t id = 1; id <= modules_count(p->modules); id++) {
		struct module *module = modules_get(p->modules, id);
		if (module->kind == MODULE_ELF && module->pid == (pid_t)pid)
			return strstr(path_base(module->path), ".so") ? NULL : module;
	}
	return NULL;
}

// Whether no other process may have begun the same program under another name: of those that map
// nothing first, which program they are is not known.
static bool is_only_name(const struct profile *p, const struct process_info *process)
{
	for (uint32_t slot = 1; slot <= p->threads.process_count; slot++) {
		const struct process_info *other = profile_process(p, slot);
		if (other->command != process->command && !program_of(p, other->pid))
			return false;
	}
	return true;
}

// One that is a part of the other says as much: python3.11 of python3, dash of sh.
static bool differ(const char *name, const char *base)
{
	return *name && !strchr(name, '/') && !strstr(name, base) && !strstr(base, name);
}

static bool is_same_file(const char *path, const struct module *module)
{
	struct stat one, other;

	return stat(path, &one) == 0 && stat(module->path, &other) == 0 &&
	       one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool profile_name_programs(struct profile *p)
{
	char path[PATH_MAX];

	for (uint32_t slot = 1; slot <= p->threads.process_count; slot++) {
		const struct process_info *process = profile_process(p, slot);
		struct module *module = program_of(p, process->pid);
		const char *name = profile_string(p, process->command);
		const char *base = module ? path_base(module->path) : NULL;
		if (!base || !name || !differ(name, base) || !is_only_name(p, process))
			continue;
		int length = snprintf(path, sizeof(path), "%.*s%s", (int)(base - module->path),
		                      module->path, name);
		if (length > 0 && (size_t)length < sizeof(path) && is_same_file(path, module) &&
		    !modules_rename(p->modules, module->id, path))
			return false;
	}
	return true;
}
