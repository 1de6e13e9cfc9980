// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "base/foreign_file.h"
#include "sampler/unwind/image.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

#define VDSO_BYTES_MAX (1u << 20)

/* Overlay and btrfs report another device to stat() than to perf, so the inode decides, and the
   build-id if both sides know it. */
static bool is_mapped_file(const struct module *module, const struct image *image, ino_t inode)
{
	const uint8_t *id;
	size_t id_size = image_build_id(image, &id);

	if (module->build_id_size && id_size)
		return module->build_id_size == id_size &&
		       memcmp(module->build_id, id, id_size) == 0;
	return !module->inode || module->inode == inode;
}

/* Takes FD. NULL if that is not MODULE's file. */
static struct image *open_descriptor(int fd, const struct module *module, struct error *err)
{
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0) {
		error_set(err, errno, "could not open \"%s\"", module->path);
		close_at_scope_end(&fd);
		return NULL;
	}
	cleanup(image) struct image *image = image_of_file(fd, err);
	if (!image) {
		error_wrap(err, "\"%s\"", module->path);
		return NULL;
	}
	if (!is_mapped_file(module, image, status.st_ino)) {
		error_set(err, 0, "\"%s\" is not the file that was mapped", module->path);
		return NULL;
	}
	return steal(image);
}

static struct image *open_path(const char *path, const struct module *module, struct error *err)
{
	int fd = foreign_open(path, NULL, NULL, err);

	return fd < 0 ? NULL : open_descriptor(fd, module, err);
}

/* What the process still maps is there to open, even if no path leads to it any more. */
static struct image *open_map_files(const struct module *module, pid_t pid, struct error *err)
{
	char path[PATH_MAX];
	struct image *image = NULL;

	snprintf(path, sizeof(path), "/proc/%d/map_files", pid);
	DIR *directory = module->inode ? opendir(path) : NULL;
	if (!directory)
		return NULL;
	for (struct dirent *entry; !image && (entry = readdir(directory));) {
		struct stat status;
		if (entry->d_name[0] == '.' ||
		    fstatat(dirfd(directory), entry->d_name, &status, 0) ||
		    status.st_ino != module->inode)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%s", pid, entry->d_name);
		image = open_path(path, module, err);
	}
	closedir(directory);
	return image;
}

static struct image *open_file(const struct module *module, pid_t pid, struct error *err)
{
	char path[PATH_MAX + 32];
	struct image *image = NULL;

	if (module->fd >= 0)
		return open_descriptor(fcntl(module->fd, F_DUPFD_CLOEXEC, 0), module, err);
	error_set(err, 0, "\"%s\" is no absolute path", module->path);
	if (module->path[0] == '/' && pid > 0) {
		snprintf(path, sizeof(path), "/proc/%d/root%s", pid, module->path);
		image = open_path(path, module, err);
	}
	if (!image && module->path[0] == '/')
		image = open_path(module->path, module, err);
	if (!image && pid > 0)
		image = open_map_files(module, pid, err);
	if (!image && pid > 0 && module->inode) {
		// Reading map_files needs privileges that this link does not.
		snprintf(path, sizeof(path), "/proc/%d/exe", pid);
		image = open_path(path, module, err);
	}
	return image;
}

/* Whether PATH leads us, too, to what the process has mapped. */
static bool is_at_its_path(const struct module *module, const struct image *image)
{
	struct stat ours, named;

	return fstat(image_descriptor(image), &ours) == 0 && stat(module->path, &named) == 0 &&
	       named.st_dev == ours.st_dev && named.st_ino == ours.st_ino;
}

static bool is_descriptor_to_spare(int fd)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd < limit.rlim_cur / 2;
}

/* Leaves an open descriptor for those who come later: PATH may mislead them, or be gone by then. */
static void keep_reachable(struct module *module, const struct image *image)
{
	if (module->fd >= 0)
		return;
	cleanup_close int fd = fcntl(image_descriptor(image), F_DUPFD_CLOEXEC, 0);
	// Threads, too, need descriptors; a build can have a thousand programs.
	if (fd >= 0 && (is_descriptor_to_spare(fd) || !is_at_its_path(module, image)))
		module->fd = steal_fd(&fd);
}

/* The size of the vDSO that the kernel put at BYTES. */
static size_t vdso_size(const uint8_t *bytes)
{
	const Elf64_Ehdr *eh = (const void *)bytes;
	const Elf64_Phdr *ph = (const void *)(bytes + eh->e_phoff);
	uint64_t end = eh->e_shoff + (uint64_t)eh->e_shnum * eh->e_shentsize;

	for (size_t i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_offset + ph[i].p_filesz > end)
			end = ph[i].p_offset + ph[i].p_filesz;
	return end;
}

/* Every 64-bit process of one kernel has the same vDSO, so ours will do. */
static struct image *copy_own_vdso(struct error *err)
{
	const uint8_t *own = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	size_t size = own ? vdso_size(own) : 0;
	uint8_t *copy = size && size <= VDSO_BYTES_MAX ? malloc(size) : NULL;

	if (!copy) {
		error_set(err, 0, "this process has no vDSO");
		return NULL;
	}
	memcpy(copy, own, size);
	return image_of_bytes(copy, size, err);
}

static struct image *copy_vdso_of(pid_t pid, const struct mapping *where, struct error *err)
{
	uint64_t size = where->end - where->start;
	uint8_t *copy = size <= VDSO_BYTES_MAX ? malloc(size) : NULL;
	struct iovec local = { copy, size };
	struct iovec remote = { (void *)where->start, size };

	if (!copy || process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)size) {
		free(copy);
		error_set(err, errno, "could not read the vDSO of process %d", pid);
		return NULL;
	}
	return image_of_bytes(copy, size, err);
}

static struct image *open_vdso(const struct module *module, const struct mapping *where, pid_t pid,
                               struct error *err)
{
	cleanup(image) struct image *own = copy_own_vdso(err);

	if (own && is_mapped_file(module, own, module->inode))
		return steal(own);
	return pid > 0 ? copy_vdso_of(pid, where, err) : NULL;
}

struct image *image_open(struct module *module, const struct mapping *where, pid_t pid,
                         struct error *err)
{
	cleanup(image) struct image *image = NULL;

	if (module->kind == MODULE_VDSO)
		image = open_vdso(module, where, pid, err);
	else if (module->kind == MODULE_ELF)
		image = open_file(module, pid, err);
	else
		error_set(err, 0, "\"%s\" is no file", module->path);
	if (!image)
		return NULL;

	const uint8_t *id;
	size_t id_size = image_build_id(image, &id);
	if (!module->build_id_size && id_size) {
		memcpy(module->build_id, id, id_size);
		module->build_id_size = (uint8_t)id_size;
	}
	if (image_descriptor(image) >= 0)
		keep_reachable(module, image);
	return steal(image);
}
