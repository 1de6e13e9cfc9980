/* SPDX-License-Identifier: MIT */
/*
 * What rules are asked about: the answers to the questions that several of them have, and how a
 * finding is put into words. For the files of merge/ alone.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "merge/query/query_contention.h"
#include "merge/query/query_gpu.h"
#include "merge/query/query_imports.h"
#include "merge/query/query_ops.h"
#include "merge/query/query_steps.h"
#include "merge/query/query_waits.h"
#include "merge/query/query_wall.h"
#include "merge/query/query_warmup.h"
#include "merge/rules/activity.h"
#include "merge/rules/finding.h"

struct evidence {
	const struct profile *profile;
	const struct run *run;
	struct query query; /* the window, and whose time counts */
	struct totals totals;
	struct account account; /* of the critical thread; its Python lock: whole run */
	uint64_t wall_ns;       /* of the window */
	struct wall_account
		wall; /* of it; where it ranks code, it stands for the critical thread */
	struct contention_answer contention;
	struct parallel parallel; /* of the window */
	struct wait_rows *waits;  /* of it, too, where the profile says when */
	struct activities *activities;
	struct rows *functions; /* by self time on a CPU */
	struct rows *threads;
	struct op_rows *ops;        /* by self time */
	struct op_rows *shapes;     /* the same, by shape */
	struct warmup_rows *warmup; /* of the whole run */
	struct steps *steps;
	struct import_rows *imports;
	struct module_rows *modules; /* of the whole run */
	struct gpu_facts *gpu;       /* these: NULL if the run has seen no GPU */
	struct gpu_rows *gpu_rows;
	struct gpu_wait *gpu_wait;
};

/* -1 on error; then EVIDENCE need not be freed. Evidence that WARMUP belongs to frees it. */
int evidence_init(struct evidence *evidence, const struct profile *p, const struct query *query,
                  struct error *err);
void evidence_fini(struct evidence *evidence);

static inline void evidence_at_scope_end(struct evidence *evidence)
{
	evidence_fini(evidence);
}

/* Waits for what no thread of the run has. */
#define EVIDENCE_BLOCKED                                                                           \
	(1u << METRIC_OFF_FILE | 1u << METRIC_OFF_PIPE | 1u << METRIC_OFF_NET |                    \
	 1u << METRIC_OFF_SLEEP | 1u << METRIC_OFF_FAULT)

/* Sums over METRICS (bits). */
uint64_t evidence_sum(const uint64_t ns[METRIC_COUNT], uint32_t metrics);

/* Of wall time where that ranks code, else of the critical thread: METRICS (bits) of what does any
   of DOING. */
uint64_t evidence_doing(const struct evidence *evidence, activity_set doing, uint32_t metrics);

/* The wall time less what of it, or the critical thread, waited for a free CPU, where that is 5 %
   of it or more: others are to blame for that. */
uint64_t evidence_run_ns(const struct evidence *evidence);

/* Whether PLACE, one of the activities', is in FUNCTION, which is in FILE (NULL: not known). */
bool evidence_is_place(const struct evidence *evidence, uint32_t place, const char *function,
                       const char *file);

/* What any of DOING made the run wait for CPUs (merge/rules/queue.h). */
uint64_t evidence_queue_ns(const struct evidence *evidence, activity_set doing);

/* The same of FUNCTION, the user's own in FILE, by what it did for NS of wall time; 0 where that is
   not known. */
uint64_t evidence_place_queue_ns(const struct evidence *evidence, const char *function,
                                 const char *file, uint64_t ns);

/*
 * Sets FINDING's share, of what it is, and its saving: CRITICAL_NS of wall time where that ranks
 * code, else of the critical thread, and CPU_NS of all threads on CPUs, could go, and with that
 * QUEUE_NS of what was waited for CPUs. The share is of evidence_run_ns(), or of all CPU time if
 * that is more of it.
 */
void evidence_weigh(const struct evidence *evidence, uint64_t critical_ns, uint64_t cpu_ns,
                    uint64_t queue_ns, struct finding *finding);

/* What evidence_doing() is a part of: "wall time", "wall time of rank 2", "the time of the main
   thread". */
const char *evidence_time(const struct evidence *evidence, char *buffer, size_t size);

/* Behind that, where shares of all of it would be others: " without waiting for a CPU"; or "". */
const char *evidence_queue(const struct evidence *evidence);

/* What the share of a FINDING that was weighed is of: "the CPU time", "the CPU time of 5
   processes", or evidence_time() with evidence_queue(). */
const char *evidence_whole(const struct evidence *evidence, const struct finding *finding,
                           char *buffer, size_t size);

/* "the main thread", "thread worker (12)". */
const char *evidence_thread(const struct evidence *evidence, char *buffer, size_t size);

/* Whether FUNCTION stands for code that a JIT compiler made and gave no names. */
bool evidence_is_jit(const char *function);

/* "decode (augment.py:88)", as far as it is known. */
void finding_place(const char *function, const char *file, int line, char *buffer, size_t size);

/* "sort (6 processes)", of the program whose processes have more than half of METRICS (bits); false
   if there is none, or all is one process. */
bool evidence_program(const struct evidence *evidence, uint32_t metrics, char *buffer, size_t size);

/* "torch (train.py:3)", if that is most of the imports; else false. */
bool evidence_import(const struct evidence *evidence, char *buffer, size_t size);

/* What a few samples weigh: less is no share of anything. */
uint64_t evidence_least_ns(const struct evidence *evidence);

/* Sets the fact. Returns MEASURED. */
enum measured finding_say(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void finding_advise(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets the fact to what is missing. Returns MEASURED_LACKS. */
enum measured finding_lacks(struct finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds a row, or takes it for the one of the same place and callee; the first is where to begin. */
void finding_add(struct finding *finding, const struct finding_row *row);

/*
 * Adds the place of the user's own that had most of the time of all threads in what does any of
 * DOING, which is ACTIVITIES_AROUND, without having begun it. Returns its part of the time of all
 * such places; 0: there is none.
 */
double evidence_add_inner_place(const struct evidence *evidence, activity_set doing,
                                struct finding *finding);

/* Sets the fact of a FINDING that measure_doing() has weighed, by RULE's title. */
void finding_describe(const struct evidence *evidence, const struct rule *rule,
                      struct finding *finding);

/*
 * For struct rule: the share of the critical thread's time, or of all CPU time where that is more,
 * in stacks that do what the rule names.
 */
enum measured measure_doing(const struct evidence *evidence, const struct rule *rule,
                            struct finding *finding);

/* The tables. */
extern const struct rule rules_quality[], rules_warmup[], rules_cpu[], rules_crowd[], rules_waits[],
	rules_go[], rules_start[], rules_waste[], rules_memory[], rules_io[], rules_python[],
	rules_ops[], rules_gpu[], rules_ranks[], rules_compiling[], rules_loops[];
extern const size_t rules_quality_count, rules_warmup_count, rules_cpu_count, rules_crowd_count,
	rules_waits_count, rules_go_count, rules_start_count, rules_waste_count, rules_memory_count,
	rules_io_count, rules_python_count, rules_ops_count, rules_gpu_count, rules_ranks_count,
	rules_compiling_count, rules_loops_count;
