// SPDX-License-Identifier: MIT
#include "tracer/agent/mpi/mpi_call.h"

#include <string.h>

#define REGISTERS     6
#define LEAST_ADDRESS 4096

// The argument that has LETTER, as it was passed; false if there is none.
static bool find_word(const struct mpi_call *call, char letter, uint64_t *word)
{
	const char *at = strchr(call->routine->arguments, letter);

	if (!at)
		return false;
	size_t index = (size_t)(at - call->routine->arguments);
	*word = index < REGISTERS ? call->registers[index] : call->stack[index - REGISTERS];
	return true;
}

static bool find_array(const struct mpi_call *call, char letter, uint64_t *array)
{
	return find_word(call, letter, array) && *array >= LEAST_ADDRESS;
}

// Of numbers and handles: what Fortran has passed the address of.
static bool find(const struct mpi_call *call, char letter, uint64_t *value)
{
	uint64_t word;

	if (!find_word(call, letter, &word) || (call->fortran && word < LEAST_ADDRESS))
		return false;
	*value = call->fortran ? *(const uint32_t *)word : word;
	return true;
}

// The handle of C; 0 if there is none.
static uint64_t handle(const struct mpi_call *call, const struct mpi_library *l,
                       mpi_converts *convert, uint64_t value)
{
	if (!l->pointers)
		return (uint32_t)value;
	if (!call->fortran)
		return value;
	return convert ? convert((int)value) : 0;
}

// Of a count that is negative, or a datatype that is none, the library will complain itself.
static bool add_elements(const struct mpi_call *call, const struct mpi_library *l, int64_t count,
                         uint64_t type, uint64_t *bytes)
{
	uint64_t more;
	int size;

	if (count <= 0)
		return count == 0;
	type = handle(call, l, l->type_of, type);
	if (!l->type_size || !type || type == l->no_type || l->type_size(type, &size) || size < 0)
		return false;
	return !__builtin_mul_overflow((uint64_t)count, (uint64_t)size, &more) &&
	       !__builtin_add_overflow(*bytes, more, bytes);
}

static int64_t read_count(const struct mpi_call *call, uint64_t word)
{
	return call->wide ? (int64_t)word : (int32_t)word;
}

static bool add_pair(const struct mpi_call *call, const struct mpi_library *l, char count,
                     char type, uint64_t *bytes)
{
	uint64_t n, t;

	return find(call, count, &n) && find(call, type, &t) &&
	       add_elements(call, l, read_count(call, n), t, bytes);
}

static int64_t count_at(const struct mpi_call *call, uint64_t counts, uint32_t index)
{
	return call->wide ? ((const int64_t *)counts)[index] : ((const int32_t *)counts)[index];
}

// All counts of an array, of one datatype.
static bool add_array(const struct mpi_call *call, const struct mpi_library *l, uint32_t ranks,
                      char letter, char type, uint64_t *bytes)
{
	uint64_t counts, t;
	int64_t sum = 0;

	if (!find_array(call, letter, &counts) || !find(call, type, &t))
		return false;
	for (uint32_t i = 0; i < ranks; i++)
		if (__builtin_add_overflow(sum, count_at(call, counts, i), &sum))
			return false;
	return add_elements(call, l, sum, t, bytes);
}

// Each count has a datatype of its own.
static bool add_types(const struct mpi_call *call, const struct mpi_library *l, uint32_t ranks,
                      uint64_t *bytes)
{
	uint64_t counts, types;

	if (!find_array(call, 'V', &counts) || !find_array(call, 'W', &types))
		return false;
	for (uint32_t i = 0; i < ranks; i++) {
		uint64_t type = l->pointers && !call->fortran ? ((const uint64_t *)types)[i]
		                                              : ((const uint32_t *)types)[i];
		if (!add_elements(call, l, count_at(call, counts, i), type, bytes))
			return false;
	}
	return true;
}

static bool is_root(const struct mpi_call *call, const struct mpi_library *l)
{
	uint64_t communicator, root;
	int rank;

	if (!l->rank || !find(call, 'm', &communicator) || !find(call, '^', &root))
		return false;
	communicator = handle(call, l, l->communicator_of, communicator);
	return l->rank(communicator, &rank) == 0 && rank == (int32_t)root;
}

// BYTES of each of RANKS.
static bool times(uint32_t ranks, bool known, uint64_t *bytes)
{
	return known && !__builtin_mul_overflow(*bytes, (uint64_t)ranks, bytes);
}

// What only those know who know how many ranks there are.
static bool add_collective(const struct mpi_call *call, const struct mpi_library *l, uint32_t ranks,
                           uint64_t *bytes)
{
	enum mpi_moves moves = (enum mpi_moves)call->routine->moves;
	bool gathers = moves == MPI_GATHER || moves == MPI_GATHER_V;

	switch (moves) {
	case MPI_ALL:
		return times(ranks, add_pair(call, l, 'C', 'T', bytes), bytes);
	case MPI_ALL_V:
		return add_array(call, l, ranks, 'V', 'T', bytes);
	case MPI_ALL_W:
		return add_types(call, l, ranks, bytes);
	default:
		break;
	}
	if (!is_root(call, l))
		return add_pair(call, l, gathers ? 'c' : 'C', gathers ? 't' : 'T', bytes);
	if (moves == MPI_GATHER)
		return times(ranks, add_pair(call, l, 'C', 'T', bytes), bytes);
	if (moves == MPI_SCATTER)
		return times(ranks, add_pair(call, l, 'c', 't', bytes), bytes);
	return add_array(call, l, ranks, gathers ? 'V' : 'v', gathers ? 'T' : 't', bytes);
}

static uint32_t read_peer(const struct mpi_library *l, uint64_t word, bool source)
{
	int32_t rank = (int32_t)word;

	if (rank >= 0)
		return (uint32_t)rank;
	return source && rank == l->any ? MESSAGE_ANY : MESSAGE_NOBODY;
}

static void find_peers(const struct mpi_call *call, const struct mpi_library *l, struct message *m)
{
	uint64_t to, from, root;
	bool has_to = find(call, '>', &to), has_from = find(call, '<', &from);

	if (find(call, '^', &root)) {
		m->way = MESSAGE_ROOT;
		m->peer = read_peer(l, root, false);
	} else if (has_to) {
		m->way = has_from ? MESSAGE_TO_FROM : MESSAGE_TO;
		m->peer = read_peer(l, to, false);
		m->from = has_from ? read_peer(l, from, true) : 0;
	} else if (has_from) {
		m->way = MESSAGE_FROM;
		m->peer = read_peer(l, from, true);
	}
}

// Of two groups that talk to each other, arrays are as long as the other one is large: no number.
static uint32_t find_ranks(const struct mpi_call *call, const struct mpi_library *l)
{
	uint64_t communicator;
	int ranks, inter;

	if (!find(call, 'm', &communicator) || !l->ranks || !l->is_inter)
		return 0;
	communicator = handle(call, l, l->communicator_of, communicator);
	if (!communicator || communicator == l->no_communicator ||
	    l->is_inter(communicator, &inter) || inter || l->ranks(communicator, &ranks))
		return 0;
	return ranks > 0 ? (uint32_t)ranks : 0;
}

// Between two ranks; who has none on the other side moves nothing.
static bool add_message(const struct mpi_call *call, const struct mpi_library *l,
                        const struct message *m, uint64_t *bytes)
{
	bool first = m->way == MESSAGE_ALONE || m->way == MESSAGE_ROOT || m->peer != MESSAGE_NOBODY;
	bool second = m->from != MESSAGE_NOBODY;

	switch ((enum mpi_moves)call->routine->moves) {
	case MPI_ONE:
		return !first || add_pair(call, l, 'c', 't', bytes);
	case MPI_TWICE:
		return (!first || add_pair(call, l, 'c', 't', bytes)) &&
		       (!second || add_pair(call, l, 'c', 't', bytes));
	case MPI_BOTH:
		return (!first || add_pair(call, l, 'c', 't', bytes)) &&
		       (!second || add_pair(call, l, 'C', 'T', bytes));
	default:
		return false;
	}
}

void mpi_call_message(const struct mpi_call *call, const struct mpi_library *l, struct message *out)
{
	struct message m = { .bytes = MESSAGE_UNKNOWN };
	uint64_t bytes = 0;
	bool known;

	find_peers(call, l, &m);
	if (m.way == MESSAGE_ALONE || m.way == MESSAGE_ROOT)
		m.ranks = find_ranks(call, l);
	// Without knowing how many there are, nobody says who is root.
	if (m.way == MESSAGE_ROOT && !m.ranks)
		m.way = MESSAGE_ALONE;
	if (call->routine->moves >= MPI_ALL)
		known = m.ranks && add_collective(call, l, m.ranks, &bytes);
	else
		known = add_message(call, l, &m, &bytes);
	if (known)
		m.bytes = bytes;
	*out = m;
}
