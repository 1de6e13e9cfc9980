// SPDX-License-Identifier: MIT
// The symbolizer with the 1st, 2nd, 3rd … allocation failing: see --wrap in
// tests/cmake/symbolize.cmake.
#include "base/error.h"
#include "symbolize/symbolizer.h"
#include "tests/support/expect.h"

#include <link.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
char *__wrap_strdup(const char *text);

static long until_failure = -1; // -1: none fails
static bool has_failed;

static bool fails(void)
{
	if (until_failure < 0 || until_failure-- > 0)
		return false;
	has_failed = true;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, count, size);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

static int note_base(struct dl_phdr_info *info, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = info->dlpi_addr;
	return 1;
}

static int run_all(const struct module *modules, size_t count, uint64_t address, struct error *err)
{
	static const struct symbolizer_options options = { .jit_directory = "/nonexistent" };
	cleanup(symbolizer) struct symbolizer *s = symbolizer_new(&options, err);

	for (size_t i = 0; s && i < count; i++) {
		uint64_t addresses[2] = { address, address + 1 };
		struct symbol_chain chains[2];
		if (symbolizer_resolve(s, &modules[i], addresses, 2, chains, err) < 0)
			return -1;
		symbolizer_debug_status(s, &modules[i]);
	}
	return s ? 0 : -1;
}

Test(symbolizer_memory, every_failed_allocation_is_an_error_or_less_of_an_answer)
{
	static const struct module modules[] = {
		{ .id = 1, .kind = MODULE_ELF, .path = "/proc/self/exe", .fd = -1 },
		{ .id = 2, .kind = MODULE_VDSO, .path = "[vdso]", .fd = -1 },
		{ .id = 3, .kind = MODULE_KERNEL, .path = "[kernel]", .fd = -1 },
		{ .id = 4, .kind = MODULE_JIT, .path = "[jit]", .pid = 1, .fd = -1 },
	};
	uint64_t base = 0;
	long failures = 0, reported = 0;

	dl_iterate_phdr(note_base, &base);
	do {
		struct error err = { 0 };
		has_failed = false;
		until_failure = failures;
		int result = run_all(modules, 4, (uint64_t)(uintptr_t)run_all - base, &err);
		until_failure = -1;
		cr_expect(result == 0 || *err.text, "allocation %ld failed without a word",
		          failures);
		reported += result < 0;
		failures++;
	} while (has_failed && failures < 100000);
	cr_expect(not(has_failed), "%ld allocations", failures);
	cr_expect(gt(long, reported, 10));
}
