// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/memory/memory_maps.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static struct memory_maps maps;

// "block bytes[ last], …", of all that is taken.
static const char *take(uintptr_t start, uintptr_t end)
{
	static char text[256];
	struct memory_piece piece;
	size_t used = 0;

	text[0] = '\0';
	while (memory_maps_take(&maps, start, end, &piece))
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lu %zu%s",
		                         used ? ", " : "", (unsigned long)piece.block, piece.bytes,
		                         piece.last ? " last" : "");
	return text;
}

#define EXPECT(start, end, said) cr_expect(eq(str, (char *)take(start, end), (char *)(said)))

Test(memory_maps, what_is_given_back_at_once_is_the_whole_block)
{
	cr_assert(memory_maps_add(&maps, 1000, 2000));
	cr_assert(memory_maps_add(&maps, 3000, 4000));
	EXPECT(2000, 3000, "");
	EXPECT(1000, 2000, "1000 1000 last");
	EXPECT(0, 9000, "3000 1000 last");
	EXPECT(0, 9000, "");
}

Test(memory_maps, pieces_are_of_their_block_until_nothing_is_left)
{
	cr_assert(memory_maps_add(&maps, 1000, 2000));
	EXPECT(900, 1100, "1000 100");
	EXPECT(1900, 2100, "1000 100");
	EXPECT(1400, 1500, "1000 100");
	EXPECT(1400, 1500, "");
	EXPECT(1300, 1450, "1000 100");
	EXPECT(1100, 1300, "1000 200");
	EXPECT(0, 9000, "1000 400 last");
}

Test(memory_maps, one_call_may_take_several_blocks)
{
	cr_assert(memory_maps_add(&maps, 1000, 2000));
	cr_assert(memory_maps_add(&maps, 2000, 3000));
	cr_assert(memory_maps_add(&maps, 3000, 4000));
	EXPECT(1500, 3500, "1000 500, 2000 1000 last, 3000 500");
}

Test(memory_maps, a_full_table_refuses_and_goes_on)
{
	for (uintptr_t i = 0; i < MEMORY_MAPS_MAX; i++)
		cr_assert(memory_maps_add(&maps, 1000 * i, 1000 * i + 900));
	cr_expect(not(memory_maps_add(&maps, 1, 2)));
	EXPECT(5100, 5200, "5000 100"); // and what lies behind is forgotten
	EXPECT(5000, 5900, "5000 100 last");
	cr_expect(memory_maps_add(&maps, 10000000, 10001000));
}

Test(memory_maps, who_finds_it_taken_goes_without)
{
	cr_assert(memory_maps_add(&maps, 1000, 2000));
	maps.owner = (uint32_t)getpid();
	cr_expect(not(memory_maps_add(&maps, 3000, 4000)));
	EXPECT(1000, 2000, "");
	maps.owner = 0;
	EXPECT(1000, 2000, "1000 1000 last");
}

Test(memory_maps, a_forked_child_does_not_wait_for_its_parents_threads)
{
	int status = -1;

	cr_assert(memory_maps_add(&maps, 1000, 2000));
	maps.owner = (uint32_t)getpid();
	pid_t child = fork();
	if (child == 0) {
		struct memory_piece piece;
		_exit(memory_maps_take(&maps, 0, 9000, &piece) && piece.bytes == 1000 ? 0 : 1);
	}
	cr_assert(waitpid(child, &status, 0) == child);
	cr_expect(eq(int, status, 0));
}
