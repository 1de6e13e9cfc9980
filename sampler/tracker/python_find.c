// SPDX-License-Identifier: MIT
#include "sampler/tracker/python_find.h"

#include "base/cleanup.h"
#include "base/foreign_file.h"
#include "base/python_layout.h"
#include "sampler/elf/elf_section.h"
#include "sampler/tracker/mapper.h"

#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FILES_MAX   256 // of one process that are looked at
#define SYMBOLS_MAX (1 << 20)

// Addresses in the file; 0: it has none.
struct found {
	uint64_t runtime, code_type, version_at;
	uint64_t eval, eval_bytes;
	struct python_types types;
};

static void take_symbol(struct found *f, const char *name, const GElf_Sym *symbol)
{
	const struct {
		const char *name;
		uint64_t *to;
	} wanted[] = {
		{ "_PyRuntime", &f->runtime },
		{ "PyCode_Type", &f->code_type },
		{ "Py_Version", &f->version_at },
		{ "_PyEval_EvalFrameDefault", &f->eval },
		{ "PyCFunction_Type", &f->types.function },
		{ "PyCMethod_Type", &f->types.c_method },
		{ "PyMethodDescr_Type", &f->types.method },
		{ "PyClassMethodDescr_Type", &f->types.class_method },
		{ "PyModule_Type", &f->types.module },
		{ "PyType_Type", &f->types.type },
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (strcmp(name, wanted[i].name) == 0) {
			*wanted[i].to = symbol->st_value;
			if (wanted[i].to == &f->eval)
				f->eval_bytes = symbol->st_size;
		}
}

static bool take_symbols(Elf *elf, struct found *f)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		for (int i = 0; data && i < SYMBOLS_MAX && gelf_getsym(data, i, &symbol); i++) {
			const char *name =
				symbol.st_shndx == SHN_UNDEF
					? NULL
					: elf_strptr(elf, header.sh_link, symbol.st_name);
			if (name && strchr("_P", name[0]))
				take_symbol(f, name, &symbol);
		}
	}
	return f->runtime && f->code_type;
}

// What has to be added to an address in the file: MAP is one of its segments.
static bool bias_of(Elf *elf, const struct event_map *map, uint64_t *bias)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	GElf_Phdr segment;
	size_t count;

	if (elf_getphdrnum(elf, &count) < 0)
		return false;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++) {
		uint64_t offset = segment.p_offset & ~(page - 1);
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    map->file_offset < offset ||
		    map->file_offset >= segment.p_offset + segment.p_filesz)
			continue;
		*bias = map->start - (segment.p_vaddr - segment.p_offset + map->file_offset);
		return true;
	}
	return false;
}

// The constant Py_Version, which there is from 3.11 on, as it stands in the file.
static uint32_t version_in_file(Elf *elf, int fd, uint64_t address)
{
	GElf_Phdr segment;
	size_t count;
	uint64_t word;

	if (!address || elf_getphdrnum(elf, &count) < 0)
		return 0;
	for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++)
		if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
		    address - segment.p_vaddr < segment.p_filesz) {
			off_t at = (off_t)(segment.p_offset + address - segment.p_vaddr);
			return pread(fd, &word, sizeof(word), at) == sizeof(word)
			               ? (uint32_t)(word >> 16)
			               : 0;
		}
	return 0;
}

// Older ones are named after it: libpython3.8.so.1.0, python3.10.
static uint32_t version_in_name(const char *path)
{
	const char *at = strrchr(path, '/');
	unsigned minor;

	at = at ? strstr(at, "python3.") : NULL;
	return at && sscanf(at, "python3.%3u", &minor) == 1 ? PYTHON_VERSION(minor) : 0;
}

static uint64_t moved(uint64_t address, uint64_t bias)
{
	return address ? address + bias : 0;
}

// -1: there is no such file, or it has another INODE than this (0: any).
static int open_as(uint64_t inode, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int open_as(uint64_t inode, const char *format, ...)
{
	static const struct foreign_rules rules = { 0 };
	char path[PATH_MAX];
	struct stat st;
	va_list args;

	va_start(args, format);
	int length = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (length >= (int)sizeof(path))
		return -1;
	cleanup_close int fd = foreign_open(path, &rules, &st, NULL);
	return fd >= 0 && (!inode || st.st_ino == inode) ? steal_fd(&fd) : -1;
}

// The file of MAP, which the process PID has; -1: it cannot be opened. A path leads to it from the
// root of its container, or from ours, as with chroot(2), or nowhere, once it has been replaced.
static int open_there(uint32_t pid, const struct event_map *map)
{
	int fd = open_as(0, "/proc/%u/root%s", pid, map->path);

	if (fd < 0)
		fd = open_as(map->inode, "%s", map->path);
	if (fd < 0)
		fd = open_as(0, "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, pid, map->start,
		             map->start + map->length);
	// Reading map_files needs privileges that this link does not.
	return fd >= 0 ? fd : open_as(map->inode, "/proc/%u/exe", pid);
}

static bool look_for_runtime(uint32_t pid, const struct event_map *map, void *to)
{
	struct event_python *out = to;
	struct found found = { 0 };
	struct python_layout layout;
	uint64_t bias;

	cleanup_close int fd = open_there(pid, map);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	bool known = elf && gelf_getclass(elf) == ELFCLASS64 && take_symbols(elf, &found) &&
	             bias_of(elf, map, &bias);
	if (known) {
		uint32_t version = version_in_file(elf, fd, found.version_at);
		*out = (struct event_python){
			.version = version ? version : version_in_name(map->path),
			.runtime = found.runtime + bias,
			.code_type = found.code_type + bias,
			.eval_start = moved(found.eval, bias),
			.eval_end = found.eval ? found.eval + bias + found.eval_bytes : 0,
			.types = {
				.function = moved(found.types.function, bias),
				.c_method = moved(found.types.c_method, bias),
				.method = moved(found.types.method, bias),
				.class_method = moved(found.types.class_method, bias),
				.module = moved(found.types.module, bias),
				.type = moved(found.types.type, bias),
				.code_start = map->start,
				.code_end = map->start + map->length,
			},
		};
		// Newer ones describe themselves, in memory.
		known = python_layout_of(out->version, &layout) ||
		        out->version > PYTHON_VERSION(12);
	}
	elf_end(elf);
	return known;
}

static bool read_own(Elf *elf, struct python_tasks_own *out)
{
	const Elf_Data *data = elf_section_data(elf_section_find(elf, PYTHON_TASKS_SECTION), NULL);

	if (!data || data->d_size < sizeof(*out))
		return false;
	memcpy(out, data->d_buf, sizeof(*out));
	return true;
}

static bool look_for_own(uint32_t pid, const struct event_map *map, void *out)
{
	cleanup_close int fd = open_there(pid, map);
	Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
	bool found = elf && gelf_getclass(elf) == ELFCLASS64 && read_own(elf, out);

	elf_end(elf);
	return found;
}

static bool may_have_own(const char *path)
{
	return strstr(path, "_asyncio") || strstr(path, "python3");
}

// Calls LOOK with files that PID runs code of, of those that MAY_HAVE it (NULL: all), until it has
// found OUT.
static bool look_into_files(uint32_t pid, bool (*may_have)(const char *path),
                            bool (*look)(uint32_t pid, const struct event_map *map, void *out),
                            void *out)
{
	char path[64];
	cleanup_free char *line = NULL;
	size_t room = 0;
	struct event_map map;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	cleanup_fclose FILE *maps = fopen(path, "re");
	elf_version(EV_CURRENT);
	for (int files = 0; !found && maps && files < FILES_MAX && getline(&line, &room, maps) > 0;)
		if (mapper_parse(line, &map) && map.protection & PROT_EXEC && map.path[0] == '/' &&
		    (!may_have || may_have(map.path))) {
			files++;
			found = look(pid, &map, out);
		}
	return found;
}

bool python_find_tasks(uint32_t pid, struct python_tasks_own *out)
{
	return look_into_files(pid, may_have_own, look_for_own, out);
}

bool python_find(uint32_t pid, struct event_python *out)
{
	return look_into_files(pid, NULL, look_for_runtime, out);
}
