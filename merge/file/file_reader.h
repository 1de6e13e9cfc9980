/* SPDX-License-Identifier: MIT */
/*
 * Rows from the tables of a file that may be anything. For the files of merge/ alone.
 *
 * A reader is its caller's, for one thread; it owns the file's bytes. Texts live until the next
 * row.
 *
 * What returns an int is -1 on failure, with the reader's error set.
 */
#pragma once

#include "merge/file/file.h"
#include "merge/profile/profile_data.h"

/* A table of cells that is being read. */
struct file_cells {
	struct cells *cells;
	uint32_t nodes;   /* ids run from 1 to this */
	uint32_t metrics; /* and from 0 to below this */
	uint64_t sample_ns;
	/* The reader's own: */
	struct cell last;
	int64_t under_way; /* intervals that have begun and not ended, after that */
	int64_t whole_ns;  /* of all cells */
};

struct file_reader {
	const char *path;
	struct profile *profile;
	sqlite3 *db;
	sqlite3_stmt *select;
	sqlite3_stmt *is_table; /* asks whether there is one of a name */
	int64_t steps_left;     /* of SQLite's machine, in thousands */
	uint32_t checksum;
	size_t next_field; /* of the run, that most likely is next */
	uint64_t places_used;
	struct file_cells cells;
	uint64_t ops;                        /* names of ops that there must be */
	struct op_sums op_sums, op_bin_sums; /* of all that was read */
	struct op_bin last_bin;
	uint32_t last_entry, last_bucket; /* of durations */
	bool has_memory;
	uint64_t counters;                     /* rows that there must be */
	struct counter_sums counter_sums;      /* of all that was read */
	uint64_t series;                       /* that there must be */
	uint64_t series_ns;                    /* of all that was read */
	uint32_t last_series;                  /* of items */
	uint64_t python_calls, python_callers; /* rows that there must be */
	uint64_t python_gil;                   /* the same */
	uint64_t awaits, await_places;         /* the same */
	struct await_row *await_row;           /* those that were read, */
	uint64_t await_rows;
	struct await_place await_place[AWAIT_PLACES_MAX]; /* and the places of one of them */
	uint64_t gpu_devices, gpu_streams, gpu_works;     /* the same */
	bool has_gpu;
	struct gpu_work_sums gpu_sums;  /* of all that was read */
	struct gpu_managed gpu_managed; /* the same */
	uint32_t last_gpu_work, last_gpu_bucket;
	uint64_t sites; /* that there must be */
	struct allocation_site all_sites;
	uint64_t gpu_pcs, gpu_stalls;          /* rows that there must be */
	uint64_t repeat_sides, repeats;        /* the same */
	uint64_t ranks, rank_shares, meetings; /* the same */
	uint64_t slices;                       /* that there must be */
	uint64_t wall_rank;
	uint64_t waits, wall_thread; /* of wall time: rows that there must be, and whose it is */
	uint64_t wall_plus_bin_ns, wall_minus_bin_ns, alone;
	uint64_t wall_times_bin_ns[WALL_TABLES]; /* 0: none */
	uint64_t busy_ns, alone_ns, wait_wall_ns;
	uint64_t wait_ns, wait_count;          /* of all that was read */
	uint64_t gpu_samples;                  /* of all that was read */
	uint64_t count_functions, count_lines; /* the same */
	struct error *err;
};

int file_reader_damaged(struct file_reader *r, const char *what);
int file_reader_no_memory(struct file_reader *r);

/* The bytes of the file, for SQLite to own, and whose it is. NULL on error. */
unsigned char *file_reader_load(const char *path, size_t *size, uid_t *owner, struct error *err);

/* Takes over BYTES in any case. */
int file_reader_open(struct file_reader *r, unsigned char *bytes, size_t size);

int file_reader_begin(struct file_reader *r, const char *table);

/* 1: there is a row of WIDTH columns. 0: the table is at its end. */
int file_reader_next(struct file_reader *r, int width);

int64_t file_reader_int(struct file_reader *r, int column);

double file_reader_real(struct file_reader *r, int column);

/* A number from 0 to MOST, else (with *OK false) 0. */
uint32_t file_reader_id(struct file_reader *r, int column, uint64_t most, bool *ok);

/* NULL if it is no text. */
const char *file_reader_text(struct file_reader *r, int column);

/* The id of a text; 0 (with *OK false) if there is no memory, 0 if it is NULL. */
uint32_t file_reader_string(struct file_reader *r, int column, bool *ok);

/* Has TAKE take every row of a table. */
int file_reader_rows(struct file_reader *r, const char *table, int width,
                     int (*take)(struct file_reader *));

/* The same for a table of blobs. */
int file_reader_chunks(struct file_reader *r, const char *table, uint32_t width, uint64_t deltas,
                       int (*take)(struct file_reader *, struct columns *, uint32_t));

/* Adds VALUE to *SUM, if a file can hold that. */
bool file_reader_add(uint64_t *sum, uint64_t value);

/* The table of cells TABLE: merge/file/file_cells.c. */
int read_cell_table(struct file_reader *r, const char *table, const struct file_cells *wanted);

/* The tables of ops, if the run says that there are some: merge/file/file_read_ops.c. */
bool take_op_fact(struct file_reader *r, const char *key, int64_t value);
int check_op_facts(struct file_reader *r);
int read_op_names(struct file_reader *r);
int read_ops(struct file_reader *r);

/* Counters: merge/file/file_counters.c. */
bool take_counter_fact(struct file_reader *r, const char *key, int64_t value);
int read_counters(struct file_reader *r);

/* Calls of ops one after the other: merge/file/file_series.c. */
bool take_series_fact(struct file_reader *r, const char *key, int64_t value);
int read_series(struct file_reader *r);

/* Tasks of asyncio: merge/file/file_awaits.c. */
bool take_await_fact(struct file_reader *r, const char *key, int64_t value);
int read_awaits(struct file_reader *r);

/* Calls of Python functions: merge/file/file_python.c. */
bool take_python_fact(struct file_reader *r, const char *key, int64_t value);
int read_python(struct file_reader *r);

/* Instructions of kernels: merge/file/file_gpu_lines.c. */
bool take_gpu_line_fact(struct file_reader *r, const char *key, int64_t value);
int read_gpu_lines(struct file_reader *r);

/* The same of memory: merge/file/file_memory.c. */
bool take_memory_fact(struct file_reader *r, const char *key, int64_t value);
int read_memory(struct file_reader *r);

/* Counted instructions: merge/file/file_counts.c. */
bool take_instruction_fact(struct file_reader *r, const char *key, int64_t value);
int read_instructions(struct file_reader *r);

/* Runs of whole commands: merge/file/file_repeats.c. */
bool take_repeat_fact(struct file_reader *r, const char *key, int64_t value);
int read_repeats(struct file_reader *r);

/* Source files: merge/file/file_sources.c. */
int read_sources(struct file_reader *r);

/* Ranks: merge/file/file_ranks.c. */
bool take_rank_fact(struct file_reader *r, const char *key, int64_t value);
int read_ranks(struct file_reader *r);
int read_rank_numbers(struct file_reader *r); /* of the ranks, these alone */

/* What timelines are drawn of: merge/file/file_slices.c. */
bool take_slice_fact(struct file_reader *r, const char *key, int64_t value);
int read_slices(struct file_reader *r);

/* Wall time: merge/file/file_wall.c. */
bool take_wall_fact(struct file_reader *r, const char *key, int64_t value);
int read_wall(struct file_reader *r);
int check_wall_rank(struct file_reader *r); /* once ranks have been read */

/* GPUs: merge/file/file_gpu.c. */
bool take_gpu_fact(struct file_reader *r, const char *key, int64_t value);
int read_gpu(struct file_reader *r);
