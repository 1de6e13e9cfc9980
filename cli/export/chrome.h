/* SPDX-License-Identifier: MIT */
/*
 * Events of Chrome's trace format, with the fields that PyTorch's Kineto gives them.
 *
 * Each is written as it comes. Of what has been written only calls that may launch something on a
 * GPU are remembered, the last ones, and what is open in each lane. The writer of JSON and the
 * reader of slices are borrowed until chrome_fini(). One thread at a time.
 */
#pragma once

#include "cli/report/answers.h"

#include "cli/export/launches.h"
#include "cli/export/tracks.h"
#include "cli/json.h"

#include <stddef.h>
#include <stdint.h>

/* The number of a process that is not known. */
#define CHROME_NO_PROCESS (1u << 24)

/* Who has a number (pid): others who had it before, on another host, or a GPU, get made up ones. */
struct chrome_owner {
	uint64_t who;
	uint32_t pid;
};

struct chrome {
	struct json *j;
	const struct slice_reader *reader; /* borrowed */
	struct chrome_owner *owners;
	size_t owner_count, owner_capacity;
	struct tracks tracks;
	size_t *of_threads, *of_streams; /* [number - 1]: index of the track + 1; 0: none yet */
	struct launches launches;
	uint64_t externals, calls; /* numbers given so far */
	uint64_t written;          /* slices */
	uint64_t crowded;          /* slices that no lane was left for */
	uint64_t last_ns;
};

/* -1 if there is no memory. J is in the array of events. */
int chrome_init(struct chrome *c, struct json *j, const struct slice_reader *reader);
void chrome_fini(struct chrome *c);

static inline void chrome_at_scope_end(struct chrome *c)
{
	chrome_fini(c);
}

/* Where a slice stands. */
struct chrome_place {
	uint32_t pid, tid;
};

/* One slice, with the names of its track where that is new. False, and *PLACE is as it was, if no
   lane was left for it. */
bool chrome_put_slice(struct chrome *c, const struct slice_row *row, struct chrome_place *place);

/* An arrow from a wait, whose slice is at PLACE, to who ended it. It comes in order of its end. */
void chrome_put_wake(struct chrome *c, const struct wake *wake, const struct chrome_place *place);

/* The number that stands for the GPU of a stream; it is named if that was not done yet. */
uint32_t chrome_gpu(struct chrome *c, const struct slice_stream *stream);

void chrome_put_thread(struct chrome *c, uint32_t pid, uint32_t tid, const char *name);

/* A slice of its own, of CATEGORY. */
void chrome_put_span(struct chrome *c, uint32_t pid, uint32_t tid, const char *category,
                     const char *name, uint64_t begin_ns, uint64_t end_ns);

/* From AT_NS on the counter NAME, with UNIT, is VALUE. */
void chrome_put_counter(struct chrome *c, uint32_t pid, const char *name, const char *unit,
                        uint64_t at_ns, double value);

/* A word to whoever looks at the trace, at its end. */
void chrome_put_note(struct chrome *c, const char *words);
