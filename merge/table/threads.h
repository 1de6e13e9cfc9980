/* SPDX-License-Identifier: MIT */
/*
 * The processes and threads of a run, in bounded memory.
 *
 * The first ones are kept apart, each in a slot of its own. Beyond a limit,
 * processes of one command share a slot, and so do threads of one name in one
 * process slot; when there are too many of those as well, the rest share one.
 * Only what is alive is remembered by number. One thread at a time.
 */
#pragma once

#include "base/hash.h"
#include "base/stack.h"
#include "base/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process_info {
	uint32_t parent;           /* slot; 0: not ours */
	uint32_t pid;              /* of the first one that is in here */
	uint32_t command;          /* string */
	uint32_t title;            /* string: the command, or that with what tells it from others */
	uint32_t merged;           /* how many processes are in here: 1 if it is kept apart */
	uint64_t start_ns, end_ns; /* end 0: it runs */
};

struct thread_info {
	uint32_t process;          /* slot */
	uint32_t tid;              /* of the first one that is in here */
	uint32_t name;             /* string */
	uint32_t merged;           /* how many threads are in here: 1 if it is kept apart */
	uint32_t ended;            /* how many of them have ended */
	bool estimated;            /* the scheduler did not give the ns[] of all that have ended */
	uint64_t start_ns, end_ns; /* end 0: it runs */
	uint64_t ns[METRIC_COUNT]; /* of those that have ended */
	uint64_t gil_held_ns, gil_waited_ns; /* the same, as far as is known */
};

/* Whether ns[] is all there is to know of the slot's time. */
static inline bool thread_is_exact(const struct thread_info *info)
{
	return info->merged && info->ended == info->merged && !info->estimated;
}

/* Whether the slot is one thread's, that was announced. */
static inline bool thread_is_apart(const struct thread_info *info)
{
	return info->merged == 1 && info->name;
}

/* Which slot a number that is not kept apart has. */
struct alias {
	uint32_t number; /* 0: free */
	uint32_t slot;
};

struct aliases {
	struct alias *aliases;
	size_t count, capacity, live;
	struct hash index;
};

struct threads {
	struct process_info *processes; /* [slot - 1] */
	struct thread_info *threads;
	size_t process_count, process_capacity;
	size_t thread_count, thread_capacity;
	struct aliases process_aliases, thread_aliases;
	uint32_t limit;                         /* slots for those kept apart, and for names */
	uint32_t others_process, others_thread; /* slots of the rest; 0: none yet */
	uint64_t processes_seen, threads_seen;
};

bool threads_init(struct threads *t, uint32_t limit); /* false if there is no memory */
void threads_fini(struct threads *t);

/* The most slots that there can be for threads. */
static inline uint32_t threads_slots_max(uint32_t limit)
{
	return 2 * limit + 1;
}

/* False if there is no memory. Names go to STRINGS. */
bool threads_add_process(struct threads *t, struct strings *strings,
                         const struct process_event *event);
void threads_end_process(struct threads *t, uint32_t process, uint64_t time_ns);
bool threads_add_thread(struct threads *t, struct strings *strings,
                        const struct thread_event *event);
/* False if the thread is not known. */
bool threads_end_thread(struct threads *t, const struct thread_end *end);

/* It is as if the thread NUMBER had never been there. */
void threads_hide(struct threads *t, uint32_t number);

/* The slot of the living thread NUMBER; 0 if there is no such thread. */
uint32_t threads_slot(const struct threads *t, uint32_t number);

/* The slot of the first thread of process NUMBER that is known; 0 if there is none. */
uint32_t threads_main(const struct threads *t, uint32_t number);

/* The slot of the first thread of the first process; else of the first one there is; 0: none. */
uint32_t threads_first(const struct threads *t);

/* The slot of the process NUMBER; 0 if it is not known, or is gone and was not kept apart. */
uint32_t threads_process_slot(const struct threads *t, uint32_t number);

static inline const struct thread_info *threads_get(const struct threads *t, uint32_t slot)
{
	return &t->threads[slot - 1];
}

/* NULL if the thread's process was never announced. */
static inline const struct process_info *threads_process(const struct threads *t, uint32_t slot)
{
	return slot && slot <= t->process_count ? &t->processes[slot - 1] : NULL;
}
