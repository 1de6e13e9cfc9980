/* SPDX-License-Identifier: MIT */
/*
 * The processes and threads that are being followed, by pid and tid.
 *
 * Numbers (struct process_event, struct thread_event) are given in order of
 * appearance and never reused, pids are. A thread that an event names before
 * its FORK record has come is made on the spot.
 */
#pragma once

#include "base/cleanup.h"
#include "base/metric.h"
#include "base/stack.h"
#include "sampler/go/go_remote.h"
#include "sampler/op/op_site.h"
#include "sampler/op/op_stack.h"
#include "sampler/proc/proc_title.h"
#include "sampler/python/python.h"
#include "sampler/task/off_cpu_state.h"
#include "sampler/unwind/address_space.h"
#include "sampler/unwind/last_stack.h"
#include "sampler/unwind/patches.h"
#include "sampler/unwind/whole_stacks.h"

#include <stdbool.h>
#include <stdint.h>

/* When the goroutines of a process are looked at: sampler/tracker/tracker_go.c. */
struct go_watch {
	struct go_remote *remote; /* owned; NULL: it is no Go program, or not asked yet */
	uint64_t due_ns;          /* 0: not set; UINT64_MAX: never */
	uint64_t last_ns;         /* up to when its goroutines' time is known */
	uint32_t failures;        /* passes one after another; the runtime may not have begun */
};

/* A task that a pass has seen. */
struct await_seen {
	uint64_t address, tasks; /* that it stands for */
	struct python_frame first;
};

/* The same of tasks of asyncio: sampler/tracker/tracker_await.c. */
struct await_watch {
	uint64_t due_ns;          /* 0: not set; UINT64_MAX: never */
	uint64_t last_ns;         /* up to when its tasks' time is known */
	struct await_seen *known; /* by the last pass, by address; owned */
	struct await_seen *now;   /* by this one; owned */
	size_t known_count, known_capacity, now_count, now_capacity;
	uint64_t counted; /* so many have been, in sum */
};

void await_watch_fini(struct await_watch *w); /* all is forgotten */

struct process {
	uint32_t pid;
	uint32_t number;
	uint32_t parent; /* number; 0 if it is not ours */
	uint64_t start_ns;
	struct address_space *space;
	char command[64];
	char title[PROC_TITLE_MAX]; /* "": the command says it all */
	uint64_t title_due_ns;      /* when to look whether it has another one; 0: not set */
	uint64_t title_wait_ns;
	uint32_t program;       /* module of the program that it runs; 0: not known */
	bool loading;           /* it has exec'd, and the next mapping is the program's */
	uint64_t maps_again_ns; /* do not read /proc/PID/maps again before; tracker/mapper.h */
	uint64_t maps_wait_ns;
	uint32_t live_threads;
	uint64_t samples; /* on-CPU samples seen */
	struct whole_stacks whole;
	bool kernel_told;       /* one of them reported kernel time that other samples miss */
	struct op_sites sites;  /* where its ops are begun */
	struct patches patches; /* what its agent has changed */
	struct python python;
	struct go_watch go;
	struct await_watch tasks;
	bool announced;         /* the sink knows it */
	uint64_t agent_due_ns;  /* when to look for its agent; 0: not set; UINT64_MAX: never */
	uint64_t agent_wait_ns; /* and how much later again */
	struct process *next;   /* in its hash chain */
};

/* A stack to which more may be added. */
struct kept_stack {
	struct frame *frames; /* owned */
	uint32_t count, flags;
	size_t capacity;
};

/* Where the kernel was when a tick of its own source hit a thread whose agent samples it. */
struct kernel_chain {
	uint64_t *addresses; /* innermost first; owned */
	uint32_t count;
	size_t capacity;
	uint64_t ip, sp; /* of the user code that it worked for */
};

/* The on-CPU state of a thread: see sampler/tracker/cpu_account.h, which alone touches it. */
struct cpu_account {
	uint64_t sample_ns; /* when its last sample was taken; 0: never */
	uint64_t begun_ns;  /* its clock when the program began that it runs */
	uint64_t owed_ns;   /* that samples in user code stand for and did not find on the clock */
	uint64_t told_ns;   /* kernel time that samples have stood for */
	uint64_t user_samples;
	uint64_t callless_ns; /* kernel time of which no tick has told */
	uint64_t untold_ns;   /* the same, of which one may tell yet */
	uint64_t seen_ns;     /* its clock at the last sample in user code; 0: there was none */
	uint64_t clock_ns;    /* the same; 0: it has switched since */
	uint64_t grid_ns; /* and at one that came in time; later ones come whole periods later */
	struct kept_stack last;   /* sample's */
	struct kept_stack kernel; /* of the last sample in the kernel */
};

struct thread {
	uint32_t tid;
	uint32_t inner_tid; /* in its own PID namespace; 0: not looked up */
	uint32_t forked_by; /* inner_tid of the thread whose copy it is; 0: not known */
	uint32_t number;
	struct process *process;
	uint64_t start_ns;
	struct frame start; /* the function that it began in; address 0: not known */
	struct frame birth; /* the same, of the thread that it has said it would make, */
	bool giving_birth;  /* which has not begun yet */
	char name[64];
	bool named; /* by the program: what the kernel calls it does not count */
	bool announced;
	uint64_t cpu_time_ns;      /* its CPU clock at the last sample (kernel remainder) */
	uint64_t ns[METRIC_COUNT]; /* exact times from SWITCH records */
	uint64_t sampled_ns;       /* weights handed on so far */
	uint64_t gil_held_ns, gil_waited_ns; /* by samples and looks */
	struct off_cpu_state off_cpu;
	struct cpu_account cpu;
	struct op_stack ops; /* that are open */
	struct last_stack last;
	struct kernel_chain kernel_chain;
	struct thread *next; /* in its hash chain */
};

struct tasks;

struct tasks *tasks_new(void); /* NULL if there is no memory */
void tasks_free(struct tasks *t);

CLEANUP(tasks, struct tasks *, tasks_free)

/* NULL if it is not followed. */
struct process *tasks_find_process(struct tasks *t, uint32_t pid);
struct thread *tasks_find_thread(struct tasks *t, uint32_t pid, uint32_t tid);
struct thread *tasks_find_tid(struct tasks *t, uint32_t tid); /* of any process */

/* Finds or makes; NULL if there is no memory. */
struct process *tasks_process(struct tasks *t, uint32_t pid, uint64_t time_ns);
struct thread *tasks_thread(struct tasks *t, uint32_t pid, uint32_t tid, uint64_t time_ns);

/* The process PARENT has forked PID: gets a copy of its address space and its name. */
struct process *tasks_fork(struct tasks *t, struct process *parent, uint32_t pid, uint64_t time_ns);

/* Frees the thread, and with its last thread the process (then *PROCESS_ENDED is true). */
void tasks_end_thread(struct tasks *t, struct thread *thread, bool *process_ended);

/* Calls VISIT for every live thread; VISIT must not end threads. */
void tasks_each_thread(struct tasks *t, void (*visit)(void *context, struct thread *thread),
                       void *context);
