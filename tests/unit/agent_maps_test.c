// SPDX-License-Identifier: MIT
#include "tests/support/expect.h"
#include "tracer/agent/main_stack.h"
#include "tracer/agent/maps.h"

#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

Test(agent_maps, a_line_is_taken_apart)
{
	static const char line[] = "7f0a1000-7f0a3000 r-xp 0001f000 fe:02 4711   /usr/lib/a b.so";
	struct map map;

	cr_assert(map_parse(line, strlen(line), &map));
	cr_expect(eq(u64, map.start, 0x7f0a1000));
	cr_expect(eq(u64, map.end, 0x7f0a3000));
	cr_expect(eq(u64, map.file_offset, 0x1f000));
	cr_expect(eq(u64, map.inode, 4711));
	cr_expect(eq(u32, map.device_major, 0xfe));
	cr_expect(eq(u32, map.device_minor, 2));
	cr_expect(eq(u32, map.protection, PROT_READ | PROT_EXEC));
	cr_expect(eq(str, map.path, "/usr/lib/a b.so"));
}

Test(agent_maps, a_mapping_without_a_file_has_no_path)
{
	static const char line[] = "1000-2000 rw-p 00000000 00:00 0 ";
	struct map map;

	cr_assert(map_parse(line, strlen(line), &map));
	cr_expect(eq(str, map.path, ""));
}

Test(agent_maps, what_is_cut_anywhere_or_no_mapping_is_refused)
{
	static const char line[] = "1000-2000 rw-p 00000000 00:00 0";
	struct map map;

	for (size_t length = 0; length < strlen(line); length++)
		cr_expect(not(map_parse(line, length, &map)), "%zu bytes", length);
	cr_expect(not(map_parse("2000-1000 rw-p 00000000 00:00 0", strlen(line), &map)));
	cr_expect(not(map_parse("x", 1, &map)));
}

struct found {
	uintptr_t wanted;
	int count, hits;
};

static void visit(void *context, const struct map *map)
{
	struct found *found = context;

	found->count++;
	found->hits += map->start <= found->wanted && found->wanted < map->end;
}

Test(agent_maps, this_very_function_lies_in_one_mapping)
{
	struct found found = { (uintptr_t)visit, 0, 0 };

	cr_assert(maps_each(visit, &found));
	cr_expect(gt(int, found.count, 5));
	cr_expect(eq(int, found.hits, 1));
}

Test(agent_maps, the_main_threads_stack_ends_below_the_environment)
{
	uintptr_t low = 0, high = 0, frame = (uintptr_t)__builtin_frame_address(0);

	main_stack_find(&low, &high);
	cr_expect(low < frame && frame < high);
	// The kernel puts the program's name above all.
	cr_expect(lt(ulong, high, getauxval(AT_EXECFN)));
}
