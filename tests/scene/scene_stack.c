// SPDX-License-Identifier: MIT
#include "scene/scene_stack.h"

#include "base/array.h"

#include <string.h>
#include <sys/sysmacros.h>

static void take_map(struct scene_stack *scene, const char *line)
{
	unsigned long start, end, offset, inode;
	unsigned major, minor;
	char path[4096] = "", jit[32];

	if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu %4095[^\n]", &start, &end, &offset, &major,
	           &minor, &inode, path) < 6)
		return;
	struct module module = { .kind = MODULE_ELF,
		                 .path = path,
		                 .pid = scene->process.pid,
		                 .device = makedev(major, minor),
		                 .inode = inode,
		                 .fd = -1 };
	if (strcmp(path, "[vdso]") == 0) {
		module.kind = MODULE_VDSO;
		scene->vdso = start;
	} else if (path[0] != '/') {
		snprintf(jit, sizeof(jit), "[jit %d]", scene->process.pid);
		module.kind = MODULE_JIT;
		module.path = jit;
	}
	const struct module *added = modules_add(scene->modules, &module, NULL);
	if (added)
		address_space_map(scene->space, start, end - start, offset, added->id);
}

static void take_regs(struct scene_stack *scene, const char *line)
{
	for (int i = 0; i < DWARF_REGISTERS; i++) {
		char *end;
		scene->sample.regs[i] = strtoul(line, &end, 16);
		line = end;
	}
}

static void take_expected(struct scene_stack *scene, const char *line)
{
	struct frame frame = { 0 };

	if (sscanf(line, "%lx %u", &frame.address, &frame.kind) == 2 &&
	    array_reserve(&scene->expected, &scene->expected_capacity, scene->expected_count + 1))
		scene->expected[scene->expected_count++] = frame;
}

static int digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void take_stack(struct scene_stack *scene, const char *line)
{
	const char *hex = strchr(line, ' ') + 1;
	size_t size = strcspn(hex, "\n") / 2;
	uint8_t *bytes = malloc(size + 1);

	for (size_t i = 0; bytes && i < size; i++)
		bytes[i] = (uint8_t)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	scene->sample.stack = bytes;
	scene->sample.stack_bytes = (uint32_t)size;
}

static bool read_scene(struct scene_stack *scene)
{
	cleanup_free char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, scene->process.output) > 0) {
		if (strncmp(line, "map ", 4) == 0)
			take_map(scene, line + 4);
		else if (strncmp(line, "regs ", 5) == 0)
			take_regs(scene, line + 5);
		else if (strncmp(line, "expect ", 7) == 0)
			take_expected(scene, line + 7);
		else if (strncmp(line, "stack ", 6) == 0)
			take_stack(scene, line + 6);
		else if (strcmp(line, "end\n") == 0)
			return scene->sample.stack != NULL;
	}
	return false;
}

struct scene_stack *scene_stack_new(const char *program, const char *name, const char *argument)
{
	struct scene_stack *scene = calloc(1, sizeof(*scene));

	if (!scene || !scene_process_start(&scene->process, program, name, argument)) {
		free(scene);
		return NULL;
	}
	scene->sample = (struct event_sample){
		.kind = SAMPLE_ON_CPU, .has_user = true, .has_rbp = true, .syscall = -1
	};
	scene->modules = modules_new();
	scene->space = address_space_new();
	if (!scene->modules || !scene->space || !read_scene(scene)) {
		scene_stack_free(scene);
		return NULL;
	}
	return scene;
}

void scene_stack_free(struct scene_stack *scene)
{
	if (!scene)
		return;
	scene_process_stop(&scene->process);
	free((void *)scene->sample.stack);
	free(scene->expected);
	address_space_free(scene->space);
	modules_free(scene->modules);
	free(scene);
}

uint64_t scene_stack_address(const struct scene_stack *scene, struct frame frame)
{
	for (size_t i = 0; i < scene->expected_count; i++) {
		struct mapping *m = address_space_find(scene->space, scene->expected[i].address);
		if (m && m->module == frame.module && m->has_bias)
			return frame.address + m->bias;
	}
	return frame.address;
}
