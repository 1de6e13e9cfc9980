/* SPDX-License-Identifier: MIT */
/*
 * What a program was doing, whatever functions did it: waiting for a mutex, copying memory,
 * compiling a regular expression, forking.
 *
 * A stack is recognized by the names of its frames. The user's own code ends what its callers in
 * libraries were doing: a comparison that qsort(3) has called is no sorting. So what is left is
 * between the innermost frame of the user's own, to whom it is charged, and the end of the stack.
 *
 *	main app.c:3 > save app.c:9 > fsync@libc > entry_SYSCALL_64@kernel
 *	               own            ACTIVITY_SYNC    ACTIVITY_KERNEL
 *
 * For the files of merge/ alone.
 */
#pragma once

#include "base/metric.h"
#include "merge/query/query.h"
#include "symbolize/loop/loop_fact.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct op;
struct op_row;
struct op_rows;
struct queue;
struct scope;

enum activity {
	ACTIVITY_KERNEL, /* runs in the kernel */
	ACTIVITY_UNSEEN, /* what runs is not known, as before a thread's first sample, or is our own
	                  */
	ACTIVITY_DEBUG,  /* runs code that was compiled without optimization */
	ACTIVITY_PYTHON, /* the interpreter itself, at work for Python code */
	ACTIVITY_GIL,    /* waits for its lock */
	ACTIVITY_MUTEX,  /* takes a mutex, a semaphore, a read-write lock */
	ACTIVITY_CONDITION,  /* waits for a condition variable, or wakes who does */
	ACTIVITY_SWITCH,     /* Go's scheduler, at work for a goroutine that waits, or wakes one */
	ACTIVITY_JOIN,       /* waits for a thread's end */
	ACTIVITY_BARRIER,    /* waits for the other threads of a parallel loop */
	ACTIVITY_LOOP,       /* of these, that of a runtime of OpenMP's */
	ACTIVITY_CHUNK,      /* of these, takes the next iterations of a loop */
	ACTIVITY_SPIN,       /* spins for a lock */
	ACTIVITY_SYNC,       /* fsync and its like */
	ACTIVITY_READ,       /* system calls that read */
	ACTIVITY_WRITE,      /* system calls that write */
	ACTIVITY_SOCKET,     /* works on a socket, in the kernel */
	ACTIVITY_CONNECT,    /* looks up a host, makes, connects or closes a socket */
	ACTIVITY_LOOKUP,     /* of these, those that look up a host */
	ACTIVITY_OPEN,       /* works on a file as a whole: open, stat, readdir … */
	ACTIVITY_CREATE,     /* of these, makes a file or a directory */
	ACTIVITY_REMOVE,     /* of these, removes one */
	ACTIVITY_RENAME,     /* of these, renames one */
	ACTIVITY_LOOK,       /* of these, asks for its attributes */
	ACTIVITY_LIST,       /* of these, lists a directory */
	ACTIVITY_ATTRIBUTE,  /* of these, changes its mode, owner, times or size */
	ACTIVITY_USER,       /* looks up a user or a group */
	ACTIVITY_ZONE,       /* the C library looks whether its time zone is another one by now */
	ACTIVITY_SLEEP,      /* sleeps for a time of its own choice */
	ACTIVITY_POLL,       /* waits for events, for who connects, or for a signal */
	ACTIVITY_SIGNAL,     /* of these, for a signal */
	ACTIVITY_SPAWN,      /* starts a process, or waits for one */
	ACTIVITY_REAP,       /* of these, those that wait */
	ACTIVITY_THREAD,     /* starts a thread */
	ACTIVITY_FAULT,      /* a page of memory is touched that is not there */
	ACTIVITY_MAPPED,     /* of these, a page of a file */
	ACTIVITY_INTERRUPT,  /* handles an interrupt, which comes to any code alike */
	ACTIVITY_ALLOCATE,   /* malloc, free and what stands for them */
	ACTIVITY_RELEASE,    /* of these, those that give back */
	ACTIVITY_COPY,       /* memcpy, memmove, and what a copy of an object allocates */
	ACTIVITY_FILL,       /* memset: sets all of a piece of memory to one value */
	ACTIVITY_MOVED,      /* moves an object: a move constructor or assignment */
	ACTIVITY_RELOCATE,   /* moves a vector's elements to another block, or copies them there */
	ACTIVITY_RECOPY,     /* of these, copies an object: its move constructor may throw */
	ACTIVITY_REFREE,     /* gives back what a vector's elements have that it has relocated */
	ACTIVITY_OBJECT,     /* copies an object: a copy constructor, an assignment, a clone */
	ACTIVITY_STRING_END, /* strlen, strcat: walks to the end of a string, or to a place in a
	                        string or linked list */
	ACTIVITY_CONCAT,     /* Python joins two strings, or two bytes */
	ACTIVITY_SHIFT,      /* moves, or searches, all that is in a list of Python's or a vector */
	ACTIVITY_POP,        /* takes an element out of a list, at its end or before it */
	ACTIVITY_THROW,      /* throws or catches an exception */
	ACTIVITY_REGEX,      /* compiles a regular expression */
	ACTIVITY_MATCH,      /* matches text against one */
	ACTIVITY_STREAM,     /* makes a stream of C++ over a string, or ends one */
	ACTIVITY_SYNCED,     /* a stream of C++ goes through stdio, byte by byte to read */
	ACTIVITY_EXTRACT,    /* reads values from a stream of C++ */
	ACTIVITY_SHARE,      /* counts the owners of a shared pointer of C++ */
	ACTIVITY_SORT,       /* sorts */
	ACTIVITY_PARSE,      /* makes numbers, or parts or other cases, of text */
	ACTIVITY_KEY,        /* works out what it compares, below a comparison that sorts */
	ACTIVITY_TREE,       /* goes to an element of a search tree, or to the next */
	ACTIVITY_COLLATE,    /* compares texts by the rules of a language */
	ACTIVITY_LINK,       /* the dynamic linker, and the start of Python's interpreter */
	ACTIVITY_PRELOAD,    /* of these, what LD_PRELOAD asks for, as a profiler does */
	ACTIVITY_FLOAT64,    /* the mathematical functions of double */
	ACTIVITY_FORMAT,     /* makes text of values: printf and its like, Rust's core::fmt */
	ACTIVITY_SQL,        /* SQLite runs a statement */
	ACTIVITY_SQL_NEXT,   /* of these, goes from row to row */
	ACTIVITY_SQL_SEEK,   /* of these, goes to a row by its key, or puts one in */
	ACTIVITY_EXECUTE,    /* Python's sqlite3 has SQLite run a statement */
	ACTIVITY_RANDOM,   /* the C library's generators of random numbers with one state for all */
	ACTIVITY_LOGGING,  /* Python's logging */
	ACTIVITY_DATE,     /* strptime and its like */
	ACTIVITY_DEEPCOPY, /* Python's copy module, and copies of data classes */
	ACTIVITY_SERIALIZE, /* Python's json, pickle and their like: objects to bytes, and back */
	ACTIVITY_INSPECT,   /* Python's inspect, traceback, linecache: looks at code itself */
	ACTIVITY_EXACT,     /* Python's fractions, statistics: numbers that are no machine's */
	ACTIVITY_DIGITS,    /* Python computes with whole numbers of many digits */
	ACTIVITY_DECIMAL,   /* Python makes text of whole numbers, or numbers of text, or powers */
	ACTIVITY_COMPRESS,  /* compresses data */
	ACTIVITY_INVERT,    /* inverts a matrix */
	ACTIVITY_FROM_LIST, /* PyTorch makes a tensor, element by element where it is a list */
	ACTIVITY_CALLBACK,  /* asyncio's event loop runs a callback, or a step of a task */
	ACTIVITY_SORTS,     /* C's, C++'s, Rust's or Go's functions that sort by a comparison */
	ACTIVITY_COMPARE,   /* of these, the user's own comparison */
	ACTIVITY_REGROW, /* a vector of C++'s takes a larger block, and all that it has done then */
	ACTIVITY_ELEMENT, /* NumPy takes something out of an array, or puts it in */
	ACTIVITY_PREPARE, /* NumPy prepares a call: looks at its arguments, makes the result */
	ACTIVITY_CAST,    /* NumPy converts an array to another type */
	ACTIVITY_NO_BLAS, /* NumPy multiplies matrices without BLAS */
	ACTIVITY_HALF,    /* NumPy computes with numbers of 16 bits, each by way of 32 */
	ACTIVITY_OBJECTS, /* NumPy works on arrays whose elements are Python objects */
	ACTIVITY_JOINED,  /* an op that makes one tensor of several */
	ACTIVITY_GC,      /* Python's garbage collection */
	ACTIVITY_BLAS,    /* an op of linear algebra, or a convolution */
	ACTIVITY_TENSORS, /* an op that copies tensors */
	ACTIVITY_TINY,    /* an op whose calls take a few microseconds */
	ACTIVITY_LONG,    /* an op that takes some times that itself, without those within it */
	ACTIVITY_DOUBLE,  /* linear algebra in double precision */
	ACTIVITY_TRACE,   /* a debugger, a tracer, a coverage tool looks on */
	/* Around all others. */
	ACTIVITY_IMPORT,  /* Python's import system, and all that it runs */
	ACTIVITY_LOADER,  /* a data loader of PyTorch's, and all that it runs */
	ACTIVITY_WORKER,  /* one of its workers, and all that it runs */
	ACTIVITY_COMPILE, /* a compiler that the program runs, see compiling.h */
	/* In the user's own code: a bit each for enum loop_kind, symbolize/loop/loop_fact.h. */
	ACTIVITY_IN_LOOP = 106,
	ACTIVITY_COUNT = ACTIVITY_IN_LOOP + LOOP_KINDS
};

/* Any of them at once: a bit each. */
typedef unsigned __int128 activity_set;

_Static_assert(ACTIVITY_COUNT <= 8 * sizeof(activity_set), "a bit each");
_Static_assert(ACTIVITY_COMPILE < ACTIVITY_IN_LOOP, "and none for two");

#define ACTIVITY(name) ((activity_set)1 << ACTIVITY_##name)

/* These go on in the user's own code, and are charged to who has begun them. */
#define ACTIVITIES_AROUND                                                                          \
	(ACTIVITY(IMPORT) | ACTIVITY(LOADER) | ACTIVITY(WORKER) | ACTIVITY(COMPILE))

/* These go on there, too, and are charged to what runs within them. */
#define ACTIVITIES_WITHIN                                                                          \
	(ACTIVITY(CALLBACK) | ACTIVITY(REGROW) | ACTIVITY(SORTS) | ACTIVITY(COMPARE))

/* These go on in the C library and the kernel, for whatever code has asked for it. */
#define ACTIVITIES_BELOW                                                                           \
	(ACTIVITY(KERNEL) | ACTIVITY(SYNC) | ACTIVITY(READ) | ACTIVITY(WRITE) | ACTIVITY(SOCKET) | \
	 ACTIVITY(CONNECT) | ACTIVITY(OPEN) | ACTIVITY(SLEEP) | ACTIVITY(POLL) | ACTIVITY(SPAWN) | \
	 ACTIVITY(THREAD) | ACTIVITY(FAULT) | ACTIVITY(ALLOCATE) | ACTIVITY(COPY) |                \
	 ACTIVITY(FILL) | ACTIVITY(MUTEX) | ACTIVITY(CONDITION) | ACTIVITY(JOIN))

/* These are what the innermost function does itself. */
#define ACTIVITY_OF_LOOP(kind) ((activity_set)1 << (ACTIVITY_IN_LOOP + LOOP_##kind))
#define ACTIVITIES_IN_LOOPS    (((((activity_set)1) << LOOP_KINDS) - 1) << ACTIVITY_IN_LOOP)

#define ACTIVITY_NO_PLACE      UINT32_MAX

/* Where the user's own code stands. */
struct activity_place {
	uint32_t function, file, line; /* strings, and a number; 0 if unknown */
	uint32_t module;
	bool python;
	uint64_t tiny_calls, tiny_ns; /* of ACTIVITY_TINY, by the ops' own callers: the whole run */
};

/* Time of one place, and of what it was doing. */
struct activity_time {
	activity_set doing;
	uint32_t place;  /* index; ACTIVITY_NO_PLACE: none of the user's own */
	uint32_t around; /* the place that has begun the outermost of ACTIVITIES_AROUND */
	uint32_t op;     /* the innermost that was open; 0: none */
	uint32_t callee; /* the outermost function that is not the user's: string, 0 if none */
	uint32_t loop;   /* what is known of the loop that runs: string, 0 if nothing */
	uint64_t ns[METRIC_COUNT];          /* of all threads */
	uint64_t critical_ns[METRIC_COUNT]; /* of wall time, or else of the critical one */
	uint64_t thread_cpu_ns;             /* of the critical thread itself, on CPUs */
	double queue_ns; /* of the wall time that was waited for a CPU: see merge/rules/queue.h */
};

struct activities {
	struct activity_place *places;
	struct activity_time *times;
	size_t place_count, time_count;
	uint64_t ns[METRIC_COUNT], critical_ns[METRIC_COUNT]; /* of all */
};

/* What was done in SCOPE; WALL is the same of wall time (QUERY_WALL), or NULL: then the time of the
   thread in slot CRITICAL stands for it. QUEUE is of the same. OPS are what is known of the ops.
   NULL on error. */
struct activities *activities_new(const struct scope *scope, const struct scope *wall,
                                  uint32_t critical, const struct queue *queue,
                                  const struct op_rows *ops, struct error *err);
void activities_free(struct activities *a);

CLEANUP(activities, struct activities *, activities_free)

/* What a frame of this name does; FILE may be NULL. The names are in activity_names.c. */
activity_set activity_of(const char *function, const char *file);

/* The same of an op. */
activity_set activity_of_op(const struct op *op);

/* Its calls are short, and so many that what is around each of them counts. */
bool op_is_tiny(const struct op_row *op);
