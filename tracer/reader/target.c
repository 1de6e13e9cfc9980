// SPDX-License-Identifier: MIT
#include "tracer/reader/target.h"

#include "base/cleanup.h"
#include "tracer/protocol.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#define SCRIPT_DEPTH   5 // as in the kernel, roughly
#define NAMES_MAX      (16u << 20)
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

// The ELF file that is run in the end, open, with its path and header; -1 if there is none, or it
// may be executed but not read.
static int open_program(const char *command, char path[PATH_MAX], Elf64_Ehdr *header)
{
	if (!find(command, path))
		return -1;
	for (int depth = 0; depth < SCRIPT_DEPTH; depth++) {
		cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		if (fd < 0)
			return -1;
		if (read_at(fd, header, sizeof(*header), 0) &&
		    memcmp(header->e_ident, ELFMAG, SELFMAG) == 0)
			return steal_fd(&fd);
		// execvp() hands a file without "#!" to the shell.
		if (!script_interpreter(fd, path))
			strcpy(path, "/bin/sh");
	}
	return -1;
}

enum target_kind target_kind(const char *command)
{
	char path[PATH_MAX];
	Elf64_Ehdr header;
	cleanup_close int fd = open_program(command, path, &header);

	return fd < 0 ? TARGET_UNKNOWN : kind_of_elf(path, fd, &header);
}

// The names of what a program defines and needs.
static char *read_dynamic_names(int fd, const Elf64_Ehdr *header, size_t *size)
{
	for (int i = 0; i < header->e_shnum && i < HEADERS_MAX; i++) {
		Elf64_Shdr symbols, names;
		uint64_t at = header->e_shoff + (uint64_t)i * sizeof(symbols);
		if (!read_at(fd, &symbols, sizeof(symbols), at))
			return NULL;
		if (symbols.sh_type != SHT_DYNSYM)
			continue;
		at = header->e_shoff + (uint64_t)symbols.sh_link * sizeof(names);
		if (!read_at(fd, &names, sizeof(names), at) || names.sh_size > NAMES_MAX)
			return NULL;
		cleanup_free char *text = malloc(names.sh_size + 1);
		if (!text || !read_at(fd, text, names.sh_size, names.sh_offset))
			return NULL;
		*size = names.sh_size;
		return steal(text);
	}
	return NULL;
}

bool target_has_python(const char *command)
{
	static const char library[] = "libpython3", runtime[] = "_PyRuntime";
	char path[PATH_MAX];
	Elf64_Ehdr header;
	cleanup_close int fd = open_program(command, path, &header);
	size_t size = 0;

	if (fd < 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_shentsize != sizeof(Elf64_Shdr))
		return false;
	cleanup_free char *names = read_dynamic_names(fd, &header, &size);
	return names && (memmem(names, size, library, sizeof(library) - 1) ||
	                 memmem(names, size, runtime, sizeof(runtime)));
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

static FILE *open_file(uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return fopen(path, "re");
}

bool target_has_agent(uint32_t pid)
{
	cleanup_fclose FILE *maps = open_file(pid, "maps");
	cleanup_free char *line = NULL;
	size_t room = 0, lines = 0;

	for (; maps && getline(&line, &room, maps) > 0; lines++)
		if (strstr(line, "/" PROTOCOL_AGENT_LIBRARY))
			return true;
	return !lines;
}

// What the agent's directory was when PID was started. NULL: there was none, or *KNOWN is false.
static char *find_directory(uint32_t pid, bool *known)
{
	static const char ours[] = PROTOCOL_ENV_DIRECTORY "=";
	cleanup_fclose FILE *environment = open_file(pid, "environ");
	cleanup_free char *entry = NULL;
	size_t room = 0;

	*known = false;
	if (!environment)
		return NULL;
	while (getdelim(&entry, &room, '\0', environment) > 0) {
		if (strncmp(entry, ours, sizeof(ours) - 1) != 0)
			continue;
		*known = true;
		return strdup(entry + sizeof(ours) - 1);
	}
	*known = !ferror(environment);
	return NULL;
}

bool target_has_other_environment(uint32_t pid)
{
	bool known;
	cleanup_free char *directory = find_directory(pid, &known);

	return known && !directory;
}

// Groups and other rights are left out: nobody may pass a directory of which they are needed.
static bool may_pass(const char *directory, uid_t user)
{
	struct stat status;

	if (stat(directory, &status) < 0)
		return true; // not to be known
	return status.st_uid == user ? status.st_mode & S_IXUSR : status.st_mode & S_IXOTH;
}

bool target_is_shut_out(uint32_t pid)
{
	char process[32];
	struct stat status;
	bool known, passes = true;
	cleanup_free char *directory = find_directory(pid, &known);

	snprintf(process, sizeof(process), "/proc/%u", pid);
	if (!directory || stat(process, &status) < 0 || status.st_uid == 0)
		return false;
	for (char *end = directory + strlen(directory); passes && end > directory;
	     end = strrchr(directory, '/')) {
		*end = '\0';
		passes = may_pass(directory, status.st_uid);
	}
	return !passes;
}
