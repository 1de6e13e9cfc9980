// SPDX-License-Identifier: MIT
#include "tracer/reader/target.h"

#include "base/cleanup.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define SCRIPT_DEPTH   5 // as in the kernel, roughly
#define HEADERS_MAX    256
#define LINE_MAX_BYTES 256

static bool is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

// As execvp(): a name without a slash is looked for in PATH.
static bool find(const char *command, char path[PATH_MAX])
{
	const char *search = getenv("PATH");

	if (strchr(command, '/')) {
		snprintf(path, PATH_MAX, "%s", command);
		return is_program(path);
	}
	for (const char *at = search ? search : "/bin:/usr/bin"; at;) {
		int length = (int)strcspn(at, ":");
		int size = length ? snprintf(path, PATH_MAX, "%.*s/%s", length, at, command)
		                  : snprintf(path, PATH_MAX, "./%s", command);
		if (size < PATH_MAX && is_program(path))
			return true;
		at = at[length] ? at + length + 1 : NULL;
	}
	return false;
}

static bool is_privileged(const char *path, int fd)
{
	struct stat status;

	if (fstat(fd, &status) == 0 &&
	    (((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
	     ((status.st_mode & S_ISGID) && status.st_gid != getegid())))
		return true;
	return geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

// The loader's path. False if there is none.
static bool read_interpreter(int fd, const Elf64_Ehdr *header, char path[PATH_MAX])
{
	for (int i = 0; i < header->e_phnum && i < HEADERS_MAX; i++) {
		Elf64_Phdr segment;
		uint64_t at = header->e_phoff + (uint64_t)i * sizeof(segment);
		if (!read_at(fd, &segment, sizeof(segment), at))
			return false;
		if (segment.p_type != PT_INTERP)
			continue;
		if (segment.p_filesz == 0 || segment.p_filesz >= PATH_MAX ||
		    !read_at(fd, path, segment.p_filesz, segment.p_offset))
			return false;
		path[segment.p_filesz] = '\0';
		return true;
	}
	return false;
}

static enum target_kind kind_of_elf(const char *path, int fd, const Elf64_Ehdr *header)
{
	char loader[PATH_MAX];

	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64 ||
	    header->e_phentsize != sizeof(Elf64_Phdr))
		return TARGET_UNKNOWN;
	if (is_privileged(path, fd))
		return TARGET_PRIVILEGED;
	if (!read_interpreter(fd, header, loader))
		return TARGET_STATIC;
	return strstr(loader, "ld-linux-x86-64.so.2") ? TARGET_GLIBC : TARGET_OTHER_LIBC;
}

// The interpreter of "#! /bin/sh -e". False if the file is no script.
static bool script_interpreter(int fd, char path[PATH_MAX])
{
	char line[LINE_MAX_BYTES + 1];
	ssize_t got = pread(fd, line, LINE_MAX_BYTES, 0);

	if (got < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[got] = '\0';
	char *start = line + 2 + strspn(line + 2, " \t");
	start[strcspn(start, " \t\r\n")] = '\0';
	snprintf(path, PATH_MAX, "%s", start);
	return path[0] != '\0';
}

enum target_kind target_kind(const char *command)
{
	char path[PATH_MAX];

	if (!find(command, path))
		return TARGET_UNKNOWN;
	for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
		Elf64_Ehdr header;
		cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			return TARGET_UNKNOWN; // may be executed but not read
		if (read_at(fd, &header, sizeof(header), 0) &&
		    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
			return kind_of_elf(path, fd, &header);
		// execvp() hands a file without "#!" to the shell.
		if (!script_interpreter(fd, path))
			strcpy(path, "/bin/sh");
	}
	return TARGET_UNKNOWN;
}

const char *target_reason(enum target_kind kind)
{
	switch (kind) {
	case TARGET_GLIBC:
		return "";
	case TARGET_STATIC:
		return "it is statically linked";
	case TARGET_OTHER_LIBC:
		return "it has another C library than glibc";
	case TARGET_PRIVILEGED:
		return "it runs with other rights than ours (setuid, setgid or capabilities)";
	case TARGET_UNKNOWN:
		break;
	}
	return "it could not be read";
}
