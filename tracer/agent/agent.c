// SPDX-License-Identifier: MIT
#include "tracer/agent/agent.h"

#include "base/clock.h"
#include "tracer/agent/hold.h"
#include "tracer/agent/loader.h"
#include "tracer/agent/maps.h"

#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define COMM_MAX   16
#define COST_SHARE 20 // reading the mappings takes at most one in so many of the time
#define PATIENCE   1000

__thread uint8_t agent_untraced __attribute__((tls_model("initial-exec")));

// When the calling thread has begun to fork; 0: it does not.
static __thread uint64_t forks_ns __attribute__((tls_model("initial-exec")));

struct record *agent_reserve(const struct agent *a, struct lane *lane, uint16_t type, size_t size)
{
	struct record *record = lane_reserve(lane, a->rings.by_populate, size);

	if (!record)
		return NULL;
	memset(record, 0, size);
	record->type = type;
	record->pid = a->pid;
	record->tid = lane->tid ? lane->tid : a->pid;
	record->time_ns = clock_now_ns();
	return record;
}

// The text goes behind HEAD_SIZE bytes of record.
static void write_text(struct agent *a, struct lane *lane, uint16_t type, const char *text)
{
	size_t length = strlen(text) + 1;
	size_t size = record_align(sizeof(struct record_name) + length);
	struct record *record = agent_reserve(a, lane, type, size);

	if (!record)
		return;
	memcpy(record + 1, text, length);
	lane_commit(lane, record, size);
}

static void write_name(struct agent *a, struct lane *lane, uint16_t type)
{
	char comm[COMM_MAX + 1] = "";

	prctl(PR_GET_NAME, comm, 0, 0, 0);
	write_text(a, lane, type, comm);
}

static void write_fork(struct agent *a, struct lane *lane, uint32_t parent_pid, uint32_t parent_tid)
{
	struct record_fork *fork =
		(struct record_fork *)agent_reserve(a, lane, RECORD_FORK, sizeof(*fork));

	if (!fork)
		return;
	fork->parent_pid = parent_pid;
	fork->parent_tid = parent_tid;
	if (lane == a->process)
		fork->head.time_ns = a->born_ns;
	lane_commit(lane, &fork->head, sizeof(*fork));
}

static bool lock(int *flag)
{
	int idle = 0;

	return __atomic_compare_exchange_n(flag, &idle, 1, false, __ATOMIC_ACQUIRE,
	                                   __ATOMIC_RELAXED);
}

static void unlock(int *flag)
{
	__atomic_store_n(flag, 0, __ATOMIC_RELEASE);
}

static void introduce(struct agent *a)
{
	write_fork(a, a->process, a->parent_pid, a->parent_pid);
	// A forked child is the program that its parent is, and has its mappings.
	if (a->forked)
		return;
	// What the process has run for until now was for another program.
	if (agent_tells(a))
		rings_write_rest(&a->rings, a->process, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	write_name(a, a->process, RECORD_EXEC);
}

bool agent_attach(struct agent *a)
{
	if (!a->on || a->process)
		return a->on;
	if (!lock(&a->attaching))
		return false; // another thread, or the code that this handler interrupted
	if (rings_start(&a->rings, a->rings.directory, a->pid, a->born_ns))
		a->process = rings_claim(&a->rings, 0); // of no thread: the main thread has another
	a->on = a->process != NULL;
	if (a->on)
		introduce(a);
	unlock(&a->attaching);
	return a->on;
}

static void write_unmap(void *context, uintptr_t start, uintptr_t end)
{
	struct agent *a = context;

	if (!agent_attach(a))
		return;
	// What comes there next may look the same.
	a->known_count = a->lasting_count;
	struct record_unmap *unmap =
		(struct record_unmap *)agent_reserve(a, a->process, RECORD_UNMAP, sizeof(*unmap));
	if (!unmap)
		return;
	unmap->start = start;
	unmap->length = end - start;
	// What will be told from now on has come after that.
	a->maps_ns = unmap->head.time_ns;
	lane_commit(a->process, &unmap->head, sizeof(*unmap));
}

bool agent_start(struct agent *a, const char *directory, const char *config)
{
	if (strlen(directory) >= sizeof(a->rings.directory))
		return false;
	strcpy(a->rings.directory, directory);
	a->config = config_parse(config);
	a->rings.collector_namespace = a->config.pid_namespace;
	a->rings.collector_filters = a->config.filters;
	a->rings.collector_pid = a->config.collector;
	a->rings.collector_zero_ns = a->config.zero_ns;
	uint32_t hz = agent_samples(a) ? a->config.frequency_hz : a->config.python_hz;
	a->period_ns = hz ? NS_PER_SEC / hz : 0;
	a->pid = (uint32_t)getpid();
	a->parent_pid = (uint32_t)getppid();
	a->born_ns = a->maps_ns = clock_now_ns();
	rings_introduce(&a->rings, a->pid, a->born_ns);
	a->on = true;
	a->begun = modes_now();
	// There is nothing to say before the first op, or the first tick in the kernel.
	if (!agent_tells(a))
		return true;
	if (!agent_attach(a))
		return false;
	agent_write_maps(a);
	a->lasting_count = a->known_count;
	objects_look(&a->objects, write_unmap, a);
	return true;
}

void agent_before_fork(void)
{
	forks_ns = clock_now_ns();
}

void agent_after_fork(void)
{
	forks_ns = 0;
}

void agent_fork(struct agent *a)
{
	uint64_t now_ns = clock_now_ns();

	rings_abandon(&a->rings);
	a->process = NULL;
	a->attaching = a->speaking = a->naming = 0;
	a->forked = true;
	a->over = false;
	a->users = 0; // other threads are not there
	a->begun = (struct modes){ 0, 0 };
	a->parent_pid = a->pid;
	a->pid = (uint32_t)getpid();
	a->maps_ns = now_ns;
	a->born_ns = forks_ns && forks_ns < now_ns ? forks_ns : now_ns;
	forks_ns = 0;
}

// True once for each mapping; beyond the table's size the rest is left to the collector, which
// reads the maps of processes that are alive.
static bool is_new(struct agent *a, const struct map *map)
{
	uint64_t hashed = (map->start ^ map->end << 20 ^ map->file_offset ^ map->inode << 40) | 1;

	for (uint32_t i = 0; i < a->known_count; i++)
		if (a->known_maps[i] == hashed)
			return false;
	if (a->known_count == AGENT_MAPS_KNOWN)
		return false;
	a->known_maps[a->known_count++] = hashed;
	return true;
}

static void write_map(void *context, const struct map *map)
{
	struct agent *a = context;
	size_t length = strlen(map->path) + 1;
	size_t size = record_align(sizeof(struct record_map) + length);

	if (!(map->protection & PROT_EXEC) || !is_new(a, map))
		return;
	struct record_map *record =
		(struct record_map *)agent_reserve(a, a->process, RECORD_MAP, size);
	if (!record)
		return;
	// It came at some time since the last look: samples from then on may lie in it.
	record->head.time_ns = a->maps_ns;
	record->start = map->start;
	record->length = map->end - map->start;
	record->file_offset = map->file_offset;
	record->inode = map->inode;
	record->device_major = map->device_major;
	record->device_minor = map->device_minor;
	record->protection = map->protection;
	memcpy(record + 1, map->path, length);
	lane_commit(a->process, &record->head, size);
}

static void write_maps(struct agent *a)
{
	uint64_t now = clock_now_ns();

	maps_each(write_map, a);
	a->maps_ns = now;
	a->loaded = false;
	uint64_t end = clock_now_ns();
	a->maps_due_ns = end + (end - now) * COST_SHARE;
}

void agent_write_maps(struct agent *a)
{
	if (!a->process || !lock(&a->speaking))
		return;
	write_maps(a);
	unlock(&a->speaking);
}

// Another thread speaks but for a moment. Unless that lasts, and then the next look makes good.
static bool lock_patiently(int *flag)
{
	for (int i = 0; i < PATIENCE; i++) {
		if (lock(flag))
			return true;
		sched_yield();
	}
	return false;
}

// Not in a vfork child, which has its parent's memory.
static bool may_speak(const struct agent *a)
{
	return a->on && agent_tells(a) && !a->over && a->pid == (uint32_t)getpid();
}

static void look_at_objects(struct agent *a, bool before)
{
	struct loader_lock loader;

	// A child's list of objects is whole.
	if (!may_speak(a) || !loader_lock_soon(&loader))
		return;
	struct hold held = hold_signals();
	if (lock_patiently(&a->speaking)) {
		a->loaded |= objects_look(&a->objects, write_unmap, a);
		// What lives for less than a sample is not worth the cost.
		if (before && a->loaded && a->process && clock_now_ns() >= a->maps_due_ns)
			write_maps(a);
		unlock(&a->speaking);
	}
	hold_end(held);
	loader_unlock(&loader);
}

void agent_before_unload(struct agent *a)
{
	look_at_objects(a, true);
}

void agent_after_unload(struct agent *a)
{
	look_at_objects(a, false);
}

// Who samples the program otherwise is told of its threads by the kernel.
static bool is_told_elsewhere(const struct agent *a)
{
	return a->self && !agent_tells(a);
}

void agent_write_begin(struct agent *a, struct lane *lane)
{
	if (lane->tid == a->pid || is_told_elsewhere(a))
		return; // the process has been introduced
	write_fork(a, lane, a->pid, lane->parent_tid);
	write_name(a, lane, RECORD_THREAD);
}

void agent_write_end(struct agent *a, struct lane *lane)
{
	if (agent_tells(a))
		rings_write_rest(&a->rings, lane, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	if (is_told_elsewhere(a))
		return;
	write_name(a, lane, RECORD_THREAD);
	struct record *exit = agent_reserve(a, lane, RECORD_EXIT, sizeof(*exit));
	if (exit)
		lane_commit(lane, exit, sizeof(*exit));
}

void agent_write_birth(const struct agent *a, struct lane *lane, uintptr_t start)
{
	struct record_birth *birth =
		(struct record_birth *)agent_reserve(a, lane, RECORD_BIRTH, sizeof(*birth));

	if (!birth)
		return;
	birth->start = start;
	lane_commit(lane, &birth->head, sizeof(*birth));
}

void agent_write_last(struct agent *a, void (*write)(const struct agent *a, struct lane *lane))
{
	if (!a->process || !lock_patiently(&a->speaking))
		return;
	write(a, a->process);
	unlock(&a->speaking);
}
