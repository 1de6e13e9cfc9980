/* SPDX-License-Identifier: MIT */
/*
 * A running JVM (HotSpot), asked for the names of what it has compiled, as jcmd(1) does: by its
 * attach protocol, of which this is the client.
 *
 *	.attach_pid4711 in its /tmp, and SIGQUIT → the JVM listens at .java_pid4711 there
 *	→ "Compiler.perfmap" → it writes perf-4711.map there, and answers
 *
 * SIGQUIT would end a process that is no JVM, and one that refuses to be asked would print its
 * threads. So nothing is sent unless libjvm.so is mapped, the signal is caught, and the JVM says
 * that it can be asked. It gets one thread more by this, "Attach Listener", and no output.
 *
 * Functions without state, for any thread. They wait: at most JVM_WAIT_NS for each step.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

#define JVM_WAIT_NS UINT64_C(2000000000)

enum jvm_answer {
	JVM_MAPPED,  /* it has written its map */
	JVM_NOT_YET, /* it is starting or busy, or something else is asking it: try again */
	JVM_NONE,    /* the process is no JVM, or has ended */
	JVM_REFUSED  /* it cannot be asked: ERR says why */
};

/* Asks process PID, which calls itself INNER_PID and sees DIRECTORY, open, as its /tmp. USER is
   whose process it is. */
enum jvm_answer jvm_write_map(pid_t pid, pid_t inner_pid, uid_t user, int directory,
                              struct error *err);

/* Whether BYTES, the memory that a JVM shares with tools (hsperfdata), say that it can be asked:
   1 yes, 0 no, -1 they do not say. */
int jvm_may_be_asked(const char *bytes, size_t size);
