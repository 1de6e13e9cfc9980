/* SPDX-License-Identifier: MIT */
/*
 * Numbers and names as a person reads them.
 *
 * Numbers come back by value (`format_duration(ns).text`), names as fresh
 * strings. Texts are UTF-8 inside; where the terminal is not, ASCII is true and
 * what cannot be shown becomes '?'. Names come from other people's files, so
 * nothing that a terminal would obey gets through.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct short_text {
	char text[32];
};

/* "19.8 s", "412 ms", "12 min 31 s", "2 h 03 min". */
struct short_text format_duration(uint64_t ns);

/* One unit for a whole column, so that its numbers compare by eye. */
struct time_unit {
	const char *name;
	double ns;
	int digits; /* behind the point */
};

/* The unit in which LARGEST has about three digits. */
struct time_unit format_time_unit(uint64_t largest_ns);
struct short_text format_time(uint64_t ns, struct time_unit unit);

/*
 * The unit for a measured VALUE_NS and all that stands beside it, so that rounding keeps their
 * order: as many digits as make two significant ones of WIDTH_NS, how far it is sure; three of
 * VALUE_NS where WIDTH_NS is 0 or NaN.
 */
struct time_unit format_measured_unit(double value_ns, double width_ns);
struct short_text format_measured(double ns, struct time_unit unit);

struct short_text format_count(uint64_t count); /* "41,022" */
struct short_text format_scaled(double number); /* "12.3 G", powers of 1000; from 0 to 1e21 */
struct short_text format_bytes(uint64_t bytes); /* "512 KB", "1.9 GB", powers of 1024 */

/* PART of ALL in per cent, without the sign: "48.1"; "0.0" if ALL is 0. */
struct short_text format_percent(uint64_t part, uint64_t all);

/*
 * Splits 100 % into tenths by largest remainder: the COUNT results sum to
 * exactly 1000 (to 0 if all parts are 0).
 */
void format_tenths(const uint64_t *parts, size_t count, unsigned *tenths);

/* Columns that TEXT takes on a terminal. */
size_t format_width(const char *text);

/* Whether a terminal would obey, or hide, the character rather than show it. */
bool format_is_control(uint32_t code);

/* TEXT without control characters, broken UTF-8 and direction marks. NULL if there is no memory. */
char *format_clean(const char *text, bool ascii);

enum clip {
	CLIP_SYMBOL, /* functions: arguments of templates and calls go first, then the middle */
	CLIP_MIDDLE, /* other names: both ends tell */
	CLIP_START,  /* paths: the end tells; of a module in brackets, both ends */
	CLIP_END     /* source text: the start tells */
};

/* TEXT (clean) in at most WIDTH columns. NULL if there is no memory. */
char *format_clip(const char *text, size_t width, enum clip clip, bool ascii);
