// SPDX-License-Identifier: MIT
#include "merge/record/limits.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "merge/profile/profile.h"
#include "merge/record/binding.h"
#include "sampler/proc/proc_stat.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define INTERVAL_NS  (100 * NS_PER_MS)
#define COST_PART    200 /* readings take one of so many parts of the time */
#define BINDING_PART 500 /* and looking at threads one of so many */
#define LOOK_BYTES   65536

void limits_init(struct limits *l, const char *prefix, uint32_t pid, uint64_t start_ns)
{
	memset(l, 0, sizeof(*l));
	l->prefix = prefix;
	l->pid = pid;
	l->start_ns = start_ns;
	if (sched_getaffinity(0, sizeof(l->cpus), &l->cpus) == 0)
		l->cpu_count = (uint32_t)CPU_COUNT(&l->cpus);
	else
		memset(&l->cpus, 0xff, sizeof(l->cpus)); // more than 1024: all of those
}

bool limits_parse_busy(FILE *file, const cpu_set_t *cpus, uint64_t *busy_ns)
{
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t ticks = 0, v[8];
	bool known = false;
	char line[512];

	while (fgets(line, sizeof(line), file) && strncmp(line, "cpu", 3) == 0) {
		char *rest;
		unsigned long cpu = strtoul(line + 3, &rest, 10);
		if (line[3] == ' ' || cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, cpus) ||
		    sscanf(rest,
		           "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		           " %" SCNu64 " %" SCNu64,
		           &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 8)
			continue;
		// user, nice, system, [idle, iowait,] irq, softirq, steal
		ticks += v[0] + v[1] + v[2] + v[5] + v[6] + v[7];
		known = true;
	}
	if (!known || hz <= 0)
		return false;
	*busy_ns = ticks * (NS_PER_SEC / (uint64_t)hz);
	return true;
}

// NAME in /proc.
static FILE *open_proc(const char *prefix, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%s", prefix, name);
	return fopen(path, "re");
}

// Of what is in the file. 0 if there is none.
static uint64_t hash_of_paths(const struct limits *l, char *text, size_t size)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	char name[64];

	snprintf(name, sizeof(name), "%u/cgroup", l->pid);
	cleanup_fclose FILE *file = open_proc(l->prefix, name);
	if (!file)
		return 0;
	size_t length = fread(text, 1, size - 1, file);
	text[length] = '\0';
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * UINT64_C(1099511628211);
	return length ? hash | 1 : 0;
}

// Where the groups of which TEXT is the /proc/PID/cgroup are. False if there is no memory.
static bool find_chains(const char *prefix, const char *text, struct cgroup_chain *cpu,
                        struct cgroup_chain *memory)
{
	cleanup_free struct cgroup_mounts *mounts = calloc(1, sizeof(*mounts));
	cleanup_free struct cgroup_paths *paths = calloc(1, sizeof(*paths));
	cleanup_fclose FILE *own = open_proc(prefix, "self/mountinfo");
	cleanup_fclose FILE *file = fmemopen((char *)text, strlen(text), "r");

	if (!mounts || !paths || !own || !file)
		return false;
	cgroup_parse_mounts(own, mounts);
	cgroup_parse_paths(file, paths);
	cgroup_find_cpu(mounts, paths, prefix, cpu);
	cgroup_find_memory(mounts, paths, prefix, memory);
	return true;
}

// The program may have moved, or been moved, to other groups. A process that ends is in none.
static void follow(struct limits *l)
{
	cleanup_free char *text = malloc(LOOK_BYTES);
	struct proc_stat stat;

	uint64_t hash = text ? hash_of_paths(l, text, LOOK_BYTES) : 0;
	if (!hash || hash == l->paths_hash)
		return;
	if (l->paths_hash && !*l->prefix &&
	    (!proc_stat_read(l->pid, &stat) || stat.state == 'Z' || stat.state == 'X'))
		return;
	if (!find_chains(l->prefix, text, &l->cpu, &l->memory))
		return;
	l->paths_hash = hash;
	for (uint32_t i = 0; i < l->cpu.count; i++)
		cgroup_read_cpu(&l->cpu, i, &l->last[i]);
	memset(l->memories, 0, sizeof(l->memories));
}

static struct limits_group *group_of(struct limits *l, uint32_t level)
{
	struct limits_group *group;
	char name[sizeof(group->name)];

	cgroup_name(&l->cpu, level, name, sizeof(name));
	for (uint32_t i = 0; i < l->group_count; i++)
		if (strcmp(l->groups[i].name, name) == 0)
			return &l->groups[i];
	if (l->group_count == LIMITS_GROUPS)
		return NULL;
	group = &l->groups[l->group_count++];
	memcpy(group->name, name, sizeof(name));
	return group;
}

static uint64_t since(uint64_t before, uint64_t now)
{
	return now > before ? now - before : 0;
}

// What the quota of LEVEL took since the last reading, by the clock; *QUEUES_NS as cpu.stat has it.
static uint64_t look_at_quota(struct limits *l, uint32_t level, uint64_t *queues_ns)
{
	struct cgroup_cpu now, before = l->last[level];

	if (!cgroup_read_cpu(&l->cpu, level, &now))
		return 0;
	l->last[level] = now;
	if (!now.quota_us && !before.quota_us)
		return 0;
	struct limits_group *group = group_of(l, level);
	if (!group)
		return 0;
	if (now.quota_us) {
		group->quota_us = now.quota_us;
		group->period_us = now.period_us;
	} else {
		now.quota_us = before.quota_us;
		now.period_us = before.period_us;
	}
	uint64_t periods = since(before.throttled_periods, now.throttled_periods);
	uint64_t ns = since(before.throttled_ns, now.throttled_ns);
	group->periods += since(before.periods, now.periods);
	group->throttled_periods += periods;
	group->throttled_ns += ns;
	group->open_periods += periods;
	group->open_ns += ns;
	if (!group->open_periods || !group->open_ns)
		return 0;
	uint64_t wall_ns =
		cgroup_throttled_wall_ns(&now, group->open_periods, group->open_ns, l->cpu_count);
	*queues_ns += group->open_ns;
	group->open_periods = group->open_ns = 0;
	group->wall_ns += wall_ns;
	return wall_ns;
}

static double part_of_limit(const struct limits_memory *m)
{
	return m->last.limit_bytes ? (double)m->most_bytes / (double)m->last.limit_bytes : 0;
}

// Whether A tells more than B.
static bool is_worse(const struct limits_memory *a, const struct limits_memory *b)
{
	uint64_t kills = since(a->first.kills, a->last.kills);
	uint64_t others = since(b->first.kills, b->last.kills);

	if (!b->known || kills != others)
		return !b->known || kills > others;
	return part_of_limit(a) > part_of_limit(b);
}

// How long tasks of LEVEL waited for memory since the last reading.
static uint64_t look_at_memory(struct limits *l, uint32_t level)
{
	struct limits_memory *m = &l->memories[level];
	struct cgroup_memory now;

	if (!cgroup_read_memory(&l->memory, level, &now) || !now.limit_bytes)
		return 0;
	if (!m->known)
		*m = (struct limits_memory){ .first = now, .last = now, .known = true };
	uint64_t stalled_ns = since(m->last.stalled_ns, now.stalled_ns);
	m->last = now;
	m->most_bytes = now.held_bytes > m->most_bytes ? now.held_bytes : m->most_bytes;
	if (is_worse(m, &l->worst)) {
		l->worst = *m;
		cgroup_name(&l->memory, level, l->worst_name, sizeof(l->worst_name));
	}
	return stalled_ns;
}

static uint64_t own_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return 0;
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
}

// Since the last reading, without what bottleneck itself took.
static uint64_t look_at_cpus(struct limits *l)
{
	cleanup_fclose FILE *file = open_proc(l->prefix, "stat");
	uint64_t busy_ns, own = own_ns();

	if (!file || !limits_parse_busy(file, &l->cpus, &busy_ns))
		return 0;
	uint64_t ns = l->knows_busy ? since(l->busy_ns, busy_ns) : 0;
	ns = since(since(l->own_ns, own), ns);
	l->busy_ns = busy_ns;
	l->own_ns = own;
	l->knows_busy = true;
	return ns;
}

// What is so now was so since the last reading. Of very many threads that takes long, and is done
// less often.
static void look_at_binding(struct limits *l, uint64_t at_ns)
{
	struct binding binding;

	if (l->cpu_count < 2 || at_ns < l->bound_due_ns)
		return;
	uint64_t start_ns = clock_now_ns(), width_ns = since(l->bound_at_ns, at_ns);
	binding_read(l->prefix, l->pid, &binding);
	l->bound_at_ns = at_ns;
	l->bound_due_ns = at_ns + BINDING_PART * (clock_now_ns() - start_ns);
	if (!binding_is_narrow(&binding, &l->cpus))
		return;
	l->bound_ns += width_ns;
	if (binding.threads <= l->bound_threads)
		return;
	l->bound_threads = binding.threads;
	l->bound_cpus = (uint32_t)CPU_COUNT(&binding.cpus);
}

void limits_look(struct limits *l, uint64_t now_ns)
{
	uint64_t at_ns = since(l->start_ns, now_ns), width_ns = since(l->end_ns, at_ns);
	uint64_t throttled_ns = 0, queues_ns = 0, stalled_ns = 0;

	// A group is throttled while those around it are not, and the other way round: they add up.
	for (uint32_t i = 0; i < l->cpu.count; i++)
		throttled_ns += look_at_quota(l, i, &queues_ns);
	for (uint32_t i = 0; i < l->memory.count; i++) {
		uint64_t ns = look_at_memory(l, i);
		stalled_ns = ns > stalled_ns ? ns : stalled_ns; // those around have it in theirs
	}
	uint64_t busy_ns = look_at_cpus(l);
	follow(l);
	if (!width_ns)
		return;
	look_at_binding(l, at_ns);
	l->end_ns = at_ns;
	contention_add(&l->table, &(struct contention_row){
					  .at_us = at_ns / NS_PER_US,
					  .throttled_us = throttled_ns / NS_PER_US,
					  .queues_us = queues_ns / NS_PER_US,
					  .busy_us = busy_ns / NS_PER_US,
					  .stalled_us = stalled_ns / NS_PER_US,
				  });
}

bool limits_maybe(struct limits *l, uint64_t now_ns)
{
	if (now_ns < l->next_ns)
		return false;
	limits_look(l, now_ns);
	uint64_t cost_ns = since(now_ns, clock_now_ns()) * COST_PART;
	l->next_ns = now_ns + (cost_ns > INTERVAL_NS ? cost_ns : INTERVAL_NS);
	return true;
}

int limits_timeout_ms(const struct limits *l, uint64_t now_ns, int timeout_ms)
{
	uint64_t left_ms = l->next_ns > now_ns ? (l->next_ns - now_ns) / NS_PER_MS + 1 : 0;

	return left_ms < (uint64_t)timeout_ms ? (int)left_ms : timeout_ms;
}

static uint32_t millicpus(uint64_t quota_us, uint64_t period_us)
{
	double value = period_us ? 1e3 * (double)quota_us / (double)period_us : 0;

	return value >= UINT32_MAX ? UINT32_MAX : quota_us && value < 1 ? 1 : (uint32_t)value;
}

// Which took most; if none took any, which allows least.
static const struct limits_group *decisive(const struct limits *l)
{
	const struct limits_group *best = NULL;

	for (uint32_t i = 0; i < l->group_count; i++) {
		const struct limits_group *group = &l->groups[i];
		if (!group->quota_us)
			continue;
		if (!best || group->wall_ns > best->wall_ns ||
		    (group->wall_ns == best->wall_ns &&
		     millicpus(group->quota_us, group->period_us) <
		             millicpus(best->quota_us, best->period_us)))
			best = group;
	}
	return best;
}

// A name may hold anything: signs that end a line do not get into the text.
static void print_name(char *out, size_t size, const char *name)
{
	size_t used = 0;

	for (; *name && used + 1 < size; name++)
		out[used++] = (unsigned char)*name < ' ' || *name == 127 ? '?' : *name;
	out[used] = '\0';
}

static void print_groups(struct limits *l)
{
	char name[sizeof(l->groups[0].name)];
	size_t used = 0;

	l->groups_text[0] = '\0';
	for (uint32_t i = 0; i < l->group_count && used + 1 < LIMITS_TEXT; i++) {
		const struct limits_group *g = &l->groups[i];
		print_name(name, sizeof(name), g->name);
		used += (size_t)snprintf(l->groups_text + used, LIMITS_TEXT - used,
		                         "%s%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		                         " %" PRIu64 " %" PRIu64 " %s",
		                         i ? "\n" : "", g->quota_us, g->period_us, g->periods,
		                         g->throttled_periods, g->throttled_ns, g->wall_ns, name);
	}
}

void limits_tell(struct limits *l, struct run *run)
{
	const struct limits_group *group = decisive(l);
	const struct limits_memory *worst = &l->worst;

	contention_print(&l->table, l->table_text);
	run->contention = l->table_text;
	run->bound_ns = l->bound_ns;
	run->bound_threads = l->bound_threads;
	run->bound_cpus = l->bound_cpus;
	if (group) {
		print_groups(l);
		print_name(l->group_name, sizeof(l->group_name), group->name);
		run->quota_groups = l->groups_text;
		run->quota_group = l->group_name;
		run->quota_millicpus = millicpus(group->quota_us, group->period_us);
	}
	if (!worst->known)
		return;
	print_name(l->worst_name, sizeof(l->worst_name), l->worst_name);
	run->memory_group = l->worst_name;
	run->memory_limit_bytes = worst->last.limit_bytes;
	run->memory_held_bytes = worst->most_bytes;
	run->memory_limit_hits = since(worst->first.limit_hits, worst->last.limit_hits);
	run->memory_kills = since(worst->first.kills, worst->last.kills);
	run->memory_knows_stalls = worst->last.knows_stalls;
}

uint32_t limits_quota(const char *prefix, uint32_t pid)
{
	cleanup_free char *text = malloc(LOOK_BYTES);
	cleanup_free struct limits *l = calloc(1, sizeof(*l));
	struct cgroup_cpu cpu;
	uint32_t least = 0;

	if (!text || !l)
		return 0;
	limits_init(l, prefix, pid, 0);
	if (!hash_of_paths(l, text, LOOK_BYTES) || !find_chains(prefix, text, &l->cpu, &l->memory))
		return 0;
	for (uint32_t i = 0; i < l->cpu.count; i++) {
		uint32_t quota = cgroup_read_cpu(&l->cpu, i, &cpu)
		                         ? millicpus(cpu.quota_us, cpu.period_us)
		                         : 0;
		if (quota && (!least || quota < least))
			least = quota;
	}
	return least;
}
