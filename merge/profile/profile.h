/* SPDX-License-Identifier: MIT */
/*
 * The one profile: who ran, where the time went, when.
 *
 * While the program runs, processes, threads and stacks are added; the profile
 * keeps a tree of call paths with time in bins, in bounded memory. Afterwards
 * it is symbolized once, written to a file, read back, and asked questions
 * (merge/query/query.h). A profile that was read from a file answers like the one
 * that was written. One thread at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/module.h"
#include "base/op.h"
#include "base/sampled.h"

#include <stdbool.h>
#include <stdint.h>

struct codes;
struct early;
struct error;
struct ops;
struct profile;
struct stat;
struct symbolizer;

/* Facts about the run, 0 or NULL where unknown; profile_set_run() copies the texts. */
struct run {
	const char *command;   /* the command line, as a shell would take it */
	const char *directory; /* where it ran */
	const char *host;
	bool has_rank;              /* it was one of several processes that a launcher started */
	uint32_t rank, world;       /* from 0; how many there were, 0: unknown */
	const char *kernel;         /* uname -r */
	const char *version;        /* of bottleneck */
	uint64_t start_realtime_ns; /* since the epoch */
	uint64_t start_ns;          /* CLOCK_MONOTONIC: zero of all times in the profile */
	uint64_t wall_ns;
	int exit_status; /* wait(2) status; -1 while it runs */
	uint32_t cpus;   /* that the command may use */
	uint32_t rung;   /* enum rung */
	const char *rung_reason;
	const char *rung_remedy;
	bool kernel_stacks;
	bool off_cpu_exact;
	uint32_t frequency_hz;
	uint64_t samples, lost /* of them, an estimate */, truncated, joined, guessed;
	uint64_t target_cpu_ns;    /* user + system of the target, by wait4 */
	uint64_t collector_cpu_ns; /* of bottleneck itself while the target ran */
	uint64_t handlers_ns;      /* of the target's time: by handlers of samples, exact */
	uint64_t hooks_ops_ns, hooks_memory_ns; /* the same by hooks, as samples show it */
	uint64_t hooks_ns[OP_PROVIDERS];        /* hooks_ops_ns by provider; [0]: of none */
	uint64_t hooks_cupti_ns;                /* and in CUPTI, with its threads and ours */
	uint64_t hooks_waits_ns;                /* and by hooks of locks and other waits */
	/* The same as samples show it: with delays of the locks' own, which meet who looks first.
	 */
	uint64_t hooks_waits_most_ns;
	uint64_t setup_ns;       /* and at starts, forks and ends of processes, in the agent */
	uint64_t kernel_ns;      /* and in the kernel, by merge/record/prices.h; 0: not known */
	uint64_t peak_rss_bytes; /* largest of any process of the target */
	/* By system calls of the target and its children, sampler/proc/proc_io.h. */
	uint64_t read_bytes, read_calls, write_bytes, write_calls;
	uint64_t page_faults; /* of the same; 0: not known */
	uint32_t unseen_processes;
	const char *unseen_name;
	uint32_t background_processes; /* that went on when the program had ended */
	const char *background_name;   /* of the first */
	uint32_t agentless_processes;  /* without the agent, for a reason that the notes tell */
	uint32_t machine_cpus; /* of the whole machine; 0: the two below are not known, either */
	uint64_t machine_busy_ns, machine_steal_ns; /* of its CPUs during the run */
	/* CPU time that control groups allow, merge/record/limits.h; 0: no limit is known. */
	uint32_t quota_millicpus; /* by the group that took most, or allows least: its name */
	const char *quota_group;  /* in its hierarchy, "/a/b" */
	const char *quota_groups; /* each with a quota, a line, merge/query/query_contention.h */
	const char *contention;   /* who had the CPUs by time, merge/table/contention.h */
	/* Time in which more threads of its first process were ready to run than CPUs that they
	   were bound to, fewer than CPUS; when most were: how many. */
	uint64_t bound_ns;
	uint32_t bound_threads, bound_cpus;
	const char *memory_group;    /* whose limit of memory came nearest; the next five are its */
	uint64_t memory_limit_bytes; /* 0: no limit is known */
	uint64_t memory_held_bytes;  /* at most, that could not be dropped */
	uint64_t memory_limit_hits, memory_kills;
	bool memory_knows_stalls; /* waits for memory are in contention */
	/* The part of the run that was recorded, since its start; 0, 0: all of it. */
	uint64_t recorded_from_ns, recorded_to_ns;
	uint64_t recorded_ns;       /* of that, with pauses left out; 0 with RECORDED_RANGE: none */
	const char *recorded_range; /* ops while which were open it was; NULL: any */
	const char *recorded_nothing; /* why none of it was, a clause; "" or NULL: something was */
	const char *recorded_remedy;  /* and what helps, a sentence */
	uint64_t recorded_gates;      /* how often the program has started or stopped it */
	const char *memory_curves;    /* merge/table/memory_curves.h; "" or NULL: not known */
	/* A schedule of steps, the glob of their op, and the cycles that were recorded, as
	   schedule_next_cycle() takes them; NULL: none. */
	const char *recorded_schedule, *recorded_steps, *recorded_cycles;
	const char *cpu_clock;     /* its readings, merge/table/clocks.h; "" or NULL: not known */
	const char *environment;   /* merge/table/environment.h; "" or NULL: not known */
	const char *notes;         /* more lines for the limits, separated by newlines */
	uint32_t attached_pid;     /* that ran already, and may go on; 0: it was started for this */
	const char *attached_pids; /* all that -p named, that one first: "4711,4712"; NULL: none */
	bool complete;             /* false: a checkpoint of a run that was still going on */
};

/* CPUs that the command may use: by its affinity, and by the quota of its control groups. */
static inline double run_cpus(const struct run *run)
{
	double quota = run->quota_millicpus / 1e3;

	return quota > 0 && quota < run->cpus ? quota : run->cpus;
}

/* The same, as how many threads these can keep busy: one at least, 0 if it is not known. */
static inline uint32_t run_whole_cpus(const struct run *run)
{
	double cpus = run_cpus(run);

	return cpus > 0 && cpus < 1 ? 1 : (uint32_t)cpus;
}

struct profile_limits {
	uint32_t nodes;   /* call-tree nodes; beyond, light subtrees are folded. Default 512 K */
	uint32_t cells;   /* (node, metric, bin) cells; beyond, bins double. Default 512 K */
	uint32_t threads; /* threads kept apart; beyond, by name. Default 4096 */
};

/* LIMITS may be NULL. The profile does not own MODULES (which must outlive it) unless it was read.
 */
struct profile *profile_new(struct modules *modules, const struct profile_limits *limits,
                            struct error *err);
void profile_free(struct profile *p);

CLEANUP(profile, struct profile *, profile_free)

/* Single calls, waits and works of GPUs (merge/query/query_slices.h) kept by themselves. */
#define PROFILE_TIMELINE     250000u
#define PROFILE_TIMELINE_MAX (1u << 26)

/* Another number of these, before anything is added; 0: none. */
void profile_set_timeline(struct profile *p, uint32_t limit);

/* Recording: WHAT goes to its function below. Nothing becomes of an op's beginning, nor of a patch.
 */
void profile_take(struct profile *p, const struct sampled *what);

/* From now on only parts of the run are recorded, of which nobody knows what its end waited for. */
void profile_forget_wall(struct profile *p);

/* Where memory is short the event is counted as lost, never fatal. A stack of a thread that was not
   announced, or has ended, is lost as well. */
void profile_add_process(struct profile *p, const struct process_event *event);
void profile_end_process(struct profile *p, uint32_t process, uint64_t time_ns);
void profile_add_thread(struct profile *p, const struct thread_event *event);
void profile_end_thread(struct profile *p, const struct thread_end *end);
/* It turns out to be none of the program's: as if it never had been there. */
void profile_hide_thread(struct profile *p, uint32_t thread);
void profile_add_stack(struct profile *p, const struct stack *stack);

/* The registry that the ops' numbers are of, before the first of them: those it does not know are
   lost. It must outlive the profile, and may grow. */
void profile_set_ops(struct profile *p, const struct ops *ops);
/* The same for Python's functions. */
void profile_set_codes(struct profile *p, const struct codes *codes);
void profile_add_op(struct profile *p, const struct op_event *event);
void profile_add_op_count(struct profile *p, const struct op_count_event *event);

/* Calls of PROVIDER's ops, and how many of them were not recorded. */
void profile_count_ops(const struct profile *p, enum op_provider provider, uint64_t *calls,
                       uint64_t *unseen);

void profile_add_python_name(struct profile *p, const struct python_name_event *event);

/* So much memory of the target's processes was resident. */
void profile_add_rss(struct profile *p, uint64_t time_ns, uint64_t bytes);

/* What was in use over the run until END_NS, as struct run has it: P's, until the next time. NULL
   if there is no memory. */
const char *profile_tell_memory(struct profile *p, uint64_t end_ns);

void profile_add_python_calls(struct profile *p, const struct python_calls_event *event);
void profile_add_python_await(struct profile *p, const struct python_await_event *event);
void profile_add_goroutines(struct profile *p, const struct goroutines_event *event);

void profile_add_alloc(struct profile *p, const struct alloc_event *event);
void profile_add_free(struct profile *p, const struct free_event *event);
/* What has come since the last such event of the process. */
void profile_add_memory(struct profile *p, const struct memory_event *event);

/* Sites before what they caused. */
void profile_add_gpu_site(struct profile *p, const struct gpu_site_event *event);
void profile_add_gpu(struct profile *p, const struct gpu_event *event);
/* All has been told: what GPUs did last is final. */
void profile_end_gpu(struct profile *p);

void profile_add_gpu_pc(struct profile *p, const struct gpu_pc_event *event);
void profile_add_gpu_pc_sum(struct profile *p, const struct gpu_pc_sum_event *event);

/* All has been reported by NOW_NS: wall time is whole. */
void profile_end_wall(struct profile *p, uint64_t now_ns);

/* The lowest above *CRC of the cubins that instructions were sampled of. False if there is none. */
bool profile_next_cubin(const struct profile *p, uint64_t *crc);

/* The cubin CRC is IMAGE: its instructions get their lines. -1 if it is none. */
int profile_name_gpu_lines(struct profile *p, uint64_t crc, struct bytes image, struct error *err);

/* Whatever is known by now; may be called again. */
int profile_set_run(struct profile *p, const struct run *run, struct error *err);
const struct run *profile_run(const struct profile *p);

/* Names every location that is not named yet. */
int profile_symbolize(struct profile *p, struct symbolizer *s, struct error *err);

/*
 * Has EARLY look up what was added since the last call, so that profile_symbolize() has less to
 * do. Whatever is in the way only leaves more to that.
 */
void profile_ask_early(struct profile *p, struct early *early);

/*
 * Finds what kind of loop the hottest functions of the user's own spend their time in, by their
 * machine code. Of a run that has just been recorded and named. Where it cannot be known, or there
 * is no memory, nothing is.
 */
void profile_find_loops(struct profile *p, struct symbolizer *s);

bool profile_is_symbolized(const struct profile *p);

/* Keeps how the source files of all that is named are now. Of a run that has just been recorded.
   False if there is no memory. */
bool profile_stamp_sources(struct profile *p);

/* Gives programs the paths of the links beside them by whose names they were started, as Debian's
   redis-server is one to redis-check-rdb. At the end, as no module is found by such a path. False
   if there is no memory. */
bool profile_name_programs(struct profile *p);

/* Whether a file of PATH, as the profile has it, that is now as ST says is what was recorded. */
enum source_trust {
	SOURCE_AS_IT_WAS, /* as large and as old as it was then */
	SOURCE_CHANGED,
	SOURCE_UNKNOWN, /* it was not there then, or nobody looked */
	SOURCE_FOREIGN  /* the same, of a profile of another user or machine: its paths may be meant
	                   to show what is in a file of the reader's */
};
enum source_trust profile_trusts_source(const struct profile *p, const char *path,
                                        const struct stat *st);

/*
 * Writes bottleneck-profile(5) to a temporary name beside PATH and renames it,
 * mode 0600 (or as the file that it replaces).
 */
int profile_write(const struct profile *p, const char *path, struct error *err);

/* The same without a wait for the disk: of what nobody asked to keep. */
int profile_write_unsynced(const struct profile *p, const char *path, struct error *err);

/* Does now what the next of these two does first, whatever it writes: a thread that has nothing
   else to do saves it half a millisecond. Not twice at the same time. */
void profile_write_prepare(void);

/* The facts of the run in the file PATH alone, unchecked but for their kind: for profile_run() and
   merge_plan_add(). */
struct profile *profile_read_run(const char *path, struct error *err);

/* Reads what profile_write() wrote. Any damage is an error that names the file. */
struct profile *profile_read(const char *path, struct error *err);
