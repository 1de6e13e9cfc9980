// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "sampler/unwind/image.h"
#include "scene/scene_stack.h"
#include "tests/support/expect.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/image_test.XXXXXX";

static void make_directory(void)
{
	cr_assert(mkdtemp(directory) != NULL);
}

static void remove_directory(void)
{
	char command[PATH_MAX];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	cr_expect(eq(int, system(command), 0));
}

TestSuite(image, .init = make_directory, .fini = remove_directory);

static const char *in_directory(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* Copies scene BUILD to PATH, into the file that is there if there is one. */
static void copy_scene(const char *build, const char *path)
{
	char command[2 * PATH_MAX];

	snprintf(command, sizeof(command), "cat '%s/%s' >'%s' && chmod +x '%s'", SCENES_DIR, build,
	         path, path);
	cr_assert(eq(int, system(command), 0));
}

/* The module of PATH as the kernel would report it now. */
static struct module module_of(const char *path, pid_t pid)
{
	struct module module = { .kind = MODULE_ELF, .path = path, .pid = pid, .fd = -1 };
	struct stat status;

	if (stat(path, &status) == 0) {
		module.device = status.st_dev;
		module.inode = status.st_ino;
	}
	return module;
}

static struct image *open_module(struct module *module, pid_t pid, struct error *err)
{
	struct mapping where = { .start = 0x1000, .end = 0x2000 };

	return image_open(module, &where, pid, err);
}

Test(image, a_file_gives_its_build_id_and_stays_open)
{
	struct module module = module_of(in_directory("scene"), 0);
	struct error err = { 0 };
	const uint8_t *id;

	copy_scene("scene", module.path);
	module = module_of(module.path, 0);
	cleanup(image) struct image *image = open_module(&module, 0, &err);
	cr_assert(image != NULL, "%s", err.text);
	cr_expect(eq(sz, image_build_id(image, &id), 20));
	cr_expect(eq(u8, module.build_id_size, 20));
	cr_expect(eq(int, memcmp(id, module.build_id, 20), 0));
	// It may be deleted before its names are read.
	cr_expect(ge(int, module.fd, 0));
	close_at_scope_end(&module.fd);
}

Test(image, without_descriptors_to_spare_only_what_has_no_path_stays_open)
{
	const char *path = in_directory("scene");
	struct error err = { 0 };

	copy_scene("scene", path);
	cleanup(scene_stack) struct scene_stack *scene = scene_stack_new(path, "plain", NULL);
	cr_assert(scene != NULL);
	// Three quarters of those that we may have are taken.
	struct rlimit few = { 64, 64 };
	cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &few), 0));
	while (dup(STDOUT_FILENO) < 48)
		;
	for (int deleted = 0; deleted < 2; deleted++) {
		struct module module = module_of(path, scene->process.pid);
		if (deleted)
			unlink(path);
		cleanup(image) struct image *image = open_module(&module, scene->process.pid, &err);
		cr_assert(image != NULL, "%s", err.text);
		cr_expect(eq(int, module.fd >= 0, deleted), "deleted: %d", deleted);
		close_at_scope_end(&module.fd);
	}
}

Test(image, a_deleted_file_is_read_through_its_process_and_stays_open)
{
	const char *path = in_directory("scene");
	struct error err = { 0 };

	copy_scene("scene", path);
	cleanup(scene_stack) struct scene_stack *scene = scene_stack_new(path, "plain", NULL);
	cr_assert(scene != NULL);
	struct module module = module_of(path, scene->process.pid);
	unlink(path);

	cleanup(image) struct image *image = open_module(&module, scene->process.pid, &err);
	cr_assert(image != NULL, "%s", err.text);
	cr_expect(ge(int, module.fd, 0));
	char magic[4];
	cr_expect(eq(int, (int)pread(module.fd, magic, 4, 0), 4));
	cr_expect(eq(int, memcmp(magic, "\177ELF", 4), 0));
	image_free(steal(image));

	// Later, without the process, that descriptor is the only way.
	image = open_module(&module, 0, &err);
	cr_expect(image != NULL, "%s", err.text);
	close(module.fd);
}

Test(image, another_file_of_the_same_name_is_refused)
{
	const char *path = in_directory("scene");
	struct error err = { 0 };

	copy_scene("scene", path);
	struct module module = module_of(path, 0);
	int held = open(path, O_RDONLY); // so that its inode is not given to the next one
	unlink(path);
	copy_scene("scene_O0", path);
	cr_expect(eq(ptr, open_module(&module, 0, &err), NULL));
	cr_expect(ne(str, err.text, ""));
	close(held);
}

Test(image, a_file_that_was_overwritten_is_known_by_its_build_id)
{
	const char *path = in_directory("scene");
	struct error err = { 0 };

	copy_scene("scene", path);
	struct module module = module_of(path, 0);
	image_free(open_module(&module, 0, &err));
	cr_assert(eq(u8, module.build_id_size, 20));
	copy_scene("scene_O0", path);
	cr_expect(eq(ptr, open_module(&module, 0, &err), NULL));
}

Test(image, a_file_of_another_mount_namespace_is_read_through_its_process)
{
	char script[3 * PATH_MAX];
	struct error err = { 0 };

	snprintf(script, sizeof(script),
	         "exec unshare -m sh -c 'mount -t tmpfs none %s && cp %s/scene %s/hidden && "
	         "exec %s/hidden plain'",
	         directory, SCENES_DIR, directory, directory);
	cleanup(scene_stack) struct scene_stack *scene = scene_stack_new("/bin/sh", "-c", script);
	if (!scene)
		cr_skip("no right to make a mount namespace");
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s", in_directory("hidden"));
	cr_assert(ne(int, access(path, F_OK), 0));
	struct module *module = NULL;
	for (uint32_t id = 1; id <= modules_count(scene->modules); id++)
		if (strcmp(modules_get(scene->modules, id)->path, path) == 0)
			module = modules_get(scene->modules, id);
	cr_assert(module != NULL);

	cleanup(image) struct image *image = open_module(module, scene->process.pid, &err);
	cr_assert(image != NULL, "%s", err.text);
	cr_expect(ge(int, module->fd, 0));
	cr_expect(eq(u8, module->build_id_size, 20));
}

Test(image, what_is_no_elf_file_is_refused_with_a_reason)
{
	static const struct {
		const char *path, *text;
	} rows[] = {
		{ "/etc/passwd", "\"/etc/passwd\": not an ELF file" },
		{ "/dev/null", "\"/dev/null\" is not a regular file" },
		{ "/no/such/file", "could not open \"/no/such/file\"" },
		{ "relative", "\"relative\" is no absolute path" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct module module = { .kind = MODULE_ELF, .path = rows[i].path, .fd = -1 };
		struct error err = { 0 };
		cr_expect(eq(ptr, open_module(&module, 0, &err), NULL));
		cr_expect(eq(str, err.text, (char *)rows[i].text));
	}
}

Test(image, a_fifo_is_refused_without_waiting_for_a_writer)
{
	struct module module = { .kind = MODULE_ELF, .path = in_directory("fifo"), .fd = -1 };
	struct error err = { 0 };

	cr_assert(eq(int, mkfifo(module.path, 0600), 0));
	cr_expect(eq(ptr, open_module(&module, 0, &err), NULL));
}

Test(image, a_mapping_is_located_by_the_segment_it_was_mapped_from)
{
	struct module module = module_of("/proc/self/exe", 0);
	struct error err = { 0 };
	struct stat status;

	stat("/proc/self/exe", &status);
	module.inode = status.st_ino;
	cleanup(image) struct image *image = open_module(&module, 0, &err);
	cr_assert(image != NULL, "%s", err.text);
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	bool found = false;
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end, offset, inode;
		char protection[8];
		if (sscanf(line, "%lx-%lx %7s %lx %*s %lu", &start, &end, protection, &offset,
		           &inode) != 5 ||
		    inode != status.st_ino || protection[2] != 'x')
			continue;
		struct mapping mapping = { .start = start, .end = end, .file_offset = offset };
		uint64_t here = (uint64_t)&image_locate;
		uint8_t code[16];
		if (here < start || here >= end)
			continue;
		cr_expect(image_locate(image, &mapping));
		cr_expect(eq(sz, image_read(image, here - mapping.bias, code, sizeof(code)), 16));
		cr_expect(eq(int, memcmp(code, (void *)here, sizeof(code)), 0));
		memset(code, 0, sizeof(code));
		cr_expect(image_read_code(image, here - mapping.bias, code, sizeof(code)));
		cr_expect(eq(int, memcmp(code, (void *)here, sizeof(code)), 0));
		found = true;
	}
	fclose(maps);
	cr_expect(found);
}

Test(image, a_section_ends_where_the_file_says)
{
	struct module module = module_of("/proc/self/exe", 0);
	struct error err = { 0 };
	struct stat status;

	stat("/proc/self/exe", &status);
	module.inode = status.st_ino;
	cleanup(image) struct image *image = open_module(&module, 0, &err);
	cr_assert(image != NULL, "%s", err.text);
	cr_expect(gt(sz, image_eh_frame(image).size, 100));
	cr_expect(gt(sz, image_eh_frame_hdr(image).size, 12));
	cr_expect(eq(ptr, (void *)image_debug_frame(image).bytes, NULL), "it has .eh_frame only");
}

Test(image, a_compressed_debug_frame_is_the_same_as_a_plain_one)
{
	static const char *const builds[] = { "scene_debug_frame", "scene_debug_frame_gz" };
	size_t sizes[2];

	for (int i = 0; i < 2; i++) {
		char path[PATH_MAX];
		snprintf(path, sizeof(path), "%s/%s", SCENES_DIR, builds[i]);
		struct module module = module_of(path, 0);
		cleanup(image) struct image *image = open_module(&module, 0, NULL);
		cr_assert(image != NULL);
		sizes[i] = image_debug_frame(image).size;
		cr_assert(gt(sz, sizes[i], 100));
	}
	cr_expect(eq(sz, sizes[0], sizes[1]));
}

Test(image, what_a_file_does_not_hold_any_more_reads_as_zeros)
{
	const char *path = in_directory("cut");

	copy_scene("scene", path);
	struct module module = module_of(path, 0);
	cleanup(image) struct image *image = open_module(&module, 0, NULL);
	cr_assert(image != NULL);
	struct image_section before = image_eh_frame(image);
	cr_assert(gt(sz, before.size, 100));
	cr_expect(ne(int, before.bytes[0], 0));
	cr_assert(eq(int, truncate(path, 0), 0));
	for (size_t i = 0; i < before.size; i++)
		cr_assert(eq(int, before.bytes[i], 0));
}
