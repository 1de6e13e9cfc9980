/* SPDX-License-Identifier: MIT */
/*
 * One thread of another process, borrowed to call functions of that process.
 *
 *	hijack_stop() → it may be looked at: registers, system call
 *	→ hijack_start() → { hijack_call() } → hijack_end(): it goes on as if nothing had been
 *
 * All of its registers, its signal mask, its errno and the system call that it was in are as before
 * afterwards; a call that has no way to be restarted by the kernel is made again. The functions run
 * on a stack and beside code that are mapped for that time, with all signals blocked. Each call
 * leads back by itself: should this process end in the middle of it, the thread goes on with what
 * it did within seconds.
 *
 * ptrace(2) binds a thread to the thread that stopped it: one thread uses a hijack for all of its
 * life. It owns its descriptor only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct error;

#define HIJACK_ROOM   0x4800 /* of struct hijack.data: the caller's, for results */
#define HIJACK_XSTATE 16384  /* bytes of vector registers, at most */

struct hijack {
	pid_t pid, tid;
	int memory; /* /proc/PID/mem */
	struct user_regs_struct registers;
	uint64_t mask;
	uint8_t vectors[HIJACK_XSTATE] __attribute__((aligned(64)));
	size_t vector_bytes;
	uint64_t system_call; /* address of an instruction that makes one */
	uint64_t frame;       /* on its stack: what leads back */
	uint64_t code, data;  /* what is mapped for us; 0: nothing yet */
	bool replaced; /* a call that is stuck has taken the place of what its own restarts by */
	bool lost;     /* it is in a call that did not return, and leads back by itself */
};

enum hijack_stopped {
	HIJACK_STOPPED,
	HIJACK_GONE,    /* the thread has ended */
	HIJACK_PENDING, /* it does not stop now; it is let go when the calling thread ends */
	HIJACK_REFUSED  /* errno says why */
};

/* Stops thread TID of PID where it is; then it is to be released, or started and ended. */
enum hijack_stopped hijack_stop(struct hijack *h, pid_t pid, pid_t tid);
void hijack_release(struct hijack *h);

/* The number of the system call that it was stopped in; -1: none. */
int hijack_in_call(const struct hijack *h);

/* The process's memory: all of SIZE bytes, or false. */
bool hijack_read(const struct hijack *h, uint64_t address, void *to, size_t size);
bool hijack_write(const struct hijack *h, uint64_t address, const void *from, size_t size);

/* SYSTEM_CALL: the address of such an instruction, in a function of libc's that returns behind it;
   RETURN_CODE: of what calls rt_sigreturn(). On failure the thread is as it was, and is to be
   released. */
int hijack_start(struct hijack *h, uint64_t system_call, uint64_t return_code, struct error *err);

/* What a start takes of the thread's stack. */
size_t hijack_frame_bytes(const struct hijack *h);

/* Copies TEXT to where the process can read it; 0: there is no room. AT: 0 and up, of 4. */
uint64_t hijack_put(struct hijack *h, unsigned at, const char *text);

/* A function of int (*)(...) that returns 1. */
uint64_t hijack_one(const struct hijack *h);

enum hijack_called {
	HIJACK_RETURNED,
	HIJACK_STUCK,  /* not within TIMEOUT_MS: it is stopped where it is */
	HIJACK_CRASHED /* by a signal, which it does not get */
};
enum hijack_called hijack_call(struct hijack *h, uint64_t function, const uint64_t arguments[3],
                               unsigned timeout_ms, uint64_t *result);

/* Whether a call that is stuck waits in a futex. */
bool hijack_waits(const struct hijack *h);

/* Leaves a call that is stuck to itself: once it is over the thread goes on with what it did. */
void hijack_leave(struct hijack *h);

/* Puts all back, wherever it is, and releases it. */
void hijack_end(struct hijack *h);
