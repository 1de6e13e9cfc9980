// SPDX-License-Identifier: MIT
#include "base/error.h"
#include "sampler/unwind/unwinder.h"
#include "scene/scene_stack.h"
#include "tests/support/expect.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

static struct frame frames[STACK_MAX_FRAMES];

static const char *program(const char *build)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", SCENES_DIR, build);
	return path;
}

static struct scene_stack *scene_of(const char *build, const char *name, const char *argument)
{
	struct scene_stack *scene = scene_stack_new(program(build), name, argument);

	if (!scene)
		fprintf(stderr, "%s: not built here, skipped\n", build);
	return scene;
}

static void expect_frames(const struct scene_stack *scene, size_t count, const char *what)
{
	cr_expect(ge(sz, count, scene->expected_count), "%s: %zu of %zu frames", what, count,
	          scene->expected_count);
	for (size_t i = 0; i < count && i < scene->expected_count; i++) {
		cr_expect(
			eq(u64, scene_stack_address(scene, frames[i]), scene->expected[i].address),
			"%s: frame %zu", what, i);
		cr_expect(eq(u32, frames[i].kind, scene->expected[i].kind), "%s: frame %zu", what,
		          i);
	}
}

static size_t unwind(const struct scene_stack *scene, enum unwinder_mode mode, int pid,
                     uint32_t *flags)
{
	cleanup(unwinder) struct unwinder *u = unwinder_new(scene->modules, mode, NULL);

	cr_assert(u != NULL);
	return unwinder_unwind(u, scene->space, &scene->sample, pid, frames, STACK_MAX_FRAMES,
	                       flags);
}

static const char *const builds[] = { "scene",
	                              "scene_O0",
	                              "scene_no_fp",
	                              "scene_static",
	                              "scene_static_pie",
	                              "scene_debug_frame",
	                              "scene_debug_frame_gz" };
#define BUILDS (sizeof(builds) / sizeof(builds[0]))

Test(unwinder, every_frame_is_found_however_the_program_is_built)
{
	static const char *const names[] = { "plain", "signal" };

	for (size_t i = 0; i < BUILDS; i++) {
		for (size_t k = 0; k < 2; k++) {
			char what[80];
			uint32_t flags;
			cleanup(scene_stack) struct scene_stack *scene =
				scene_of(builds[i], names[k], NULL);
			if (!scene)
				continue;
			snprintf(what, sizeof(what), "%s, %s", builds[i], names[k]);
			size_t count = unwind(scene, UNWIND_BY_TABLE, 0, &flags);
			expect_frames(scene, count, what);
			cr_expect(eq(u32, flags, 0), "%s", what);
		}
	}
}

Test(unwinder, libunwind_finds_the_same_frames)
{
	static const char *const names[] = { "plain", "signal" };

	for (size_t i = 0; i < 5; i++) { // it is not given .debug_frame
		for (size_t k = 0; k < 2; k++) {
			uint32_t flags;
			cleanup(scene_stack) struct scene_stack *scene =
				scene_of(builds[i], names[k], NULL);
			if (!scene)
				continue;
			expect_frames(scene, unwind(scene, UNWIND_BY_LIBUNWIND, 0, &flags),
			              builds[i]);
			cr_expect(eq(u32, flags, 0), "%s", builds[i]);
		}
	}
}

Test(unwinder, code_without_unwind_information_is_stepped_by_what_can_be_seen)
{
	static const char *const names[] = { "frame", "leaf", "pushed" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t flags;
		cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", names[i], NULL);
		cr_assert(scene != NULL);
		expect_frames(scene, unwind(scene, UNWIND_BY_TABLE, 0, &flags), names[i]);
		cr_expect(eq(u32, flags, 0), "%s", names[i]);
	}
}

Test(unwinder, who_spins_is_known_by_its_code)
{
	static const struct {
		const char *name;
		uint32_t flags;
	} loops[] = { { "spin", STACK_SPINS }, { "nops", STACK_SPINS }, { "aligned", 0 } };

	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		uint32_t flags;
		cleanup(scene_stack) struct scene_stack *scene =
			scene_of("scene", loops[i].name, NULL);
		cr_assert(scene != NULL);
		expect_frames(scene, unwind(scene, UNWIND_BY_TABLE, 0, &flags), loops[i].name);
		cr_expect(eq(u32, flags, loops[i].flags), "%s", loops[i].name);
	}
}

Test(unwinder, a_bare_frame_is_stepped_out_of_by_its_callers_call)
{
	for (size_t i = 0; i < BUILDS; i++) {
		uint32_t flags;
		cleanup(scene_stack) struct scene_stack *scene = scene_of(builds[i], "bare", NULL);
		if (!scene)
			continue;
		expect_frames(scene, unwind(scene, UNWIND_BY_TABLE, 0, &flags), builds[i]);
		cr_expect(eq(u32, flags, STACK_GUESSED), "%s", builds[i]);
	}
}

// As oneDNN's kernels are: no rules, no file, and rbp is used for data, or is zero, which would be
// an outermost frame's.
Test(unwinder, generated_code_is_stepped_out_of_by_its_callers_call)
{
	static const char *const rbps[] = { "0x200", "0", "0x7f0000000001" };

	for (size_t i = 0; i < BUILDS; i++) {
		for (size_t k = 0; k < sizeof(rbps) / sizeof(rbps[0]); k++) {
			char what[80];
			uint32_t flags;
			cleanup(scene_stack) struct scene_stack *scene =
				scene_of(builds[i], "made", rbps[k]);
			if (!scene)
				continue;
			snprintf(what, sizeof(what), "%s, rbp %s", builds[i], rbps[k]);
			expect_frames(scene, unwind(scene, UNWIND_BY_TABLE, 0, &flags), what);
			cr_expect(eq(u32, flags, STACK_GUESSED), "%s", what);
		}
	}
}

Test(unwinder, a_musl_program_is_followed_into_main)
{
	static const char *const names[] = { "plain", "signal", "frame" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint32_t flags;
		cleanup(scene_stack) struct scene_stack *scene =
			scene_of("scene_musl", names[i], NULL);
		if (scene)
			expect_frames(scene, unwind(scene, UNWIND_BY_TABLE, 0, &flags), names[i]);
	}
}

// musl's code before main() has no rules: its frame is known by argc, which is right above.
Test(unwinder, the_start_of_a_musl_program_is_the_outermost_frame)
{
	static const char *const scenes[] = { "scene_musl", "scene_musl_no_fp" };
	static const char *const names[] = { "plain", "signal" };

	for (size_t i = 0; i < 4; i++) {
		uint32_t flags;
		cleanup(scene_stack) struct scene_stack *scene =
			scene_of(scenes[i / 2], names[i % 2], NULL);
		if (!scene)
			continue;
		expect_frames(scene, unwind(scene, UNWIND_BY_TABLE, 0, &flags), names[i % 2]);
		cr_expect(eq(u32, flags, 0), "%s, %s", scenes[i / 2], names[i % 2]);
	}
}

Test(unwinder, an_alternate_stack_leads_back_to_the_first_one_if_the_process_lives)
{
	uint32_t flags;
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "alternate", NULL);

	cr_assert(scene != NULL);
	size_t count = unwind(scene, UNWIND_BY_TABLE, scene->process.pid, &flags);
	expect_frames(scene, count, "joined");
	cr_expect(eq(u32, flags, STACK_JOINED));

	count = unwind(scene, UNWIND_BY_TABLE, 0, &flags);
	cr_expect(eq(u32, flags, STACK_TRUNCATED));
	cr_expect(eq(u32, frames[count - 1].kind, FRAME_MARK));
	cr_expect(eq(u64, frames[count - 1].address, MARK_TRUNCATED));
	cr_expect(lt(sz, count, scene->expected_count));
}

Test(unwinder, a_cut_stack_is_joined_from_the_process_or_marked)
{
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "deep", "500");
	uint32_t whole, flags;

	cr_assert(scene != NULL);
	whole = scene->sample.stack_bytes;
	size_t all = scene->expected_count;
	for (uint32_t bytes = 0; bytes < 8000; bytes += 500) {
		scene->sample.stack_bytes = bytes;
		cr_assert(lt(u32, bytes, whole));
		size_t count = unwind(scene, UNWIND_BY_TABLE, scene->process.pid, &flags);
		expect_frames(scene, count, "joined");
		cr_expect(eq(u32, flags, STACK_JOINED), "%u bytes", bytes);

		count = unwind(scene, UNWIND_BY_TABLE, 0, &flags);
		cr_expect(eq(u32, flags, STACK_TRUNCATED), "%u bytes", bytes);
		cr_expect(eq(u32, frames[count - 1].kind, FRAME_MARK), "%u bytes", bytes);
		scene->expected_count = count - 1;
		expect_frames(scene, count - 1, "cut");
		scene->expected_count = all;
	}
}

Test(unwinder, a_cut_stack_is_completed_by_the_last_whole_one)
{
	uint32_t flags;
	struct last_stack last = { 0 };
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "deep", "300");
	cleanup(unwinder) struct unwinder *u = unwinder_new(scene->modules, UNWIND_BY_TABLE, NULL);

	cr_assert(scene != NULL);
	size_t whole = unwinder_unwind(u, scene->space, &scene->sample, 0, frames, STACK_MAX_FRAMES,
	                               &flags);
	cr_assert(eq(u32, flags, 0));
	cr_expect(eq(sz, unwinder_complete(u, &last, 100, frames, whole, STACK_MAX_FRAMES, &flags),
	             whole));

	struct event_sample cut = scene->sample;
	cut.stack_bytes = 2048;
	size_t count = unwinder_unwind(u, scene->space, &cut, 0, frames, STACK_MAX_FRAMES, &flags);
	cr_expect(eq(u32, flags, STACK_TRUNCATED));
	cr_expect(lt(sz, count, whole));
	count = unwinder_complete(u, &last, 200, frames, count, STACK_MAX_FRAMES, &flags);
	cr_expect(eq(u32, flags, STACK_JOINED));
	expect_frames(scene, count, "completed");
	last_stack_fini(&last);
}

Test(unwinder, a_cut_stack_is_completed_by_another_that_was_whole)
{
	uint32_t flags;
	struct whole_stacks kept = { 0 };
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "deep", "300");
	cleanup(unwinder) struct unwinder *u = unwinder_new(scene->modules, UNWIND_BY_TABLE, NULL);

	cr_assert(scene != NULL);
	size_t whole = unwinder_unwind(u, scene->space, &scene->sample, 0, frames, STACK_MAX_FRAMES,
	                               &flags);
	whole_stacks_keep(&kept, frames, unwinder_stack_pointers(u), whole, 100);
	uint64_t outermost = unwinder_stack_pointers(u)[whole - 1];

	struct event_sample cut = scene->sample;
	cut.stack_bytes = 2048;
	size_t count = unwinder_unwind(u, scene->space, &cut, 0, frames, STACK_MAX_FRAMES, &flags);
	cr_expect(eq(u32, flags, STACK_TRUNCATED));
	count = unwinder_complete_alike(u, &kept, frames, count, STACK_MAX_FRAMES, &flags);
	cr_expect(eq(u32, flags, STACK_JOINED));
	expect_frames(scene, count, "completed");
	cr_expect(eq(u64, unwinder_stack_pointers(u)[count - 1], outermost));
	cr_expect(eq(u64, unwinder_stats(u)->truncated, 0));
	whole_stacks_fini(&kept);
}

Test(unwinder, what_changed_before_it_could_be_joined_is_not_believed)
{
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "deep", "500");
	uint32_t flags;

	// The registers of one process, the stack of another one, which has gone elsewhere.
	cleanup(scene_stack) struct scene_stack *other = scene_of("scene_O0", "plain", NULL);
	cr_assert(scene != NULL && other != NULL);
	scene->sample.stack_bytes = 1000;
	size_t count = unwind(scene, UNWIND_BY_TABLE, other->process.pid, &flags);
	cr_expect(eq(u32, flags & STACK_TRUNCATED, STACK_TRUNCATED));
	cr_expect(lt(sz, count, 100));
}

Test(unwinder, without_any_stack_there_is_one_frame_and_a_mark)
{
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "plain", NULL);
	uint32_t flags;

	cr_assert(scene != NULL);
	scene->sample.stack_bytes = 0;
	cr_assert(eq(sz, unwind(scene, UNWIND_BY_TABLE, 0, &flags), 2));
	cr_expect(eq(u64, scene_stack_address(scene, frames[0]), scene->expected[0].address));
	cr_expect(eq(u32, frames[1].kind, FRAME_MARK));
	cr_expect(eq(u32, flags, STACK_TRUNCATED));

	scene->sample.has_user = false;
	cr_expect(eq(sz, unwind(scene, UNWIND_BY_TABLE, 0, &flags), 0));
	cr_expect(eq(u32, flags, 0));
}

Test(unwinder, a_recursion_too_deep_is_cut_and_says_so)
{
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "deep", "3000");
	uint32_t flags;

	cr_assert(scene != NULL);
	cr_assert(eq(sz, unwind(scene, UNWIND_BY_TABLE, 0, &flags), STACK_MAX_FRAMES));
	scene->expected_count = STACK_MAX_FRAMES - 1;
	expect_frames(scene, STACK_MAX_FRAMES - 1, "deep");
	cr_expect(eq(u32, frames[STACK_MAX_FRAMES - 1].kind, FRAME_MARK));
	cr_expect(eq(u32, flags, STACK_TRUNCATED));
}

/* What a probe of a blocked thread knows. */
static void forget_registers(struct event_sample *sample)
{
	for (int i = 0; i < DWARF_REGISTERS; i++)
		if (i != DWARF_RSP && i != DWARF_RIP)
			sample->regs[i] = 0;
	sample->has_rbp = false;
}

Test(unwinder, rbp_is_guessed_where_a_probe_does_not_know_it)
{
	static const struct {
		const char *build, *name, *argument;
		uint32_t flags;
	} rows[] = {
		{ "scene_O0", "plain", NULL, STACK_GUESSED },
		{ "scene_O0", "deep", "100", STACK_GUESSED },
		{ "scene_O0", "signal", NULL, STACK_GUESSED },
		{ "scene", "plain", NULL, 0 }, // with frame pointers, but the rules use rsp
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t flags;
		cleanup(scene_stack) struct scene_stack *scene =
			scene_of(rows[i].build, rows[i].name, rows[i].argument);
		cr_assert(scene != NULL);
		forget_registers(&scene->sample);
		expect_frames(scene, unwind(scene, UNWIND_BY_TABLE, 0, &flags), rows[i].build);
		if (rows[i].flags)
			cr_expect(eq(u32, flags, rows[i].flags), "%s", rows[i].build);
	}
}

Test(unwinder, an_address_in_no_mapping_is_a_frame_without_a_module)
{
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "plain", NULL);
	uint32_t flags;

	cr_assert(scene != NULL);
	scene->sample.regs[DWARF_RIP] = 0x1234;
	scene->sample.regs[DWARF_RBP] = 0;
	cr_assert(ge(sz, unwind(scene, UNWIND_BY_TABLE, 0, &flags), 2));
	cr_expect(eq(u64, frames[0].address, 0x1234));
	cr_expect(eq(u32, frames[0].module, 0));
	cr_expect(eq(u32, frames[0].kind, FRAME_EXACT));
	cr_expect(eq(u32, flags, STACK_TRUNCATED));
}

/* Makes the sample one that was taken at the entry of ADDRESS, called from where it was. */
static void call(struct event_sample *sample, uint64_t address)
{
	uint8_t *stack = malloc(sample->stack_bytes + 8);

	cr_assert(stack != NULL);
	memcpy(stack, &sample->regs[DWARF_RIP], 8);
	memcpy(stack + 8, sample->stack, sample->stack_bytes);
	free((void *)sample->stack);
	sample->stack = stack;
	sample->stack_bytes += 8;
	sample->regs[DWARF_RSP] -= 8;
	sample->regs[DWARF_RIP] = address;
}

/* The address of a function in the vDSO's image, which every process shares. */
static uint64_t vdso_function(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *function = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;

	if (vdso)
		dlclose(vdso);
	return function ? (uint64_t)function - getauxval(AT_SYSINFO_EHDR) : 0;
}

Test(unwinder, the_vdso_is_unwound_by_its_own_rules)
{
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "plain", NULL);
	uint32_t flags;

	cr_assert(scene != NULL);
	uint64_t function = vdso_function(), caller = scene->sample.regs[DWARF_RIP];
	cr_assert(function && scene->vdso);
	call(&scene->sample, scene->vdso + function);
	size_t count = unwind(scene, UNWIND_BY_TABLE, 0, &flags);
	cr_expect(eq(u32, flags, 0));
	cr_assert(gt(sz, count, scene->expected_count));
	cr_expect(eq(u64, frames[0].address, function));
	cr_expect(eq(int, modules_get(scene->modules, frames[0].module)->kind, MODULE_VDSO));
	cr_expect(eq(u64, scene_stack_address(scene, frames[1]), caller));
	cr_expect(eq(u32, frames[1].kind, FRAME_RETURN));
}

static uint64_t random_word(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Mostly code addresses and stack addresses, sometimes anything. */
static uint64_t random_value(const struct scene_stack *scene, uint64_t stack)
{
	uint64_t word = random_word();

	switch (word >> 61) {
	case 0:
		return random_word();
	case 1:
	case 2:
	case 3:
		return (stack + (word & 0x1fff)) & ~(word >> 60 & 7);
	default:
		return scene->expected[word % scene->expected_count].address + (word >> 8 & 0xfff) -
		       0x800;
	}
}

Test(unwinder, registers_and_stacks_of_any_kind_do_no_harm)
{
	cleanup(scene_stack) struct scene_stack *scene = scene_of("scene", "signal", NULL);
	static uint64_t stack[1024];

	cr_assert(scene != NULL);
	for (int mode = UNWIND_BY_TABLE; mode <= UNWIND_BY_LIBUNWIND; mode++) {
		cleanup(unwinder) struct unwinder *u = unwinder_new(scene->modules, mode, NULL);
		struct event_sample sample = scene->sample;
		uint64_t longest = 0;
		for (int round = 0; round < 20000; round++) {
			uint64_t start = random_word() & 0x7ffffffffff8;
			uint32_t flags;
			for (int i = 0; i < 1024; i++)
				stack[i] = random_value(scene, start);
			for (int i = 0; i < DWARF_REGISTERS; i++)
				sample.regs[i] = random_value(scene, start);
			sample.regs[DWARF_RSP] = start + (random_word() & 7 ? 0 : 3);
			sample.stack = (const uint8_t *)stack;
			sample.stack_bytes = (uint32_t)(random_word() % (sizeof(stack) + 1));
			sample.has_rbp = random_word() & 1;
			size_t max = 1 + random_word() % STACK_MAX_FRAMES;
			size_t count =
				unwinder_unwind(u, scene->space, &sample, 0, frames, max, &flags);
			cr_assert(le(sz, count, max));
			cr_assert(ge(sz, count, 1));
			longest = count > longest ? count : longest;
		}
		cr_expect(gt(u64, longest, 3), "some of them lead somewhere");
	}
}
