/* SPDX-License-Identifier: MIT */
/*
 * Which processes of the run the agents' files belong to, by the collector's own numbers.
 *
 * An agent knows the pid, the tids and the clock of its own namespaces. A process in another PID
 * namespace introduces itself (tracer/reader/door.h). Where it could not, it is looked for among
 * the collector's descendants, and then in all of /proc, by the namespace and the last number of
 * NSpid, and can be found only while it is alive. The kernel tells nobody the numbers of a thread
 * that has ended. Nothing that an agent says is trusted: a process older than the collector is none
 * of the run's, unless owners_take_older() was called. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/namespaces.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct owners;
struct owner;
struct record;

/* What a file says of its process. */
struct owner_claim {
	uint32_t pid;
	uint64_t image_ns;
	struct namespaces namespaces; /* those that pid and times are of */
};

enum owner_answer {
	OWNER_FOUND,
	OWNER_LATER, /* not found so far: ask again in another round */
	OWNER_REFUSED
};

/* Processes introduce themselves in DIRECTORY. NULL: no memory. */
struct owners *owners_new(int directory);
void owners_free(struct owners *o);

CLEANUP(owners, struct owners *, owners_free)

/* Processes that are older than the collector may be the run's, too: it was attached to some. */
void owners_take_older(struct owners *o);

/* /proc is looked at again, if need be. */
void owners_begin_round(struct owners *o);

/*
 * *OWNER gets the process that CLAIM, in a file of USER's, is of, to be released; TRIES counts the
 * calls about CLAIM, from 0. OWNER_REFUSED: it is none of the run's, or has ended unknown.
 */
enum owner_answer owners_find(struct owners *o, const struct owner_claim *claim, uid_t user,
                              unsigned *tries, struct owner **owner);

/*
 * Whether a file of USER's can be of process PID: the collector's own user may write for all,
 * others for processes that are theirs, or are no more.
 */
bool owners_may_write(uint32_t pid, uid_t user);

/* By the collector's own numbers; 0 if CLAIM, in a file of USER's, cannot be matched at once. */
uint32_t owners_pid_now(struct owners *o, const struct owner_claim *claim, uid_t user);

struct owner *owner_share(struct owner *owner);
void owner_release(struct owner *owner); /* NULL is fine */
bool owner_is(const struct owner *owner, const struct owner_claim *claim);
uint32_t owner_pid(const struct owner *owner);

/* Looks for threads that have come: those that end before their records are read are known then. */
void owner_look(struct owner *owner);

/* RECORD, which is sound, gets the collector's pids and tids. */
void owner_translate(struct owners *o, struct owner *owner, struct record *record);
