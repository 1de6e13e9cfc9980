/* SPDX-License-Identifier: MIT */
/*
 * The graphs of a report as data, and its comparison with another run, for a page: sections of one
 * row, whose cells are series of numbers, or sections with a row for each lane, curve or arrow. All
 * times are in nanoseconds since the start of the run. NULL on error.
 */
#pragma once

#include "cli/report/section.h"

struct graph_frames;

/* How metrics are called: their keys in JSON, and their names. */
struct section *section_metric_names(struct report *r, struct error *err);

/* What threads and GPUs did, when: a lane each, in bins. Each series begins with the number of its
   first bin that is not empty; then come the bins from there, in thousandths of their width. */
struct section *section_timeline(struct report *r, struct error *err);

/* Single calls of ops and works of GPUs, by thread and stream: the longest of them, as far as they
   fit. Each beginning is relative to the one before it; names are texts of FRAMES. */
struct section *section_slices(struct report *r, struct graph_frames *frames, struct error *err);

/* Who ended the longest waits: when it began, how long it took, who waited (number of the thread
   and of its process) and who ended it. */
struct section *section_arrows(struct report *r, struct error *err);

/* Memory that was in use over the run, and what was alive when there was most. */
struct section *section_curves(struct report *r, struct error *err);

/* The same for people: a line for each curve above the table of S, peaks marked. -1 on error. */
int curves_say(struct section *s, struct error *err);

/* How many processes a report is of: curves of the host are sums over all of them. */
uint32_t curves_processes(const struct report *r);

/* Which call trees. */
struct flames {
	struct graph_frames *frames; /* gets theirs */
	bool whole;                  /* those that are not kept by time, too */
	bool by_process;             /* they begin with processes */
};

/* Whether there are several processes. */
bool flames_have_processes(const struct profile *profile);

/* Call trees: of time, on a CPU, waiting, on GPUs, of memory; those in which nothing is are absent.
   Nodes are in the order of a walk, callers first. */
struct section *section_flames(struct report *r, const struct flames *flames, struct error *err);

/* How the run differs from that of BASE: the answer; the tables are the sections behind it. */
struct section *section_diff(struct report *r, const struct profile *base, struct error *err);
