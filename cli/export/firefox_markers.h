/* SPDX-License-Identifier: MIT */
/*
 * Markers of the Firefox Profiler: calls of ops, waits, works of GPUs, steps and phases, one by
 * one, by the row of the timeline that they stand in.
 *
 * All are held in memory until they are written, since the format has them by thread.
 */
#pragma once

#include "base/cleanup.h"
#include "cli/export/firefox.h"

struct error;

enum firefox_marker_kind {
	FIREFOX_CALL,
	FIREFOX_WAIT,
	FIREFOX_WORK,
	FIREFOX_STEP,
	FIREFOX_PHASE,
	FIREFOX_MARKER_KINDS
};

struct firefox_marker {
	struct slice_row row; /* of steps and phases only times and name */
	uint64_t number;      /* of the step */
	uint32_t track;
	enum firefox_marker_kind kind;
};

struct firefox_markers {
	struct firefox_marker *markers; /* by track, once they are all there */
	size_t count, capacity;
	struct firefox_track *tracks;
	size_t track_count, track_capacity;
	size_t *of_threads, *of_streams; /* [number - 1]: index of the track + 1; 0: none */
	struct slice_reader *reader;
	char step_name[128];
	uint64_t left_out; /* beyond the most that are wanted */
};

/* Reads them all; tracks are the threads of stacks first. -1 on error. */
int firefox_markers_read(struct firefox_markers *m, const struct firefox *f, struct error *err);
void firefox_markers_fini(struct firefox_markers *m);

static inline void firefox_markers_at_scope_end(struct firefox_markers *m)
{
	firefox_markers_fini(m);
}

/* How the viewer shows each kind. */
void firefox_put_schemas(struct json *j);

void firefox_put_markers(struct firefox *f, const struct firefox_markers *m,
                         const struct firefox_track *track);
