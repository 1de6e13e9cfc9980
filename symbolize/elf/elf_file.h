/* SPDX-License-Identifier: MIT */
/*
 * An ELF file, read-only, and its sections by name.
 *
 * Both classes, little-endian. libelf reads headers, segments and notes; what sections hold is cut
 * out and decompressed here, within bounds. Nothing in the file is trusted: every offset and size
 * is checked where it is used. A section table that the end of the file cuts off counts as none,
 * which elf_file_trouble() says. What is returned points into the file (or into memory of the
 * struct) and lives until elf_file_close().
 *
 * One thread at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/cleanup.h"

#include <libelf.h>
#include <sys/stat.h>

struct error;
struct elf_file;

struct elf_section {
	const char *name; /* never NULL */
	uint32_t type;
	uint32_t link;
	uint64_t flags;
	uint64_t address;
	uint64_t offset;
	uint64_t size;
	uint64_t entry_size;
};

/* Maps the file. FD stays the caller's. NULL with ERR. */
struct elf_file *elf_file_open_fd(int fd, struct error *err);
struct elf_file *elf_file_open(const char *path, struct error *err);

/* A file that lies in memory already; with OWNED it is freed with the struct, and on error. */
struct elf_file *elf_file_from_memory(struct bytes image, void *owned, struct error *err);
void elf_file_close(struct elf_file *elf);

CLEANUP(elf_file, struct elf_file *, elf_file_close)

bool elf_file_is_64(const struct elf_file *elf);
uint16_t elf_file_machine(const struct elf_file *elf);
struct bytes elf_file_image(const struct elf_file *elf);

size_t elf_file_section_count(const struct elf_file *elf);
const struct elf_section *elf_file_section(const struct elf_file *elf, size_t index);
const struct elf_section *elf_file_find(const struct elf_file *elf, const char *name);

/* What is decompressed or derived from now on is kept in DIRECTORY from run to run, see
   section_cache.h. It must outlive ELF; NULL: nothing is. */
void elf_file_keep_in(struct elf_file *elf, const char *directory);
bool elf_file_is_kept(const struct elf_file *elf); /* in some directory */

/*
 * What the section holds, decompressed once if need be. Empty if there is no
 * such section, if it takes no room in this file, or if it is damaged (then
 * elf_file_trouble() says so).
 */
struct bytes elf_file_contents(struct elf_file *elf, const struct elf_section *section);
struct bytes elf_file_named_contents(struct elf_file *elf, const char *name);

/*
 * SIZE bytes that MAKE derives from SECTION: made once, and kept from run to run as what is
 * decompressed is, under NAME, as if that were a section's. Empty if MAKE fails.
 */
struct bytes elf_file_derived(struct elf_file *elf, const struct elf_section *section,
                              const char *name, size_t size,
                              bool (*make)(struct elf_file *elf, const struct elf_section *section,
                                           void *out));

/* The same of a section of entries, for gelf_getsym() and its like. NULL if there is nothing, if it
   is compressed, or if it does not lie where such entries must. */
Elf_Data *elf_file_data(struct elf_file *elf, const struct elf_section *section);

/* Why a section, or the table of them, could not be read; "" if all could. */
const char *elf_file_trouble(const struct elf_file *elf);

/* Empty if the file has none. */
struct bytes elf_file_build_id(const struct elf_file *elf);

/* The lowest address of the file's code; line tables of discarded functions lie below. */
uint64_t elf_file_lowest_code(const struct elf_file *elf);
