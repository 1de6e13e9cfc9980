// SPDX-License-Identifier: MIT
#include "merge/query/query_waits.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/origin.h"
#include "base/path.h"
#include "base/rank.h"
#include "base/record.h"
#include "base/share.h"
#include "base/strings.h"
#include "merge/profile/profile_parts.h"
#include "merge/query/query_wall.h"
#include "merge/scope/kept.h"
#include "merge/scope/own_place.h"
#include "merge/scope/window.h"
#include "merge/wall/wall_time.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(WAIT_KIND_DESCRIPTOR == WALL_DESCRIPTOR && WAIT_KIND_GIL == WALL_GIL &&
                       WAIT_KIND_SPIN == WALL_SPIN && WAIT_KIND_SIGNAL == WALL_SIGNAL &&
                       WAIT_KIND_LOCK == WALL_LOCK,
               "kinds");
_Static_assert(PARALLEL_MAX == WALL_BUSY_MAX, "threads at once");

// A row and what tells it from others; its sides' threads are counted apart.
struct slot {
	struct wait_row row;
	const struct wall_edge *first; // whose waiter and holder it began with
	uint64_t guessed_ns;
};

void wait_rows_free(struct wait_rows *rows)
{
	if (rows)
		free(rows->rows);
	free(rows);
}

const char *wait_kind_name(uint32_t kind, enum metric cause)
{
	static const char *const names[] = {
		[HELD_MUTEX] = "mutex",
		[HELD_RWLOCK] = "read-write lock",
		[HELD_CONDITION] = "condition variable",
		[HELD_SEMAPHORE] = "semaphore",
		[HELD_BARRIER] = "barrier",
		[HELD_JOIN] = "end of a thread",
		[HELD_SPIN] = "spinlock",
		[HELD_ONCE] = "initialization",
		[WALL_DESCRIPTOR] = "pipe or socket",
		[WALL_GIL] = "GIL",
		[WALL_SPIN] = "flag or spinlock",
		[WALL_SIGNAL] = "signal",
		[WAIT_KIND_TEAM] = "OpenMP barrier",
		[WAIT_KIND_RANKS] = "MPI call",
		[WAIT_KIND_FILE_LOCK] = "file lock",
		[WAIT_KIND_LOCK] = "semaphore",
	};

	if (kind && kind < sizeof(names) / sizeof(names[0]) && names[kind])
		return names[kind];
	return cause == METRIC_OFF_CHILD ? "child" : cause == METRIC_OFF_LOCK ? "lock" : "";
}

const char *wait_kind_article(uint32_t kind)
{
	return kind == WAIT_KIND_TEAM || kind == WAIT_KIND_RANKS || kind == HELD_ONCE ? "an" : "a";
}

// Where code that is none of the user's own is: its innermost function outside of the kernel, or
// its program or library if that has no symbols there.
// Which of the frames of the path to NODE, all of others' code, says where its thread is: the
// innermost in Python; else the innermost that is not the C library's, if there is one.
static const struct location *foreign_above(const struct profile *p, uint32_t node)
{
	const struct location *native = NULL;
	bool libc = true; // NATIVE is

	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct module *module = profile_module(p, l->module);
		if (l->kind == FRAME_PYTHON && l->place_count)
			return l;
		if (!libc || l->kind == FRAME_OP || l->kind == FRAME_MARK ||
		    profile_is_kernel(p, l))
			continue;
		bool is_libc = origin_is_libc(module ? module->path : NULL);
		native = native && is_libc ? native : l;
		libc = is_libc;
	}
	return native;
}

// Of the frames of the path to NODE that are outside of FROM, and none of the C library, which
// starts all: the innermost that has a name.
static const char *named_above(const struct profile *p, uint32_t node, const struct location *from)
{
	bool outside = false;

	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct module *module = profile_module(p, l->module);
		const char *name = outside && l->place_count
		                           ? profile_string(p, profile_places(p, l)->function)
		                           : NULL;
		if (name && !origin_is_libc(module ? module->path : NULL))
			return name;
		outside = outside || l == from;
	}
	return NULL;
}

static void fill_foreign(const struct profile *p, uint32_t node, struct wait_side *side)
{
	const struct location *l = foreign_above(p, node);
	const struct place *place = l && l->place_count ? profile_places(p, l) : NULL;
	const struct module *module = l ? profile_module(p, l->module) : NULL;

	side->function = place ? profile_string(p, place->function) : NULL;
	side->nameless = !side->function;
	if (!side->function) {
		side->function = module ? path_base(module->path) : NULL;
		side->below = l ? named_above(p, node, l) : NULL;
	}
	side->file = place ? profile_string(p, place->file) : NULL;
	side->line = place ? (int)place->line : 0;
}

// HOLDS: who is waited for; else who waits.
static void fill_side(const struct own_places *owns, uint32_t slot, uint32_t node, bool several,
                      bool holds, struct wait_side *side)
{
	const struct profile *p = owns->profile;
	const struct thread_info *thread = slot ? profile_thread(p, slot) : NULL;
	const struct process_info *process = thread ? profile_process(p, thread->process) : NULL;
	const struct place *own = node ? own_places_above(owns, node) : NULL;

	*side = (struct wait_side){ .threads = thread != NULL };
	if (thread)
		side->thread = profile_string(p, thread->name);
	if (several && process)
		side->process = profile_string(p, process->command);
	// Ranks run one program: the number says which of them is waited for.
	uint32_t rank;
	if (several && holds && process &&
	    rank_of_title(profile_string(p, process->title), &rank)) {
		side->process = profile_string(p, process->title);
		side->rank = rank + 1;
	}
	if (!own) {
		fill_foreign(p, node, side);
		return;
	}
	side->own = true;
	side->function = profile_string(p, own->function);
	side->file = profile_string(p, own->file);
	side->line = (int)own->line;
}

// What the user's Python code has called of others' in which NODE's thread waits; where it has none
// of the user's, as the threads that feed queues, what that one waits in.
static const char *python_within(const struct profile *p, uint32_t node)
{
	const char *found = NULL, *innermost = NULL;

	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct place *place = l->place_count ? profile_places(p, l) : NULL;
		if (own_place_at(p, l))
			return found;
		if (l->kind == FRAME_PYTHON && place)
			found = profile_string(p, place->function);
		innermost = innermost ? innermost : found;
	}
	return innermost;
}

// CPython makes its locks of semaphores, or of mutexes and conditions.
static bool is_python(const struct profile *p, const struct wall_edge *e)
{
	const struct module *module = profile_module(p, e->made.module);
	const char *base = module ? path_base(module->path) : "";

	return strncmp(base, "python", 6) == 0 || strncmp(base, "libpython", 9) == 0;
}

// Whether NODE's thread waits, within a runtime of OpenMP's, for its team: not for a lock.
static bool is_in_team(const struct profile *p, uint32_t node)
{
	bool is = false;

	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct module *module = profile_module(p, l->module);
		const struct place *place = l->place_count ? profile_places(p, l) : NULL;
		const char *function = place ? profile_string(p, place->function) : NULL;
		if (own_place_at(p, l))
			break;
		if (function && (strstr(function, "lock") || strstr(function, "critical")))
			return false;
		is |= module && origin_is_openmp(module->path);
	}
	return is;
}

// Whether NODE's thread is in a call of MPI's.
static bool is_in_mpi(const struct profile *p, uint32_t node)
{
	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct op *op = l->kind == FRAME_OP ? profile_op(p, l->address) : NULL;
		if (op && op->provider == OP_MPI)
			return true;
	}
	return false;
}

// What in the name of a function, in small letters, says which lock its caller waits for.
static const struct {
	const char *word;
	uint32_t kind;
} lock_words[] = {
	{ "condvar", HELD_CONDITION },    { "cond_wait", HELD_CONDITION },
	{ "cond_timed", HELD_CONDITION }, { "condition", HELD_CONDITION },
	{ "rwlock", HELD_RWLOCK },        { "rw_lock", HELD_RWLOCK },
	{ "rwmutex", HELD_RWLOCK },       { "mutex", HELD_MUTEX },
	{ "semaphore", HELD_SEMAPHORE },  { "barrier", HELD_BARRIER },
};

// Calls by which processes lock files: those of C libraries, of the kernel and of Python.
static const char *const file_locks[] = {
	"flock",
	"lockf",
	"lockf64",
	"fcntl",
	"fcntl64",
	"libc_fcntl",
	"libc_fcntl64",
	"do_sys_flock",
	"fcntl_setlk",
	"{built-in method fcntl.flock}",
	"{built-in method fcntl.lockf}",
};

static bool is_file_lock(const char *name)
{
	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(file_locks) / sizeof(file_locks[0]); i++)
		if (strcmp(name, file_locks[i]) == 0)
			return true;
	return false;
}

static uint32_t lock_kind_in(const char *name)
{
	if (is_file_lock(name))
		return WAIT_KIND_FILE_LOCK;
	for (size_t i = 0; i < sizeof(lock_words) / sizeof(lock_words[0]); i++)
		if (strcasestr(name, lock_words[i].word))
			return lock_words[i].kind;
	return 0;
}

// The kind of lock that NODE's thread waits for, where no call that the agent knows was seen, as in
// runtimes that ask the kernel themselves (Rust's, C++'s std::counting_semaphore) and programs that
// are linked statically: the innermost function tells, of those that are not the user's own.
// What is in brackets are types of what is locked, and of what is waited in. 0: none says it.
static uint32_t lock_kind_of(const struct profile *p, uint32_t node)
{
	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct place *places = l->place_count ? profile_places(p, l) : NULL;
		for (uint32_t i = 0; i < l->place_count; i++) {
			const char *name = profile_string(p, places[i].function);
			uint32_t kind = name ? lock_kind_in(name) : 0;
			if (kind)
				return kind;
		}
		if (own_place_at(p, l))
			break;
	}
	return 0;
}

// Where most waits of each thread are: at so much of their time the others are, too.
#define ALIKE 0.8

// Functions of databases' lock managers, which put a session to sleep by whatever means they have:
// a latch, a semaphore, a signal. What is waited for is the lock. Of those on one path the first
// here counts: it says most.
static const struct {
	const char *function, *lock;
} lock_managers[] = {
	{ "XactLockTableWait", "row lock" }, // PostgreSQL: until another transaction ends
	{ "MultiXactIdWait", "row lock" },
	{ "heap_lock_tuple", "row lock" },
	{ "LockTuple", "row lock" },
	{ "LockRelationOid", "table lock" },
	{ "LockAcquireExtended", "lock of the database" },
	{ "LWLockAcquire", "lightweight lock" },
	{ "LWLockAcquireOrWait", "lightweight lock" },
	{ "lock_wait_suspend_thread", "row lock" },    // InnoDB
	{ "MDL_context::acquire_lock", "table lock" }, // MySQL, MariaDB
	{ "sqliteDefaultBusyCallback", "lock of the database" },
};

#define LOCK_MANAGERS (sizeof(lock_managers) / sizeof(lock_managers[0]))

// The place in LOCK_MANAGERS of the lock that NODE's thread waits for; beyond its end: for none.
static size_t lock_manager_at(const struct profile *p, uint32_t node)
{
	size_t best = LOCK_MANAGERS;

	for (; node && profile_node(p, node)->parent; node = profile_node(p, node)->parent) {
		const struct location *l = profile_location(p, profile_node(p, node)->location);
		const struct place *places = l->place_count ? profile_places(p, l) : NULL;
		for (uint32_t i = 0; i < l->place_count; i++) {
			const char *name = profile_string(p, places[i].function);
			for (size_t k = 0; name && k < best; k++)
				if (strcmp(name, lock_managers[k].function) == 0)
					best = k;
		}
	}
	return best;
}

static const char *lock_managed(const struct profile *p, uint32_t node)
{
	size_t at = lock_manager_at(p, node);

	return at < LOCK_MANAGERS ? lock_managers[at].lock : NULL;
}

// A wait that a signal ended, and that has no stack of its own: a place that it has is where its
// thread is at other times of which no more is known.
static bool is_unseen(const struct wall_edge *e)
{
	return e->kind == WALL_SIGNAL && e->waiter &&
	       (!e->waiter_node || e->cause == METRIC_OFF_OTHER);
}

// By thread [slot - 1]: what it waits for in a lock manager wherever its waits that end by a signal
// have a stack, or in nearly all of that time; then it does in those that have none, too. A session
// waits for its client by other means. NULL: it does not, or here and there. NULL if there is no
// memory.
static const char **usual_locks(const struct profile *p)
{
	const struct wall_time *t = profile_wall_time(p);
	size_t threads = profile_threads(p)->thread_count;
	const char **locks = calloc(threads + 1, sizeof(*locks));
	struct {
		uint64_t ns, by_ns[LOCK_MANAGERS];
	} *sums = calloc(threads + 1, sizeof(*sums));

	for (size_t i = 0; locks && sums && i < t->edge_count; i++) {
		const struct wall_edge *e = &t->edges[i];
		if (e->kind != WALL_SIGNAL || !e->waiter || is_unseen(e))
			continue;
		size_t at = lock_manager_at(p, e->waiter_node);
		sums[e->waiter - 1].ns += e->ns;
		// Those of one name are one lock.
		for (size_t k = 0; at < LOCK_MANAGERS && k < at; k++)
			at = strcmp(lock_managers[k].lock, lock_managers[at].lock) == 0 ? k : at;
		if (at < LOCK_MANAGERS)
			sums[e->waiter - 1].by_ns[at] += e->ns;
	}
	for (size_t i = 0; locks && sums && i < threads; i++)
		for (size_t k = 0; k < LOCK_MANAGERS; k++)
			if (sums[i].by_ns[k] &&
			    (double)sums[i].by_ns[k] >= ALIKE * (double)sums[i].ns)
				locks[i] = lock_managers[k].lock;
	free(sums);
	return locks;
}

// Whether WITHIN, of Python's library, takes a lock for its caller, and does nothing else.
static bool takes_lock(const char *within)
{
	static const char enter[] = "__enter__";
	size_t length = strlen(within);

	return strstr(within, "SemLock") ||
	       (length >= strlen(enter) && strcmp(within + length - strlen(enter), enter) == 0);
}

// A semaphore that is used as a lock is one for the user where the user takes it. What Python's
// library makes of such (a queue, a pool) is known by what it is called.
static void fill_lock(struct wait_row *row)
{
	bool taken = row->within && takes_lock(row->within);

	if (row->kind != WAIT_KIND_LOCK)
		return;
	if (row->python || (row->within && !taken))
		row->kind = HELD_SEMAPHORE;
	if (!taken || row->python)
		return;
	row->python = true;
	row->within = NULL;
}

static void fill_resource(const struct profile *p, const struct wall_edge *e, uint32_t waiter_node,
                          const char *const *usual_locks, struct wait_row *row)
{
	const struct module *module = profile_module(p, e->module);
	const struct module *maker = profile_module(p, e->made.module);
	const char *file = profile_string(p, e->file);

	row->kind = (!e->kind || e->kind == WALL_SPIN) && is_in_team(p, waiter_node)
	                    ? WAIT_KIND_TEAM
	            : e->kind == WALL_SPIN && is_in_mpi(p, waiter_node) ? WAIT_KIND_RANKS
	                                                                : e->kind;
	if (!row->kind && e->cause == METRIC_OFF_LOCK)
		row->kind = lock_kind_of(p, waiter_node);
	// On a CPU, waiting for one, or asleep after a while: it waits for the same.
	bool spins = row->kind == WAIT_KIND_TEAM || row->kind == WAIT_KIND_RANKS ||
	             row->kind == WAIT_KIND_SPIN;
	row->cause = spins ? METRIC_OFF_LOCK : e->cause;
	row->address = e->resource;
	row->lock = spins ? NULL : lock_managed(p, waiter_node);
	if (is_unseen(e))
		row->lock = usual_locks[e->waiter - 1];
	if (e->kind == WALL_GIL)
		return;
	row->python = is_python(p, e);
	// Where a library makes locks of its own says nothing.
	row->made = maker && file && e->line && !origin_is_foreign(maker->path, file);
	if (row->python || maker || !e->name)
		row->within = python_within(p, waiter_node);
	fill_lock(row);
	if (maker && !row->made)
		return;
	row->resource = profile_string(p, e->name);
	row->resource_file = file;
	row->resource_line = (int)e->line;
	if (!row->resource_file && row->resource && module)
		row->resource_file = path_base(module->path);
}

// Time that a thread waited at a place of the user's own, for the GIL or not.
struct at_place {
	uint32_t slot, node;
	bool gil;
	const struct place *place;
	uint64_t ns;
};

struct usual {
	uint32_t node[2]; // of waits for locks but the GIL, and for the GIL; 0: here and there
};

static int compare_places(const void *a, const void *b)
{
	const struct at_place *left = a, *right = b;

	if (left->slot != right->slot)
		return left->slot < right->slot ? -1 : 1;
	if (left->gil != right->gil)
		return left->gil ? 1 : -1;
	if (left->place->function != right->place->function)
		return left->place->function < right->place->function ? -1 : 1;
	return (left->place->file > right->place->file) - (left->place->file < right->place->file);
}

static void find_usual(const struct at_place *at, size_t count, struct usual *usual)
{
	for (size_t first = 0, end; first < count; first = end) {
		uint64_t all = 0, most = 0, ns = 0, heaviest = 0;
		uint32_t node = 0, best = 0;
		for (end = first;
		     end < count && at[end].slot == at[first].slot && at[end].gil == at[first].gil;
		     end++) {
			bool same = end > first &&
			            at[end].place->function == at[end - 1].place->function &&
			            at[end].place->file == at[end - 1].place->file;
			ns = same ? ns + at[end].ns : at[end].ns;
			if (!same || at[end].ns > heaviest) {
				heaviest = at[end].ns;
				node = at[end].node;
			}
			all += at[end].ns;
			if (ns > most) {
				most = ns;
				best = node;
			}
		}
		if ((double)most >= ALIKE * (double)all)
			usual[at[first].slot - 1].node[at[first].gil] = best;
	}
}

// [node - 1]: the thread that it is of. NULL if there is no memory.
static uint32_t *slots_of(const struct profile *p)
{
	uint32_t *slots = calloc((size_t)profile_paths(p)->count + 1, sizeof(*slots));

	for (uint32_t id = 1; slots && id <= profile_paths(p)->count; id++) {
		const struct path_node *node = profile_node(p, id);
		slots[id - 1] = node->parent ? slots[node->parent - 1] : node->location;
	}
	return slots;
}

// [slot - 1]. Short waits have no stack of their own, but many threads wait at one place. NULL if
// there is no memory.
static struct usual *usual_places(const struct own_places *owns)
{
	const struct profile *p = owns->profile;
	const struct cells *cells = profile_cells(p);
	struct usual *usual = calloc(profile_threads(p)->thread_count + 1, sizeof(*usual));
	cleanup_free struct at_place *at = calloc((size_t)cells->count + 1, sizeof(*at));
	cleanup_free uint32_t *slots = slots_of(p);
	size_t count = 0;

	if (!usual || !at || !slots) {
		free(usual);
		return NULL;
	}
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		const struct path_node *node = profile_node(p, cell->node);
		const struct place *place =
			cell->metric == METRIC_OFF_LOCK ? own_places_above(owns, cell->node) : NULL;
		if (!place || !node->parent)
			continue;
		const struct location *l = profile_location(p, node->location);
		at[count++] = (struct at_place){
			.slot = slots[cell->node - 1],
			.node = cell->node,
			.gil = l->kind == FRAME_MARK && l->address == MARK_GIL,
			.place = place,
			.ns = cells_whole(cells, cell),
		};
	}
	qsort(at, count, sizeof(*at), compare_places);
	find_usual(at, count, usual);
	return usual;
}

// A window of what has times: of the same bins as all others of the profile, as time since their
// origin, which is the same.
struct part {
	const struct wall_time *wall;
	bool whole; // all of it
	struct window bins;
	uint64_t from_ns, to_ns;
};

static struct part part_of(const struct profile *p, uint64_t from_ns, uint64_t to_ns)
{
	const struct wall_time *t = profile_wall_time(p);
	uint64_t width = profile_cells(p)->width_ns;
	struct part part = { .wall = t, .whole = (!from_ns && !to_ns) || !t->has_times };

	part.bins = part.whole ? window_of(p, 0, 0) : window_of(p, from_ns, to_ns);
	part.from_ns = part.bins.first_bin * width;
	part.to_ns = part.bins.end_bin < CELLS_BINS ? part.bins.end_bin * width : UINT64_MAX;
	return part;
}

// What the cells of SERIES have in PART: by their keys, of which there are COUNT. NULL if there is
// no memory. CALLS: how often, if it is asked for.
static double *in_part(const struct part *part, enum wall_series series, size_t count,
                       double **calls)
{
	const struct cells *cells = &part->wall->times[wall_table_of(series)];
	double *ns = calloc(count + 1, sizeof(*ns));
	double *often = ns && calls ? calloc(count + 1, sizeof(*often)) : NULL;

	if (!ns || (calls && !often)) {
		free(ns);
		return NULL;
	}
	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		struct cell moment = { .ns = cells->width_ns, .bin = cell->bin };
		if (cell->metric != series || cell->node > count)
			continue;
		ns[cell->node - 1] += cells_within(cells, cell, part->from_ns, part->to_ns);
		if (often)
			often[cell->node - 1] +=
				cell->samples *
				cells_within(cells, &moment, part->from_ns, part->to_ns) /
				(double)cells->width_ns;
	}
	if (calls)
		*calls = often;
	return ns;
}

// At most MOST, as bins are read.
static uint64_t bounded(double ns, uint64_t most)
{
	return ns <= 0 ? 0 : ns < (double)most ? (uint64_t)(ns + 0.5) : most;
}

// The edges as they were in PART. NULL if there is no memory.
static struct wall_edge *edges_in(const struct part *part)
{
	const struct wall_time *t = part->wall;
	struct wall_edge *edges = calloc(t->edge_count + 1, sizeof(*edges));
	cleanup_free double *calls = NULL;
	cleanup_free double *ns = in_part(part, WALL_WAITED, t->edge_count, &calls);
	cleanup_free double *wall = in_part(part, WALL_EDGE_WALL, t->edge_count, NULL);
	cleanup_free double *ready = in_part(part, WALL_EDGE_READY, t->edge_count, NULL);

	if (!edges || !ns || !wall || !ready) {
		free(edges);
		return NULL;
	}
	for (size_t i = 0; i < t->edge_count; i++) {
		struct wall_edge *e = &edges[i];
		*e = t->edges[i];
		if (part->whole)
			continue;
		e->ns = bounded(ns[i], e->ns);
		e->count = bounded(calls[i], e->count);
		e->count += e->ns && !e->count; // one that goes on there
		e->wall_ns = bounded(wall[i], e->wall_ns);
		e->wall_ready_ns = bounded(ready[i], e->wall_ns);
		e->longest_ns = e->longest_ns < e->ns ? e->longest_ns : e->ns;
		e->median_ns = e->median_ns < e->longest_ns ? e->median_ns : e->longest_ns;
	}
	return edges;
}

static uint32_t node_of_waiter(const struct wall_edge *e, const struct usual *usual)
{
	if (e->waiter_node || !e->waiter || e->cause != METRIC_OFF_LOCK)
		return e->waiter_node;
	return usual[e->waiter - 1].node[e->kind == WALL_GIL];
}

// Threads of one kind are one: who is in the same function, or in a program without symbols or a
// stack that is called like them.
static bool same_function(const struct wait_side *a, const struct wait_side *b)
{
	const char *name_a = a->function ? a->function : a->thread;
	const char *name_b = b->function ? b->function : b->thread;

	return strings_same(name_a, name_b) && strings_same(a->file, b->file) &&
	       strings_same(a->process, b->process) && !a->threads == !b->threads;
}

static bool same_row(const struct wait_row *a, const struct wait_row *b)
{
	bool same = a->kind == b->kind && a->cause == b->cause && a->lock == b->lock &&
	            strings_same(a->resource, b->resource) &&
	            a->resource_line == b->resource_line &&
	            strings_same(a->resource_file, b->resource_file) &&
	            strings_same(a->within, b->within) && a->python == b->python;

	// Without a name resources of one kind that are waited for at one line are alike. Who holds
	// one is at many lines of a function meanwhile: those are one, and the heaviest is named.
	return same && a->waiter.line == b->waiter.line && same_function(&a->waiter, &b->waiter) &&
	       same_function(&a->holder, &b->holder);
}

// What is known of threads: [slot - 1].
struct life {
	uint64_t on_cpu_ns, all_ns;
};

// NULL if there is no memory.
static struct life *lives_of(const struct profile *p)
{
	const struct cells *cells = profile_cells(p);
	struct life *lives = calloc(profile_threads(p)->thread_count + 1, sizeof(*lives));
	cleanup_free uint32_t *slots = slots_of(p);

	for (uint32_t i = 0; lives && slots && i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		uint32_t slot = slots[cell->node - 1];
		uint64_t ns = cells_whole(cells, cell);
		if (!slot || slot > profile_threads(p)->thread_count)
			continue;
		lives[slot - 1].all_ns += ns;
		lives[slot - 1].on_cpu_ns += cell->metric == METRIC_ON_CPU ? ns : 0;
	}
	if (slots)
		return lives;
	free(lives);
	return NULL;
}

static void add_thread(const struct life *life, struct wait_side *side)
{
	side->threads++;
	side->on_cpu_ns += life->on_cpu_ns;
	side->life_ns += life->all_ns;
}

// How many different threads of each row's edges are waiters, and holders.
static bool count_threads(const struct profile *p, const uint32_t *row_of, struct slot *slots,
                          size_t count)
{
	const struct wall_time *t = profile_wall_time(p);
	size_t threads = profile_threads(p)->thread_count;
	// [slot - 1]: 1 + the row in which it was counted last.
	cleanup_free uint32_t *waiter_in = calloc(threads + 1, sizeof(*waiter_in));
	cleanup_free uint32_t *holder_in = calloc(threads + 1, sizeof(*holder_in));
	cleanup_free struct life *lives = lives_of(p);

	for (size_t row = 0; waiter_in && holder_in && lives && row < count; row++) {
		struct wait_row *out = &slots[row].row;
		out->waiter.threads = out->holder.threads = 0;
		for (size_t i = 0; i < t->edge_count; i++) {
			uint32_t waiter = t->edges[i].waiter, holder = t->edges[i].holder;
			if (row_of[i] != row)
				continue;
			if (waiter && waiter_in[waiter - 1] != row + 1) {
				waiter_in[waiter - 1] = (uint32_t)row + 1;
				add_thread(&lives[waiter - 1], &out->waiter);
			}
			if (holder && holder_in[holder - 1] != row + 1) {
				holder_in[holder - 1] = (uint32_t)row + 1;
				add_thread(&lives[holder - 1], &out->holder);
			}
		}
	}
	return waiter_in && holder_in && lives;
}

static int compare_rows(const void *a, const void *b)
{
	const struct slot *left = a, *right = b;

	if (left->row.ns != right->row.ns)
		return left->row.ns < right->row.ns ? 1 : -1;
	return left->first < right->first ? -1 : left->first > right->first;
}

// Rows of little time are many, and one search for each: so many are kept apart.
#define ROWS_MAX 512

static void add(struct slot *slot, const struct wall_edge *e)
{
	struct wait_row *row = &slot->row;

	// The median of medians, by how many waits each is of, is near enough.
	row->median_ns = (uint64_t)(((double)row->median_ns * (double)row->count +
	                             (double)e->median_ns * (double)e->count) /
	                            (double)(row->count + e->count ? row->count + e->count : 1));
	row->ns += e->ns;
	row->wall_ns += e->wall_ns;
	row->wall_ready_ns += e->wall_ready_ns;
	row->count += e->count;
	row->longest_ns = e->longest_ns > row->longest_ns ? e->longest_ns : row->longest_ns;
	slot->guessed_ns += e->guessed ? e->ns : 0;
}

// Of PART's wall time what was waited for others of whom none is known: NS by cause. A wait of
// another thread than the one that the run waited for is none of it.
static void count_unknown(const struct part *part, const struct wall_edge *edges,
                          uint64_t ns[METRIC_COUNT])
{
	const struct cells *cells = &part->wall->cells;
	uint64_t blocked[METRIC_COUNT] = { 0 };

	for (uint32_t i = 0; i < cells->count; i++)
		blocked[cells->cells[i].metric] += cells_between(
			cells, &cells->cells[i], part->bins.first_bin, part->bins.end_bin);
	for (size_t i = 0; i < part->wall->edge_count; i++)
		ns[edges[i].cause] += edges[i].holder ? 0 : edges[i].ns;
	for (int m = 0; m < METRIC_COUNT; m++)
		ns[m] = ns[m] < blocked[m] ? ns[m] : blocked[m];
}

static bool same_resource(const struct wait_row *a, const struct wait_row *b)
{
	return a->kind == b->kind && a->cause == b->cause &&
	       strings_same(a->resource, b->resource) && strings_same(a->within, b->within);
}

// How long was waited is known, but where the holder was meanwhile is known by samples. UNKNOWN is
// what count_unknown() has counted.
static void bound_rows(const struct profile *p, const uint64_t unknown[METRIC_COUNT],
                       struct wait_rows *rows)
{
	double weight_ns = query_sampling_weight(p);

	for (size_t i = 0; i < rows->count; i++) {
		struct wait_row *row = &rows->rows[i];
		uint64_t margin = query_weighted_margin(weight_ns, row->wall_ns, rows->wall_ns);
		uint64_t more = 0;
		for (size_t k = 0; k < rows->count && row->holder.threads; k++)
			more += !rows->rows[k].holder.threads && same_resource(row, &rows->rows[k])
			                ? rows->rows[k].ns
			                : 0;
		more = more < unknown[row->cause] ? more : unknown[row->cause];
		row->wall_low_ns = row->wall_ns > margin ? row->wall_ns - margin : 0;
		row->wall_high_ns = row->wall_ns + margin + more;
	}
}

// Time of all threads in waits that other threads end.
static void count_known(const struct part *part, const struct wall_edge *edges,
                        struct wait_rows *rows)
{
	const struct wall_time *t = part->wall;

	rows->whole_run = part->whole;
	rows->step_ns = part->whole ? 0 : t->times[WALL_EDGE_TIMES].width_ns;
	if (part->whole) {
		rows->blocked_ns = t->coverage.blocked_ns;
		rows->known_ns = t->coverage.known_ns;
		rows->guessed_ns = t->coverage.guessed_ns;
		return;
	}
	for (size_t i = 0; i < t->edge_count; i++) {
		rows->blocked_ns += edges[i].ns;
		rows->known_ns += edges[i].holder ? edges[i].ns : 0;
		rows->guessed_ns += edges[i].holder && edges[i].guessed ? edges[i].ns : 0;
	}
}

static struct wait_rows *list_waits(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                                    struct error *err)
{
	const struct wall_time *t = profile_wall_time(p);
	const struct part part = part_of(p, from_ns, to_ns);
	cleanup_free struct wall_edge *edges = edges_in(&part);
	cleanup(wait_rows) struct wait_rows *rows = calloc(1, sizeof(*rows));
	size_t most = t->edge_count < ROWS_MAX ? t->edge_count : ROWS_MAX, count = 0;
	cleanup_free struct slot *slots = calloc(most + 1, sizeof(*slots));
	cleanup_free uint32_t *row_of = calloc(t->edge_count + 1, sizeof(*row_of));
	bool several = profile_threads(p)->process_count > 1;
	struct own_places owns = own_places_of(p);
	cleanup_free struct usual *usual = usual_places(&owns);
	cleanup_free const char **locks = usual_locks(p);
	cleanup_free const struct place **freed = owns.of;

	if (rows)
		rows->rows = calloc(most + 1, sizeof(*rows->rows));
	if (!edges || !rows || !slots || !row_of || !rows->rows || !usual || !locks) {
		error_set(err, ENOMEM, "could not list the waits");
		return NULL;
	}
	for (size_t i = 0; i < t->edge_count; i++) {
		const struct wall_edge *e = &edges[i];
		struct wait_row row = { 0 };
		size_t at = 0;
		row_of[i] = UINT32_MAX;
		if (!e->ns && !e->wall_ns)
			continue;
		uint32_t node = node_of_waiter(e, usual);
		fill_resource(p, e, node, locks, &row);
		fill_side(&owns, e->waiter, node, several, false, &row.waiter);
		fill_side(&owns, e->holder, e->holder_node, several, true, &row.holder);
		while (at < count && !same_row(&slots[at].row, &row))
			at++;
		row_of[i] = (uint32_t)at;
		rows->ns += e->ns;
		rows->wall_ns += e->wall_ns;
		if (at == most)
			continue;
		if (at == count)
			slots[count++] = (struct slot){ .row = row, .first = e };
		add(&slots[at], e);
	}
	if (!count_threads(p, row_of, slots, count)) {
		error_set(err, ENOMEM, "could not list the waits");
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		slots[i].row.guessed = 2 * slots[i].guessed_ns > slots[i].row.ns;
	qsort(slots, count, sizeof(*slots), compare_rows);
	for (size_t i = 0; i < count; i++)
		rows->rows[i] = slots[i].row;
	rows->count = count;
	count_known(&part, edges, rows);
	uint64_t unknown[METRIC_COUNT] = { 0 };
	count_unknown(&part, edges, unknown);
	bound_rows(p, unknown, rows);
	for (int m = 0; m < METRIC_COUNT; m++)
		rows->wall_unknown_ns += unknown[m];
	return steal(rows);
}

// NULL if there is no memory.
static struct wait_rows *copy_of(const struct wait_rows *from)
{
	cleanup(wait_rows) struct wait_rows *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *from;
	copy->rows = calloc(from->count + 1, sizeof(*copy->rows));
	if (!copy->rows)
		return NULL;
	memcpy(copy->rows, from->rows, from->count * sizeof(*copy->rows));
	return steal(copy);
}

static void release_rows(void *rows)
{
	wait_rows_free(rows);
}

struct wait_rows *query_waits(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                              struct error *err)
{
	const struct kept_key key = kept_key(p, "waits %" PRIu64 " %" PRIu64, from_ns, to_ns);
	const struct wait_rows *kept = kept_find(&key);
	cleanup(wait_rows) struct wait_rows *rows =
		kept ? copy_of(kept) : list_waits(p, from_ns, to_ns, err);

	if (!rows && kept)
		error_set(err, ENOMEM, "could not list the waits");
	if (rows && !kept) {
		cleanup(wait_rows) struct wait_rows *copy = key.works ? copy_of(rows) : NULL;
		if (copy && kept_add(&key, copy, release_rows))
			steal(copy);
	}
	return steal(rows);
}

// CPU time of all threads in the function of SIDE.
static uint64_t on_cpus(const struct own_places *owns, const struct part *part,
                        const struct wait_side *side)
{
	const struct profile *p = owns->profile;
	const struct cells *cells = profile_cells(p);
	uint64_t ns = 0;

	for (uint32_t i = 0; i < cells->count; i++) {
		const struct cell *cell = &cells->cells[i];
		struct wait_side other;
		if (cell->metric != METRIC_ON_CPU)
			continue;
		fill_side(owns, 0, cell->node, false, false, &other);
		if (same_function(side, &other))
			ns += cells_between(cells, cell, part->bins.first_bin, part->bins.end_bin);
	}
	return ns;
}

static uint32_t slot_of(const struct profile *p, uint32_t node)
{
	while (profile_node(p, node)->parent)
		node = profile_node(p, node)->parent;
	return profile_node(p, node)->location;
}

// Who was alone in a part of the run, and for how long; most time first.
struct alone {
	struct wall_alone *places;
	size_t count;
};

static int compare_alone(const void *a, const void *b)
{
	const struct wall_alone *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns < right->ns ? 1 : -1;
	return (left->node > right->node) - (left->node < right->node);
}

// No places if there is no memory.
static struct alone alone_in(const struct profile *p, const struct part *part)
{
	const struct wall_time *t = part->wall;
	cleanup_free double *ns = in_part(part, WALL_ALONE, profile_paths(p)->count, NULL);
	struct alone alone = { calloc(t->alone_count + 1, sizeof(*alone.places)), 0 };

	for (size_t i = 0; ns && alone.places && i < t->alone_count; i++) {
		struct wall_alone place = t->alone[i];
		if (!part->whole)
			place.ns = bounded(ns[place.node - 1], place.ns);
		if (place.ns)
			alone.places[alone.count++] = place;
	}
	if (alone.count)
		qsort(alone.places, alone.count, sizeof(*alone.places), compare_alone);
	return alone;
}

// Samples say where who was alone, and records of switches for how long: who was alone at a sample
// need not have been for all that this stands for.
static void fit_alone(struct alone *alone, uint64_t one_ns)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < alone->count; i++)
		sum_ns += alone->places[i].ns;
	for (size_t i = 0; sum_ns > one_ns && i < alone->count; i++)
		alone->places[i].ns =
			ns_whole((double)alone->places[i].ns * share_of(one_ns, sum_ns));
}

// The most that a thread was alone which is never in the function of SIDE.
static uint64_t alone_elsewhere(const struct own_places *owns, const struct alone *alone,
                                const struct wait_side *side)
{
	const struct profile *p = owns->profile;
	size_t threads = profile_threads(p)->thread_count;
	cleanup_free bool *is_there = calloc(threads + 1, sizeof(*is_there));
	cleanup_free uint64_t *ns = calloc(threads + 1, sizeof(*ns));
	uint64_t most = 0;

	for (size_t i = 0; is_there && ns && i < alone->count; i++) {
		uint32_t slot = slot_of(p, alone->places[i].node);
		struct wait_side other;
		fill_side(owns, 0, alone->places[i].node, false, false, &other);
		is_there[slot - 1] |= same_function(side, &other);
		ns[slot - 1] += alone->places[i].ns;
	}
	for (size_t i = 0; is_there && ns && i < threads; i++)
		most = !is_there[i] && ns[i] > most ? ns[i] : most;
	return most;
}

#define AT_SHARE 0.25 /* of the time of a process alone, at one place: less says little of it */

// The place of the user's own where process NUMBER (a slot) was alone for longest.
static void find_place_in_process(const struct own_places *owns, const struct alone *alone,
                                  uint32_t number, struct parallel *parallel)
{
	const struct profile *p = owns->profile;
	struct wait_side sides[16];
	uint64_t ns[16] = { 0 };
	size_t count = 0, best = 0;

	// The heaviest paths come first.
	for (size_t i = 0; i < alone->count; i++) {
		uint32_t node = alone->places[i].node, slot = slot_of(p, node);
		struct wait_side side;
		size_t at = 0;
		if (profile_thread(p, slot)->process != number || !own_places_above(owns, node))
			continue;
		fill_side(owns, 0, node, false, false, &side);
		while (at < count && !same_function(&sides[at], &side))
			at++;
		if (at == sizeof(sides) / sizeof(sides[0]))
			continue;
		if (at == count)
			sides[count++] = side;
		ns[at] += alone->places[i].ns;
	}
	for (size_t i = 0; i < count; i++)
		best = ns[i] > ns[best] ? i : best;
	if (!count || (double)ns[best] < AT_SHARE * (double)parallel->process_ns)
		return;
	parallel->process_at = sides[best];
	parallel->process_at_ns = ns[best];
}

// A program that others started may be what they wait for, whatever it does.
static void find_alone_process(const struct own_places *owns, const struct alone *alone,
                               struct parallel *parallel)
{
	const struct profile *p = owns->profile;
	const struct threads *threads = profile_threads(p);
	cleanup_free uint64_t *ns = calloc((size_t)threads->process_count + 1, sizeof(*ns));
	uint32_t best = 0;

	for (size_t i = 0; ns && i < alone->count; i++) {
		uint32_t slot = slot_of(p, alone->places[i].node);
		uint32_t process = slot ? profile_thread(p, slot)->process : 0;
		const struct process_info *info = process ? profile_process(p, process) : NULL;
		if (!info || !info->parent)
			continue;
		ns[process] += alone->places[i].ns;
		if (ns[process] <= parallel->process_ns)
			continue;
		parallel->process_ns = ns[process];
		parallel->process = profile_string(p, info->title);
		parallel->process_pid = info->pid;
		best = process;
	}
	if (best)
		find_place_in_process(owns, alone, best, parallel);
}

// How many threads were on CPUs at once.
static void count_at_once(const struct part *part, struct parallel *parallel)
{
	const struct wall_busy *busy = &part->wall->busy;
	cleanup_free double *ns = in_part(part, WALL_BUSY, WALL_BUSY_MAX + 1, NULL);
	cleanup_free double *wanted = in_part(part, WALL_WANTED, 1, NULL);

	parallel->whole_run = part->whole;
	parallel->step_ns = part->whole ? 0 : part->wall->times[WALL_BUSY_TIMES].width_ns;
	for (uint32_t i = 0; ns && wanted && i <= WALL_BUSY_MAX; i++) {
		uint64_t *sum = i == 0   ? &parallel->none_ns
		                : i == 1 ? &parallel->one_ns
		                         : &parallel->more_ns;
		uint64_t at_once = part->whole ? busy->ns[i] : bounded(ns[i], busy->ns[i]);
		*sum += at_once;
		parallel->at_once_ns[i] = at_once;
		parallel->all_ns += at_once;
		parallel->most = at_once ? i : parallel->most;
	}
	if (ns && wanted)
		parallel->serial_ns =
			parallel->one_ns -
			(part->whole ? busy->wanted_ns : bounded(wanted[0], parallel->one_ns));
}

static void find_parallel(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                          struct parallel *parallel)
{
	const struct part part = part_of(p, from_ns, to_ns);
	struct own_places owns = own_places_of(p);
	struct wait_side sides[64];
	uint64_t ns[64] = { 0 };
	size_t count = 0, best = 0;

	*parallel = (struct parallel){ 0 };
	count_at_once(&part, parallel);
	struct alone alone = alone_in(p, &part);
	fit_alone(&alone, parallel->one_ns);
	// The heaviest paths come first: a place that matters is among the first few.
	for (size_t i = 0; i < alone.count; i++) {
		struct wait_side side;
		size_t at = 0;
		fill_side(&owns, 0, alone.places[i].node, false, false, &side);
		while (at < count && !same_function(&sides[at], &side))
			at++;
		if (at == sizeof(sides) / sizeof(sides[0]))
			continue;
		if (at == count)
			sides[count++] = side;
		ns[at] += alone.places[i].ns;
	}
	find_alone_process(&owns, &alone, parallel);
	for (size_t i = 0; i < count; i++)
		best = ns[i] > ns[best] ? i : best;
	if (count && ns[best]) {
		parallel->alone = sides[best];
		parallel->alone_ns = ns[best];
		parallel->alone_all_ns = on_cpus(&owns, &part, &sides[best]);
		parallel->alone_other_ns = alone_elsewhere(&owns, &alone, &sides[best]);
	}
	free(alone.places);
	free(owns.of);
}

void query_parallel(const struct profile *p, uint64_t from_ns, uint64_t to_ns,
                    struct parallel *parallel)
{
	const struct kept_key key = kept_key(p, "parallel %" PRIu64 " %" PRIu64, from_ns, to_ns);
	const struct parallel *kept = kept_find(&key);

	if (kept) {
		*parallel = *kept;
		return;
	}
	find_parallel(p, from_ns, to_ns, parallel);
	cleanup_free struct parallel *copy = key.works ? malloc(sizeof(*copy)) : NULL;
	if (copy)
		*copy = *parallel;
	if (copy && kept_add(&key, copy, free))
		steal(copy);
}
