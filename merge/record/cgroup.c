// SPDX-License-Identifier: MIT
#include "merge/record/cgroup.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES (3 * CGROUP_PATH)
#define NO_LIMIT   (UINT64_C(1) << 60) /* memory.limit_in_bytes of v1: some number above */

// Puts the field behind *AT, up to a blank, into OUT with its octal escapes resolved. False if it
// is too long, or there is none.
static bool take_path(char **at, char out[CGROUP_PATH])
{
	size_t used = 0;
	char *from = *at;

	for (; *from && *from != ' ' && *from != '\n'; from++) {
		char sign = *from;
		if (sign == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
		    from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			sign = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
			              (from[3] - '0'));
			from += 3;
		}
		if (used + 1 >= CGROUP_PATH || !sign)
			return false;
		out[used++] = sign;
	}
	out[used] = '\0';
	*at = from;
	return used > 0;
}

// Whether NAME is among the words of LIST, which commas divide.
static bool has_word(const char *list, const char *name)
{
	size_t length = strlen(name);

	while (*list) {
		size_t word = strcspn(list, ", \n");
		if (word == length && strncmp(list, name, length) == 0)
			return true;
		list += word + (list[word] != '\0');
	}
	return false;
}

static void keep_first(struct cgroup_mount *kept, const struct cgroup_mount *mount)
{
	if (!kept->point[0])
		*kept = *mount;
}

// "31 23 0:28 ROOT POINT OPTIONS [FIELDS...] - TYPE SOURCE OPTIONS"
static void take_mount(char *line, struct cgroup_mounts *mounts)
{
	struct cgroup_mount mount;
	char *at = line;

	for (int i = 0; i < 3; i++) {
		at = strchr(at, ' ');
		if (!at)
			return;
		at++;
	}
	char *end = strstr(at, " - ");
	if (!end || !take_path(&at, mount.root) || *at++ != ' ' || !take_path(&at, mount.point))
		return;
	const char *type = end + 3, *options = strchr(type, ' ');
	options = options ? strchr(options + 1, ' ') : NULL;
	if (strncmp(type, "cgroup2 ", 8) == 0)
		keep_first(&mounts->unified, &mount);
	if (strncmp(type, "cgroup ", 7) != 0 || !options)
		return;
	if (has_word(options + 1, "cpu"))
		keep_first(&mounts->cpu, &mount);
	if (has_word(options + 1, "memory"))
		keep_first(&mounts->memory, &mount);
}

void cgroup_parse_mounts(FILE *file, struct cgroup_mounts *mounts)
{
	char line[LINE_BYTES];

	memset(mounts, 0, sizeof(*mounts));
	while (fgets(line, sizeof(line), file))
		if (strchr(line, '\n') || feof(file))
			take_mount(line, mounts);
}

// "3:cpu,cpuacct:/a/b", and "0::/a/b" of v2.
static void take_group(char *line, struct cgroup_paths *paths)
{
	char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;

	if (!path)
		return;
	*path++ = '\0';
	list++;
	path[strcspn(path, "\n")] = '\0';
	if (*path != '/' || strlen(path) >= CGROUP_PATH)
		return;
	if (!*list)
		snprintf(paths->unified, CGROUP_PATH, "%s", path);
	if (has_word(list, "cpu"))
		snprintf(paths->cpu, CGROUP_PATH, "%s", path);
	if (has_word(list, "memory"))
		snprintf(paths->memory, CGROUP_PATH, "%s", path);
}

void cgroup_parse_paths(FILE *file, struct cgroup_paths *paths)
{
	char line[LINE_BYTES];

	memset(paths, 0, sizeof(*paths));
	while (fgets(line, sizeof(line), file))
		if (strchr(line, '\n') || feof(file))
			take_group(line, paths);
}

// What of PATH is below ROOT, "" or "/…"; NULL if it is not there, as of a group that another
// namespace hides.
static const char *below(const char *path, const char *root)
{
	size_t length = strlen(root);

	if (strcmp(root, "/") == 0)
		length = 0;
	if (strncmp(path, root, length) != 0 || (path[length] && path[length] != '/'))
		return NULL;
	path += length;
	if (strcmp(path, "/") == 0)
		path++;
	for (const char *at = path; (at = strstr(at, "/..")); at += 3)
		if (!at[3] || at[3] == '/')
			return NULL;
	return path;
}

static void find(const struct cgroup_mount *mount, const char *path, const char *prefix,
                 bool unified, struct cgroup_chain *chain)
{
	memset(chain, 0, sizeof(*chain));
	if (!mount->point[0] || !*path)
		return;
	const char *rest = below(path, mount->root);
	int top = snprintf(chain->directory, CGROUP_PATH, "%s%s", prefix, mount->point);
	if (top < 0 || top >= CGROUP_PATH)
		return;
	// A mount whose root another namespace names: it is the container's own group.
	int length =
		snprintf(chain->directory + top, CGROUP_PATH - (size_t)top, "%s", rest ? rest : "");
	if (length < 0 || top + length >= CGROUP_PATH)
		return;
	chain->top = (size_t)top;
	chain->unified = unified;
	size_t end = (size_t)top + (size_t)length;
	while (end > chain->top && chain->count < CGROUP_LEVELS - 1) {
		chain->lengths[chain->count++] = end;
		while (end > chain->top && chain->directory[end - 1] != '/')
			end--;
		end -= end > chain->top;
	}
	chain->lengths[chain->count++] = end;
}

void cgroup_find_cpu(const struct cgroup_mounts *mounts, const struct cgroup_paths *paths,
                     const char *prefix, struct cgroup_chain *chain)
{
	if (paths->cpu[0])
		find(&mounts->cpu, paths->cpu, prefix, false, chain);
	else
		find(&mounts->unified, paths->unified, prefix, true, chain);
}

void cgroup_find_memory(const struct cgroup_mounts *mounts, const struct cgroup_paths *paths,
                        const char *prefix, struct cgroup_chain *chain)
{
	if (paths->memory[0])
		find(&mounts->memory, paths->memory, prefix, false, chain);
	else
		find(&mounts->unified, paths->unified, prefix, true, chain);
}

void cgroup_name(const struct cgroup_chain *chain, uint32_t level, char *buffer, size_t size)
{
	size_t length = chain->lengths[level] - chain->top;

	snprintf(buffer, size, "%.*s", (int)length, chain->directory + chain->top);
	if (!length)
		snprintf(buffer, size, "/");
}

static FILE *open_file(const struct cgroup_chain *chain, uint32_t level, const char *name)
{
	char path[CGROUP_PATH + 64];

	snprintf(path, sizeof(path), "%.*s/%s", (int)chain->lengths[level], chain->directory, name);
	return fopen(path, "re");
}

static bool take_number(const char *text, uint64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	*value = strtoull(text, &end, 10);
	return !*end || isspace((unsigned char)*end);
}

struct field {
	const char *name;
	uint64_t *value;
	uint64_t scale;
};

// Lines of a name and a number. A field that does not fit is as if it were not there.
static bool take_fields(FILE *file, const struct field *fields, size_t count)
{
	bool known = false;
	char line[256];
	uint64_t value;

	while (fgets(line, sizeof(line), file)) {
		size_t length = strcspn(line, " ");
		for (size_t i = 0; line[length] == ' ' && i < count; i++) {
			if (strlen(fields[i].name) != length ||
			    strncmp(line, fields[i].name, length) != 0 ||
			    !take_number(line + length + 1, &value) ||
			    value > UINT64_MAX / fields[i].scale)
				continue;
			*fields[i].value = value * fields[i].scale;
			known = true;
		}
	}
	return known;
}

#define TAKE_FIELDS(file, fields) take_fields(file, fields, sizeof(fields) / sizeof((fields)[0]))

bool cgroup_parse_cpu_stat(FILE *file, struct cgroup_cpu *cpu)
{
	const struct field fields[] = {
		{ "nr_periods", &cpu->periods, 1 },
		{ "nr_throttled", &cpu->throttled_periods, 1 },
		{ "throttled_time", &cpu->throttled_ns, 1 },         // v1
		{ "throttled_usec", &cpu->throttled_ns, NS_PER_US }, // v2
	};

	return TAKE_FIELDS(file, fields);
}

bool cgroup_parse_cpu_max(FILE *file, struct cgroup_cpu *cpu)
{
	char line[64];
	uint64_t quota = 0, period;

	if (!fgets(line, sizeof(line), file))
		return false;
	const char *second = strchr(line, ' ');
	if (!second || !take_number(second + 1, &period) || !period ||
	    (strncmp(line, "max ", 4) != 0 && (!take_number(line, &quota) || !quota)))
		return false;
	cpu->quota_us = quota;
	cpu->period_us = period;
	return true;
}

static bool read_number(const struct cgroup_chain *chain, uint32_t level, const char *name,
                        uint64_t *value)
{
	cleanup_fclose FILE *file = open_file(chain, level, name);
	char line[64];

	return file && fgets(line, sizeof(line), file) && take_number(line, value);
}

bool cgroup_read_cpu(const struct cgroup_chain *chain, uint32_t level, struct cgroup_cpu *cpu)
{
	cleanup_fclose FILE *stat = open_file(chain, level, "cpu.stat");

	*cpu = (struct cgroup_cpu){ 0 };
	if (!stat || !cgroup_parse_cpu_stat(stat, cpu))
		return false;
	if (chain->unified) {
		cleanup_fclose FILE *max = open_file(chain, level, "cpu.max");
		// The root has none, and no limit.
		return !max || cgroup_parse_cpu_max(max, cpu);
	}
	// -1: no limit
	if (!read_number(chain, level, "cpu.cfs_quota_us", &cpu->quota_us) ||
	    !read_number(chain, level, "cpu.cfs_period_us", &cpu->period_us) || !cpu->period_us)
		cpu->quota_us = cpu->period_us = 0;
	return true;
}

bool cgroup_parse_memory_stat(FILE *file, struct cgroup_memory *memory)
{
	uint64_t anon = 0, shared = 0, rss = 0;
	const struct field fields[] = {
		{ "anon", &anon, 1 },
		{ "shmem", &shared, 1 },
		{ "total_rss", &rss, 1 }, // v1, of it and all groups within
		{ "total_shmem", &shared, 1 },
	};

	if (!TAKE_FIELDS(file, fields))
		return false;
	uint64_t most = rss > anon ? rss : anon;
	memory->held_bytes = most > UINT64_MAX - shared ? UINT64_MAX : most + shared;
	return true;
}

bool cgroup_parse_memory_events(FILE *file, struct cgroup_memory *memory)
{
	const struct field fields[] = {
		{ "max", &memory->limit_hits, 1 },
		{ "oom_kill", &memory->kills, 1 }, // v1 has it in memory.oom_control
	};

	return TAKE_FIELDS(file, fields);
}

// "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"
bool cgroup_parse_pressure(FILE *file, struct cgroup_memory *memory)
{
	char line[256];
	uint64_t us;

	while (fgets(line, sizeof(line), file)) {
		const char *total = strstr(line, " total=");
		if (strncmp(line, "some ", 5) != 0 || !total || !take_number(total + 7, &us) ||
		    us > UINT64_MAX / NS_PER_US)
			continue;
		memory->stalled_ns = us * NS_PER_US;
		memory->knows_stalls = true;
		return true;
	}
	return false;
}

// Reads the file NAME with PARSE, if it is there.
static void read_with(const struct cgroup_chain *chain, uint32_t level, const char *name,
                      bool (*parse)(FILE *, struct cgroup_memory *), struct cgroup_memory *memory)
{
	cleanup_fclose FILE *file = open_file(chain, level, name);

	if (file)
		parse(file, memory);
}

bool cgroup_read_memory(const struct cgroup_chain *chain, uint32_t level,
                        struct cgroup_memory *memory)
{
	bool v2 = chain->unified;

	*memory = (struct cgroup_memory){ 0 };
	if (!read_number(chain, level, v2 ? "memory.max" : "memory.limit_in_bytes",
	                 &memory->limit_bytes)) // "max"
		memory->limit_bytes = 0;
	if (memory->limit_bytes >= NO_LIMIT)
		memory->limit_bytes = 0;
	if (!read_number(chain, level, v2 ? "memory.current" : "memory.usage_in_bytes",
	                 &memory->used_bytes))
		return false;
	if (!memory->limit_bytes) // the rest would cost, and say nothing
		return true;
	read_with(chain, level, "memory.stat", cgroup_parse_memory_stat, memory);
	if (v2) {
		read_with(chain, level, "memory.events", cgroup_parse_memory_events, memory);
		read_with(chain, level, "memory.pressure", cgroup_parse_pressure, memory);
		return true;
	}
	read_with(chain, level, "memory.oom_control", cgroup_parse_memory_events, memory);
	read_number(chain, level, "memory.failcnt", &memory->limit_hits);
	return true;
}

uint64_t cgroup_throttled_wall_ns(const struct cgroup_cpu *limit, uint64_t periods,
                                  uint64_t throttled_ns, uint32_t cpus)
{
	double period_ns = (double)limit->period_us * 1e3, quota_ns = (double)limit->quota_us * 1e3;
	double all_ns = (double)periods * period_ns;

	if (!throttled_ns || all_ns <= 0)
		return 0;
	double queues = ((double)throttled_ns + (double)periods * quota_ns) / all_ns;
	if (cpus && queues > cpus)
		queues = cpus;
	if (queues < 1)
		queues = 1;
	return (uint64_t)((double)throttled_ns / queues);
}
