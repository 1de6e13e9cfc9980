// SPDX-License-Identifier: MIT
#include "tests/support/golden.h"
#include "tests/support/expect.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE_BYTES (1 << 16)

struct terminal golden_terminal(int width, bool color, bool ascii)
{
	struct terminal t = terminal_of(stdout, width, color ? COLOR_ALWAYS : COLOR_NEVER);

	t.ascii = ascii;
	if (ascii)
		t.dot = "-", t.bar = "|", t.plus_minus = "+-";
	return t;
}

static void update(const char *path, const char *page)
{
	FILE *file = fopen(path, "w");

	fputs(page, file);
	fclose(file);
}

static char *read_golden(const char *path)
{
	char *page = calloc(1, PAGE_BYTES);
	FILE *file = fopen(path, "r");

	if (file) {
		page[fread(page, 1, PAGE_BYTES - 1, file)] = '\0';
		fclose(file);
	}
	return page;
}

void golden_expect(const char *name, char *page)
{
	char path[256];

	snprintf(path, sizeof(path), TESTS_DIR "/golden/%s.txt", name);
	if (getenv("UPDATE_GOLDEN"))
		update(path, page);
	char *golden = read_golden(path);
	cr_expect(eq(str, page, golden), "tests/golden/%s.txt", name);
	free(golden);
	free(page);
}

void golden_use_utf8(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
}
