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
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
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

bool object_file_debug_path(const struct dl_phdr_info *info, char *path, size_t size)
{
	static const char digits[] = "0123456789abcdef", folder[] = "/usr/lib/debug/.build-id/";

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(info->dlpi_addr + p->p_vaddr),
			      *end = at + p->p_memsz;
		while (p->p_type == PT_NOTE && (size_t)(end - at) > sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
			const uint8_t *id = at + sizeof(*note) + ((note->n_namesz + 3) & ~3u);
			at = id + ((note->n_descsz + 3) & ~3u);
			if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 || at > end ||
			    note->n_descsz < 2 || sizeof(folder) + 2 * note->n_descsz + 8 > size)
				continue;
			char *to = path + sizeof(folder) - 1;
			memcpy(path, folder, sizeof(folder));
			for (uint32_t k = 0; k < note->n_descsz; k++) {
				*to++ = digits[id[k] >> 4];
				*to++ = digits[id[k] & 15];
				if (k == 0)
					*to++ = '/';
			}
			memcpy(to, ".debug", sizeof(".debug"));
			return true;
		}
	}
	return false;
}

bool object_file_is_go(const struct object_file *file)
{
	return symbols_section(file->bytes, file->size, ".gopclntab") ||
	       symbols_section(file->bytes, file->size, ".go.buildinfo");
}
