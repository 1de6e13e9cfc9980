/* SPDX-License-Identifier: MIT */
/*
 * The collector's side of the agents' rings.
 *
 * A reader watches one private directory. Every file is checked (owner, type,
 * size, what its header says), mapped and unlinked; its rings are merged in the
 * order of time. Nothing in them is trusted: records are copied out whole
 * before anyone looks at them, damaged rings are left alone and counted, and a
 * file that the target cuts short takes nobody else down. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/record.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct reader;

struct reader *reader_new(const char *directory, struct error *err);
void reader_free(struct reader *r); /* NULL is fine */

CLEANUP(reader, struct reader *, reader_free)

/*
 * From now on files are read only when their process is known to be one of the collector's
 * descendants, and pids, tids and times in their records are the collector's, whatever namespaces
 * (PID, time) the process is in. Before, what files say is believed. -1 on error.
 */
int reader_find_owners(struct reader *r, struct error *err);

/* Then: as owners_take_older(). */
void reader_take_older(struct reader *r);

/*
 * Looks for new files and rings, and what short processes have reported of their memory. Call
 * before each round of reader_next().
 */
void reader_poll(struct reader *r);

/*
 * The oldest record that is not younger than UNTIL_NS; NULL if there is none. It is a
 * copy, valid until the next call; its size is at least that of its type's struct
 * (record_is_sound()). An op's RECORD_OP_NAME comes before its first other record. *IMAGE_NS,
 * unless IMAGE_NS is NULL, tells when its program began.
 */
const struct record *reader_next(struct reader *r, uint64_t until_ns, uint64_t *image_ns);

/*
 * Has the counts of ops that left no records given out next, as RECORD_OP_COUNT. They are also
 * given when the files of a process go.
 */
void reader_count_ops(struct reader *r, uint64_t now_ns);

/* The same for process PID alone, which ends. */
void reader_count_ops_of(struct reader *r, uint32_t pid, uint64_t now_ns);

/* PID is no more: its files go as soon as they are drained. */
void reader_process_gone(struct reader *r, uint32_t pid);

/* Whether files of PID are still there. */
bool reader_has_process(const struct reader *r, uint32_t pid);

/* Records that found no room in their ring; threads that have none; rings found damaged, or cut
 * short by the target. */
uint64_t reader_dropped(const struct reader *r);
uint64_t reader_unsampled(const struct reader *r);
uint64_t reader_damaged(const struct reader *r);

/* Processes whose files were left alone, as they were not known to be ours before they ended. */
uint64_t reader_strangers(const struct reader *r);

/* What the handlers of ticks have taken of the target's time. */
uint64_t reader_handlers_ns(const struct reader *r);

/* Adds BY_NS to all points of time in RECORD, which is sound. */
void record_shift(struct record *record, int64_t by_ns);

/* Whether the sizes that RECORD (of record->size readable bytes) names fit into it, and its texts
 * end. */
bool record_is_sound(const struct record *record);
