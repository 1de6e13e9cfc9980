/* SPDX-License-Identifier: MIT */
/*
 * A format of other programs that a profile can be written in: bottleneck-export(7).
 *
 * Each is one file, exporter_NAME.c, and stands in the list of cli/exporters.h. It writes what the
 * view shows, says in the file what was cut, and sums to what the report sums to.
 */
#pragma once

#include "cli/exporters.h"
#include "cli/report/answers.h"

#include <stdbool.h>
#include <stdio.h>

struct error;
struct profile;
struct rule_limits;
struct view;

/* What is to be written, and where. */
struct exporting {
	const struct profile *profile;
	const struct view *view;  /* resolved: see cut_resolve() */
	const struct view *asked; /* the same as it was asked for, for other runs */
	struct answer_facts facts;
	const struct rule_limits *limits;
	const char *table;     /* the only one that is wanted; NULL: all */
	const char *cut;       /* what the view leaves out, "only …" in one line; "" if nothing */
	FILE *out;             /* errors of it stay in it: the caller asks ferror() */
	const char *path;      /* of the file, as it was asked for; NULL: standard output */
	const char *directory; /* of exporters that write several files; else NULL */
};

struct exporter {
	const char *name;
	bool gzip;   /* always: others are if their file is called so (.gz) */
	bool many;   /* files, in a directory, unless a table is named */
	bool tables; /* it has tables that can be named */
	/* -1 if a question could not be answered; what has been written by then is of no use. */
	int (*write)(const struct exporting *e, struct error *err);
};

#define EXPORTER_DECLARE(name) extern const struct exporter exporter_##name;
EXPORTERS(EXPORTER_DECLARE)
