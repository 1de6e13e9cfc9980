/* SPDX-License-Identifier: MIT */
/*
 * Rows into the tables of a profile file. For the files of merge/ alone.
 *
 *	file_writer_begin(w, "string", 2, true);
 *	for (...) {
 *		file_writer_int(w, id);
 *		file_writer_text(w, text);
 *		file_writer_row(w);
 *	}
 *
 * What returns an int is -1 on failure, with the writer's error set. Putting a
 * value can only fail for want of memory, and then so does the row.
 */
#pragma once

#include "merge/file/file.h"
#include "merge/profile/profile_data.h"

struct file_writer {
	const struct profile *profile;
	sqlite3 *db;
	sqlite3_stmt *insert; /* into the table that is being filled */
	int column;
	bool checked; /* what is inserted counts for the checksum */
	uint32_t checksum;
	struct error *err;
};

int file_writer_no_memory(struct file_writer *w);

int file_writer_sql(struct file_writer *w, const char *sql);

/* Rows of WIDTH columns; CHECKED: they count for the checksum. */
int file_writer_begin(struct file_writer *w, const char *table, int width, bool checked);

void file_writer_int(struct file_writer *w, int64_t value);
void file_writer_real(struct file_writer *w, double value); /* neither NaN nor -0 */
void file_writer_bytes(struct file_writer *w, int type, const void *bytes, size_t size);
void file_writer_null(struct file_writer *w);
void file_writer_text(struct file_writer *w, const char *text); /* NULL is fine */
void file_writer_string(struct file_writer *w, uint32_t id);
void file_writer_id(struct file_writer *w, uint32_t id); /* NULL instead of 0 */

/* The row is complete. */
int file_writer_row(struct file_writer *w);

int file_writer_fact(struct file_writer *w, const char *key, int64_t value);

/* A table of blobs: FILL puts row INDEX of TOTAL into row AT of the columns. */
struct chunked {
	const char *table;
	uint32_t total;
	uint32_t width;
	uint64_t deltas;
	void (*fill)(const struct file_writer *w, const void *context, uint32_t index,
	             struct columns *c, uint32_t at);
	const void *context;
};

int file_writer_chunks(struct file_writer *w, const struct chunked *chunked);

/* The table of cells TABLE; SAMPLE_NS: what a sample weighs mostly: merge/file/file_cells.c. */
int write_cell_table(struct file_writer *w, const char *table, const struct cells *cells,
                     uint64_t sample_ns);

/* The tables of ops, if there are any: merge/file/file_write_ops.c. */
int write_op_facts(struct file_writer *w);
int write_op_names(struct file_writer *w);
int write_ops(struct file_writer *w);

/* For people, who ask in SQL. */
int write_op_rows(struct file_writer *w);

/* Counters: merge/file/file_counters.c. */
int write_counter_facts(struct file_writer *w);
int write_counters(struct file_writer *w);

/* Calls of ops one after the other: merge/file/file_series.c. */
int write_series_facts(struct file_writer *w);
int write_series(struct file_writer *w);

/* Tasks of asyncio: merge/file/file_awaits.c. */
int write_await_facts(struct file_writer *w);
int write_awaits(struct file_writer *w);

/* Calls of Python functions: merge/file/file_python.c. */
int write_python_facts(struct file_writer *w);
int write_python(struct file_writer *w);

/* Instructions of kernels: merge/file/file_gpu_lines.c. */
int write_gpu_line_facts(struct file_writer *w);
int write_gpu_lines(struct file_writer *w);

/* The same of memory: merge/file/file_memory.c. */
int write_memory_facts(struct file_writer *w);
int write_memory(struct file_writer *w);
int write_memory_rows(struct file_writer *w);

/* Source files: merge/file/file_sources.c. */
int write_sources(struct file_writer *w);

/* Counted instructions: merge/file/file_counts.c. */
int write_instruction_facts(struct file_writer *w);
int write_instructions(struct file_writer *w);

/* Runs of whole commands: merge/file/file_repeats.c. */
int write_repeat_facts(struct file_writer *w);
int write_repeats(struct file_writer *w);

/* Ranks of a merged profile: merge/file/file_ranks.c. */
int write_rank_facts(struct file_writer *w);
int write_ranks(struct file_writer *w);

/* What timelines are drawn of: merge/file/file_slices.c. */
int write_slice_facts(struct file_writer *w);
int write_slices(struct file_writer *w);

/* Wall time: merge/file/file_wall.c. */
int write_wall_facts(struct file_writer *w);
int write_wall(struct file_writer *w);

/* GPUs: merge/file/file_gpu.c. */
int write_gpu_facts(struct file_writer *w);
int write_gpu(struct file_writer *w);
