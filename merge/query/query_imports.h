/* SPDX-License-Identifier: MIT */
/*
 * What a Python program's imports took: by the samples below importlib, for each file that was
 * run by one.
 *
 *	train.py:3 <module> > _find_and_load > … > <module> torch/__init__.py > _find_and_load > …
 *
 * Total: with what the file itself imports; self: without. Both are recursion-safe. What no file's
 * code ran for (searching, extension modules without a Python file around them) is in the sum
 * alone.
 */
#pragma once

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;
struct query;

struct import_row {
	char name[128];       /* as in "import torch.utils": a guess from the file's path */
	const char *file;     /* never NULL */
	const char *importer; /* file of the line that imported it, in most of the time; NULL if
	                         unknown */
	int importer_line;
	uint64_t self, total;
};

struct import_rows {
	struct import_row *rows; /* best total first */
	size_t count;
	/* All of it is about one thread: the one whose imports took longest. */
	const char *thread, *process; /* names */
	uint32_t tid, pid;
	uint64_t all;    /* the thread's imports */
	uint64_t time;   /* the thread's time */
	uint64_t others; /* imports of all other threads and processes */
};

/* QUERY: which time of which threads counts. NULL on error; no rows where nothing was imported. */
struct import_rows *query_imports(const struct profile *p, const struct query *query,
                                  struct error *err);
void import_rows_free(struct import_rows *rows);

CLEANUP(import_rows, struct import_rows *, import_rows_free)

/* The module that FILE most likely is, cut to SIZE. */
void import_name(const char *file, char *name, size_t size);
