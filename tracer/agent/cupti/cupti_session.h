/* SPDX-License-Identifier: MIT */
/*
 * What this process has with CUPTI: its functions, our subscription to calls, and the kinds of
 * records that are enabled for us. There is one.
 *
 *	          start                 yield (another client)
 *	nothing ────────► subscribed ◄──────────────────────► without calls, or records, or both
 *	                       │ finish, fork
 *	                       └────────► over: CUPTI is not called any more
 *
 * All but the callbacks hold the lock, which is recursive.
 */
#pragma once

#include "base/record_gpu.h"
#include "tracer/agent/cupti/cupti_library.h"

#include <stdbool.h>
#include <stdint.h>

struct cupti_session {
	struct cupti_functions f;
	bool live;        /* atomic: CUPTI may be called */
	bool fitted;      /* it keeps a clock of its own */
	bool nodes;       /* of graphs each kernel is told, not the launch as a whole */
	void *subscriber; /* NULL: we are not notified of calls */
	uint64_t kinds;   /* that are enabled for us: bits 1 << enum cupti_kind */
	uint32_t pid;
	struct cupti_bounds bounds; /* of the library */
	uint32_t calls;             /* functions that we are notified of */
};
extern struct cupti_session cupti_session;

/* The calling thread is in CUPTI by our doing: what CUPTI calls there is not another client's. */
extern __thread int cupti_inside __attribute__((tls_model("initial-exec")));

#define CUPTI_CALL(function, ...)                                                                  \
	({                                                                                         \
		cupti_inside++;                                                                    \
		int result_ = cupti_session.f.function(__VA_ARGS__);                               \
		cupti_inside--;                                                                    \
		result_;                                                                           \
	})

void cupti_session_lock(void);
bool cupti_session_try_lock(void);
void cupti_session_unlock(void);
void cupti_session_fork(void);

bool cupti_session_is_live(void);

/* Whether the instruction at ADDRESS is CUPTI's, which is at work for us. */
bool cupti_session_holds(uintptr_t address);

/*
 * Subscribes, and has CUPTI notify us of the calls that are wanted. Returns CUPTI's result; OTHER
 * (at least CUPTI_OTHER_NAME_MIN bytes) becomes the name of who was first, or "".
 */
int cupti_session_subscribe(char *other, size_t size);
void cupti_session_unsubscribe(void);

/* Our clock, our callbacks. Returns CUPTI's result. */
int cupti_session_register(void);

/*
 * Enables the kinds; those that are refused are counted as lost if TELL. Returns the first refusal,
 * and in *REFUSED how many there were, but for kinds that this version of CUPTI does not have.
 */
int cupti_session_enable(bool tell, uint32_t *refused);
void cupti_session_disable(void);

/* Has the records given out that are there; with LAST, also those that are not complete. */
void cupti_session_flush(bool last);

/*
 * The same if they are ours, and there has been a call since the last time, or this is the last;
 * and what was sampled of kernels' instructions.
 */
void cupti_session_flush_periodically(bool last);

/* A gap begins, or ends, and is told. */
void cupti_session_begin_gap(enum gpu_gap what);
void cupti_session_end_gap(enum gpu_gap what);
