/* SPDX-License-Identifier: MIT */
/*
 * Options as data: one table per group, from which the parser, --help and the
 * tests of the manual are made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct error;

enum option_kind {
	OPTION_SWITCH,  /* bool; no argument */
	OPTION_NUMBER,  /* uint32_t, from MIN to MAX */
	OPTION_PERCENT, /* double, 0 to 100; 0 for the first of CHOICES, if any */
	OPTION_SECONDS, /* uint64_t, in nanoseconds */
	OPTION_CHOICE,  /* int: the index in CHOICES */
	OPTION_COUNTED, /* struct option_counted: a choice that a number may follow, as in "stack:3"
	                 */
	OPTION_TEXT,    /* const char *, borrowed from argv */
	OPTION_LIST     /* struct option_list: may be given several times */
};

#define OPTION_LIST_MAX 32

/* Borrowed from argv. */
struct option_list {
	const char *items[OPTION_LIST_MAX];
	size_t count;
};

/* The index in CHOICES, where those that end with ":" take a number. */
struct option_counted {
	int index;
	uint32_t number; /* from MIN to MAX; 0: none was given */
};

struct option_spec {
	const char *name;
	const char *argument;       /* "HZ"; NULL for switches */
	const char *help;           /* one line, no period */
	size_t offset;              /* of its value in the group's values */
	const char *const *choices; /* CHOICE, COUNTED: ends with NULL */
	uint32_t min, max;          /* NUMBER, COUNTED */
	enum option_kind kind;
	char letter; /* 0 if it has none */
};

struct option_group {
	const char *title; /* "Capture"; NULL: it goes on with the group before */
	const struct option_spec *specs;
	size_t count;
	void *values;
};

/* Words beside the options. */
enum option_operands {
	OPTION_OPERANDS_END, /* the first one ends the options (run) */
	OPTION_OPERANDS_MIX  /* they may stand between the options (report) */
};

/*
 * Parses ARGV (argv[0] is skipped) into the groups' values. Returns the index
 * of the first operand (argv is permuted for MIX), -1 with one line in ERR.
 */
int option_parse(const struct option_group *groups, size_t group_count, int argc, char **argv,
                 enum option_operands operands, struct error *err);

/* Prints the groups as --help does. */
void option_help(const struct option_group *groups, size_t group_count, FILE *out);

/* Prints the option of that NAME alone, with HELP in place of its own. Nothing if there is none. */
void option_help_one(const struct option_group *groups, size_t group_count, const char *name,
                     const char *help, FILE *out);
