// SPDX-License-Identifier: MIT
#include "sampler/inject/object.h"

#include "base/cleanup.h"
#include "base/foreign_file.h"
#include "base/path.h"
#include "sampler/tracker/mapper.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADERS_MAX 256
#define TABLE_MAX   ((uint64_t)16 << 20)
#define DELETED     " (deleted)"

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static void *read_table(int fd, uint64_t size, uint64_t offset)
{
	if (size > TABLE_MAX)
		return NULL;
	cleanup_free char *table = malloc(size + 1);
	if (!table || !read_at(fd, table, size, offset))
		return NULL;
	table[size] = '\0';
	return steal(table);
}

// Which address of the file's is mapped from OFFSET on.
static bool find_address(int fd, const Elf64_Ehdr *header, uint64_t offset, uint64_t *address)
{
	for (int i = 0; i < header->e_phnum && i < HEADERS_MAX; i++) {
		Elf64_Phdr p;
		if (!read_at(fd, &p, sizeof(p), header->e_phoff + (uint64_t)i * sizeof(p)))
			return false;
		if (p.p_type != PT_LOAD || offset < (p.p_offset & ~UINT64_C(4095)) ||
		    offset >= p.p_offset + p.p_filesz)
			continue;
		*address = p.p_vaddr - p.p_offset + offset;
		return true;
	}
	return false;
}

static bool take_functions(struct object *o, int fd, const Elf64_Shdr *symbols,
                           const Elf64_Shdr *names)
{
	cleanup_free Elf64_Sym *table = read_table(fd, symbols->sh_size, symbols->sh_offset);
	size_t count = symbols->sh_size / sizeof(*table);

	o->names = read_table(fd, names->sh_size, names->sh_offset);
	o->functions = calloc(count + 1, sizeof(*o->functions));
	if (!table || !o->names || !o->functions)
		return false;
	for (size_t i = 0; i < count; i++)
		if (ELF64_ST_TYPE(table[i].st_info) == STT_FUNC && table[i].st_shndx != SHN_UNDEF &&
		    table[i].st_name < names->sh_size)
			o->functions[o->count++] =
				(struct object_function){ table[i].st_value, table[i].st_size,
				                          o->names + table[i].st_name };
	return true;
}

static bool read_functions(struct object *o, int fd, const Elf64_Ehdr *header)
{
	for (int i = 0; i < header->e_shnum && i < HEADERS_MAX; i++) {
		Elf64_Shdr symbols, names;
		if (!read_at(fd, &symbols, sizeof(symbols),
		             header->e_shoff + (uint64_t)i * sizeof(symbols)))
			return false;
		if (symbols.sh_type == SHT_DYNSYM)
			return read_at(fd, &names, sizeof(names),
			               header->e_shoff +
			                       (uint64_t)symbols.sh_link * sizeof(names)) &&
			       take_functions(o, fd, &symbols, &names);
	}
	return false;
}

static bool read_file(struct object *o, pid_t pid, const struct event_map *map)
{
	static const struct foreign_rules rules = { .no_links = false };
	char path[PATH_MAX + 32];
	struct stat status;
	Elf64_Ehdr header;
	uint64_t address;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)pid,
	         (unsigned long)map->start, (unsigned long)(map->start + map->length));
	cleanup_close int fd = foreign_open(path, &rules, &status, NULL);
	if (fd < 0) { // requires CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, o->path);
		fd = foreign_open(path, &rules, &status, NULL);
	}
	if (fd < 0 || status.st_ino != map->inode || !read_at(fd, &header, sizeof(header), 0) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64 ||
	    header.e_phentsize != sizeof(Elf64_Phdr) || header.e_shentsize != sizeof(Elf64_Shdr) ||
	    !find_address(fd, &header, map->file_offset, &address))
		return false;
	o->bias = map->start - address;
	return read_functions(o, fd, &header);
}

static void take_path(struct object *o, const char *path)
{
	size_t length = strlen(path), suffix = sizeof(DELETED) - 1;

	snprintf(o->path, sizeof(o->path), "%s", path);
	o->deleted = length > suffix && strcmp(path + length - suffix, DELETED) == 0;
	if (o->deleted && length < sizeof(o->path))
		o->path[length - suffix] = '\0';
}

bool object_find(struct object *o, pid_t pid, bool (*is_it)(const char *name))
{
	cleanup_free char *line = NULL;
	size_t room = 0;
	char path[32];
	struct event_map map;

	*o = (struct object){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	cleanup_fclose FILE *maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0) {
		if (!mapper_parse(line, &map) || !(map.protection & PROT_EXEC) ||
		    map.path[0] != '/')
			continue;
		take_path(o, map.path);
		if (!is_it(path_base(o->path)))
			continue;
		o->inode = map.inode;
		o->code = map.start;
		o->code_bytes = map.length;
		read_file(o, pid, &map); // without functions it is there all the same
		return true;
	}
	o->path[0] = '\0';
	return false;
}

bool object_any(pid_t pid, const char *name, bool (*left_out)(const char *name))
{
	cleanup_free char *line = NULL;
	size_t room = 0;
	char path[32];
	struct event_map map;
	uint64_t last = 0;
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	cleanup_fclose FILE *maps = fopen(path, "re");
	while (maps && !found && getline(&line, &room, maps) > 0) {
		struct object *o;
		if (!mapper_parse(line, &map) || !(map.protection & PROT_EXEC) ||
		    map.path[0] != '/' || map.inode == last || !(o = calloc(1, sizeof(*o))))
			continue;
		last = map.inode;
		take_path(o, map.path);
		if (!left_out(path_base(o->path)))
			found = !read_file(o, pid, &map) || object_function(o, name);
		object_fini(o);
		free(o);
	}
	return found || !maps;
}

void object_fini(struct object *o)
{
	free(o->functions);
	free(o->names);
	*o = (struct object){ 0 };
}

uint64_t object_function(const struct object *o, const char *name)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->functions[i].name && strcmp(o->functions[i].name, name) == 0)
			return o->bias + o->functions[i].start;
	return 0;
}

const char *object_name(const struct object *o, uint64_t address)
{
	for (size_t i = 0; i < o->count; i++)
		if (address - o->functions[i].start < o->functions[i].size)
			return o->functions[i].name;
	return NULL;
}
