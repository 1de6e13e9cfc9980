/* SPDX-License-Identifier: MIT */
/*
 * What the files of the tracker share, and nobody else sees.
 *
 *	tracker.c         events come in, each to the function that knows it
 *	tracker_tasks.c   who there is: processes and threads begin and end
 *	tracker_stacks.c  complete stacks, and the time that each stands for
 *	tracker_ops.c     ops and allocations
 *	tracker_waits.c   who was waited for, as agents tell
 *	tracker_python.c  processes with an interpreter, which sample themselves
 *	tracker_go.c      goroutines of Go programs, looked at now and then
 *	tracker_await.c   the same of tasks of asyncio, where no agent reports them
 */
#pragma once

#include "sampler/event/event.h"
#include "sampler/event/sink.h"
#include "sampler/go/go_reader.h"
#include "sampler/op/op_site.h"
#include "sampler/task/tasks.h"
#include "sampler/tracker/cpu_account.h"
#include "sampler/tracker/gpu_calls.h"
#include "sampler/tracker/op_tracker.h"
#include "sampler/unwind/unwinder.h"
#include "sampler/wait/allowance.h"
#include "sampler/wait/peers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a process's ops some are only counted, and reported a little after its end. */
#define TRACKER_ENDED 256

struct tracker_ended {
	uint32_t pid, number;
};

/* A thread is waited for, and ends: its end is reported when the wait has ended. */
#define TRACKER_ENDED_THREADS 1024

struct tracker_ended_thread {
	uint32_t pid, tid, number;
};

/* What an address of a process is that was waited at lately. */
#define TRACKER_RESOURCES 256

struct tracker_resource {
	uint32_t process; /* number; 0: the place is free */
	uint64_t address, made_at;
	uint64_t fingerprint; /* of the address space */
	struct frame data, made;
};

/* What processes share at an address: the same for all, wherever they have it. */
#define TRACKER_SHARED 64

struct tracker_shared {
	uint32_t process; /* number; 0: the place is free */
	uint64_t address;
	uint64_t identity; /* of the file and the place in it; 0: not known */
	uint64_t read_ns;
};

/* Who let go of something that processes share: the last ones, a ring. */
#define TRACKER_POSTS 1024

struct tracker_post {
	uint64_t identity, time_ns;
	uint32_t thread;
};

/* Which process a descriptor of a process leads to, that signals are sent by. */
#define TRACKER_PIDFDS 16

struct tracker_pidfd {
	uint32_t process; /* number; 0: the place is free */
	uint32_t fd, pid; /* PID 0: that is not known */
	uint64_t read_ns;
};

/* Threads that wait for a pipe or socket at whose other end nobody is known yet. */
#define TRACKER_ASKED 64

struct tracker_asked {
	uint32_t pid, tid;
	uint32_t thread; /* number; 0: the place is free */
	struct wait_on on;
	uint64_t since_ns; /* it waited then */
	uint64_t next_ns, pause_ns;
};

/* Go programs whose files were read; and files that are none. */
#define TRACKER_GO_FILES  8
#define TRACKER_GO_OTHERS 64

struct tracker_file {
	uint64_t device, inode, changed_ns;
};

struct tracker_go_file {
	struct tracker_file id;
	enum go_found found; /* GO_NONE: the place is free */
	struct go_layout layout;
};

/* Of one wait, more parts are not told; agents have fewer. */
#define TRACKER_SHARES 128

struct tracker {
	struct sampler_sink sink;
	struct modules *modules;       /* borrowed */
	struct kallsyms *kernel_names; /* borrowed; may be NULL */
	struct tasks *tasks;
	struct unwinder *unwinder;
	bool short_stacks;       /* source_facts */
	struct peers *peers;     /* NULL: nobody has waited for a pipe or socket yet */
	struct off_cpu *off_cpu; /* NULL: the source tells nothing of switches */
	bool tell_off_cpu;
	struct cpu_account_rules rules;
	struct op_tracker ops;
	op_is_wrapper *is_wrapper; /* may be NULL */
	void *wrapper_context;
	struct gpu_calls *gpu;
	struct codes *codes;         /* borrowed; NULL: Python's frames are not wanted */
	struct python_stack python;  /* of the last stack */
	struct python_chain *joined; // of two reads of such a thread; owned
	bool read_later; /* the Python frames of the stack at hand, after the thread went on */
	uint64_t place;  /* of the stack at hand: see off_cpu_seen(); 0: it is not for that */
	struct off_cpu_python
		*reader; /* of the frames of threads that run; NULL: agents report them */
	struct tracker_go_file go_files[TRACKER_GO_FILES]; /* a ring */
	struct tracker_file go_others[TRACKER_GO_OTHERS];  /* a ring */
	uint32_t go_file_count, go_other_count;
	struct go_reader *go_reader; /* of the file that is read; NULL: none is */
	struct tracker_go_file go_reading;
	struct go_room *go_room; /* for all processes; NULL: no Go program yet */
	uint64_t go_due_ns;      /* the next look at goroutines; 0: at once */
	uint64_t go_passes;
	uint64_t go_random;
	struct goroutine_status goroutines;
	uint64_t await_due_ns; /* the next look at tasks; 0: at once */
	uint64_t await_random;
	struct task_status awaits;
	struct tracker_ended ended[TRACKER_ENDED]; /* a ring */
	uint32_t ended_count;
	struct tracker_ended_thread ended_threads[TRACKER_ENDED_THREADS]; /* the same */
	uint32_t ended_thread_count;
	struct wait_share shares[TRACKER_SHARES];
	struct tracker_resource resources[TRACKER_RESOURCES];
	struct tracker_shared shared[TRACKER_SHARED];
	struct allowance maps_allowance; /* for reading mappings of what is shared */
	struct tracker_post posts[TRACKER_POSTS];
	uint32_t post_count;
	struct tracker_pidfd pidfds[TRACKER_PIDFDS];
	struct tracker_asked asked[TRACKER_ASKED];
	uint64_t ask_again_ns; /* 0: there are none */
	bool finishing;
	bool no_memory;        /* an event could not be handled */
	uint64_t events;       /* handled so far */
	uint64_t samples;      /* on a CPU, among them */
	uint64_t self_samples; /* by agents, among those */
	uint64_t cut;          /* among those */
	uint32_t unseen_processes;
	char unseen_name[64];
	struct absences absences;

	/* A free frame comes first, for a mark on top of the stack. */
	struct frame stack[1 + STACK_MAX_FRAMES];
};

/* Tasks. */

/* The thread that EVENT is of, announced. RUNNING: whether one that was not known is on a CPU.
   NULL: no memory, which is noted. */
struct thread *tracker_thread(struct tracker *t, const struct event *event, bool running);

/* Its number, also of a process that has ended lately; 0: none. */
uint32_t tracker_process(struct tracker *t, uint32_t pid);

/* The threads of OF (NULL: all) except WITHOUT. */
void tracker_end_threads(struct tracker *t, struct process *of, struct thread *without,
                         uint64_t time_ns);

void tracker_on_birth(struct tracker *t, const struct event *event);
void tracker_on_fork(struct tracker *t, const struct event *event);
void tracker_on_found(struct tracker *t, const struct event *event);
void tracker_on_exec(struct tracker *t, const struct event *event);
void tracker_on_name(struct tracker *t, const struct event *event);
void tracker_on_exit(struct tracker *t, const struct event *event);

/* Stacks. */

/* The frames of SAMPLE's user stack, as the unwinder has them; their number. */
size_t tracker_unwind(struct tracker *t, struct thread *thread, const struct event_sample *sample,
                      uint64_t time_ns, struct frame *frames, size_t max, uint32_t *flags);

/* The same, completed if it was cut, and with the ops that are open. */
size_t tracker_frames(struct tracker *t, struct thread *thread, const struct event_sample *sample,
                      uint64_t time_ns, struct frame *frames, size_t max, uint32_t *flags);

static inline void tracker_tell(const struct tracker *t, const struct sampled *what)
{
	sampler_sink_take(&t->sink, what);
}

/* To the sink, if it stands for any time. */
void tracker_give(struct tracker *t, const struct stack *stack);

/* What no sample could tell. If it has ended at a switch, then on top of where that was. */
void tracker_give_short(struct tracker *t, const struct thread *thread, uint64_t time_ns,
                        uint64_t weight_ns);

/* Time of THREAD for which no sample has come or will come. */
void tracker_give_rest(struct tracker *t, struct thread *thread, uint64_t time_ns);

void tracker_on_sample(struct tracker *t, const struct event *event);

/* Waits. */

/* THREAD waits for descriptors, see struct off_cpu_options. */
void tracker_waits_on(void *context, struct thread *thread, const struct wait_on *on,
                      uint64_t time_ns);

/* The same of those of whom nobody was known then. */
void tracker_ask_again(struct tracker *t, uint64_t now_ns);

void tracker_on_wait(struct tracker *t, const struct event *event);

/* Python. */

void tracker_on_python(struct tracker *t, const struct event *event);

/* The interpreter of PROCESS is known. */
void tracker_begin_python(struct tracker *t, struct process *process,
                          const struct event_python *python);
void tracker_on_python_code(struct tracker *t, const struct event *event);
void tracker_on_python_chain(struct tracker *t, const struct event *event);
void tracker_on_torch_module(struct tracker *t, const struct event *event);
void tracker_on_python_name(struct tracker *t, const struct event *event);
void tracker_on_python_calls(struct tracker *t, const struct event *event);
void tracker_on_python_await(struct tracker *t, const struct event *event);

/*
 * Whether SAMPLE is one too many: the agent samples the process. What it shows of the kernel is
 * kept for the agent's next sample in the same call.
 */
bool tracker_is_double(struct thread *thread, const struct event_sample *sample);

/* Gives SAMPLE, an agent's, the kernel's frames that are kept for it. */
void tracker_add_kernel(struct thread *thread, struct event_sample *sample);

/* The C function at ADDRESS of PROCESS is what Python calls TEXT; "": it has several names. */
void tracker_name_function(struct tracker *t, struct process *process, uint64_t address,
                           const char *text, uint64_t time_ns);

/* COUNT native FRAMES with *SPS become those with SAMPLE's Python frames among them; the number. */
size_t tracker_add_python(struct tracker *t, struct process *process,
                          const struct python_chain *chain, struct frame *frames,
                          const uint64_t **sps, size_t count, size_t max, uint32_t *flags);

/* Ops and allocations. */

void tracker_on_op_begin(struct tracker *t, const struct event *event);
void tracker_on_op_mark(struct tracker *t, const struct event *event);
void tracker_on_op_end(struct tracker *t, const struct event *event);
void tracker_on_op_site(struct tracker *t, const struct event *event);
void tracker_on_op_count(struct tracker *t, const struct event *event);
void tracker_on_alloc(struct tracker *t, const struct event *event);
void tracker_on_free(struct tracker *t, const struct event *event);
void tracker_on_memory(struct tracker *t, const struct event *event);
void tracker_on_patch(struct tracker *t, const struct event *event);
void tracker_on_gpu(struct tracker *t, const struct event *event);
void tracker_on_gpu_pc(struct tracker *t, const struct event *event);
void tracker_on_gpu_pc_sum(struct tracker *t, const struct event *event);
