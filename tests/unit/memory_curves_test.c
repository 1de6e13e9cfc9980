// SPDX-License-Identifier: MIT
#include "merge/table/memory_curves.h"
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define MB UINT64_C(1048576)

static struct memory_curves *curves;

static void begin(void)
{
	curves = calloc(1, sizeof(*curves));
}

static void end(void)
{
	free(curves);
}

TestSuite(memory_curves, .init = begin, .fini = end);

Test(memory_curves, a_bin_has_the_most_there_was_in_it)
{
	struct memory_curve *c = memory_curves_get(curves, CURVE_RSS, "host");

	memory_curve_add(c, 0, 3 * MB);
	memory_curve_add(c, MS / 2, 8 * MB);
	memory_curve_add(c, MS / 2 + 1, MB);
	memory_curve_add(c, 3 * MS, 2 * MB);
	cr_expect(eq(u32, c->count, 4));
	cr_expect(eq(u64, c->most_kb[0], 8192));
	// Until something new is told, the last value holds.
	cr_expect(eq(u64, c->most_kb[1], 1024));
	cr_expect(eq(u64, c->most_kb[3], 2048));
	cr_expect(eq(u64, c->peak_bytes, 8 * MB));
	cr_expect(eq(u64, c->peak_ns, MS / 2));
}

Test(memory_curves, a_long_run_has_wider_bins_and_the_same_peak)
{
	struct memory_curve *c = memory_curves_get(curves, CURVE_ALLOCATED, "host");
	uint64_t most = 0;

	for (uint64_t at = 0; at < 100000; at++)
		memory_curve_add(c, at * MS, at == 77777 ? 900 * MB : (at % 7) * MB);
	memory_curve_end(c, 100000 * MS);
	cr_expect(le(u32, c->count, CURVE_BINS));
	cr_expect(gt(u32, c->count, CURVE_BINS / 2));
	for (uint32_t i = 0; i < c->count; i++)
		most = c->most_kb[i] > most ? c->most_kb[i] : most;
	cr_expect(eq(u64, most, 900 * 1024));
	cr_expect(eq(u64, c->most_kb[77777 * MS / c->bin_ns], 900 * 1024));
	cr_expect(eq(u64, c->peak_ns, 77777 * MS));
}

Test(memory_curves, what_is_printed_is_parsed)
{
	static const char *const names[] = { "host", "cuda:0", "cuda:1 of 4711", "a b" };
	char *text = malloc(CURVES_TEXT), *again = malloc(CURVES_TEXT);
	struct memory_curves *read = calloc(1, sizeof(*read));

	for (int i = 0; i < 4; i++) {
		struct memory_curve *c =
			memory_curves_get(curves, (enum curve_kind)(i + 1), names[i]);
		memory_curve_add(c, 5 * MS * (uint64_t)i, UINT64_C(1) << (20 + 10 * i));
		memory_curve_end(c, 30 * MS);
	}
	memory_curves_print(curves, text);
	cr_assert(memory_curves_parse(read, text));
	cr_expect(eq(u32, read->count, 4));
	cr_expect(eq(str, read->of[2].name, (char *)"cuda:1 of 4711"));
	cr_expect(eq(u64, read->of[3].peak_bytes, UINT64_C(1) << 50));
	memory_curves_print(read, again);
	cr_expect(eq(str, again, text));
	free(text);
	free(again);
	free(read);
}

Test(memory_curves, other_text_is_refused_and_none_is_no_curves)
{
	static const char *const texts[] = {
		"0",
		"0 1 2 3 host",
		"0 1 2 3 host:",
		"0 1 2 3 host:1",
		"9 1 2 3 host:1\n",
		"0 0 2 3 host:1\n",
		"0 1 2 3 :1\n",
		"0 1 2 3 host:-1\n",
		"0 1 2 3 host:1 2 \n",
		"0 1 2 3 host:99999999999999999999\n",
		"0 1 2 3 a-name-that-is-longer-than-any-that-is-kept-of-it:1\n",
	};

	cr_expect(memory_curves_parse(curves, NULL));
	cr_expect(memory_curves_parse(curves, ""));
	cr_expect(memory_curves_parse(curves, "0 1 2 3 host:1\n"));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cr_expect(eq(int, memory_curves_parse(curves, texts[i]), false), "%s", texts[i]);
		cr_expect(eq(u32, curves->count, 0), "%s", texts[i]);
	}
}

Test(memory_curves, packages_leave_room_for_the_host_and_gpus)
{
	char name[16];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "package%d", i);
		cr_expect(eq(int, memory_curves_get(curves, CURVE_PACKAGE, name) != NULL,
		             i < CURVES_PACKAGES));
	}
	cr_expect(memory_curves_get(curves, CURVE_RSS, "host") != NULL);
	cr_expect(memory_curves_get(curves, CURVE_PACKAGE, "package3") == &curves->of[3]);
}

Test(memory_curves, a_library_is_of_the_package_it_was_installed_with)
{
	static const struct {
		const char *path, *package, *library;
	} rows[] = {
		{ "/v/lib/python3.11/site-packages/numpy/core/_umath.so", "numpy", "_umath" },
		{ "/v/site-packages/numpy.libs/libopenblas64_p.so", "numpy", "openblas64" },
		{ "/v/site-packages/_cffi_backend.cpython-311.so", "_cffi_backend",
		  "_cffi_backend" },
		{ "/usr/lib/x86_64-linux-gnu/libtorch_python.so.1.13", "", "torch" },
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", "", "" },
		{ "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char name[CURVE_NAME_BYTES] = "";
		memory_curves_package(rows[i].path, name);
		cr_expect(eq(str, name, (char *)rows[i].package), "%s", rows[i].path);
		name[0] = '\0';
		memory_curves_library(rows[i].path, name);
		cr_expect(eq(str, name, (char *)rows[i].library), "%s", rows[i].path);
	}
}
