/* SPDX-License-Identifier: MIT */
/*
 * When a GPU was busy: the union of what ran on its streams, and the gaps between.
 *
 *	stream 7    ████████    ███
 *	stream 13      ███████       ██
 *	busy        ██████████  ███  ██     the union; of it ▒▒▒▒▒ on two streams at once
 *	gaps                  ··   ··       each with the thread whose work ends it
 *
 * Activities are reported late and out of order. So times become final a few seconds behind what
 *was reported last. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a GPU can be doing. Stored in profile files: append only. */
enum gpu_state {
	GPU_BUSY = 0,
	GPU_KERNELS = 1,     /* at least one kernel runs */
	GPU_COPIES = 2,      /* at least one copy or set */
	GPU_OVERLAP = 3,     /* several activities at once */
	GPU_COPY_HIDDEN = 4, /* copies while kernels run */
	GPU_STATES
};

struct gpu_span {
	uint64_t begin_ns, end_ns;
	uint32_t thread; /* slot of who launched it; 0: unknown */
	bool copy;       /* or set; else a kernel or graph */
	uint32_t stream; /* any number for each; 0: unknown */
};

/* Who hears of what has become final, in the order of time. */
struct gpu_busy_sink {
	void *context;
	void (*state)(void *context, enum gpu_state state, uint64_t begin_ns, uint64_t end_ns);
	void (*gap)(void *context, uint64_t begin_ns, uint64_t end_ns, uint32_t thread);
	/* STREAM was busy for NS while others were. NULL: nobody asks */
	void (*shared)(void *context, uint32_t stream, uint64_t ns);
};

/* Zeroed when nothing has run. */
struct gpu_busy {
	struct gpu_span *spans; /* not final yet */
	size_t count, capacity;
	uint64_t final_ns;         /* what was before is final */
	uint64_t first_ns, end_ns; /* of all that is final; 0: nothing is */
	uint64_t late;             /* activities that came, in whole or in part, too late */
};

void gpu_busy_fini(struct gpu_busy *b);

/* False if there is no memory. */
bool gpu_busy_add(struct gpu_busy *b, const struct gpu_span *span);

/* What was before UNTIL_NS is final. False if there is no memory: it is final later. */
bool gpu_busy_settle(struct gpu_busy *b, uint64_t until_ns, const struct gpu_busy_sink *sink);
