/* SPDX-License-Identifier: MIT */
/*
 * What a struct profile is made of, for the files of merge/ that add to one or save it. Those that
 * read it include merge/profile/profile_parts.h.
 */
#pragma once

#include "base/op.h"
#include "base/strings.h"
#include "merge/gpu/gpu.h"
#include "merge/gpu/gpu_lines.h"
#include "merge/op/awaits.h"
#include "merge/op/call_counts.h"
#include "merge/op/goroutines.h"
#include "merge/op/op_shape.h"
#include "merge/op/op_table.h"
#include "merge/profile/callables.h"
#include "merge/profile/counts.h"
#include "merge/profile/leaf_registers.h"
#include "merge/profile/profile.h"
#include "merge/profile/profile_parts.h"
#include "merge/profile/repeats.h"
#include "merge/table/allocations.h"
#include "merge/table/cells.h"
#include "merge/table/counters.h"
#include "merge/table/locations.h"
#include "merge/table/paths.h"
#include "merge/table/ranks.h"
#include "merge/table/series.h"
#include "merge/table/slices.h"
#include "merge/table/sources.h"
#include "merge/table/threads.h"
#include "merge/wall/wall_time.h"

#include <stddef.h>

/*
 * The path that a thread's last stack took through the tree. The next one has
 * most of its callers in common, and they need not be looked up again.
 */
struct last_path {
	uint32_t thread; /* slot; 0: none */
	uint32_t count;
	struct frame *frames; /* outermost first */
	uint32_t *nodes;
	size_t frame_capacity, node_capacity;
};

#define LAST_PATHS 64 /* threads share them by the last bits of their slots */

struct profile {
	union {
		struct profile_core core; /* as readers know it */
		struct {
			PROFILE_CORE
		};
	};
	struct modules *own_modules; /* of a profile that was read: the same, to be freed */
	struct profile_limits limits;
	struct run run;             /* its texts are in strings */
	struct module_facts *facts; /* [module id - 1] */
	size_t fact_count, fact_capacity;
	struct last_path last[LAST_PATHS];
	const struct codes *codes; /* of FRAME_PYTHON; NULL: none, or it was read from a file */
	struct ops *own_ops;       /* of a profile that was read: the same, to be freed */
	uint32_t *chain_nodes;     /* [call of codes - 1]: its node there; 0: not asked for yet */
	size_t chain_node_count, chain_node_capacity;
	struct op_table op_table;
	struct series_table series;
	struct op_shapes shapes;
	struct counters counters;
	struct allocations allocations;
	struct callables callables;
	struct leaf_registers leaf_registers;
	struct call_counts call_counts;
	struct awaits awaits;
	struct goroutines goroutines; /* until they are named: then they are in awaits */
	char *curves_text;            /* of allocations.curves; NULL: not printed yet */
	struct gpu gpu;
	struct gpu_lines gpu_lines;
	struct repeats repeats;
	struct ranks ranks; /* of a merged profile */
	uint32_t *held;     /* numbers of nodes that somebody holds: they move with these */
	uint32_t held_count;
	struct wall_time wall_time;
	struct slices slices;
	struct counts counts;
	struct sources sources;
	bool foreign;     /* somebody else may have written it: see profile_trusts_source() */
	uint64_t last_ns; /* the latest time that was reported */
	uint64_t lost;    /* events that found no memory, or no thread */
	uint64_t lost_ns; /* what they weighed */
};

_Static_assert(offsetof(struct profile, core) == 0, "profile_core() casts");

/* All zeros, with empty tables. NULL on error. Limits are raised to what can work. */
struct profile *profile_alloc(const struct profile_limits *limits, struct error *err);

/* Makes facts[] hold every module of the registry. False if there is no memory. */
bool profile_make_facts(struct profile *p);

/* The event of TIME_NS is being added. */
void profile_note_time(struct profile *p, uint64_t time_ns);

/* The node of STACK's innermost frame in the tree of thread SLOT, added with its callers. 0 if
   there is no memory. */
uint32_t profile_add_path(struct profile *p, uint32_t slot, const struct stack *stack);

/* The location of FRAME, added, with its name if it is Python's. 0 if there is no memory. */
uint32_t profile_add_location(struct profile *p, struct frame frame);

/* Room for WANTED more nodes: others may be folded, and get other numbers. False if there is none.
 */
bool profile_make_room(struct profile *p, uint32_t wanted);

/* INTERVAL at *NODE, which may move while there is made room for it: see held. False if there is no
   memory. */
bool profile_add_interval(struct profile *p, const uint32_t *node, enum metric metric,
                          const struct interval *interval);

/* INTERVAL of NODE (a device, in the states of GPUs) to C, one of the tables of p->gpu. False if
   there is no room. */
bool profile_add_gpu_interval(struct profile *p, struct cells *c, uint32_t node, int metric,
                              const struct interval *interval);

/* STACK, of NODE in thread SLOT, may have had a GPU wait. */
void profile_note_idle(struct profile *p, uint32_t node, uint32_t slot, const struct stack *stack);

/* Events, as profile_take() gets them, for wall time. */
void profile_wall_process(struct profile *p, const struct process_event *event);
void profile_wall_thread(struct profile *p, const struct thread_event *event);
void profile_wall_thread_end(struct profile *p, const struct thread_end *end);
void profile_wall_stack(struct profile *p, uint32_t node, const struct stack *stack);
void profile_wall_span(struct profile *p, const struct span_event *span);
void profile_wall_wait(struct profile *p, const struct wait_event *wait);
void profile_wall_peers(struct profile *p, const struct peers_event *peers);
void profile_wall_signal(struct profile *p, const struct signal_event *signal);

/* What threads waited for gets its names. */
int profile_name_waits(struct profile *p, struct symbolizer *s, struct error *err);

/* Goroutines get their names, and their place among awaits. */
int profile_name_goroutines(struct profile *p, struct symbolizer *s, struct error *err);

/* Modules of PyTorch may have better names by now. False if there is no memory. */
bool profile_name_torch_modules(struct profile *p);
