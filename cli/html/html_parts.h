/* SPDX-License-Identifier: MIT */
/*
 * What the page is made of: for cli/html*.c alone.
 *
 * Each part is a file and writes members of one object. A phase is a part of the run that the page
 * can be switched to: VIEW has its window.
 */
#pragma once

#include "cli/html/html_frames.h"
#include "cli/json.h"
#include "cli/report/view.h"
#include "merge/query/query.h"

#include <stdbool.h>

struct error;
struct findings;

struct html {
	struct json *j;
	const struct profile *profile;
	const struct view *view;          /* resolved: the window of the phase */
	const struct rule_limits *limits; /* NULL: the rules' own */
	bool whole;      /* the widest of the phases: what is not kept by time is told here */
	bool by_process; /* call trees begin with processes: there are several */
	struct html_frames *frames;
};

/* The answer, what was found, where the wall time went. -1 on error. */
int html_summary(const struct html *h, struct error *err);

/* The sections of the text report that are sentences, as lines. */
int html_notes(const struct html *h, struct error *err);

/* Every table. */
int html_tables(const struct html *h, struct error *err);

/* Call trees: of time, on a CPU, waiting, on GPUs, of memory. */
int html_flames(const struct html *h, struct error *err);

/* The text of the files with the hottest lines. */
int html_sources(const struct html *h, struct error *err);

/* What threads and GPUs did, when. */
int html_timeline(const struct html *h, struct error *err);

/* Single calls of ops and works of GPUs. */
int html_slices(const struct html *h, struct error *err);

/* Memory that was in use over the run. */
int html_curves(const struct html *h, struct error *err);

/* How long each step took. */
int html_steps(const struct html *h, struct error *err);

/* What is different from the run in BASE. */
int html_diff(const struct html *h, const struct profile *base, struct error *err);
