/* SPDX-License-Identifier: MIT */
/*
 * The names of one process's ops, as its agent has left them in a shared file.
 *
 * Nothing in there is trusted: entries are copied and checked one by one. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_names;
struct owner_claim;

/* Reads MEMORY (SIZE bytes, shared), which must outlive it. NULL if it holds no names. */
struct op_names *op_names_new(const void *memory, size_t size);
void op_names_free(struct op_names *n); /* NULL is fine */

CLEANUP(op_names, struct op_names *, op_names_free)

/* Whose names they are, as the file says. */
void op_names_claim(const struct op_names *n, struct owner_claim *claim);

/* Ops whose names found no room. */
uint64_t op_names_refused(const struct op_names *n);

/* Gets the records made here; they are borrowed for the call. */
typedef void op_names_visit(void *context, const struct record *record);

/*
 * What record HEAD needs to be reported before it: RECORD_OP_NAME for its name ID, unless that has
 * been told, and for the names which that one names. Time and pid are HEAD's.
 */
void op_names_tell(struct op_names *n, uint32_t id, const struct record *head,
                   op_names_visit *visit, void *context);

/*
 * RECORD_OP_COUNT of process PID, with its name before it, for each name whose counts have grown.
 */
void op_names_tell_counts(struct op_names *n, uint32_t pid, uint64_t now_ns, op_names_visit *visit,
                          void *context);
