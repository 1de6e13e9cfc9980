// SPDX-License-Identifier: MIT
#include "symbolize/elf/debug_file.h"

#include "base/error.h"
#include "base/path.h"
#include "symbolize/elf/decompress.h"

#include <zlib.h>

// A second's work. A file may claim any size and hold nothing (sparse): without a build-id, which
// compilers have written for fifteen years, debug information was not that large.
#define SUMMED_BYTES_MAX ((size_t)1 << 30)

// ".build-id/ab/cdef.debug". False if ID is too short for that.
static bool build_id_path(struct bytes id, char *buffer, size_t size)
{
	size_t used;

	if (id.size < 2 || id.size > 64 || size < 160)
		return false;
	used = (size_t)snprintf(buffer, size, ".build-id/%02x/", id.data[0]);
	for (size_t i = 1; i < id.size; i++)
		used += (size_t)snprintf(buffer + used, size - used, "%02x", id.data[i]);
	snprintf(buffer + used, size - used, ".debug");
	return true;
}

// Is this the file that we look for?
struct wanted {
	struct bytes build_id; // empty: the checksum decides
	bool has_crc;
	uint32_t crc;
};

static bool has_checksum(const struct elf_file *elf, uint32_t wanted)
{
	struct bytes image = elf_file_image(elf);
	uLong crc = crc32(0, NULL, 0);

	while (image.size) {
		size_t part = image.size < ((size_t)1 << 30) ? image.size : (size_t)1 << 30;
		crc = crc32(crc, image.data, (uInt)part);
		image = bytes_slice(image, part, image.size - part);
	}
	return crc == wanted;
}

// If not, WHY not.
static bool is_wanted(const struct elf_file *elf, const struct wanted *wanted, const char **why)
{
	struct bytes id = elf_file_build_id(elf);

	*why = "is of another build";
	// The build-id says as much as the checksum, without reading all of the file.
	if (wanted->build_id.size && id.size)
		return bytes_equal(id, wanted->build_id);
	if (!wanted->has_crc)
		return false;
	if (elf_file_image(elf).size > SUMMED_BYTES_MAX) {
		*why = "is too large for a checksum, and has no build-id";
		return false;
	}
	return has_checksum(elf, wanted->crc);
}

// Tries ROOT and PATH, then PATH alone.
static struct elf_file *try_path(const char *root, const char *path, const struct wanted *wanted,
                                 char *found, char *why, size_t size)
{
	const char *const roots[] = { root, "" };

	for (size_t i = *root ? 0 : 1; i < 2; i++) {
		char full[PATH_MAX];
		if (snprintf(full, sizeof(full), "%s%s", roots[i], path) >= (int)sizeof(full))
			continue;
		cleanup(elf_file) struct elf_file *elf = elf_file_open(full, NULL);
		const char *because;
		if (!elf)
			continue;
		if (is_wanted(elf, wanted, &because)) {
			snprintf(found, PATH_MAX, "%s", path);
			return steal(elf);
		}
		snprintf(why, size, "\"%.180s\" %s", path, because);
	}
	return NULL;
}

// Calls try_path() for FORMAT filled with each of the directories.
static struct elf_file *try_directories(const struct debug_search *search, const char *middle,
                                        const char *name, const struct wanted *wanted, char *found,
                                        char *why, size_t size)
{
	const char *at = search->directories;

	while (*at) {
		size_t length = strcspn(at, ":");
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "%.*s%s/%s", (int)length, at, middle, name);
		struct elf_file *elf =
			length ? try_path(search->root, path, wanted, found, why, size) : NULL;
		if (elf)
			return elf;
		at += length + (at[length] == ':');
	}
	return NULL;
}

static struct elf_file *find_by_link(struct elf_file *elf, const struct debug_search *search,
                                     struct wanted *wanted, char *found, char *why, size_t size)
{
	struct bytes link = elf_file_named_contents(elf, ".gnu_debuglink");
	const char *name = bytes_string(link, 0);
	const char *slash = strrchr(search->path, '/');
	char directory[PATH_MAX], path[PATH_MAX];

	if (!name || !*name || strchr(name, '/') || !slash)
		return NULL;
	struct cursor c = cursor_at(link, (strlen(name) + 1 + 3) & ~(size_t)3);
	wanted->crc = cursor_u32(&c);
	wanted->has_crc = true;
	if (c.bad)
		return NULL;
	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - search->path), search->path);

	static const char *const beside[] = { "", ".debug/" };
	for (size_t i = 0; i < 2; i++) {
		struct elf_file *debug;
		if (snprintf(path, sizeof(path), "%s/%s%s", directory, beside[i], name) >=
		    (int)sizeof(path))
			continue;
		if (strcmp(path, search->path) == 0)
			continue; // the file itself has that name
		debug = try_path(search->root, path, wanted, found, why, size);
		if (debug)
			return debug;
	}
	return try_directories(search, directory, name, wanted, found, why, size);
}

struct elf_file *debug_file_find_by_id(struct bytes build_id, const struct debug_search *search,
                                       char *path, char *why, size_t size)
{
	struct wanted wanted = { .build_id = build_id };
	char name[192];

	if (!build_id_path(build_id, name, sizeof(name)))
		return NULL;
	return try_directories(search, "", name, &wanted, path, why, size);
}

struct elf_file *debug_file_find(struct elf_file *elf, const struct debug_search *search,
                                 char *path, char *why, size_t size)
{
	struct wanted wanted = { .build_id = elf_file_build_id(elf) };
	struct elf_file *debug = debug_file_find_by_id(wanted.build_id, search, path, why, size);

	return debug ? debug : find_by_link(elf, search, &wanted, path, why, size);
}

struct elf_file *debug_file_find_alt(struct elf_file *elf, const struct debug_search *search,
                                     char *why, size_t size)
{
	struct bytes link = elf_file_named_contents(elf, ".gnu_debugaltlink");
	const char *name = bytes_string(link, 0);
	const char *slash = strrchr(search->path, '/');
	char path[PATH_MAX], found[PATH_MAX];

	if (!name || !*name)
		return NULL;
	size_t length = strlen(name) + 1;
	struct wanted wanted = { .build_id = bytes_slice(link, length, link.size - length) };
	if (*name == '/' || !slash)
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - search->path), search->path,
		         name);
	struct elf_file *alt = try_path(search->root, path, &wanted, found, why, size);
	const char *base = path_base(name);
	char by_id[192];
	if (!alt && build_id_path(wanted.build_id, by_id, sizeof(by_id)))
		alt = try_directories(search, "", by_id, &wanted, found, why, size);
	if (!alt)
		alt = try_directories(search, "/.dwz", base, &wanted, found, why, size);
	if (!alt && !*why)
		snprintf(why, size,
		         "\"%.180s\", which holds a part of the debug information, is missing",
		         name);
	return alt;
}

struct elf_file *debug_file_open_minimal(struct elf_file *elf)
{
	struct bytes packed = elf_file_named_contents(elf, ".gnu_debugdata");
	size_t size;

	if (!packed.size)
		return NULL;
	uint8_t *image = decompress_xz(packed, &size, NULL);
	if (!image)
		return NULL;
	return elf_file_from_memory((struct bytes){ image, size }, image, NULL);
}
