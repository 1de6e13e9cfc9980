/* SPDX-License-Identifier: MIT */
/*
 * A statement of Python or C++ that is called many times in a process of its own, and timed there:
 * blocks of so many calls, in a loop as timeit and torch.utils.benchmark.Timer have it.
 *
 * The process has run the setup, and waits between its blocks. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "merge/profile/repeats.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct job;

struct statement {
	const char *code, *setup; /* SETUP "": nothing */
	const char *global;       /* C++ before main(), as #include; "": nothing */
	const char *name, *value; /* of a variable that setup and code find; NULL: none */
	enum repeat_language language;
	uint32_t threads;   /* of libraries: OMP_NUM_THREADS and the like */
	const char *python; /* interpreter; of C++ that of the torch that it uses */
	bool show_output;   /* else it goes to /dev/null */
};

/* Zeroed when nothing runs. */
struct statement_process {
	pid_t pid;
	int commands, replies;                                         /* pipes; 0: none */
	char directory[PATH_MAX], source[PATH_MAX], program[PATH_MAX]; /* of C++; "": none */
};

/* What a process says of a block. */
struct statement_block {
	uint64_t ns, user_ns, system_ns, peak_rss_bytes;
};

/* From here on programs that are started have as many threads in the libraries that look for that.
 */
void statement_set_threads(uint32_t threads);

/*
 * Compiles what has to be, runs the setup, and returns when that is over. 1 if the user has
 * interrupted it, -1 on error. Either way statement_stop() is to be called.
 */
int statement_start(struct statement_process *p, const struct statement *s, struct job *job,
                    struct error *err);

/* COUNT calls. 1 if the user has interrupted it, -1 on error. */
int statement_time(struct statement_process *p, uint64_t count, struct job *job,
                   struct statement_block *block, struct error *err);

/* The process ends now; its files are removed. */
void statement_stop(struct statement_process *p);

static inline void statement_process_at_scope_end(struct statement_process *p)
{
	statement_stop(p);
}

/*
 * The command that runs the setup and COUNT calls, and ends: fresh, ends with NULL, for
 * statement_free_command(). Of C++ it is compiled into P. NULL on error.
 */
char **statement_command(struct statement_process *p, const struct statement *s, uint64_t count,
                         struct job *job, struct error *err);
void statement_free_command(char **command);
