/* SPDX-License-Identifier: MIT */
/*
 * How much memory was in use over the run: a curve for the host, for each GPU, and for each Python
 * package whose libraries allocate.
 *
 * A curve has bins of time, each with the most that there was in it, so that no peak is lost; where
 * they do not suffice, pairs become one. Until a curve learns something new, what it learned last
 * holds. Plain values, no memory but their own. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CURVE_BINS       256
#define CURVES_MAX       24
#define CURVES_PACKAGES  16 /* of them, those that packages may take */
#define CURVE_NAME_BYTES 48
#define CURVES_TEXT      ((size_t)CURVES_MAX * (CURVE_BINS * 18 + 256))

enum curve_kind {
	CURVE_ALLOCATED, /* by malloc and the like, all processes */
	CURVE_RSS,       /* resident, all processes */
	CURVE_DEVICE,    /* in tensors of a GPU */
	CURVE_RESERVED,  /* for them */
	CURVE_PACKAGE,   /* of ALLOCATED, by samples: what libraries of a Python package had */
	CURVE_KINDS
};

struct memory_curve {
	char name[CURVE_NAME_BYTES]; /* "host", "cuda:0", "numpy" */
	enum curve_kind kind;
	uint64_t bin_ns;
	uint32_t count; /* bins */
	uint64_t most_kb[CURVE_BINS];
	uint64_t last_bytes;
	uint64_t peak_bytes, peak_ns; /* since the start of the run */
};

struct memory_curves {
	struct memory_curve of[CURVES_MAX];
	uint32_t count;
};

/* The one of that name, which is made if there is none. NULL if there are too many. */
struct memory_curve *memory_curves_get(struct memory_curves *c, enum curve_kind kind,
                                       const char *name);

/* From AT_NS on, since the start of the run, it is so much. */
void memory_curve_add(struct memory_curve *c, uint64_t at_ns, uint64_t bytes);

/* Up to END_NS it is what it was last. */
void memory_curve_end(struct memory_curve *c, uint64_t end_ns);

/* A line for each: "KIND BIN-NS PEAK-BYTES PEAK-NS NAME:KB KB …"; "" if there are none. */
void memory_curves_print(const struct memory_curves *c, char text[CURVES_TEXT]);

/* False, with nothing in C, if TEXT, which may be NULL, is not what memory_curves_print() makes. */
bool memory_curves_parse(struct memory_curves *c, const char *text);

/* The package that the library at PATH is part of, where Python packages are installed, in NAME;
   false if it is in none. */
bool memory_curves_package(const char *path, char name[CURVE_NAME_BYTES]);

/* The same of a library elsewhere, by its name: "torch" of libtorch_python.so.2; false of those
   that allocate for all others. */
bool memory_curves_library(const char *path, char name[CURVE_NAME_BYTES]);
