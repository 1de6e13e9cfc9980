/* SPDX-License-Identifier: MIT */
/*
 * The line table of one compilation unit: which source line an address is of.
 *
 * One pass of the line number program (DWARF 2 to 5) answers for all addresses
 * that are asked; no table of rows is ever made.
 *
 * The sections are borrowed, and foreign: a program that lies ends early. One thread at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/cleanup.h"

struct line_program;

struct line_row {
	uint32_t file; /* for line_program_path() */
	uint32_t line; /* 0 if the compiler gave none */
	bool known;
};

struct line_sections {
	struct bytes line, str, line_str;
};

/* A piece of the program that is about some addresses, and can be run on its own. */
struct line_sequence {
	uint64_t low, high; /* of its rows */
	size_t offset;      /* in the program */
};

/* All zeros at first; freed with line_index_fini(). */
struct line_index {
	struct line_sequence *items;
	size_t count, capacity;
	bool complete;
};

void line_index_fini(struct line_index *index);

/*
 * Reads the header at OFFSET of SECTIONS.line. COMP_DIR, which may be NULL, must
 * live as long as the program. NULL if the header is damaged, or no memory.
 */
struct line_program *line_program_new(const struct line_sections *sections, uint64_t offset,
                                      const char *comp_dir, const char *unit_name);
void line_program_free(struct line_program *program);

CLEANUP(line_program, struct line_program *, line_program_free)

/*
 * The first line_program_run() from now on fills INDEX, which must live as long as the program
 * and can go to another one of the same bytes; once it is filled only the pieces that matter run.
 */
void line_program_set_index(struct line_program *program, struct line_index *index);

/*
 * Fills one row for each of ADDRESSES (ascending). Sequences that start below
 * LOWEST_CODE are of functions that the linker discarded. A damaged program gives
 * what it gave before the damage. The result is the number of operations run.
 */
uint64_t line_program_run(const struct line_program *program, uint64_t lowest_code,
                          const uint64_t *addresses, size_t count, struct line_row *rows);

/* A row as it stands in the program: of its sequence from ADDRESS up to the next one's. */
struct line_visit {
	size_t set_at;    /* where in SECTIONS.line the sequence's address stands, which may be for
	                     a relocation to fill in; 0: nowhere */
	uint64_t address; /* SET_AT's and what the program has added */
	uint64_t file, line;
	/* nvcc's: the row is of a function that is inlined there, by name at FUNCTION of
	 * .debug_str:
	 */
	uint64_t call; /* number, from 1, of the sequence's row that calls it; 0: of none */
	uint64_t function;
	bool is_end; /* no row, but where the last one ends */
};

/* Calls VISIT for each row, in order, until it returns false. */
void line_program_visit(const struct line_program *program,
                        bool (*visit)(void *context, const struct line_visit *row), void *context);

/* The full path of FILE in BUFFER; NULL if there is no such file. */
const char *line_program_path(const struct line_program *program, uint64_t file, char *buffer,
                              size_t size);
