/* SPDX-License-Identifier: MIT */
/*
 * What the files of follow share, and nobody else sees.
 *
 *	follow.c          rounds: who is there by /proc, and for how long it ran
 *	follow_records.c  what the agents have written
 *	follow_tell.c     the events that come of both
 */
#pragma once

#include "base/clock.h"
#include "sampler/agent/timeline.h"
#include "sampler/event/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FOLLOW_NAME_MAX 15 /* bytes of comm */

/* A wait that a thread has reported. */
struct follow_wait {
	struct timeline_wait times;
	enum metric cause;
};

/* By TIME_NS a thread had run for CPU_NS; KEPT_CPU: see struct follow_task. */
struct follow_ran {
	uint64_t time_ns, cpu_ns;
	bool kept_cpu;
};

struct follow_task {
	uint32_t tid;
	struct timeline timeline;
	bool told;                /* its FORK has been handed on */
	uint64_t found_ns;        /* when a listing first had it; 0: none did */
	bool listed;              /* by the listing under way */
	uint64_t run_ns, wait_ns; /* by the last look */
	/* By the last sample, or the last of RANS: how often it gave up its CPU, and one; 0:
	 * unknown
	 */
	uint32_t sleeps;
	uint32_t reported; /* waits since then */
	bool tells_all;    /* by then: it had done so for waits that it has reported alone */
	bool kept_cpu;     /* the same, up to what is being reported */
	bool at_ran;       /* what is reported is up to one of RANS, or begins with one */
	uint64_t looked_ns;
	uint64_t told_cpu_ns;      /* of a process without agent: up to its last stackless sample */
	uint64_t recent_ns;        /* how long it ran between the last two looks */
	uint64_t gap_ns;           /* and how long that was */
	uint64_t missing_ns;       /* when a listing first did not have it; 0: none */
	struct follow_wait *waits; /* that it has reported, and no switches have told yet */
	size_t wait_count, wait_capacity;
	struct follow_ran *rans; /* the same, in the order of time */
	size_t ran_count, ran_capacity;
	const char *name;
};

struct follow_proc {
	uint32_t pid, parent_pid;
	struct follow_task *tasks;
	size_t task_count, task_capacity;
	uint64_t image;   /* see struct proc_stat; 0: not known yet */
	bool waiting;     /* has not exec'd the target yet */
	bool agent;       /* reports its own threads and samples */
	bool tells_waits; /* and what they wait for */
	bool told;
	bool exec_by_look; /* a look has found that it exec'd, and no agent has spoken since */
	uint64_t start_ns;
	uint64_t last_ns; /* when it was last known to be there */
	uint64_t found_ns;
	uint64_t missing_ns; /* when it was first found to be gone; 0: it is there */
};

struct follow {
	struct follow_proc *procs;
	size_t proc_count, proc_capacity;
	struct event *queue;
	size_t queue_at, queue_count, queue_capacity;
	uint32_t round;
	uint64_t round_ns, previous_round_ns, due_ns;
	bool looking;  /* in this round, at each thread */
	bool attached; /* to what ran already */
	uint64_t looks_due_ns;
	uint64_t read_until_ns; /* older records have all been given */
	/* Of events that are not from records, as the queue outlives all else. */
	struct strings *names;
};

#define FOLLOW_SLACK_SAMPLED_NS (100 * NS_PER_US) /* the jitter of two clocks in one handler */
#define FOLLOW_SLACK_LOOKED_NS                                                                     \
	(5 * NS_PER_MS) /* the kernel adds up a running thread's time at its tick */

/* The later of two times. */
static inline uint64_t follow_later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* NULL if it is not known. */
struct follow_proc *follow_proc(struct follow *f, uint32_t pid);
struct follow_task *follow_task(struct follow_proc *p, uint32_t tid);

/* Known already, or new; NULL if there is no memory. Pointers to other processes, or to tasks of
   P, become invalid. */
struct follow_proc *follow_add_proc(struct follow *f, uint32_t pid, uint32_t parent_pid);
struct follow_task *follow_add_task(struct follow_proc *p, uint32_t tid);
void follow_remove_task(struct follow_proc *p, struct follow_task *task);

/* Telling: events are queued for follow_next(). */

/* Of TASK, NULL: of the first thread. Never NULL: without memory the event is lost. */
struct event *follow_push(struct follow *f, enum record_type type, const struct follow_proc *p,
                          const struct follow_task *task, uint64_t time_ns);

/* The switches that come of TASK's totals, if it runs, or is blocked, now. */
void follow_tell_running(struct follow *f, const struct follow_proc *p, struct follow_task *task,
                         uint64_t now_ns, uint64_t cpu_ns, uint64_t slack_ns);
void follow_tell_blocked(struct follow *f, const struct follow_proc *p, struct follow_task *task);

/* TASK has reported WAIT, which has ended. */
void follow_keep_wait(struct follow *f, const struct follow_proc *p, struct follow_task *task,
                      const struct follow_wait *wait);

/* TASK has reported RAN. */
void follow_keep_ran(struct follow_task *task, const struct follow_ran *ran);

/* How long TASK was off its CPU by the last look, beside its waits that are known. */
uint64_t follow_unexplained_ns(const struct follow_task *task);

void follow_tell_name(struct follow *f, const struct follow_proc *p, struct follow_task *task,
                      const char *name, uint64_t time_ns);

/* The process, and with it its first thread; a thread. Nothing if that has been told. */
void follow_tell_process(struct follow *f, struct follow_proc *p, uint64_t start_ns);
/* It was there already. */
void follow_tell_found(struct follow *f, struct follow_proc *p, struct follow_task *task,
                       uint64_t now_ns);
void follow_tell_thread(struct follow *f, struct follow_proc *p, struct follow_task *task,
                        uint32_t parent_tid, uint64_t start_ns);

/* The thread that called exec has become the first one; all others are gone. */
void follow_tell_exec(struct follow *f, struct follow_proc *p, const char *name, uint64_t time_ns);

void follow_tell_end(struct follow *f, struct follow_proc *p, struct follow_task *task,
                     uint64_t time_ns);

/* Nobody said when it ended: it was last seen by a look. */
void follow_tell_vanished(struct follow *f, struct follow_proc *p, struct follow_task *task);
