/* SPDX-License-Identifier: MIT */
/*
 * What the verdict is found from, and the rules that find it, which are tried in the order of
 * verdict.c's table. A rule returns whether it has spoken. One thread at a time; nothing is owned
 * here: the facts borrow from verdict_find(), which frees them.
 */
#pragma once

#include "cli/report/place.h"
#include "cli/report/verdict.h"
#include "merge/query/query.h"
#include "merge/query/query_contention.h"
#include "merge/query/query_wall.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FEW_SAMPLES 50  /* fewer rank nothing: a share of 10 % is then +-9 points */
#define NAME_WIDTH  60  /* of a function in a sentence */
#define BUSY_SHARE  0.5 /* of one CPU, by all threads together */
#define CPU_SHARE   0.5 /* of it spent waiting for a CPU */
#define MOST_SHARE  0.5 /* of the time, by a finding */
#define ASKED_SHARE 0.1 /* of the CPU time, by a function and what it asks libraries for */
#define MORE_THAN   1.1 /* times the function that has most itself: then that says more */
#define STANDS_FOR  0.5 /* of the time of a place, by a finding in it */

struct verdict_facts {
	const struct profile *profile;
	const struct run *run;
	const struct totals *totals;
	struct query window; /* of what the report is about */
	struct account account;
	struct contention_answer contention;
	struct wall_account wall; /* where it ranks code, what follows is of wall time */
	uint64_t all;             /* CPU time of all threads, or wall time */
	bool of_rank;             /* of merged profiles: that of the one whose end the others wait
	                             for, so that calls of MPI are theirs */
	char of[80];              /* of what ALL is, in words */
	const struct rows *cpu;   /* functions by self time on a CPU, all threads */
	const struct rows *both;  /* the same, and waiting, as the tables have them */
	const struct call_tree *cpu_tree;
	const struct call_tree *both_tree; /* of BOTH; NULL where shares are not of that */
	struct crowd {
		const struct rows *cpu; /* of all threads; NULL: nothing was waited for own ones */
		const struct call_tree *tree;
		uint64_t own_ns; /* of wall time, waited for CPUs that own threads had */
	} crowd;
	const struct call_tree *wait_tree; /* of the critical thread */
	const struct op_rows *ops;         /* by self time */
	const struct findings *findings;
	const struct finding *second; /* one that explains less than the sentence does; or NULL */
	const struct finding *idle;   /* that the run only waits for requests; NULL: it does not */
	uint64_t outside_ns; /* of all threads, mostly waited for nobody of the run, while some
	                        work; 0: not so */
};

/*
 * verdict_words.c: what the sentences of the verdict are made of: places, functions and ops by
 * name.
 */
__attribute__((format(printf, 2, 3))) bool verdict_say(struct verdict *v, const char *format, ...);
__attribute__((format(printf, 2, 3))) bool verdict_advise(struct verdict *v, const char *format,
                                                          ...);

/* What V's advice has from AT on is beside the answer, if there is anything. */
void verdict_mark_extra(struct verdict *v, size_t at);

/* As a sentence; one that begins with a function's name has that as it is. */
void verdict_say_finding(const struct finding *finding, struct verdict *v);

/* Who waited: where wall time is known, whoever the end of the run waited for. */
const char *verdict_thread_name(const struct verdict_facts *f, char *buffer, size_t size);
void verdict_name_node(const struct call_node *node, char *buffer, size_t size);
void verdict_name_call(const struct place_call *call, char *buffer, size_t size);
void verdict_name_row(const struct row *row, char *buffer, size_t size);
bool verdict_is_mark(const struct row *row);

/* The first row that is code; NULL if there is none. */
const struct row *verdict_hottest(const struct verdict_facts *f);

/* Whether shares are of CPU and waiting together, as in the tables, where both differ. */
bool verdict_shares_both(const struct verdict_facts *f);

/* "61.1 % of the CPU time", or of what the tables rank by, where ROW has another share of that. */
const char *verdict_share_of_row(const struct verdict_facts *f, const struct row *row, char *buffer,
                                 size_t size);

/* Code that a compiler made while the program ran, and told nobody of. */
const struct row *verdict_nameless_row(const struct verdict_facts *f);

/* What starts with an import is described by what is imported. */
bool verdict_is_import(const struct place_sum *sum);
bool verdict_is_no_import(const struct place_sum *sum);

/* A function of the user's own that holds more, with what it calls of libraries, than TIMES what
 * any function does by itself: time that is spent in many small ones has one cause all the same. */
bool verdict_asks_most(const struct verdict_facts *f, double times, struct place_sum *sum);

/* The op that holds most time itself; NULL if there is none. */
const struct op_row *verdict_hottest_op(const struct verdict_facts *f);
void verdict_name_sum(const struct verdict_facts *f, const struct place_sum *sum, char *buffer,
                      size_t size);
void verdict_add_sum(const struct verdict_facts *f, const struct place_sum *sum, struct verdict *v);

/* A helper that several functions call says little of which of them costs: so does the one of them
 * that has most of its time. */
void verdict_add_caller(const struct verdict_facts *f, const char *function, struct verdict *v);

/*
 * verdict_price.c: what removing a place, an op or the cause of a finding would save, and which
 * saves most.
 */
double verdict_price_of_row(const struct verdict_facts *f, const struct row *row);
double verdict_price_of_sum(const struct verdict_facts *f, const struct place_sum *sum);

/* The price of a change at PLACE, where SYMPTOM_NS of wall time were found: V's, or with what it
   has already that of a change at either place. */
void verdict_set_price(const struct verdict_facts *f, const struct price_place *place,
                       double symptom_ns, struct verdict *v);

/* The same of a function, and of one with what it asks libraries for. */
void verdict_set_price_of_row(const struct verdict_facts *f, const struct row *row,
                              struct verdict *v);
void verdict_set_price_of_sum(const struct verdict_facts *f, const struct place_sum *sum,
                              struct verdict *v);

/* Adds V's price to its sentence, if it has one. */
void verdict_say_price(const struct verdict_facts *f, struct verdict *v);

/* Where findings are priced without waiting for a CPU, of which an op has its part. */
double verdict_price_of_op(const struct verdict_facts *f, const struct op_row *op);

/* Of code that had CPU_NS of all threads, or of wall time where that ranks code. */
double verdict_price_of_ns(const struct verdict_facts *f, uint64_t cpu_ns);

/* Whether a hotspot (a function, an op, a function with what it asks libraries for, a library, a
 * program of many processes) explains more of the run than FINDING: worst is what costs most,
 * whatever a rule says of it. */
bool verdict_is_outranked(const struct verdict_facts *f, const struct finding *finding);

/* The one that explains most. Of what is no fault by itself, such as imports, only what most of the
 * run is spent in. Rules on the measurement say how far to trust it, not what is slow. */
const struct finding *verdict_worst_finding(const struct verdict_facts *f);

/*
 * verdict_waits.c: rules for runs that mostly wait: for CPUs, for others, or for requests.
 */

/* A server that hardly works at all has nothing that would be worth a change. */
bool verdict_idles(const struct verdict_facts *f, struct verdict *v);

/* Most of all time is waited in one function for sockets, and hardly any of it for others of the
 * run: a server's processes wait for clients that are no part of it. A client of the run waits for
 * as long as the server works, however long the server's other processes are idle; a master that
 * looks after its workers each second is no client of theirs. */
uint64_t verdict_waited_outside(const struct verdict_facts *f);

/* Shares of CPU time are of what a server does while it works: for how long it did not comes behind
 * that. */
void verdict_add_idleness(const struct verdict_facts *f, struct verdict *v);
/* Where ranks of one profile wait for one of them, which that is: behind what the sentence says. */
void verdict_add_rank(const struct verdict_facts *f, struct verdict *v);
bool verdict_waits_for_cpu(const struct verdict_facts *f, struct verdict *v);

/* The main thread waits for others, as make(1) does, and it is they who get no CPU. */
bool verdict_others_wait_for_cpu(const struct verdict_facts *f, struct verdict *v);

/* Time spent waiting for children is in the children, which are in the profile. And a thread that
 * waits while others work, or would if they had a CPU, is no news: then the question is what those
 * do. */
bool verdict_waits(const struct verdict_facts *f, struct verdict *v);

/* Nor do the processes or threads that it waits for, as a server's that wait for each other:
 * however long they lack a CPU, what they do with one is the smaller part. */
bool verdict_all_wait(const struct verdict_facts *f, struct verdict *v);

/*
 * verdict_unknown.c: rules for runs of which too little was recorded to say what makes them slow.
 */
bool verdict_nothing_measured(const struct verdict_facts *f, struct verdict *v);
bool verdict_advise_agent(struct verdict *v);

/* Adds how functions of the program's own get their names, where most of it has none, as a JIT
   compiler made or interprets them. */
void verdict_add_jit_names(const struct verdict_facts *f, struct verdict *v);

/* What there is of the run is not what was asked about, whatever it did. */
bool verdict_lies_elsewhere(const struct verdict_facts *f, struct verdict *v);
bool verdict_too_few_samples(const struct verdict_facts *f, struct verdict *v);

/* Hooks of the agent's, at whose cost nothing else can be judged. */
bool verdict_our_own(const struct verdict_facts *f, struct verdict *v);
bool verdict_nothing_seen(const struct verdict_facts *f, struct verdict *v);

/* What no code is known of, if it has most of the time; else NULL. */
const struct row *verdict_unseen_row(const struct verdict_facts *f);

/*
 * verdict_code.c: rules for runs that mostly compute: the function, op or library that has most of
 * the time.
 */
bool verdict_is_of_imports(const struct finding *finding);

/*
 * What helps with a script of the interpreter MODULE, which neither symbols nor, unless CALLER,
 * callers name.
 */
bool verdict_advise_interpreter(const char *module, bool caller, struct verdict *v);

/* Imports are often what there is to do. What costs most behind them is named, too. */
bool verdict_advise_apart(const struct verdict_facts *f, const struct finding *finding,
                          struct verdict *v);
bool verdict_nameless_jit(const struct verdict_facts *f, struct verdict *v);

/* One that takes longer than any function does, as where several functions share its work. */
bool verdict_hot_op(const struct verdict_facts *f, struct verdict *v);

/* What starts with an import is described by what is imported. */
bool verdict_of_imports(const struct verdict_facts *f, struct verdict *v);
bool verdict_asked_for(const struct verdict_facts *f, struct verdict *v);
bool verdict_flat(const struct verdict_facts *f, struct verdict *v);
bool verdict_hot_function(const struct verdict_facts *f, struct verdict *v);

/*
 * verdict_library.c: the rule for runs whose time is in many functions of one library, of which
 * none has most, as where but a few of them have names.
 */
struct verdict_library {
	const char *module;
	const struct row *row; /* its function that has most */
	uint64_t self;         /* of all its functions; where it is known what the library is for,
	                          with what it asks the C library and the kernel for */
	uint64_t fault_ns;     /* that its functions waited on page faults, as of a file that they
	                          read by a mapping; beside SELF */
};

/* The library of others that has most time; false if there is none that has ASKED_SHARE, or if ops
 * or one function say more: one of the library's that has most of it, another one that has as much,
 * or one of the user's own that asks libraries for as much. */
bool verdict_busiest_library(const struct verdict_facts *f, struct verdict_library *library);
double verdict_price_of_library(const struct verdict_facts *f,
                                const struct verdict_library *library);
bool verdict_of_library(const struct verdict_facts *f, struct verdict *v);

/*
 * verdict_processes.c: the rule for runs of many processes: the program that has most of their
 * time.
 */

/* What a change of the program that most of the time of many processes is in may save; 0: there is
 * none, or it is the user's own: an interpreter of a script, or forks of one process. */
double verdict_price_of_processes(const struct verdict_facts *f);
/* Of many processes one, or the runs of one program, is what the run is about: a build's compiler.
 * Its functions are nothing that its user works on. */
bool verdict_of_processes(const struct verdict_facts *f, struct verdict *v);
