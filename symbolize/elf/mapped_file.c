// SPDX-License-Identifier: MIT
#include "symbolize/elf/mapped_file.h"

#include "base/error.h"
#include "base/foreign_file.h"
#include "symbolize/elf/debug_file.h"

#include <elf.h>
#include <errno.h>
#include <sys/auxv.h>

static int changed(const struct module *module, struct error *err)
{
	error_set(err, 0, "\"%s\" has changed since it was mapped", module->path);
	return error_hint(err, "Profile again: the lines of another build would be wrong.");
}

// By build-id if both have one; else by inode, if that can be compared at all.
static int check(const struct module *module, const struct elf_file *elf, const struct stat *st,
                 struct error *err)
{
	struct bytes mapped = { module->build_id, module->build_id_size };
	struct bytes found = elf_file_build_id(elf);

	if (mapped.size && found.size)
		return bytes_equal(mapped, found) ? 0 : changed(module, err);
	if (mapped.size)
		return changed(module, err); // it had one
	// Overlay and btrfs show another device in a mapping than by stat(): no help there.
	if (module->inode && module->device == st->st_dev && module->inode != st->st_ino)
		return changed(module, err);
	return 0;
}

static struct elf_file *open_checked(const struct module *module, int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		error_set(err, errno, "could not examine \"%s\"", module->path);
		return NULL;
	}
	cleanup(elf_file) struct elf_file *elf = elf_file_open_fd(fd, err);
	if (!elf) {
		error_wrap(err, "\"%s\"", module->path);
		return NULL;
	}
	return check(module, elf, &st, err) == 0 ? steal(elf) : NULL;
}

static struct elf_file *open_path(const struct module *module, const char *root, struct error *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, module->path);
	cleanup_close int fd = foreign_open(path, NULL, NULL, err);
	if (fd < 0)
		return NULL;
	return open_checked(module, fd, err);
}

// The section table is the last thing in the image, and tells how long it is.
static struct elf_file *open_vdso(const struct module *module, struct error *err)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;

	if (!image || header->e_ident[EI_CLASS] != ELFCLASS64) {
		error_set(err, 0, "there is no vDSO in this process");
		return NULL;
	}
	struct bytes bytes = { image,
		               header->e_shoff + (size_t)header->e_shnum * header->e_shentsize };
	cleanup(elf_file) struct elf_file *elf = elf_file_from_memory(bytes, NULL, err);
	struct stat none = { 0 };
	return elf && check(module, elf, &none, err) == 0 ? steal(elf) : NULL;
}

struct elf_file *mapped_file_open(const struct module *module, char root[MAPPED_ROOT_BYTES],
                                  struct error *err)
{
	struct elf_file *elf = NULL;

	root[0] = '\0';
	if (module->kind == MODULE_VDSO)
		return open_vdso(module, err);
	if (module->pid > 0) {
		snprintf(root, MAPPED_ROOT_BYTES, "/proc/%d/root", module->pid);
		if (access(root, X_OK) < 0)
			root[0] = '\0'; // gone, or not ours to look into
	}
	if (module->fd >= 0)
		return open_checked(module, module->fd, err);
	if (*root)
		elf = open_path(module, root, err);
	return elf ? elf : open_path(module, "", err);
}
