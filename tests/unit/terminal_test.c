// SPDX-License-Identifier: MIT
#include "cli/terminal.h"

#include "base/cleanup.h"
#include "tests/support/expect.h"

#include <fcntl.h>
#include <locale.h>
#include <pty.h>
#include <sys/ioctl.h>

static void clean_environment(void)
{
	static const char *const names[] = { "COLUMNS", "NO_COLOR", "CLICOLOR_FORCE",
		                             "LC_ALL",  "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	setenv("TERM", "xterm", 1);
	terminal_set_locale();
}

TestSuite(terminal, .init = clean_environment);

// A stream on the far side of a terminal that is COLUMNS wide.
static FILE *open_tty(int columns)
{
	struct winsize size = { .ws_row = 24, .ws_col = (unsigned short)columns };
	int ours, theirs;

	if (openpty(&ours, &theirs, NULL, NULL, &size) < 0)
		cr_skip("no pseudo-terminals here");
	return fdopen(theirs, "w"); // OURS lives as long as the test: a hangup would end it
}

Test(terminal, a_file_is_100_columns_wide_and_has_no_colour)
{
	cleanup_fclose FILE *file = tmpfile();
	struct terminal t = terminal_of(file, 0, COLOR_AUTO);

	cr_expect(eq(int, t.width, TERMINAL_WIDTH_DEFAULT));
	cr_expect(not(t.color));
	cr_expect(not(t.is_tty));
	cr_expect(eq(str, (char *)terminal_style(&t, STYLE_BOLD), ""));
}

Test(terminal, the_width_is_the_options_then_columns_then_the_terminals)
{
	cleanup_fclose FILE *tty = open_tty(132);

	cr_expect(eq(int, terminal_of(tty, 0, COLOR_AUTO).width, 132));
	setenv("COLUMNS", "90", 1);
	cr_expect(eq(int, terminal_of(tty, 0, COLOR_AUTO).width, 90));
	cr_expect(eq(int, terminal_of(tty, 120, COLOR_AUTO).width, 120));
	setenv("COLUMNS", "wide", 1);
	cr_expect(eq(int, terminal_of(tty, 0, COLOR_AUTO).width, 132));
	setenv("COLUMNS", "3", 1);
	cr_expect(eq(int, terminal_of(tty, 0, COLOR_AUTO).width, TERMINAL_WIDTH_MIN));
}

Test(terminal, a_terminal_has_colour_unless_somebody_says_no)
{
	cleanup_fclose FILE *tty = open_tty(80);

	cr_expect(terminal_of(tty, 0, COLOR_AUTO).color);
	cr_expect(not(terminal_of(tty, 0, COLOR_NEVER).color));
	setenv("TERM", "dumb", 1);
	cr_expect(not(terminal_of(tty, 0, COLOR_AUTO).color));
	setenv("TERM", "xterm", 1);
	setenv("NO_COLOR", "1", 1);
	cr_expect(not(terminal_of(tty, 0, COLOR_AUTO).color));
	cr_expect(terminal_of(tty, 0, COLOR_ALWAYS).color);
	setenv("NO_COLOR", "", 1); // no-color.org: only if it is not empty
	cr_expect(terminal_of(tty, 0, COLOR_AUTO).color);
}

Test(terminal, colour_can_be_forced_into_a_file)
{
	cleanup_fclose FILE *file = tmpfile();

	setenv("CLICOLOR_FORCE", "1", 1);
	cr_expect(terminal_of(file, 0, COLOR_AUTO).color);
	setenv("CLICOLOR_FORCE", "0", 1);
	cr_expect(not(terminal_of(file, 0, COLOR_AUTO).color));
}

Test(terminal, without_a_locale_it_is_utf8_and_with_c_it_is_ascii)
{
	cleanup_fclose FILE *file = tmpfile();

	cr_expect(not(terminal_of(file, 0, COLOR_AUTO).ascii));
	setenv("LC_ALL", "C", 1);
	terminal_set_locale();
	struct terminal t = terminal_of(file, 0, COLOR_AUTO);
	cr_expect(t.ascii);
	cr_expect(eq(str, (char *)t.plus_minus, "+-"));
	setenv("LC_ALL", "xx_YY.nowhere", 1); // not installed
	terminal_set_locale();
	cr_expect(not(terminal_of(file, 0, COLOR_AUTO).ascii));
}

static void expect_wrapped(const char *words, int indent, const char *expected)
{
	struct terminal t = { .width = 20 };
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	terminal_wrap(&t, out, words, 0, indent);
	fclose(out);
	cr_expect(eq(str, page, (char *)expected));
	free(page);
}

Test(terminal, words_are_broken_at_blanks)
{
	expect_wrapped("one two three four five sixsixsixsixsixsixsixsix seven", 4,
	               "one two three four\n    five\n    sixsixsixsixsixsixsixsix\n    seven\n");
}

Test(terminal, a_number_and_its_unit_stay_together)
{
	expect_wrapped("it took the CPU 88 %, or 1.4 ms so 2 mice", 0,
	               "it took the CPU\n88 %, or 1.4 ms so 2\nmice\n");
}

static char *printed(const struct terminal *t, const char *text, bool whole)
{
	char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	if (whole)
		terminal_put(t, out, text, strlen(text));
	else
		terminal_print(t, out, "%s", text);
	fclose(out);
	return bytes;
}

Test(terminal, a_line_holds_nothing_that_is_obeyed)
{
	const struct terminal t = { .width = 80, .color = true };
	static const struct {
		const char *foreign, *shown;
	} rows[] = {
		{ "plain \u00e9", "plain \u00e9" },
		{ "\033[31mred\033[0m", "^[[31mred^[[0m" },
		{ "two\nlines\r", "two^Jlines^M" },
		{ "\x9b\xff\a", "\uFFFD\uFFFD^G" },
		{ "\u202e\u200b\u00ad", "\uFFFD\uFFFD\uFFFD" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_free char *line = printed(&t, rows[i].foreign, false);
		cr_assert(eq(str, line, (char *)rows[i].shown));
	}
}

Test(terminal, a_text_keeps_its_lines_and_our_styles_alone)
{
	static const char text[] = "\033[1mname\033[0m \033[31m\033]0;x\a\n\u202e\nend";
	struct terminal t = { .width = 80, .color = true };
	cleanup_free char *colored = printed(&t, text, true);
	t.color = false;
	cleanup_free char *plain = printed(&t, text, true);

	cr_expect(eq(str, colored, "\033[1mname\033[0m ^[[31m^[]0;x^G\n\uFFFD\nend"));
	cr_expect(eq(str, plain, "^[[1mname^[[0m ^[[31m^[]0;x^G\n\uFFFD\nend"));
}
