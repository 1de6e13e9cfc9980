// SPDX-License-Identifier: MIT
#include "symbolize/elf/jump_names.h"

#include "base/cleanup.h"
#include "symbolize/elf/function_start.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define MANY UINT64_MAX // of functions jump there

struct target {
	uint64_t start; // of the function that has no name
	uint64_t from;  // where the exported one begins; 0: none yet
};

static struct target *find_target(struct target *targets, size_t count, uint64_t start)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (targets[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < count && targets[low].start == start ? &targets[low] : NULL;
}

// Ascending, as the addresses are. The result says how many.
static size_t find_targets(const struct function_starts *starts, const uint64_t *addresses,
                           size_t count, const struct symbol_name *names, struct target *targets)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t start = names[i].text ? 0 : function_starts_find(starts, addresses[i]);
		if (start && (!found || targets[found - 1].start < start))
			targets[found++] = (struct target){ .start = start };
	}
	return found;
}

// Aliases begin at the same place.
static void look_at(const struct function_starts *starts, uint64_t from, struct target *targets,
                    size_t count)
{
	struct target *target = find_target(targets, count, function_starts_jump(starts, from));

	if (target && target->start != from)
		target->from = !target->from || target->from == from ? from : MANY;
}

static void look_at_exports(struct elf_file *elf, const struct function_starts *starts,
                            struct target *targets, size_t count)
{
	struct bytes table = elf_file_named_contents(elf, ".dynsym");
	Elf64_Sym symbol;

	for (size_t at = 0; table.size - at >= sizeof(symbol); at += sizeof(symbol)) {
		memcpy(&symbol, table.data + at, sizeof(symbol));
		if (symbol.st_shndx != SHN_UNDEF && symbol.st_value &&
		    ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
			look_at(starts, symbol.st_value, targets, count);
	}
}

static int give_names(struct elf_file *elf, const struct function_starts *starts,
                      const uint64_t *addresses, size_t count, struct target *targets,
                      size_t target_count, struct symbol_name *names)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t start = names[i].text ? 0 : function_starts_find(starts, addresses[i]);
		struct target *target = start ? find_target(targets, target_count, start) : NULL;
		if (!target || !target->from || target->from == MANY)
			continue;
		if (elf_symbols_find(elf, ".dynsym", &target->from, 1, &names[i]) < 0)
			return -1;
		names[i].start = start;
	}
	return 0;
}

int jump_names_find(struct elf_file *elf, const uint64_t *addresses, size_t count,
                    struct symbol_name *names)
{
	if (!elf_file_is_64(elf) || elf_file_machine(elf) != EM_X86_64)
		return 0;
	cleanup(function_starts) struct function_starts *starts = function_starts_of(elf);
	if (!starts)
		return 0;
	cleanup_free struct target *targets = calloc(count + 1, sizeof(*targets));
	if (!targets)
		return -1;
	size_t found = find_targets(starts, addresses, count, names, targets);
	if (!found)
		return 0;
	look_at_exports(elf, starts, targets, found);
	return give_names(elf, starts, addresses, count, targets, found, names);
}
