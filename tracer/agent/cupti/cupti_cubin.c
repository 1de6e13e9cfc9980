// SPDX-License-Identifier: MIT
#include "tracer/agent/cupti/cupti_cubin.h"

#include "tracer/agent/cupti/gpu_lane.h"
#include "tracer/agent/system.h"
#include "tracer/protocol.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

static uint64_t kept; // atomic: bytes of this process

struct image {
	const uint8_t *data;
	size_t size;
};

static bool read_at(const struct image *image, uint64_t offset, void *to, size_t size)
{
	if (offset > image->size || size > image->size - offset)
		return false;
	memcpy(to, image->data + offset, size);
	return true;
}

// Whether the table of names at NAMES has NAME at OFFSET.
static bool is_named(const struct image *image, const Elf64_Shdr *names, uint32_t offset,
                     const char *name)
{
	char text[16];

	return offset < names->sh_size &&
	       read_at(image, names->sh_offset + offset, text, strlen(name) + 1) &&
	       memcmp(text, name, strlen(name) + 1) == 0;
}

// Whether the BYTES at CUBIN are an ELF file with a section ".debug_line".
static bool has_lines(const void *cubin, size_t bytes)
{
	struct image image = { cubin, bytes };
	Elf64_Ehdr header;
	Elf64_Shdr names, section;

	if (!cubin || !read_at(&image, 0, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(section) ||
	    !read_at(&image, header.e_shoff + (uint64_t)header.e_shstrndx * sizeof(names), &names,
	             sizeof(names)))
		return false;
	for (uint32_t i = 1; i < header.e_shnum; i++) {
		if (!read_at(&image, header.e_shoff + (uint64_t)i * sizeof(section), &section,
		             sizeof(section)))
			return false;
		if (section.sh_size && is_named(&image, &names, section.sh_name, ".debug_line"))
			return true;
	}
	return false;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		long n = syscall(SYS_write, fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

static bool write_file(const char *path, const void *bytes, size_t size)
{
	char temporary[PATH_MAX];

	if (snprintf(temporary, sizeof(temporary), "%s.%d", path, (int)getpid()) >=
	    (int)sizeof(temporary))
		return false;
	int fd = system_open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return false;
	bool written = write_all(fd, bytes, size);
	system_close(fd);
	if (written && syscall(SYS_renameat, AT_FDCWD, temporary, AT_FDCWD, path) == 0)
		return true;
	syscall(SYS_unlinkat, AT_FDCWD, temporary, 0);
	return false;
}

static bool has_room(size_t bytes)
{
	if (bytes > PROTOCOL_CUBIN_BYTES)
		return false;
	return __atomic_add_fetch(&kept, bytes, __ATOMIC_RELAXED) <= PROTOCOL_CUBINS_BYTES;
}

static bool keep(const char *directory, const struct cupti_cubin_crc *crc)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/" PROTOCOL_CUBIN_FILE, directory,
	                      (unsigned long long)crc->crc);

	if ((size_t)length >= sizeof(path))
		return false;
	if (syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0)
		return true; // loaded before, or by another process
	return has_room(crc->cubin_size) && write_file(path, crc->cubin, crc->cubin_size);
}

void cupti_cubin_keep(const struct cupti_functions *f, const char *directory,
                      const struct cupti_module *module)
{
	struct cupti_cubin_crc crc = { sizeof(crc), module->bytes, module->cubin, 0 };
	int error = errno;

	if (f->cubin_crc && *directory && has_lines(module->cubin, module->bytes) &&
	    (f->cubin_crc(&crc) != CUPTI_OK || !keep(directory, &crc)))
		gpu_lane_lose(GPU_LOST_CUBIN, 0, 1);
	errno = error;
}
