// SPDX-License-Identifier: MIT
#include "sampler/tracker/mapper.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define REREAD_FIRST_WAIT_NS (100 * NS_PER_MS)
#define REREAD_LAST_WAIT_NS  (10 * NS_PER_SEC)

#define DELETED              " (deleted)"

static bool begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

// Memory that looks like a file but whose contents were made by the process.
static bool is_made_by_process(const char *path)
{
	static const char *const starts[] = { "//anon", "/memfd:",        "/dev/zero",
		                              "/SYSV",  "/anon_hugepage", "/dev/shm/" };

	if (path[0] != '/')
		return true;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (begins(path, starts[i]))
			return true;
	return false;
}

static struct module *add_module(struct modules *modules, const struct module *wanted,
                                 const struct event_map *map)
{
	struct module module = *wanted;

	module.fd = -1;
	if (map->build_id && map->build_id_size && map->build_id_size <= BUILD_ID_MAX) {
		memcpy(module.build_id, map->build_id, map->build_id_size);
		module.build_id_size = map->build_id_size;
	}
	return modules_add(modules, &module, NULL);
}

static struct module *module_of_file(struct modules *modules, const struct event_map *map,
                                     uint32_t pid)
{
	// The inode tells which file it is; its path is for people and the file system.
	size_t length = strlen(map->path);
	size_t suffix = sizeof(DELETED) - 1;
	if (length > suffix && strcmp(map->path + length - suffix, DELETED) == 0)
		length -= suffix;
	cleanup_free char *path = strndup(map->path, length);
	if (!path)
		return NULL;

	struct module wanted = {
		.kind = MODULE_ELF,
		.path = path,
		.pid = (pid_t)pid,
		.device = makedev(map->device_major, map->device_minor),
		.inode = map->inode,
	};
	return add_module(modules, &wanted, map);
}

// While it lives: its number can be anybody's later. Its directory in /proc is its effective user's
// even if the files in there are root's.
static void note_user(struct module *module)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", module->pid);
	if (stat(path, &st) < 0)
		return;
	module->user_known = true;
	module->user = st.st_uid;
}

static struct module *module_of(struct modules *modules, const struct event_map *map, uint32_t pid)
{
	char name[32];

	if (strcmp(map->path, "[vdso]") == 0) {
		struct module vdso = { .kind = MODULE_VDSO, .path = "[vdso]", .pid = (pid_t)pid };
		return add_module(modules, &vdso, map);
	}
	if (!is_made_by_process(map->path))
		return module_of_file(modules, map, pid);

	snprintf(name, sizeof(name), "[jit %u]", pid);
	struct module jit = { .kind = MODULE_JIT, .path = name, .pid = (pid_t)pid };
	struct module *module = add_module(modules, &jit, map);
	if (module)
		note_user(module);
	return module;
}

bool mapper_add(struct modules *modules, struct process *process, const struct event_map *map)
{
	if (!(map->protection & PROT_EXEC) || map->start + map->length <= map->start)
		return true;

	struct module *module = module_of(modules, map, process->pid);
	return module && address_space_map(process->space, map->start, map->length,
	                                   map->file_offset, module->id);
}

void mapper_reset(struct process *process)
{
	process->maps_again_ns = 0;
	process->maps_wait_ns = 0;
}

// The number at *AT and the AFTER behind it, or else false.
static bool take(char **at, int base, char after, uint64_t *number)
{
	char *end;

	*number = strtoull(*at, &end, base);
	if (end == *at || *end != after)
		return false;
	*at = end + 1;
	return true;
}

bool mapper_parse(char *line, struct event_map *map)
{
	uint64_t start, end, offset, major, minor;
	char *at = line, *path;

	line[strcspn(line, "\n")] = '\0';
	if (!take(&at, 16, '-', &start) || !take(&at, 16, ' ', &end) || end <= start ||
	    strcspn(at, " ") != 4 || at[4] != ' ')
		return false;
	bool executable = at[2] == 'x';
	at += 5;
	if (!take(&at, 16, ' ', &offset) || !take(&at, 16, ':', &major) ||
	    !take(&at, 16, ' ', &minor))
		return false;
	uint64_t inode = strtoull(at, &path, 10);
	if (path == at)
		return false;
	*map = (struct event_map){
		.start = start,
		.length = end - start,
		.file_offset = offset,
		.inode = inode,
		.device_major = (uint32_t)major,
		.device_minor = (uint32_t)minor,
		.protection = executable ? PROT_EXEC : 0,
		.path = path + strspn(path, " "),
	};
	return true;
}

// A mapping that we have must stay as it is: it knows its bias.
static bool is_known(struct process *process, const struct event_map *map)
{
	const struct mapping *known = address_space_find(process->space, map->start);

	return known && known->start <= map->start && known->end >= map->start + map->length;
}

static bool add_unknown(struct modules *modules, struct process *process, FILE *maps)
{
	cleanup_free char *line = NULL;
	struct event_map map;
	size_t room = 0;
	bool added = false;

	while (getline(&line, &room, maps) > 0)
		if (mapper_parse(line, &map) && map.protection & PROT_EXEC &&
		    !is_known(process, &map))
			added |= mapper_add(modules, process, &map);
	return added;
}

bool mapper_reread(struct modules *modules, struct process *process, uint64_t now_ns)
{
	char path[32];

	if (now_ns < process->maps_again_ns)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/maps", process->pid);
	cleanup_fclose FILE *maps = fopen(path, "re");
	bool added = maps && add_unknown(modules, process, maps);

	if (added || !process->maps_wait_ns)
		process->maps_wait_ns = REREAD_FIRST_WAIT_NS;
	else if (process->maps_wait_ns < REREAD_LAST_WAIT_NS)
		process->maps_wait_ns *= 2;
	process->maps_again_ns = now_ns + process->maps_wait_ns;
	return added;
}
