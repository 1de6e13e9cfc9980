/* SPDX-License-Identifier: MIT */
/*
 * Read access to a profile: its parts, and questions that involve several of them. For the files of
 * merge/ alone.
 *
 * Each part is a table with a header of its own; include that to look into it. Everything that is
 * returned belongs to the profile. A part keeps its address for the life of the profile, but its
 * rows may move while the profile is added to. Code that adds to a profile or saves it includes
 * merge/profile/profile_data.h. One thread at a time.
 */
#pragma once

#include "base/module.h"
#include "base/op.h"
#include "base/strings.h"
#include "merge/profile/profile.h"
#include "merge/table/cells.h"
#include "merge/table/locations.h"
#include "merge/table/paths.h"
#include "merge/table/threads.h"

struct allocations;
struct awaits;
struct call_counts;
struct counters;
struct counts;
struct gpu;
struct gpu_lines;
struct op_table;
struct ranks;
struct repeats;
struct series_table;
struct slices;
struct wall_time;

/*
 * The parts that loops over nodes, locations and cells read. A struct profile begins with them, so
 * that reading them takes no call; who writes them knows them by these names, too.
 */
#define PROFILE_CORE                                                                               \
	struct strings *strings;                                                                   \
	struct modules *modules;                                                                   \
	const struct ops *ops; /* NULL: none */                                                    \
	struct threads threads;                                                                    \
	struct locations locations;                                                                \
	struct paths paths;                                                                        \
	struct paths chains; /* of calls in Python */                                              \
	struct cells cells;

struct profile_core {
	PROFILE_CORE
};

static inline const struct profile_core *profile_core(const struct profile *p)
{
	return (const struct profile_core *)p;
}

/* The address of any other part depends on nothing but P: one call serves a whole loop. */
#define PROFILE_PART const __attribute__((const))

/* Names: strings and modules by their ids. */

static inline const struct strings *profile_strings(const struct profile *p)
{
	return profile_core(p)->strings;
}

static inline const struct modules *profile_modules(const struct profile *p)
{
	return profile_core(p)->modules;
}

/* NULL for 0 and for unknown ids. */
static inline const char *profile_string(const struct profile *p, uint32_t id)
{
	return strings_get(profile_strings(p), id);
}

/* NULL if there is no module of that id. */
static inline const struct module *profile_module(const struct profile *p, uint32_t id)
{
	return modules_get(profile_modules(p), id);
}

/* What a module's debug information could tell; all texts are strings, 0 if there is none. */
struct module_facts {
	uint32_t source, reason, remedy;
	uint8_t level; /* enum debug_level */
};

/* All zeros if nothing is known of module ID. */
struct module_facts profile_module_facts(const struct profile *p, uint32_t id);

/* Who ran: threads and processes by their slots. profile_run() has the run as a whole. */

static inline const struct threads *profile_threads(const struct profile *p)
{
	return &profile_core(p)->threads;
}

static inline const struct thread_info *profile_thread(const struct profile *p, uint32_t slot)
{
	return threads_get(profile_threads(p), slot);
}

/* NULL if the process was never announced. */
static inline const struct process_info *profile_process(const struct profile *p, uint32_t slot)
{
	return threads_process(profile_threads(p), slot);
}

PROFILE_PART struct ranks *profile_ranks(const struct profile *p); /* of a merged profile */

/* Of a merged profile the name of process SLOT, to say whose a GPU is; else "". */
const char *profile_owner(const struct profile *p, uint32_t slot);

/* Where: the tree of call paths, and the code at its nodes. */

static inline const struct paths *profile_paths(const struct profile *p)
{
	return &profile_core(p)->paths;
}

static inline const struct locations *profile_locations(const struct profile *p)
{
	return &profile_core(p)->locations;
}

static inline const struct path_node *profile_node(const struct profile *p, uint32_t node)
{
	return paths_node(profile_paths(p), node);
}

static inline const struct location *profile_location(const struct profile *p, uint32_t id)
{
	return locations_get(profile_locations(p), id);
}

/* The places of LOCATION, innermost first; NULL if there are none. */
static inline const struct place *profile_places(const struct profile *p,
                                                 const struct location *location)
{
	return locations_places(profile_locations(p), location);
}

static inline bool location_is_mark(const struct location *location, uint64_t mark)
{
	return location->kind == FRAME_MARK && location->address == mark;
}

/* Whether code at LOCATION runs in the kernel. */
static inline bool profile_is_kernel(const struct profile *p, const struct location *location)
{
	if (location->kind == FRAME_MARK)
		return location->address == MARK_KERNEL || location->address == MARK_FAULT;
	const struct module *module = profile_module(p, location->module);
	return module && module->kind == MODULE_KERNEL;
}

/* Whether LOCATION is in the Python function NAME, qualified or not, of a file that ends in FILE.
 */
bool profile_is_python(const struct profile *p, const struct location *location, const char *name,
                       const char *file);

/* Chains of calls in Python: a tree of its own, whose node 1 is the root of all and no call. */

#define PROFILE_CHAIN_ROOT 1

/* The place at chain NODE, of which the outermost ones have no caller. */
static inline uint32_t profile_chain_location(const struct profile *p, uint32_t node)
{
	return paths_node(&profile_core(p)->chains, node)->location;
}

static inline uint32_t profile_chain_caller(const struct profile *p, uint32_t node)
{
	uint32_t caller = paths_node(&profile_core(p)->chains, node)->parent;

	return caller == PROFILE_CHAIN_ROOT ? 0 : caller;
}

/* When: time in bins, single spans, and the clock of the run. */

static inline const struct cells *profile_cells(const struct profile *p)
{
	return &profile_core(p)->cells;
}

PROFILE_PART struct slices *profile_slices(const struct profile *p);

/* When the run began: zero of the windows of queries. */
uint64_t profile_start_ns(const struct profile *p);

/* How long the run took: by its clock, or as far as events tell. */
uint64_t profile_run_ns(const struct profile *p);

/* When TIME_NS was, from the run's start; 0 if before. */
uint64_t profile_since_start(const struct profile *p, uint64_t time_ns);

/* The latest time of any event. */
uint64_t profile_last_ns(const struct profile *p);

/* Events that were lost for want of memory or a thread, and their weight. */
uint64_t profile_lost(const struct profile *p);
uint64_t profile_lost_ns(const struct profile *p);

/* Ops and calls. */

/* NULL if there are none. */
static inline const struct ops *profile_ops(const struct profile *p)
{
	return profile_core(p)->ops;
}

PROFILE_PART struct op_table *profile_op_table(const struct profile *p);
PROFILE_PART struct series_table *profile_series(const struct profile *p);
PROFILE_PART struct call_counts *profile_call_counts(const struct profile *p);
PROFILE_PART struct awaits *profile_awaits(const struct profile *p);

/* NULL if there is none of that number. */
static inline const struct op *profile_op(const struct profile *p, uint64_t id)
{
	const struct ops *ops = profile_ops(p);

	return ops && id <= UINT32_MAX ? ops_get(ops, (uint32_t)id) : NULL;
}

/* GPUs and memory. */

PROFILE_PART struct gpu *profile_gpu(const struct profile *p);
PROFILE_PART struct gpu_lines *profile_gpu_lines(const struct profile *p);
PROFILE_PART struct allocations *profile_allocations(const struct profile *p);
PROFILE_PART struct counters *profile_counters(const struct profile *p);

/* What the end of the run waited for. */

PROFILE_PART struct wall_time *profile_wall_time(const struct profile *p);

/* Repeated runs, and counted instructions. */

PROFILE_PART struct repeats *profile_repeats(const struct profile *p);
PROFILE_PART struct counts *profile_counts(const struct profile *p);
