// SPDX-License-Identifier: MIT
/*
 * MPI, by its names in C, with and without the P of its profiling interface, and in Fortran. An op
 * is called "MPI_Send" under each of its names, and what MPI calls of MPI is hidden: Fortran's
 * functions call those of C, and a tool between the program and the library, which has the first
 * names and calls the second ones, leaves one op, with its own time in it.
 *
 * The time of an op is all of the call: mostly waiting.
 */
#include "tracer/agent/mpi/mpi_library.h"
#include "tracer/agent/op/detour.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/python/python_callers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__

#define NAME_MAX_BYTES 48
#define FIRST_ON_STACK 6
#define FORTRAN_WORDS  4 // the error, and lengths of strings

#define ALL(X)         MPI_COLLECTIVES(X) MPI_REQUESTS(X) MPI_OTHERS(X)

static const struct mpi_routine routines[] = {
#define ROUTINE(name, lower, moves, arguments) { #name, arguments, moves },
	ALL(ROUTINE)
};

enum {
	COUNT = sizeof(routines) / sizeof(routines[0]),
	FAMILIES = 7,
	STUBS = FAMILIES * COUNT
};

// The order is that of the stubs. MPI-4 has a second form for counts of 64 bits.
static const struct family {
	char prefix[8], suffix[8];
	bool wide, fortran;
} families[FAMILIES] = {
	{ "MPI_", "", false, false },     { "PMPI_", "", false, false },
	{ "MPI_", "_c", true, false },    { "PMPI_", "_c", true, false },
	{ "mpi_", "_", false, true },     { "mpi_", "__", false, true },
	{ "mpi_", "_f08_", false, true },
};

#define STUB(name, lower, moves, arguments)          "detour_stub MPI_" #name "\n"
#define P_STUB(name, lower, moves, arguments)        "detour_stub PMPI_" #name "\n"
#define WIDE_STUB(name, lower, moves, arguments)     "detour_stub MPI_" #name "_c\n"
#define P_WIDE_STUB(name, lower, moves, arguments)   "detour_stub PMPI_" #name "_c\n"

#define FORTRAN_STUB(name, lower, moves, arguments)  "detour_stub mpi_" #lower "_\n"
#define FORTRAN2_STUB(name, lower, moves, arguments) "detour_stub mpi_" #lower "__\n"
#define F08_STUB(name, lower, moves, arguments)      "detour_stub mpi_" #lower "_f08_\n"

detour_begin mpi_begin;
detour_end mpi_end;

// clang-format off
DETOUR("mpi",
       ALL(STUB) ALL(P_STUB) ALL(WIDE_STUB) ALL(P_WIDE_STUB)
       ALL(FORTRAN_STUB) ALL(FORTRAN2_STUB) ALL(F08_STUB));
// clang-format on

extern const char mpi_stubs[] __attribute__((visibility("hidden")));
static struct detour_stubs mpi_detour = { .first = mpi_stubs, .count = STUBS };

// Above those of BLAS and FFTW.
#define NUMBER(index) (UINT32_C(0x10000) + (uint32_t)(index))

static uint64_t known[COUNT]; // see detour_known()

static void name_of(char name[NAME_MAX_BYTES], uint64_t index)
{
	const struct family *family = &families[index / COUNT];
	const char *routine = routines[index % COUNT].name;

	snprintf(name, NAME_MAX_BYTES, "%s%s%s", family->prefix, routine, family->suffix);
	for (char *at = name; family->fortran && *at; at++)
		*at |= *at >= 'A' && *at <= 'Z' ? ' ' : 0;
}

static uint32_t find_name(struct op_thread *t, uint64_t index)
{
	uint32_t id = detour_known(&known[index % COUNT], t);
	char text[NAME_MAX_BYTES];

	if (id)
		return id;
	snprintf(text, sizeof(text), "MPI_%s", routines[index % COUNT].name);
	id = op_name(t, OP_MPI, 0, text);
	detour_know(&known[index % COUNT], t, id);
	return id;
}

static __attribute__((noinline)) void *find_target(uint64_t index, const uint64_t *frame)
{
	char name[NAME_MAX_BYTES];
	int error = errno;

	name_of(name, index);
	void *target = definition_find(name, frame[1]);
	if (target)
		definition_remember(NUMBER(index), frame[1], target);
	errno = error;
	return target;
}

static void begin_op(struct op_thread *t, uint64_t index, const struct message *message,
                     const uint64_t *frame)
{
	uint64_t values[MESSAGE_WORDS + 1]; // and who calls
	struct op_details details = { OP_DETAIL_MESSAGE, message_pack(message, values), values };

	python_callers_tell(t, &details, values);
	detour_open(t, DETOUR_MPI, find_name(t, index), frame, details.count ? &details : NULL);
}

struct detour_way mpi_begin(uint64_t index, struct detour_call *call, const uint64_t *frame)
{
	struct detour_alias *alias = detour_resolve(&mpi_detour, &index);
	struct detour_way way = { alias ? alias->target
		                        : definition_recall(NUMBER(index), frame[1]),
		                  -1 };
	const struct family *family = &families[index / COUNT];
	const struct mpi_call arguments = { &routines[index % COUNT], call->integers, frame + 2,
		                            family->wide, family->fortran };
	struct message message;
	int error = errno;

	if (!way.target)
		way.target = find_target(index, frame);
	if (!way.target || !op_is_on(OP_MPI) || detour_hides(DETOUR_MPI, frame))
		return way;
	// The library is asked before the hook is entered.
	mpi_call_message(&arguments, mpi_library(way.target), &message);
	errno = error;
	struct op_thread *t = op_enter();
	if (!t)
		return way;
	begin_op(t, index, &message, frame);
	op_leave(t);
	size_t count = strlen(arguments.routine->arguments) + (family->fortran ? FORTRAN_WORDS : 0);
	way.words = count > FIRST_ON_STACK ? (int64_t)count - FIRST_ON_STACK : 0;
	return way;
}

void mpi_end(uint64_t index, struct detour_call *call, const uint64_t *frame)
{
	(void)index;
	(void)call;
	detour_close(frame);
}

#endif

const struct agent_provider mpi_provider = {
#ifdef __x86_64__
	.stubs = &mpi_detour,
#endif
};
