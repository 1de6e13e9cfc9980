/* SPDX-License-Identifier: MIT */
/*
 * What a call of MPI moves: how many bytes, to or from whom, among how many ranks; as words of a
 * record, and as a text.
 *
 *	"8192 B to 3"            "64 B from any"     "96 B to 1 from 3"
 *	"8192 B, root 0 of 4"    "8 B, 4 ranks"      "0 B to nobody"
 *
 * Ranks are those of the call's communicator.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_WORDS   4 /* at most */
#define MESSAGE_UNKNOWN UINT64_MAX
#define MESSAGE_ANY     UINT32_MAX       /* MPI_ANY_SOURCE */
#define MESSAGE_NOBODY  (UINT32_MAX - 1) /* MPI_PROC_NULL, and what is no rank */

enum message_way {
	MESSAGE_ALONE, /* no peer: of all ranks, or of none */
	MESSAGE_TO,
	MESSAGE_FROM,
	MESSAGE_ROOT,   /* the peer is the root of a collective operation */
	MESSAGE_TO_FROM /* two peers */
};

struct message {
	uint64_t bytes; /* MESSAGE_UNKNOWN */
	enum message_way way;
	uint32_t peer;  /* a rank, MESSAGE_ANY, MESSAGE_NOBODY */
	uint32_t from;  /* the same, of MESSAGE_TO_FROM */
	uint32_t ranks; /* in the communicator; 0: unknown, or of no interest */
};

/* Returns how many words; 0 if nothing is known. */
static inline uint16_t message_pack(const struct message *m, uint64_t words[MESSAGE_WORDS])
{
	if (m->bytes == MESSAGE_UNKNOWN && m->way == MESSAGE_ALONE && !m->ranks)
		return 0;
	words[0] = m->bytes;
	words[1] = (uint64_t)m->way << 32 | m->peer;
	words[2] = m->ranks;
	words[3] = m->from;
	return m->way == MESSAGE_TO_FROM ? 4 : m->ranks ? 3 : 2;
}

/* False if the words are none of a message. */
bool message_unpack(const uint64_t *words, size_t count, struct message *m);

/* 80 bytes are enough. */
void message_print(const struct message *m, char *text, size_t size);

/* False if TEXT is none of message_print(). */
bool message_parse(const char *text, struct message *m);
