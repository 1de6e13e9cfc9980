// SPDX-License-Identifier: MIT
#include "base/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool message_unpack(const uint64_t *words, size_t count, struct message *m)
{
	uint64_t way = count > 1 ? words[1] >> 32 : 0;

	if (count < 2 || count > MESSAGE_WORDS || way > MESSAGE_TO_FROM ||
	    (way == MESSAGE_TO_FROM) != (count == MESSAGE_WORDS) ||
	    (count > 2 && words[2] > INT32_MAX))
		return false;
	*m = (struct message){
		.bytes = words[0],
		.way = (enum message_way)way,
		.peer = (uint32_t)words[1],
		.from = count > 3 ? (uint32_t)words[3] : 0,
		.ranks = count > 2 ? (uint32_t)words[2] : 0,
	};
	return true;
}

static const char *name_peer(uint32_t peer, char buffer[16])
{
	if (peer == MESSAGE_ANY)
		return "any";
	if (peer == MESSAGE_NOBODY)
		return "nobody";
	snprintf(buffer, 16, "%" PRIu32, peer);
	return buffer;
}

static void print_peers(const struct message *m, char *text, size_t size)
{
	char peer[16], from[16];
	const char *first = name_peer(m->peer, peer);

	switch (m->way) {
	case MESSAGE_TO:
		snprintf(text, size, " to %s", first);
		break;
	case MESSAGE_FROM:
		snprintf(text, size, " from %s", first);
		break;
	case MESSAGE_TO_FROM:
		snprintf(text, size, " to %s from %s", first, name_peer(m->from, from));
		break;
	case MESSAGE_ROOT:
		snprintf(text, size, ", root %s of %" PRIu32, first, m->ranks);
		break;
	default:
		*text = '\0';
		if (m->ranks)
			snprintf(text, size, ", %" PRIu32 " rank%s", m->ranks,
			         m->ranks == 1 ? "" : "s");
	}
}

void message_print(const struct message *m, char *text, size_t size)
{
	char bytes[32] = "", peers[64];

	if (m->bytes != MESSAGE_UNKNOWN)
		snprintf(bytes, sizeof(bytes), "%" PRIu64 " B", m->bytes);
	print_peers(m, peers, sizeof(peers));
	// Without bytes there is nothing that the rest is to be told apart from.
	snprintf(text, size, "%s%s", bytes, *bytes ? peers : peers + strspn(peers, ", "));
}

static bool take(const char **text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*text, word, length) != 0)
		return false;
	*text += length;
	return true;
}

static bool take_number(const char **text, uint64_t *number)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	*number = strtoull(*text, &end, 10);
	*text = end;
	return true;
}

static bool take_peer(const char **text, uint32_t *peer)
{
	uint64_t number;

	*peer = MESSAGE_ANY;
	if (take(text, "any"))
		return true;
	*peer = MESSAGE_NOBODY;
	if (take(text, "nobody"))
		return true;
	if (!take_number(text, &number) || number > INT32_MAX)
		return false;
	*peer = (uint32_t)number;
	return true;
}

static bool take_ranks(const char **text, struct message *m)
{
	uint64_t number;

	if (!take_number(text, &number) || number > INT32_MAX)
		return false;
	m->ranks = (uint32_t)number;
	return true;
}

static bool take_peers(const char **text, struct message *m)
{
	if (take(text, "to ")) {
		m->way = MESSAGE_TO;
		if (!take_peer(text, &m->peer))
			return false;
		if (!take(text, " from "))
			return true;
		m->way = MESSAGE_TO_FROM;
		return take_peer(text, &m->from);
	}
	if (take(text, "from ")) {
		m->way = MESSAGE_FROM;
		return take_peer(text, &m->peer);
	}
	if (take(text, "root ")) {
		m->way = MESSAGE_ROOT;
		return take_peer(text, &m->peer) && take(text, " of ") && take_ranks(text, m);
	}
	return !**text || (take_ranks(text, m) && take(text, m->ranks == 1 ? " rank" : " ranks"));
}

bool message_parse(const char *text, struct message *m)
{
	const char *at = text;

	*m = (struct message){ .bytes = MESSAGE_UNKNOWN };
	if (!take_number(&at, &m->bytes) || !take(&at, " B")) {
		m->bytes = MESSAGE_UNKNOWN;
		at = text;
	} else if (!take(&at, ", ")) {
		take(&at, " ");
	}
	return *text && take_peers(&at, m) && !*at;
}
