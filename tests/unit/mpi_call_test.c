// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/mpi/mpi_call.h"

#include <string.h>

static const struct mpi_routine routines[] = {
#define ROUTINE(name, lower, moves, arguments) { #name, arguments, moves },
	MPI_COLLECTIVES(ROUTINE) MPI_REQUESTS(ROUTINE) MPI_OTHERS(ROUTINE)
};
#define COUNT     (sizeof(routines) / sizeof(routines[0]))

#define DOUBLE    UINT64_C(0xffffffff4c00080b) // with an upper half that means nothing
#define NO_TYPE   0x0c000000
#define WORLD     0x44000000
#define ODD_SIZED 7 // a datatype whose size is not known

static int type_size(uint64_t type, int *size)
{
	cr_expect(ne(u64, type, NO_TYPE));
	cr_expect(le(u64, type, UINT32_MAX));
	*size = type == ODD_SIZED ? -32766 : 8;
	return 0;
}

static int ranks(uint64_t communicator, int *answer)
{
	cr_expect(eq(u64, communicator, WORLD));
	*answer = 4;
	return 0;
}

static int rank(uint64_t communicator, int *answer)
{
	(void)communicator;
	*answer = 1;
	return 0;
}

static int is_inter(uint64_t communicator, int *answer)
{
	(void)communicator;
	*answer = 0;
	return 0;
}

static const struct mpi_library mpich = { .no_type = NO_TYPE,
	                                  .no_communicator = 0x04000000,
	                                  .any = -2,
	                                  .type_size = type_size,
	                                  .ranks = ranks,
	                                  .rank = rank,
	                                  .is_inter = is_inter };

static const struct mpi_routine *routine(const char *name)
{
	for (size_t i = 0; i < COUNT; i++)
		if (strcmp(routines[i].name, name) == 0)
			return &routines[i];
	cr_assert(false, "there is no %s", name);
	return NULL;
}

static struct message message_of(const char *name, const struct mpi_library *library, bool wide,
                                 const uint64_t words[12])
{
	const struct mpi_call call = { routine(name), words, words + 6, wide, false };
	struct message m;

	mpi_call_message(&call, library, &m);
	return m;
}

Test(mpi_call, every_routine_has_what_its_message_takes)
{
	static const char *const letters[] = {
		[MPI_NOTHING] = "",       [MPI_ONE] = "ct",           [MPI_TWICE] = "ct><",
		[MPI_BOTH] = "ctCT><",    [MPI_ALL] = "CTm",          [MPI_ALL_V] = "VTm",
		[MPI_ALL_W] = "VWm",      [MPI_GATHER] = "ctCT^m",    [MPI_GATHER_V] = "ctVT^m",
		[MPI_SCATTER] = "ctCT^m", [MPI_SCATTER_V] = "vtCT^m",
	};

	for (size_t i = 0; i < COUNT; i++) {
		const struct mpi_routine *r = &routines[i];
		cr_expect(lt(sz, strlen(r->name), sizeof(r->name) - 1));
		cr_expect(lt(sz, strlen(r->arguments), sizeof(r->arguments) - 1));
		for (const char *letter = letters[r->moves]; *letter; letter++)
			cr_expect(ne(ptr, strchr(r->arguments, *letter), NULL), "%s lacks %c",
			          r->name, *letter);
		for (const char *at = r->arguments; *at; at++) {
			bool twice = *at != '.' && strchr(at + 1, *at);
			cr_expect(not(twice), "%s has two %c", r->name, *at);
		}
	}
}

Test(mpi_call, arguments_behind_the_registers_are_read_from_the_stack)
{
	const uint64_t words[12] = { 0, 2, DOUBLE, 3, 9, 0, 5, DOUBLE, (uint32_t)-2, 9, WORLD };
	struct message m = message_of("Sendrecv", &mpich, false, words);

	cr_expect(eq(u64, m.bytes, 56));
	cr_expect(eq(int, (int)m.way, MESSAGE_TO_FROM));
	cr_expect(eq(u32, m.peer, 3));
	cr_expect(eq(u32, m.from, MESSAGE_ANY));
}

Test(mpi_call, counts_are_as_wide_as_the_function_has_them)
{
	const uint64_t words[12] = { 0, UINT64_C(5) << 32 | 2, DOUBLE, 3, 9, WORLD };

	cr_expect(eq(u64, message_of("Send", &mpich, false, words).bytes, 16));
	cr_expect(eq(u64, message_of("Send", &mpich, true, words).bytes,
	             8 * (UINT64_C(5) << 32 | 2)));
}

Test(mpi_call, sums_that_cannot_be_are_not_known)
{
	const int64_t huge[] = { INT64_MAX, INT64_MAX, 0, 0 };
	const uint64_t much[12] = { 0, INT64_MAX, DOUBLE, 3, 9, WORLD };
	const uint64_t negative[12] = { 0, (uint32_t)-5, DOUBLE, 3, 9, WORLD };
	const uint64_t odd[12] = { 0, 5, ODD_SIZED, 3, 9, WORLD };
	const uint64_t none[12] = { 0, 5, NO_TYPE, 3, 9, WORLD };
	const uint64_t array[12] = { 0, 0, (uint64_t)(uintptr_t)huge, DOUBLE, 0, WORLD };

	cr_expect(eq(u64, message_of("Send", &mpich, true, much).bytes, MESSAGE_UNKNOWN));
	cr_expect(eq(u64, message_of("Send", &mpich, false, negative).bytes, MESSAGE_UNKNOWN));
	cr_expect(eq(u64, message_of("Send", &mpich, false, odd).bytes, MESSAGE_UNKNOWN));
	cr_expect(eq(u64, message_of("Send", &mpich, false, none).bytes, MESSAGE_UNKNOWN));
	cr_expect(
		eq(u64, message_of("Reduce_scatter", &mpich, true, array).bytes, MESSAGE_UNKNOWN));
}

Test(mpi_call, a_library_that_lacks_functions_is_not_asked)
{
	const struct mpi_library bare = { .no_type = NO_TYPE };
	const uint64_t words[12] = { 0, 2, DOUBLE, 3, WORLD };

	for (size_t i = 0; i < COUNT; i++) {
		struct message m = message_of(routines[i].name, &bare, false, words);
		cr_expect(m.bytes == MESSAGE_UNKNOWN || m.bytes == 0, "%s", routines[i].name);
		cr_expect(eq(u32, m.ranks, 0));
	}
}
