// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/object_file.h"

#include "tracer/agent/system.h"
#include "tracer/agent/trace/symbols.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct object_file object_file_map(const char *path)
{
	struct object_file file = { NULL, 0 };
	struct stat status;
	int fd = system_open(path, O_RDONLY, 0);

	if (fd < 0)
		return file;
	if (system_fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
		void *memory = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (memory != MAP_FAILED)
			file = (struct object_file){ memory, (size_t)status.st_size };
	}
	system_close(fd);
	return file;
}

void object_file_unmap(struct object_file *file)
{
	if (file->bytes)
		munmap((void *)file->bytes, file->size);
}

static size_t padded(uint32_t size)
{
	return ((size_t)size + 3) & ~(size_t)3;
}

// Among the notes of BYTES from AT on, the last of which may lack its padding. NULL if it is not
// there; else ID_BYTES receives its size.
static const uint8_t *find_build_id(const uint8_t *at, size_t bytes, size_t *id_bytes)
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
		size_t id = sizeof(*note) + padded(note->n_namesz);
		size_t size = id + padded(note->n_descsz);
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    id + note->n_descsz <= bytes) {
			*id_bytes = note->n_descsz;
			return at + id;
		}
		if (size >= bytes)
			return NULL;
		at += size;
		bytes -= size;
	}
	return NULL;
}

bool object_file_debug_path(const struct dl_phdr_info *info, char *path, size_t size)
{
	static const char digits[] = "0123456789abcdef", folder[] = "/usr/lib/debug/.build-id/";
	const uint8_t *id = NULL;
	size_t id_bytes;

	for (int i = 0; i < info->dlpi_phnum && !id; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		if (p->p_type == PT_NOTE)
			id = find_build_id((const uint8_t *)(info->dlpi_addr + p->p_vaddr),
			                   p->p_memsz, &id_bytes);
	}
	if (!id || id_bytes < 2 || sizeof(folder) + 2 * id_bytes + 8 > size)
		return false;
	char *to = path + sizeof(folder) - 1;
	memcpy(path, folder, sizeof(folder));
	for (size_t k = 0; k < id_bytes; k++) {
		*to++ = digits[id[k] >> 4];
		*to++ = digits[id[k] & 15];
		if (k == 0)
			*to++ = '/';
	}
	memcpy(to, ".debug", sizeof(".debug"));
	return true;
}

bool object_file_is_go(const struct object_file *file)
{
	return symbols_section(file->bytes, file->size, ".gopclntab") ||
	       symbols_section(file->bytes, file->size, ".go.buildinfo");
}
