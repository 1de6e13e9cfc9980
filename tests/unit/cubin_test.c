// SPDX-License-Identifier: MIT
/*
 * data/cubin/lines.cubin is lines.cu by nvcc -arch=sm_90 -lineinfo -cubin; lines.txt is what
 * nvdisasm -g -gi says of it: function, offset, then FILE:LINE innermost first.
 */
#include "symbolize/cubin.h"

#include "base/error.h"
#include "tests/support/expect.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define DATA TESTS_DIR "/data/cubin/"

// What libcupti keeps for good is not ours to free.
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void); // NOLINT(bugprone-reserved-identifier)

const char *__lsan_default_suppressions(void) // NOLINT(bugprone-reserved-identifier)
{
	return "leak:libcupti.so";
}

static struct bytes load(const char *path)
{
	FILE *file = fopen(path, "rbe");
	uint8_t *bytes = malloc(1 << 20);

	cr_assert(file != NULL && bytes != NULL, "%s", path);
	size_t size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	return (struct bytes){ bytes, size };
}

static struct cubin *open_cubin(const char *path)
{
	struct bytes image = load(path);
	struct error err;
	struct cubin *cubin = cubin_new(image, &err);

	cr_assert_not_null(cubin, "%s: %s", path, err.text);
	free((void *)image.data);
	return cubin;
}

static const char *base_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static void write_chain(const struct cubin *cubin, const char *function, uint64_t offset,
                        char *text, size_t size)
{
	struct cubin_place places[CUBIN_PLACES];
	uint32_t count = cubin_find(cubin, function, offset, places);
	size_t used = 0;

	*text = '\0';
	for (uint32_t i = 0; i < count; i++)
		used += (size_t)snprintf(text + used, size - used, " %s:%u",
		                         base_name(places[i].file), places[i].line);
}

Test(cubin, each_instruction_has_the_lines_that_nvdisasm_prints)
{
	cleanup(cubin) struct cubin *cubin = open_cubin(DATA "lines.cubin");
	FILE *file = fopen(DATA "lines.txt", "re");
	char line[256], function[64], chain[256];
	unsigned long offset;
	int start, compared = 0;

	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		cr_assert(sscanf(line, "%63s %lx%n", function, &offset, &start) == 2);
		write_chain(cubin, function, offset, chain, sizeof(chain));
		cr_expect_str_eq(chain, line + start, "%s+%lx: %s, not %s", function, offset, chain,
		                 line + start);
		compared++;
	}
	fclose(file);
	cr_expect_gt(compared, 180);
}

Test(cubin, inlined_functions_have_names)
{
	cleanup(cubin) struct cubin *cubin = open_cubin(DATA "lines.cubin");
	struct cubin_place places[CUBIN_PLACES];

	cr_assert_eq(cubin_find(cubin, "_Z5linesPfPKfi", 0x1e0, places), 3);
	cr_expect_str_eq(places[0].function, "_Z5innerfi");
	cr_expect_str_eq(places[1].function, "_Z6middlefi");
	cr_expect_null(places[2].function);
	cr_expect_str_eq(places[2].file, "/usr/src/lines/lines.cu");
}

Test(cubin, what_lies_outside_of_a_function_is_not_known)
{
	cleanup(cubin) struct cubin *cubin = open_cubin(DATA "lines.cubin");
	struct cubin_place places[CUBIN_PLACES];

	cr_expect_eq(cubin_find(cubin, "_Z5linesPfPKfi", 0xa00, places), 0);
	cr_expect_eq(cubin_find(cubin, "_Z5linesPfPKfi", UINT64_MAX, places), 0);
	cr_expect_eq(cubin_find(cubin, "_Z5nobodyv", 0, places), 0);
}

Test(cubin, without_lineinfo_there_are_no_lines)
{
	cleanup(cubin) struct cubin *cubin = open_cubin(DATA "no_lines.cubin");
	struct cubin_place places[CUBIN_PLACES];

	cr_expect_eq(cubin_find(cubin, "_Z5otherPf", 0x10, places), 0);
}

Test(cubin, other_files_are_refused)
{
	struct bytes image = load("/proc/self/exe");
	struct error err = { 0 };

	cr_expect_null(cubin_new(image, &err));
	cr_expect_str_eq(err.text, "this is no cubin");
	free((void *)image.data);
}

Test(cubin, a_cut_or_broken_file_does_no_harm)
{
	struct bytes image = load(DATA "lines.cubin");
	struct cubin_place places[CUBIN_PLACES];
	struct error err;
	uint64_t seed = 1;

	for (int i = 0; i < 2000; i++) {
		struct bytes part = image;
		uint8_t *copy = malloc(image.size);
		memcpy(copy, image.data, image.size);
		for (int k = 0; k < 8; k++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			copy[(seed >> 33) % image.size] = (uint8_t)(seed >> 25);
		}
		part.data = copy;
		if (i % 4 == 0)
			part.size = (seed >> 20) % image.size;
		cleanup(cubin) struct cubin *cubin = cubin_new(part, &err);
		for (uint64_t at = 0; cubin && at < 0x1000; at += 0x40)
			cubin_find(cubin, "_Z5linesPfPKfi", at, places);
		free(copy);
	}
	free((void *)image.data);
}

// CUpti_GetSassToSourceCorrelationParams
struct correlation {
	size_t size;
	const void *cubin;
	const char *function;
	size_t cubin_size;
	uint32_t line;
	uint64_t offset;
	char *file, *directory;
};

Test(cubin, cupti_says_the_same)
{
	void *library = REAL_CUPTI[0] ? dlopen(REAL_CUPTI, RTLD_LAZY) : NULL;
	int (*ask)(struct correlation *) =
		library ? (int (*)(struct correlation *))dlsym(library,
	                                                       "cuptiGetSassToSourceCorrelation")
			: NULL;

	if (!ask)
		cr_skip("there is no libcupti here");
	cleanup(cubin) struct cubin *cubin = open_cubin(DATA "lines.cubin");
	struct bytes image = load(DATA "lines.cubin");
	struct cubin_place places[CUBIN_PLACES];
	for (uint64_t at = 0; at < 0xa00; at += 0x10) {
		struct correlation c = { sizeof(c), image.data, "_Z5linesPfPKfi", image.size, 0, at,
			                 NULL,      NULL };
		cr_assert_eq(ask(&c), 0);
		uint32_t count = cubin_find(cubin, "_Z5linesPfPKfi", at, places);
		cr_expect_eq(c.line, count ? places[0].line : 0, "%lx: %u", (unsigned long)at,
		             c.line);
		free(c.file);
		free(c.directory);
	}
	free((void *)image.data);
}
