/* SPDX-License-Identifier: MIT */
/*
 * What the writer and the reader of profile files agree on; bottleneck-profile(5).
 */
#pragma once

#include "merge/table/columns.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct run;

#define FILE_APPLICATION_ID 0x424e454b /* "BNEK" */
#define FILE_SCHEMA         31
#define FILE_BYTES_MAX      (INT64_C(1) << 30)
/* The most nodes, cells, locations, places, texts. */
#define FILE_ROWS_MAX (1u << 22)
/* The most calls of a call path: some more than STACK_MAX_FRAMES. What repeats a path for each of
   its calls, as most formats of others do, grows with the square of this alone. */
#define FILE_DEPTH_MAX 2048

/* Blobs of rows. Columns in the order of bottleneck-profile(5). */
#define NODE_WIDTH      2
#define NODE_DELTAS     0x0
#define CELL_WIDTH      6
#define CELL_DELTAS     0x5
#define LOCATION_WIDTH  7
#define LOCATION_DELTAS 0x2
#define PLACE_WIDTH     5
#define PLACE_DELTAS    0x7
#define CHAIN_WIDTH     2
#define CHAIN_DELTAS    0x0
#define OP_WIDTH        33
#define OP_DELTAS       0x20000000 /* when they began first */
#define OP_BIN_WIDTH    6
#define OP_BIN_DELTAS   0x3
#define DURATION_WIDTH  3
#define DURATION_DELTAS 0x3
#define SITE_WIDTH      5
#define SITE_DELTAS     0x1

/* What a sample weighs when nothing disturbs it: cells store the difference. */
uint64_t file_sample_ns(const struct run *run);

/* Adds one value, of SQLite's TYPE, to a checksum of values. */
uint32_t file_checksum(uint32_t checksum, int type, const void *bytes, size_t size);
uint32_t file_checksum_int(uint32_t checksum, int64_t value);
uint32_t file_checksum_real(uint32_t checksum, double value);

/*
 * Writes SIZE BYTES to a temporary name beside PATH and renames it over PATH. On
 * any failure PATH is as it was and nothing else is left. SYNC: waits for the disk.
 */
int file_save(const char *path, const void *bytes, size_t size, bool sync, struct error *err);
