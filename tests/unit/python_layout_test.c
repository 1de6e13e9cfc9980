// SPDX-License-Identifier: MIT
#include "base/python_layout.h"
#include "tests/support/expect.h"

#include <string.h>

/*
 * _Py_DebugOffsets of a 3.13.0 build (the first 584 bytes of its _PyRuntime), by what the tables
 * of offsetof() say of the same build.
 */
static uint8_t offsets[PYTHON_LAYOUT_BYTES];

static void put(size_t at, uint64_t value)
{
	memcpy(offsets + at, &value, sizeof(value));
}

static void make_3_13(void)
{
	static const struct {
		size_t at;
		uint64_t value;
	} words[] = {
		{ 8, 0x030d00f0 }, { 16, 0 },    { 32, 608 },  { 40, 632 },  { 64, 7264 },
		{ 72, 7344 },      { 152, 312 }, { 168, 8 },   { 184, 72 },  { 192, 152 },
		{ 200, 160 },      { 208, 232 }, { 216, 32 },  { 224, 80 },  { 232, 8 },
		{ 240, 0 },        { 248, 56 },  { 264, 70 },  { 280, 112 }, { 296, 128 },
		{ 304, 136 },      { 312, 68 },  { 344, 200 }, { 520, 16 },  { 528, 32 },
		{ 544, 32 },       { 552, 16 },  { 560, 40 },
	};

	memset(offsets, 0, sizeof(offsets));
	memcpy(offsets, PYTHON_LAYOUT_COOKIE, 8);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		put(words[i].at, words[i].value);
}

Test(python_layout, there_are_tables_up_to_3_12)
{
	struct python_layout l;

	for (uint32_t minor = 0; minor < 20; minor++) {
		bool known = python_layout_of(PYTHON_VERSION(minor), &l);
		cr_expect(eq(int, known, minor >= 8 && minor <= 12), "3.%u", minor);
		if (known)
			cr_expect(eq(u32, l.version, PYTHON_VERSION(minor)));
	}
	cr_expect(not(python_layout_of(0x0207, &l)));
}

Test(python_layout, from_3_13_on_the_interpreter_tells_its_own)
{
	struct python_layout l;

	make_3_13();
	cr_expect(eq(u32, python_layout_version(offsets), PYTHON_VERSION(13)));
	cr_assert(python_layout_read(offsets, sizeof(offsets), &l));
	cr_expect(eq(i32, l.runtime_interpreters, 632));
	cr_expect(eq(i32, l.thread_frame, 72));
	cr_expect(eq(i32, l.thread_top, 240));
	cr_expect(eq(i32, l.thread_status, 32));
	cr_expect(eq(i32, l.frame_owner, 70));
	cr_expect(eq(i32, l.frame_tlbc, -1));
	cr_expect(eq(i32, l.code_name, 128));
	cr_expect(eq(i32, l.code_start, 200));
	cr_expect(eq(i32, l.code_bytes, 144));
	cr_expect(eq(i32, l.code_version, 92));
	cr_expect(eq(i32, l.text_compact, 56));
	cr_expect(eq(i32, l.object_type, 8));
	cr_expect(not(l.free_threaded));
	put(16, 1);
	cr_assert(python_layout_read(offsets, sizeof(offsets), &l));
	cr_expect(l.free_threaded);
	cr_expect(eq(i32, l.object_type, 24));
}

Test(python_layout, what_is_not_known_or_cannot_be_is_refused)
{
	struct python_layout l = { .version = 42 };

	make_3_13();
	cr_expect(not(python_layout_read(offsets, 583, &l)), "cut");
	put(8, 0x03100000);
	cr_expect(not(python_layout_read(offsets, sizeof(offsets), &l)), "3.16");
	make_3_13();
	offsets[0] ^= 1;
	cr_expect(eq(u32, python_layout_version(offsets), 0), "before 3.13");
	cr_expect(not(python_layout_read(offsets, sizeof(offsets), &l)), "no cookie");
	make_3_13();
	put(232, 80);
	cr_expect(not(python_layout_read(offsets, sizeof(offsets), &l)), "beyond the frame");
	make_3_13();
	put(208, 310);
	cr_expect(not(python_layout_read(offsets, sizeof(offsets), &l)), "beyond the thread");
	make_3_13();
	put(40, UINT64_MAX);
	cr_expect(not(python_layout_read(offsets, sizeof(offsets), &l)), "endless");
	cr_expect(eq(u32, l.version, 42), "OUT is as it was");
}
