// SPDX-License-Identifier: MIT
#include "symbolize/dwarf/split_dwarf.h"

#include "base/array.h"
#include "base/path.h"
#include "symbolize/dwarf/dwp_index.h"
#include "symbolize/dwarf/unit_values.h"
#include "symbolize/elf/elf_file.h"

#include <limits.h>

// A split unit that was looked for.
struct part {
	uint64_t dwo_id;
	struct elf_file *elf; // NULL if it is in the package
	struct dwarf_file *dwarf;
	struct unit *unit; // NULL if it was not found
};

struct split_dwarf {
	struct dwarf_file *main;
	char *root, *dwp_base;
	struct part *parts;
	size_t count, capacity;
	struct elf_file *package;
	bool looked_for_package;
	char trouble[256];
};

struct split_dwarf *split_dwarf_new(struct dwarf_file *main, const char *root, const char *dwp_base)
{
	cleanup(split_dwarf) struct split_dwarf *split = calloc(1, sizeof(*split));

	if (!split)
		return NULL;
	split->main = main;
	split->root = strdup(root);
	split->dwp_base = strdup(dwp_base);
	return split->root && split->dwp_base ? steal(split) : NULL;
}

void split_dwarf_free(struct split_dwarf *split)
{
	if (!split)
		return;
	for (size_t i = 0; i < split->count; i++) {
		dwarf_file_free(split->parts[i].dwarf);
		elf_file_close(split->parts[i].elf);
	}
	free(split->parts);
	elf_file_close(split->package);
	free(split->root);
	free(split->dwp_base);
	free(split);
}

const char *split_dwarf_trouble(const struct split_dwarf *split)
{
	return split->trouble;
}

bool split_dwarf_is_skeleton(const struct unit *unit)
{
	return unit->dwo_name && unit->dwo_id;
}

// A split unit uses addresses (and, before DWARF 5, ranges) of the main file. Where its addresses
// begin, only its skeleton knows.
static struct dwarf_file *open_sections(const struct split_dwarf *split,
                                        const struct unit *skeleton, struct dwarf_sections sections)
{
	const struct dwarf_sections *main = dwarf_file_sections(split->main);

	sections.addr = bytes_slice(main->addr, skeleton->addr_base, main->addr.size);
	sections.ranges = main->ranges;
	return dwarf_file_new(&sections, NULL);
}

static struct unit *match_unit(struct dwarf_file *dwarf, const struct unit *skeleton)
{
	for (size_t i = 0; i < dwarf_file_unit_count(dwarf); i++) {
		struct unit *unit = dwarf_file_unit(dwarf, i);
		if (unit->prepared)
			continue;
		unit_set_skeleton(unit, skeleton);
		if (unit_prepare(unit) && unit->dwo_id == skeleton->dwo_id)
			return unit;
	}
	return NULL;
}

static void find_in_package(struct split_dwarf *split, const struct unit *skeleton,
                            struct part *part)
{
	char path[PATH_MAX];
	struct dwarf_sections sections;

	if (!split->looked_for_package) {
		split->looked_for_package = true;
		snprintf(path, sizeof(path), "%s%s.dwp", split->root, split->dwp_base);
		split->package = elf_file_open(path, NULL);
	}
	if (!split->package || !dwp_index_find(split->package, skeleton->dwo_id, &sections))
		return;
	part->dwarf = open_sections(split, skeleton, sections);
	if (part->dwarf)
		part->unit = match_unit(part->dwarf, skeleton);
}

static bool try_file(struct split_dwarf *split, const char *path, const struct unit *skeleton,
                     struct part *part)
{
	cleanup(elf_file) struct elf_file *elf = elf_file_open(path, NULL);

	if (!elf)
		return false;
	cleanup(dwarf_file) struct dwarf_file *dwarf =
		open_sections(split, skeleton, dwarf_sections_of(elf, ".dwo"));
	part->unit = dwarf ? match_unit(dwarf, skeleton) : NULL;
	if (!part->unit) {
		snprintf(split->trouble, sizeof(split->trouble), "\"%.200s\" is of another build",
		         path);
		return false;
	}
	part->elf = steal(elf);
	part->dwarf = steal(dwarf);
	return true;
}

static void find_in_file(struct split_dwarf *split, const struct unit *skeleton, struct part *part)
{
	const char *name = skeleton->dwo_name;
	const char *directory = skeleton->comp_dir ? skeleton->comp_dir : "";
	const char *slash = strrchr(split->dwp_base, '/');
	const char *base = path_base(name);
	char path[PATH_MAX];

	if (*name == '/')
		snprintf(path, sizeof(path), "%s%s", split->root, name);
	else
		snprintf(path, sizeof(path), "%s%s/%s", split->root, directory, name);
	if (try_file(split, path, skeleton, part) || !slash)
		return;
	// Moved together with the program.
	snprintf(path, sizeof(path), "%s%.*s/%s", split->root, (int)(slash - split->dwp_base),
	         split->dwp_base, base);
	try_file(split, path, skeleton, part);
}

struct unit *split_dwarf_find(struct split_dwarf *split, const struct unit *skeleton)
{
	for (size_t i = 0; i < split->count; i++)
		if (split->parts[i].dwo_id == skeleton->dwo_id)
			return split->parts[i].unit;
	if (!array_reserve(&split->parts, &split->capacity, split->count + 1))
		return NULL;
	struct part *part = &split->parts[split->count++];
	*part = (struct part){ .dwo_id = skeleton->dwo_id };
	find_in_package(split, skeleton, part);
	if (!part->unit && !part->dwarf)
		find_in_file(split, skeleton, part);
	if (!part->unit && !*split->trouble)
		snprintf(split->trouble, sizeof(split->trouble),
		         "the split debug information \"%.200s\" is not there", skeleton->dwo_name);
	return part->unit;
}
