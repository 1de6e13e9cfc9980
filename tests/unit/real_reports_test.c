// SPDX-License-Identifier: MIT
// What the users of real programs see: the report of one screen of kept runs, as text.
#include "cli/report/screen.h"
#include "cli/report/view.h"
#include "merge/file/file.h"
#include "merge/profile/profile.h"
#include "symbolize/elf/decompress.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "tests/support/expect.h"
#include "tests/support/golden.h"
#include "tests/unit/text_page.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH       100
#define NARROW      80
#define PREFIX      TESTS_DIR "/data/real/"
#define EXTENSION   ".bneck.xz"
#define PACKED_ROOM (1 << 20)
#define SCHEMA_AT   60 // where SQLite has the number that is the schema: big-endian

TestSuite(real_reports, .init = golden_use_utf8);

static uint8_t *unpack(const char *path, size_t *size)
{
	cleanup_free uint8_t *packed = malloc(PACKED_ROOM);
	cleanup_fclose FILE *file = fopen(path, "re");
	struct error err;

	cr_assert(packed && file, "%s", path);
	struct bytes in = { packed, fread(packed, 1, PACKED_ROOM, file) };
	cr_assert(lt(sz, in.size, PACKED_ROOM), "%s", path);
	uint8_t *unpacked = decompress_xz(in, size, &err);
	cr_assert(unpacked && *size > SCHEMA_AT + 4, "%s", path);
	return unpacked;
}

// A run of an older schema lacks the tables that came later, which may be missing.
static struct profile *read_run(const char *path)
{
	char plain[] = "/tmp/real_reports.XXXXXX";
	struct error err;
	size_t size;
	cleanup_free uint8_t *bytes = unpack(path, &size);
	int fd = mkstemp(plain);

	for (int i = 0; i < 4; i++)
		bytes[SCHEMA_AT + i] = (uint8_t)(FILE_SCHEMA >> (24 - 8 * i));
	cr_assert(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0);
	struct profile *profile = profile_read(plain, &err);
	unlink(plain);
	cr_assert(profile != NULL, "%s: %s", path, err.text);
	return profile;
}

// One screen; ops and ranks are subjects of their own.
static void expect_to_fit(const char *page, const char *name)
{
	bool more = strstr(page, "\nops by ") || strstr(page, "\nworkers ");
	size_t lines = 0;

	for (const char *c = page; (c = strchr(c, '\n')); c++)
		lines++;
	cr_expect(le(sz, lines, more ? SCREEN_LINES_OPS : SCREEN_LINES), "%s", name);
}

static void expect_report(const char *path)
{
	const char *file = path + strlen(PREFIX);
	struct view view = view_default();
	char name[64];
	cleanup(profile) struct profile *profile = read_run(path);

	view_make_brief(&view);
	snprintf(name, sizeof(name), "real/%.*s", (int)(strlen(file) - strlen(EXTENSION)), file);
	for (int width = NARROW; width <= WIDTH; width += WIDTH - NARROW) {
		char *page = text_page(profile, &view, golden_terminal(width, false, false));
		expect_to_fit(page, name);
		free(page);
	}
	golden_expect(name, text_page(profile, &view, golden_terminal(WIDTH, false, false)));
}

Test(real_reports, runs_that_are_kept_at_100_columns)
{
	glob_t runs;

	cr_assert(eq(int, glob(PREFIX "*" EXTENSION, 0, NULL, &runs), 0));
	for (size_t i = 0; i < runs.gl_pathc; i++)
		expect_report(runs.gl_pathv[i]);
	globfree(&runs);
}
