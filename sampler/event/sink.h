/* SPDX-License-Identifier: MIT */
/*
 * What the sampler hands on, and what it says of itself. Its promise is sampler/sampler.h.
 */
#pragma once

#include "base/rung.h"
#include "base/sampled.h"

#include <stdbool.h>
#include <stdint.h>

enum unwinder_kind {
	UNWINDER_TABLE, /* our compact table, libunwind where it has no rule */
	UNWINDER_LIBUNWIND
};

/* Who gets what the sampler finds out. */
struct sampler_sink {
	void *context;
	/* Takes it, in the order of time. NULL: nobody does. */
	void (*take)(void *context, const struct sampled *what);
	/* Whether a stack of that moment is of interest; else it need not be worked out, and may be
	   given as one that is not known. NULL: any is. */
	bool (*wants)(void *context, uint64_t time_ns);
};

static inline void sampler_sink_take(const struct sampler_sink *sink, const struct sampled *what)
{
	if (sink->take)
		sink->take(sink->context, what);
}

enum absence {
	ABSENCE_NONE,        /* the agent is there; or the reason is said elsewhere, or unknown */
	ABSENCE_ENVIRONMENT, /* it was started with another environment than the run's */
	ABSENCE_PRIVILEGED,  /* setuid, setgid or file capabilities: the loader preloads nothing */
	ABSENCE_LIBRARY,     /* another user's, who may not read the agent's library */
	ABSENCE_DIRECTORY,   /* another user's, who may not reach the directory of agents' files */
	ABSENCE_COUNT
};

/* Processes without the agent, by reasons. */
struct absences {
	uint32_t count[ABSENCE_COUNT];
	char name[ABSENCE_COUNT][64]; /* of the first one */
};

/* Why goroutines were not looked at. */
enum go_unseen {
	GO_UNSEEN_STRIPPED, /* no debug information says where they are */
	GO_UNSEEN_UNKNOWN,  /* what it has says too little */
	GO_UNSEEN_REFUSED,  /* the memory of the process could not be read */
	GO_UNSEEN_COUNT
};

struct goroutine_status {
	uint64_t passes;
	uint64_t most; /* goroutines in a runtime's list, of which LOOKED were looked at */
	uint32_t looked;
	uint32_t unseen[GO_UNSEEN_COUNT]; /* processes */
	char name[GO_UNSEEN_COUNT][64];   /* of the first one */
};

/* Tasks of asyncio that were looked at from outside. */
struct task_status {
	uint64_t passes;
	uint64_t most; /* tasks at a time, of which LOOKED were looked at */
	uint64_t looked;
	uint32_t unseen; /* processes whose version of Python has them where is not known */
	char name[64];   /* of the first one */
};

/* What the sampler did and could not do, for the report's limits. */
struct sampler_status {
	enum rung rung;
	char rung_reason[640]; /* why not a better rung: "" or "perf_event_open is refused: ..." */
	char rung_remedy[384]; /* what would bring it: a sentence, or "" */
	char rung_note[192];   /* what this rung cannot do as it should (small rings ...), or "" */
	bool kernel_stacks;
	bool off_cpu_exact;        /* intervals come from SWITCH records */
	uint32_t frequency_hz;     /* the rate in force */
	uint32_t lowered_from_hz;  /* the rate before it was first lowered; 0: it was not */
	uint64_t lowered_after_ns; /* when that was, since sampler_attach() */
	char lowered_why[112];
	uint32_t threads_with_enough; /* samples: their rate fell, see sampler/thinning.h */
	double over_percent;  /* what it cost when a lower rate was found to be no help; 0: never */
	uint64_t handlers_ns; /* of the target's time, taken by handlers of ticks within it */
	uint64_t samples;     /* on-CPU samples delivered */
	uint64_t self_samples;     /* those of them that the agents took, on rungs 1 and 2 */
	uint64_t records;          /* that have come, samples or not */
	uint64_t lost;             /* records lost, samples or not, by the kernel and the agent */
	uint64_t truncated;        /* those of the samples with missing callers */
	uint64_t joined;           /* stacks completed from memory */
	uint64_t guessed;          /* stacks with a guessed frame pointer */
	uint64_t libunwind_frames; /* frames that the table could not step and libunwind did */
	uint64_t fp_frames;        /* frames stepped by frame pointer for want of unwind rules */
	uint64_t probes;           /* off-CPU probes */
	uint64_t switch_stacks;    /* of threads that left their CPU */
	uint64_t wakeups;          /* records of who ended a wait */
	uint64_t gaps, gaps_ns;    /* between threads on a CPU, see struct source_gaps */
	uint64_t lost_ops;         /* records of ops lost, or that do not go together */
	uint64_t unseen_threads;   /* for which the agent had no ring, or not at once */
	uint64_t strangers;        /* processes in other PID namespaces that ended before
	                              they were known: what their agents wrote is lost */
	char op_note[1024];        /* what agents say is not seen, and why: lines, or "" */
	uint32_t unseen_processes; /* followed processes that we could not sample (setuid, static …)
	                            */
	char unseen_name[64];      /* the first one of them */
	struct absences absences; /* of the agent; processes that ran for long enough */
	struct goroutine_status goroutines;
	struct task_status awaits;
};

/* How many of the lost records were samples: the kernel does not tell, and where threads switch
   often there are hundreds of times as many of other kinds. As many as of those that have come. */
static inline uint64_t sampler_lost_samples(const struct sampler_status *s)
{
	double share = s->records ? (double)s->samples / (double)s->records : 1;

	return (uint64_t)((double)s->lost * (share < 1 ? share : 1) + 0.5);
}
