/* SPDX-License-Identifier: MIT */
/*
 * From the agents' records of ops, allocations and GPUs to events.
 *
 * A name's id in a record means something in one program of one process only;
 * in an event it is an op of the registry (base/op.h). One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/op.h"
#include "sampler/event/event.h"

#include <stdbool.h>
#include <stdint.h>

struct op_records;

/* OPS must outlive it. NULL if there is no memory. */
struct op_records *op_records_new(struct ops *ops);
void op_records_free(struct op_records *r); /* NULL is fine */

CLEANUP(op_records, struct op_records *, op_records_free)

/*
 * RECORD is sound and comes from the program that began in its process at
 * IMAGE_NS. False if it makes no event: it is of another kind, or says what
 * later records mean. EVENT borrows from RECORD.
 */
bool op_records_take(struct op_records *r, const struct record *record, uint64_t image_ns,
                     struct event *event);

/* Process PID is no more. */
void op_records_forget(struct op_records *r, uint32_t pid);

/* What agents had to say to the user, each thing once, a line each; "" if nothing. */
const char *op_records_note(const struct op_records *r);

/* Records whose name was never told. */
uint64_t op_records_nameless(const struct op_records *r);
