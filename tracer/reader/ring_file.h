/* SPDX-License-Identifier: MIT */
/*
 * One file of an agent's, of rings or of names, as the collector sees it.
 *
 * Nothing in it is trusted: whoever has mapped it can write to it at any time. What decides about
 * sizes is copied when the file is opened, and checked then. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"
#include "base/mapped.h"
#include "base/ring.h"
#include "tracer/protocol.h"
#include "tracer/reader/owners.h"

#include <stdbool.h>
#include <stdint.h>

struct op_names;
struct owner;

struct ring_file {
	struct mapped map;
	const struct protocol_file *header; /* NULL: it holds names */
	/* What the header said when it was checked: the target may change it. */
	struct owner_claim claim;
	uint32_t ring_count, data_bytes;
	/* The process, by our own numbers. NULL: unknown so far, or the claim is believed. */
	struct owner *owner;
	unsigned tries;         /* to find it */
	bool first;             /* of the process's files */
	uid_t user;             /* whose the file is */
	bool pending;           /* the process is unknown so far: nothing is read */
	uint32_t pid;           /* 0 while it is unknown */
	int64_t ahead_ns;       /* of our clock */
	bool gone;              /* the process is no more */
	struct op_names *names; /* instead of rings */
	uint32_t open_mask;     /* rings that are in use here */
	uint32_t refused_mask;  /* rings that somebody else has read or scribbled in */
	struct ring rings[PROTOCOL_RINGS_MAX];
};

/*
 * NAME of DIRECTORY: ordinary, its owner's alone, of a size and with a header as such files have.
 * NULL if it is none, or not yet, or if there is no memory.
 */
struct ring_file *ring_file_open(int directory, const char *name);
void ring_file_free(struct ring_file *file);

/* Opens the rings that have been made since the last call. Returns how many of them are damaged. */
uint32_t ring_file_open_rings(struct ring_file *file);

/* Records that found no room; threads without a ring; what handlers of ticks took. 0 of names. */
uint64_t ring_file_dropped(const struct ring_file *file);
uint64_t ring_file_unsampled(const struct ring_file *file);
uint64_t ring_file_handlers_ns(const struct ring_file *file);
