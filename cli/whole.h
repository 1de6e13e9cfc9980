/* SPDX-License-Identifier: MIT */
/*
 * All of it or nothing: what is printed into memory first, as half an answer before an error would
 * look like a whole one.
 *
 *	struct whole whole;
 *	if (whole_open(&whole, "the report", err) < 0)
 *		return -1;
 *	int failed = print(whole.out, err);
 *	return whole_print(&whole, failed, stdout, err);
 *
 * Who opens one prints it, whether it failed or not: that frees what it holds. What a terminal
 * would obey of a text is left out, see terminal_put(). One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct error;
struct terminal;

struct whole {
	FILE *out;                   /* where to print */
	const struct terminal *text; /* what is printed is text for it; NULL: it is data */
	const char *what;
	char *bytes;
	size_t size;
};

/* WHAT, "the report", is what errors call it; it must outlive the whole. */
int whole_open(struct whole *whole, const char *what, struct error *err);

/* Prints it to OUT, and flushes that. -1 on error, or if FAILED: then ERR has been set before. */
int whole_print(struct whole *whole, int failed, FILE *out, struct error *err);
