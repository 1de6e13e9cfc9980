/* SPDX-License-Identifier: MIT */
/*
 * Where the runtime of a Go program keeps its goroutines: from the program's own debug information,
 * or from its code and the version of Go that it was built with (sampler/go/go_stripped.h).
 *
 *	runtime.allgptr ─► [runtime.allglen] ─► runtime.g: atomicstatus, sched.pc, waitreason ...
 *
 * Plain values; no state, for any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GO_G_BYTES_MAX 2048 /* of a runtime.g, up to the last field that is read */

/* The versions of Go that need no debug information, in words. */
#define GO_STRIPPED_KNOWN "1.19 and 1.21 to 1.27"

/* Addresses as they stand in the file. Offsets are those in a runtime.g; -1: it has no such. */
struct go_layout {
	uint64_t all_pointer, all_length; /* runtime.allgptr, runtime.allglen */
	uint64_t reasons;                 /* runtime.waitReasonStrings; 0: unknown */
	uint32_t reason_count;
	int32_t stack_high; /* stack.hi */
	int32_t sp, pc, bp; /* sched.sp, sched.pc, sched.bp */
	int32_t status, reason, goid, start;
	int32_t call_sp, call_pc,
		call_bp;  /* syscallsp, syscallpc, syscallbp; the last since 1.23 */
	uint32_t g_bytes; /* as far as these reach */
	bool by_version; /* the offsets are the version's: the first goroutine has to be number 1 */
	bool moves;      /* it is loaded where there is room: */
	uint64_t headers; /* its program headers' address in the file; 0: unknown */
};

enum go_found {
	GO_NONE,     /* no Go program */
	GO_STRIPPED, /* one without debug information, of a version that is not known */
	GO_UNKNOWN,  /* one whose debug information says too little */
	GO_KNOWN
};

/* Whether the ELF file FD, borrowed, is a Go program. */
bool go_layout_is_go(int fd);

/* Of the ELF file FD, borrowed. Fills OUT if the answer is GO_KNOWN. Takes some 3 ms for each MB of
   the file, to unpack its debug information. */
enum go_found go_layout_read(int fd, struct go_layout *out);

/* What process PID, which runs it, adds to its addresses. False: that is not known. */
bool go_layout_bias(const struct go_layout *l, uint32_t pid, uint64_t *bias);
