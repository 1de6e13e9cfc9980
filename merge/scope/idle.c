// SPDX-License-Identifier: MIT
#include "merge/scope/idle.h"

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/origin.h"
#include "merge/profile/profile_parts.h"
#include "merge/scope/kept.h"
#include "merge/table/cells.h"

#include <stdlib.h>
#include <string.h>

#define ANCESTORS_MAX 64

// Whether code at LOCATION may be the user's. What is not known may be.
static bool may_be_own(const struct profile *p, const struct location *location)
{
	const struct place *places = profile_places(p, location);
	const struct module *module = profile_module(p, location->module);
	const char *path = module ? module->path : NULL;

	if (location->kind == FRAME_MARK)
		return !profile_is_kernel(p, location);
	if (location->kind == FRAME_OP || (module && module->kind == MODULE_JIT))
		return true;
	if (module && module->kind == MODULE_KERNEL)
		return false;
	for (uint32_t i = 0; i < location->place_count; i++)
		if (!origin_is_foreign(path, profile_string(p, places[i].file)))
			return true;
	return !location->place_count && (!path || !origin_is_foreign(path, NULL));
}

// Whether it may be code of somebody who works on it: not of the system's programs, unless their
// source is known.
static bool may_be_worked_on(const struct profile *p, const struct location *location)
{
	const struct place *places = profile_places(p, location);
	const struct module *module = profile_module(p, location->module);
	bool installed = module && origin_is_installed(module->path);

	for (uint32_t i = 0; i < location->place_count; i++)
		installed &= !places[i].file;
	return !installed && may_be_own(p, location);
}

static bool is_first(const struct profile *p, uint32_t slot)
{
	const struct thread_info *info = profile_thread(p, slot);
	const struct process_info *process = profile_process(p, info->process);

	return !process || info->tid == process->pid;
}

// What a thread calls to be told that there is work.
static const char *const calls_for_work[] = {
	"pthread_cond_wait",
	"__pthread_cond_wait",
	"pthread_cond_timedwait",
	"pthread_cond_clockwait",
	"sem_wait",
	"sem_timedwait",
	"sem_clockwait",
	"mq_receive",
	"msgrcv",
	// From here on also to be told of children, by signals and the ends of pipes.
	"epoll_wait",
	"epoll_pwait",
	"poll",
	"ppoll",
	"select",
	"pselect",
	"sigwait",
	"sigwaitinfo",
	"sigtimedwait",
	"sigsuspend",
	"pause",
};

#define CALLS        (sizeof(calls_for_work) / sizeof(calls_for_work[0]))
#define CALLS_THREAD 9 // of them, that tell of threads alone

// Where a thread of Go's runtime waits for a goroutine that can run, watches the others, or waits
// to start threads for those that C code calls from. Which thread that is, the first one as well as
// another, is chance.
static const char *const go_schedulers[] = { "runtime.schedule", "runtime.sysmon",
	                                     "runtime.templateThread" };

#define GO_SCHEDULERS (sizeof(go_schedulers) / sizeof(go_schedulers[0]))

struct wanted_names {
	uint32_t ids[CALLS]; /* strings; 0: no such name is in the profile */
	uint32_t go[GO_SCHEDULERS];
};

static struct wanted_names find_names(const struct profile *p)
{
	struct wanted_names names;

	for (size_t i = 0; i < CALLS; i++)
		names.ids[i] = strings_find(profile_strings(p), calls_for_work[i]);
	for (size_t i = 0; i < GO_SCHEDULERS; i++)
		names.go[i] = strings_find(profile_strings(p), go_schedulers[i]);
	return names;
}

// In a function of one of the COUNT IDS.
static bool is_in(const struct profile *p, const uint32_t *ids, size_t count,
                  const struct location *location)
{
	const struct place *places = profile_places(p, location);

	for (uint32_t i = 0; i < location->place_count; i++)
		for (size_t n = 0; places[i].function && n < count; n++)
			if (places[i].function == ids[n])
				return true;
	return false;
}

// In one of the calls from number FIRST on.
static bool waits_in(const struct profile *p, const struct wanted_names *names, size_t first,
                     const struct location *location)
{
	return is_in(p, names->ids + first, CALLS - first, location);
}

// What is known of threads: [slot - 1].
struct lives {
	uint64_t *ns, *on_cpu;
};

static void lives_at_scope_end(struct lives *l)
{
	free(l->ns);
	free(l->on_cpu);
}

static bool is_whole(const struct profile *p, uint32_t first, uint32_t end)
{
	return !first && end > profile_cells(p)->last_bin;
}

static void add_whole(struct lives *l, const struct profile *p)
{
	for (uint32_t slot = 1; slot <= profile_threads(p)->thread_count; slot++) {
		const struct thread_info *info = profile_thread(p, slot);
		l->on_cpu[slot - 1] = info->ns[METRIC_ON_CPU];
		for (int m = 0; m < METRIC_COUNT; m++)
			l->ns[slot - 1] += info->ns[m];
	}
}

static void add_bins(struct lives *l, const struct profile *p, const uint32_t *slots,
                     uint32_t first, uint32_t end)
{
	const struct cells *cells = profile_cells(p);

	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		uint32_t slot = slots[cell->node - 1];
		uint64_t ns = cells_between(cells, cell, first, end); // modulo 2^64
		if (!slot || slot > profile_threads(p)->thread_count)
			continue;
		l->ns[slot - 1] += ns;
		l->on_cpu[slot - 1] += cell->metric == METRIC_ON_CPU ? ns : 0;
	}
}

// [node - 1]: the thread that it is of. NULL if there is no memory.
static uint32_t *find_slots(const struct profile *p)
{
	uint32_t *slots = calloc((size_t)profile_paths(p)->count + 1, sizeof(*slots));

	for (uint32_t id = 1; slots && id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		slots[id - 1] = node->parent ? slots[node->parent - 1] : node->location;
	}
	return slots;
}

// Of the bins FIRST up to END.
static bool lives_init(struct lives *l, const struct profile *p, const uint32_t *slots,
                       uint32_t first, uint32_t end)
{
	size_t threads = profile_threads(p)->thread_count + (size_t)1;

	l->ns = calloc(threads, sizeof(*l->ns));
	l->on_cpu = calloc(threads, sizeof(*l->on_cpu));
	if (!l->ns || !l->on_cpu)
		return false;
	if (is_whole(p, first, end))
		add_whole(l, p);
	else
		add_bins(l, p, slots, first, end);
	return true;
}

// [process slot - 1]: what all that it has started, and what these have, were on a CPU. NULL if
// there is no memory.
static uint64_t *work_of_children(const struct profile *p, const struct lives *l)
{
	const struct threads *t = profile_threads(p);
	uint64_t *work = calloc(t->process_count + (size_t)1, sizeof(*work));

	for (uint32_t slot = 1; work && slot <= t->thread_count; slot++) {
		const struct process_info *process =
			threads_process(t, threads_get(t, slot)->process);
		// What a file says of parents may be anything.
		for (int depth = 0; process && depth < ANCESTORS_MAX; depth++) {
			uint32_t parent = process->parent;
			process = threads_process(t, parent);
			if (process)
				work[parent - 1] += l->on_cpu[slot - 1];
		}
	}
	return work;
}

static bool hardly_ran(const struct lives *l, uint32_t slot)
{
	double life = (double)l->ns[slot - 1];

	return life > 0 && (double)l->on_cpu[slot - 1] < IDLE_RUNS * life;
}

// What the callers of a node are: bits.
enum state {
	WANTED = 1,       // the thread
	ONLY_FOREIGN = 2, // none of them is the user's code
	HARDLY_RAN = 4,   // the thread
	FOR_WORK = 8,     // one of them waits for work
	PARENT = 16       // the thread: children work while it waits; nobody works on it
};

// A process of Python's multiprocessing begins there; forked, it has its parent's stack above.
static bool begins_process(const struct profile *p, const struct location *location)
{
	return profile_is_python(p, location, "_bootstrap", "multiprocessing/process.py");
}

// A thread that the kernel keeps in a process for io_uring: none of its code runs there.
static bool is_of_io_uring(const struct profile *p, uint32_t slot)
{
	const char *name = profile_string(p, profile_thread(p, slot)->name);

	return name && (strncmp(name, "iou-sqp-", 8) == 0 || strncmp(name, "iou-wrk-", 8) == 0);
}

static bool is_parent(const struct profile *p, const struct lives *lives, const uint64_t *work,
                      uint32_t slot)
{
	uint32_t process = profile_thread(p, slot)->process;
	double waited = (double)(lives->ns[slot - 1] - lives->on_cpu[slot - 1]);

	return process && waited > 0 && (double)work[process - 1] >= IDLE_PARENT * waited;
}

static uint8_t state_of(const struct profile *p, const struct lives *lives, const uint64_t *work,
                        const bool *threads, uint32_t slot)
{
	if (!threads[slot - 1])
		return 0;
	if (is_of_io_uring(p, slot))
		return WANTED | FOR_WORK;
	if (is_first(p, slot))
		return WANTED | (is_parent(p, lives, work, slot) ? PARENT : 0);
	return WANTED | ONLY_FOREIGN | (hardly_ran(lives, slot) ? HARDLY_RAN : 0);
}

static uint8_t next_state(const struct profile *p, const struct wanted_names *names, uint8_t state,
                          const struct location *location)
{
	if (begins_process(p, location))
		return state | ONLY_FOREIGN;
	if (state & ONLY_FOREIGN && may_be_own(p, location))
		state &= (uint8_t)~ONLY_FOREIGN;
	if (state & PARENT && may_be_worked_on(p, location))
		state &= (uint8_t)~PARENT;
	if (location_is_mark(location, MARK_GIL)) // it has work, and is kept from it
		return 0;
	if ((state & HARDLY_RAN && waits_in(p, names, 0, location)) ||
	    (state & PARENT && waits_in(p, names, CALLS_THREAD, location)) ||
	    (state && is_in(p, names->go, GO_SCHEDULERS, location)))
		state |= FOR_WORK;
	return state;
}

static bool *idle_of(const uint8_t *states, uint32_t count)
{
	bool *idle = calloc((size_t)count + 1, sizeof(*idle));

	for (uint32_t i = 0; idle && i < count; i++)
		idle[i] = states[i] & (ONLY_FOREIGN | FOR_WORK);
	return idle;
}

// A wait of a thread, of which the stack was not seen.
static bool is_unseen(const struct profile *p, uint32_t id)
{
	const struct path_node *node = profile_node(p, id);

	return node->parent && !profile_node(p, node->parent)->parent &&
	       location_is_mark(profile_location(p, node->location), MARK_UNKNOWN);
}

// Waits in the bins FIRST up to END whose stacks were seen: [slot - 1].
struct waits {
	uint64_t *ns, *idle;
};

static void waits_at_scope_end(struct waits *w)
{
	free(w->ns);
	free(w->idle);
}

static bool waits_init(struct waits *w, const struct profile *p, const uint32_t *slots,
                       const bool *idle, uint32_t first, uint32_t end)
{
	size_t threads = profile_threads(p)->thread_count + (size_t)1;
	const struct cells *cells = profile_cells(p);

	w->ns = calloc(threads, sizeof(*w->ns));
	w->idle = calloc(threads, sizeof(*w->idle));
	for (uint32_t i = 0; w->ns && w->idle && i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		uint32_t slot = slots[cell->node - 1];
		if (!metric_may_be_idle(cell->metric) || !slot ||
		    slot > profile_threads(p)->thread_count || is_unseen(p, cell->node))
			continue;
		uint64_t ns = cells_between(cells, cell, first, end); // modulo 2^64
		w->ns[slot - 1] += ns;
		w->idle[slot - 1] += idle[cell->node - 1] ? ns : 0;
	}
	return w->ns && w->idle;
}

// Those that were not seen are as those that were, if these are all alike.
static bool add_unseen(const struct profile *p, const uint32_t *slots, bool *idle, uint32_t first,
                       uint32_t end)
{
	cleanup(waits) struct waits waits = { 0 };

	if (!waits_init(&waits, p, slots, idle, first, end))
		return false;
	for (uint32_t id = 1; id <= profile_paths(p)->count; id++) {
		uint32_t slot = is_unseen(p, id) ? slots[id - 1] : 0;
		if (slot && slot <= profile_threads(p)->thread_count && waits.idle[slot - 1] &&
		    (double)waits.idle[slot - 1] >= IDLE_ALIKE * (double)waits.ns[slot - 1])
			idle[id - 1] = true;
	}
	return true;
}

static bool *find_idle(const struct profile *p, const bool *threads, uint32_t first, uint32_t end)
{
	cleanup(lives) struct lives lives = { 0 };
	const struct wanted_names names = find_names(p);
	uint32_t count = profile_paths(p)->count;
	cleanup_free uint8_t *states = calloc((size_t)count + 1, sizeof(*states));
	cleanup_free uint32_t *slots = find_slots(p);

	if (!states || !slots || !lives_init(&lives, p, slots, first, end))
		return NULL;
	cleanup_free uint64_t *work = work_of_children(p, &lives);
	if (!work)
		return NULL;
	for (uint32_t id = 1; id <= count; id++) {
		const struct path_node *node = profile_node(p, id);
		uint8_t above = node->parent ? states[node->parent - 1] : 0;
		if (!node->parent)
			states[id - 1] = state_of(p, &lives, work, threads, node->location);
		else if (above)
			states[id - 1] =
				next_state(p, &names, above, profile_location(p, node->location));
	}
	cleanup_free bool *idle = idle_of(states, count);
	return idle && add_unseen(p, slots, idle, first, end) ? steal(idle) : NULL;
}

bool *idle_nodes(const struct profile *p, const bool *threads, uint32_t first, uint32_t end)
{
	size_t bytes = ((size_t)profile_paths(p)->count + 1) * sizeof(bool);
	uint64_t chosen = hash_bytes(threads, profile_threads(p)->thread_count);
	const struct kept_key key =
		kept_key(p, "idle %u %u %llx", first, end, (unsigned long long)chosen);
	const bool *kept = kept_find(&key);
	cleanup_free bool *idle = kept ? malloc(bytes) : find_idle(p, threads, first, end);
	cleanup_free bool *copy = idle && key.works && !kept ? malloc(bytes) : NULL;

	if (idle && kept)
		memcpy(idle, kept, bytes);
	if (copy)
		memcpy(copy, idle, bytes);
	if (copy && kept_add(&key, copy, free))
		steal(copy);
	return steal(idle);
}
