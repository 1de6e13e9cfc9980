// SPDX-License-Identifier: MIT
#include "sampler/tracker/mapper.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/foreign_file.h"
#include "base/namespaces.h"
#include "base/path.h"
#include "sampler/proc/proc_stat.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

// Where the path does not lead us to it, nothing will once the process has ended.
static void keep_dump(struct module *module, uint32_t pid)
{
	static const struct foreign_rules rules = { .no_links = true };
	struct stat named, theirs;
	char path[PATH_MAX];

	if (module->fd >= 0 ||
	    snprintf(path, sizeof(path), "/proc/%u/root%s", pid, module->path) >= (int)sizeof(path))
		return;
	cleanup_close int fd = foreign_open(path, &rules, &theirs, NULL);
	if (fd >= 0 && (lstat(module->path, &named) < 0 || !is_same_file(&named, &theirs)))
		module->fd = steal_fd(&fd);
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
	struct module *module = add_module(modules, &wanted, map);
	if (module && path_is_jitdump(path))
		keep_dump(module, pid);
	return module;
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

// The process's own /tmp, if that is another than ours. False if that is not known.
static bool keep_place(struct module *module)
{
	char path[32];
	struct stat ours, theirs, kept;
	struct rlimit limit;

	snprintf(path, sizeof(path), "/proc/%d/root/tmp", module->pid);
	if (stat(path, &theirs) < 0 || stat("/tmp", &ours) < 0)
		return false;
	if (is_same_file(&ours, &theirs) ||
	    (module->fd >= 0 && fstat(module->fd, &kept) == 0 && is_same_file(&kept, &theirs)))
		return true;
	cleanup_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	// A build can have a thousand such processes, and threads need descriptors, too.
	if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)fd >= limit.rlim_cur / 2)
		return false;
	if (module->fd >= 0)
		close(module->fd);
	module->fd = steal_fd(&fd);
	return true;
}

// How the process is called where it lives, what has its files there, and from when on they count.
static void note_place(struct module *module)
{
	char path[32], text[4096];
	struct namespace_pids pids;
	struct proc_stat stat;

	if (proc_stat_read((uint32_t)module->pid, &stat))
		module->born_ns = clock_ns(CLOCK_REALTIME) - (clock_now_ns() - stat.start_ns);
	snprintf(path, sizeof(path), "/proc/%d/status", module->pid);
	cleanup_fclose FILE *file = fopen(path, "re");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[length] = '\0';
	if (namespaces_parse_pids(text, &pids) && keep_place(module))
		module->inner_pid = (pid_t)pids.inner;
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
	if (module) {
		note_user(module);
		note_place(module);
	}
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
