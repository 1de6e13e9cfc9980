// SPDX-License-Identifier: MIT
/*
 * MPI, by its names in C, with and without the P of its profiling interface, and in Fortran. An op
 * is called "MPI_Send" under each of its names, and what MPI calls of MPI is hidden: Fortran's
 * functions call those of C, and a tool between the program and the library, which has the first
 * names and calls the second ones, leaves one op, with its own time in it.
 *
 * The time of an op is all of the call: mostly waiting.
 */
#include "tracer/agent/mpi/mpi_call.h"
#include "tracer/agent/op/definition.h"
#include "tracer/agent/op/detour.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/python/python_callers.h"
#include "tracer/agent/table.h"

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
AGENT_TABLE static struct detour_alias mpi_aliases[DETOUR_ALIASES];
static struct detour_stubs mpi_detour = { .first = mpi_stubs,
	                                  .count = STUBS,
	                                  .aliases = mpi_aliases };

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

/*
 * MPICH, and all that follow its binary interface (Intel MPI, MVAPICH2, Cray MPICH): mpi.h. In Open
 * MPI handles are addresses of objects, and negative ranks are other ones.
 */
#define MPICH_TYPE_NULL         0x0c000000
#define MPICH_COMMUNICATOR_NULL 0x04000000
#define MPICH_ANY_SOURCE        (-2)
#define OPEN_MPI_ANY_SOURCE     (-1)

static void *find_beside(const void *target, const char *name)
{
	void *found = definition_near(target, name);

	return found ? found : definition_first(name);
}

static void look_at_library(const void *target, struct mpi_library *out)
{
	// A program that was not built as PIC has a copy of the object, which then is the handle.
	void *no_type = definition_first("ompi_mpi_datatype_null");
	void *no_communicator = definition_first("ompi_mpi_comm_null");

	*out = (struct mpi_library){
		.pointers = no_type != NULL,
		.no_type = no_type ? (uintptr_t)no_type : MPICH_TYPE_NULL,
		.no_communicator = no_type ? (uintptr_t)no_communicator : MPICH_COMMUNICATOR_NULL,
		.any = no_type ? OPEN_MPI_ANY_SOURCE : MPICH_ANY_SOURCE,
		.type_size = (mpi_asks *)find_beside(target, "PMPI_Type_size"),
		.ranks = (mpi_asks *)find_beside(target, "PMPI_Comm_size"),
		.rank = (mpi_asks *)find_beside(target, "PMPI_Comm_rank"),
		.is_inter = (mpi_asks *)find_beside(target, "PMPI_Comm_test_inter"),
		.type_of = (mpi_converts *)find_beside(target, "PMPI_Type_f2c"),
		.communicator_of = (mpi_converts *)find_beside(target, "PMPI_Comm_f2c"),
	};
}

// Which library of MPI the program has, found by what it exports: no header of it is needed. There
// is one in a process. TARGET is a function of it, or of a tool in front of it.
static const struct mpi_library *library_of(const void *target)
{
	static struct mpi_library library;
	static uint32_t looked; // atomic: definition_forgotten() and 1 at the last look
	uint32_t now = definition_forgotten() + 1;
	struct mpi_library found;
	int error = errno;

	if (__builtin_expect(__atomic_load_n(&looked, __ATOMIC_ACQUIRE) == now, 1))
		return &library;
	look_at_library(target, &found);
	library = found; // threads that look at once find the same
	__atomic_store_n(&looked, now, __ATOMIC_RELEASE);
	errno = error;
	return &library;
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
	mpi_call_message(&arguments, library_of(way.target), &message);
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
