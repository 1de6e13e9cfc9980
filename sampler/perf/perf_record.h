/* SPDX-License-Identifier: MIT */
/*
 * The records of a perf ring, decoded in place.
 *
 * The layout follows from the sample_type that we ask for, so that is fixed
 * here, once, for the opener (sampler/perf/perf_event.c) and the decoder. Nothing
 * is trusted: a record that does not hold what its type says is damaged.
 */
#pragma once

#include "sampler/event/event.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

/* x86-64: AX BX CX DX SI DI BP SP IP and R8 to R15. */
#define PERF_RECORD_REGS UINT64_C(0xff01ff)

#define PERF_RECORD_SAMPLE_TYPE                                                                    \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD |        \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

#define PERF_RECORD_WAKEUP_TYPE                                                                    \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)

struct perf_wakeup_format;

/* What the records of one ring look like. */
struct perf_format {
	bool kernel;   /* samples also have PERF_SAMPLE_CALLCHAIN, kernel part only */
	bool switches; /* its samples are SAMPLE_SWITCH */
	/* Samples are PERF_RECORD_WAKEUP_TYPE, of that; NULL: they are not. Borrowed. */
	const struct perf_wakeup_format *wakeup;
};

enum perf_verdict {
	PERF_RECORD_DAMAGED = -1,
	PERF_RECORD_SKIP = 0, /* well-formed and of no interest */
	PERF_RECORD_EVENT = 1
};

/*
 * Decodes the record of SIZE bytes at BYTES, which begins with its perf_event_header.
 * *OUT points into BYTES. It is valid only after PERF_RECORD_EVENT.
 */
enum perf_verdict perf_record_decode(const struct perf_format *format, const void *bytes,
                                     size_t size, struct event *out);

/*
 * Drops what a sample's stack has no use for of the room that it was given, in the whole record at
 * BYTES. Its size now.
 */
size_t perf_record_shorten(const struct perf_format *format, uint8_t *bytes);

/*
 * The same of a sample of SIZE bytes of which the first THERE are at BYTES, and the last 8 say that
 * USED bytes of its stack are there: of these MOST are kept. 0: that cannot be; nothing has
 * changed.
 */
size_t perf_record_cut(const struct perf_format *format, uint8_t *bytes, size_t there, size_t size,
                       uint64_t used, uint64_t most);

/* Where in the record its time is, from its start; 0 if it is too short to have one. */
size_t perf_record_time_offset(const struct perf_event_header *header);
