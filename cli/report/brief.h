/* SPDX-License-Identifier: MIT */
/*
 * What a reader of a few lines needs to know about a run: what is wrong, what costs most, and what
 * to do next. Code hosts, comments of pull requests and language models are such readers.
 *
 * A brief owns its findings and lines, and borrows texts from the profile, which must outlive it.
 * One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "cli/report/verdict.h"
#include "merge/query/query.h"
#include "merge/rules/finding.h"

struct error;
struct profile;
struct rule_limits;
struct view;

struct brief {
	const struct run *run;
	struct findings *findings;
	struct verdict verdict;
	struct rows *lines; /* best self time first, as rows_by_line() has them */
};

/* What VIEW, which is resolved, shows of PROFILE; LIMITS may be NULL. -1 on error: then there is
   nothing to free. */
int brief_init(struct brief *b, const struct profile *profile, const struct view *view,
               const struct rule_limits *limits, struct error *err);
void brief_fini(struct brief *b);

static inline void brief_at_scope_end(struct brief *b)
{
	brief_fini(b);
}

/* As other programs call it: "error", "warning", "note". */
const char *brief_level(const struct finding *finding);

/* Whether FINDING says what a change at its place saves: saving_low_ns to saving_high_ns. */
bool brief_has_price(const struct finding *finding);

/* "saves 390 ms to 0.93 s", "saves at most 0.93 s"; only where it says that. BUFFER. */
const char *brief_price(const struct finding *finding, char *buffer, size_t size);

/* What a share of FINDING is a share of: "wall time", "CPU time". */
const char *brief_whole(const struct finding *finding);

/*
 * FILE as one that is read beside the program's working directory finds it: relative to DIRECTORY,
 * which may be NULL, if it lies there, else absolute. "." and ".." are resolved as far as that
 * needs no file system. Into BUFFER; NULL if FILE names no file ("<string>"), or one of a directory
 * that nobody knows, as those of libraries that were built elsewhere: a relative one has to be
 * there.
 */
const char *brief_path(const char *file, const char *directory, char *buffer, size_t size);

/*
 * A number that the same finding has in each run, of each checkout: of the rule and the place, not
 * of the line, what it costs or when that was. FNV-1a, so that it is the same in each version, too.
 */
uint64_t brief_key(const struct finding *finding, const char *directory);

/* The same of the command line: of what is profiled again and again. */
uint64_t brief_command_key(const struct run *run);

/*
 * TEXT as a line of at most SIZE - 1 bytes: line ends are blanks, and what a terminal would obey or
 * hide is gone; "…" is at the end of what was longer. Returns BUFFER.
 */
const char *brief_line(const char *text, char *buffer, size_t size);
