/* SPDX-License-Identifier: MIT */
/*
 * What the page is made of: for cli/html*.c alone.
 *
 * Each part is a file and writes members of one object. A phase is a part of the run that the page
 * can be switched to: VIEW has its window.
 */
#pragma once

#include "cli/json.h"
#include "cli/report/view.h"

#include <stdbool.h>

struct error;
struct graph_frames;
struct profile;
struct rule_limits;

struct html {
	struct json *j;
	const struct profile *profile;
	const struct view *view;          /* resolved: the window of the phase */
	const struct rule_limits *limits; /* NULL: the rules' own */
	bool whole;      /* the widest of the phases: what is not kept by time is reported here */
	bool by_process; /* call trees begin with processes: there are several */
	struct graph_frames *frames;
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

/* What threads and GPUs did, when: in bins, and call by call; who ended waits; memory over the run.
 */
int html_graphs(const struct html *h, struct error *err);

/* What the others hold numbers of, last: two arrays, "texts", and "frames" with [name, file, line,
   module, kind] each, of which names, files and modules are indices of texts (null: unknown), and
   the kind is one letter: n(ative), i(nlined), k(ernel), p(ython), c (a C function that Python
   called), o(p), g(il), x (no code: a process, what is not known). */
void html_frames(const struct html *h);

/* How long each step took. */
int html_steps(const struct html *h, struct error *err);

/* What is different from the run in BASE. */
int html_diff(const struct html *h, const struct profile *base, struct error *err);
