// SPDX-License-Identifier: MIT
// A section made by hand, in each format that there is.
#include "cli/report/section.h"

#include "base/error.h"
#include "cli/export/sheet.h"
#include "cli/html/html_section.h"
#include "cli/json.h"
#include "cli/report/section_json.h"
#include "cli/report/view.h"
#include "cli/text/text.h"
#include "tests/support/expect.h"
#include "tests/support/golden.h"

#include <stdlib.h>
#include <string.h>

struct lap {
	const char *runner;
	uint64_t ns, heartbeats;
	double margin;
	bool tied;
	const char *words;
};

static const struct lap laps[] = {
	{ "ada", UINT64_C(41) * 1000000000, 4711, 0.02, true, NULL },
	{ "bob", UINT64_C(52) * 1000000000, 0, 0, false, NULL },
};

static void make_margin(const struct section *s, const void *data, struct section_cell *cell)
{
	const struct lap *lap = data;

	(void)s;
	cell->number = lap->margin;
	cell->flags = (uint8_t)((lap->margin > 0 ? CELL_SAMPLED : 0) | (lap->tied ? CELL_TIED : 0));
}

// The last one is the column that somebody adds: an entry of the list, and nothing else.
static const struct section_column columns[] = {
	{ "time_ns", .page_id = "time", .heading = "time", .type = CELL_NS, .at = { 1, 1, 2, 2 },
	  FIELD(struct lap, ns) },
	{ "margin", .heading = "\u00b1", .type = CELL_MARGIN, .at = { 2, 2, 3, 3 },
	  .none = { 1, 1, 0 }, .tied = "~ as good as the next", .make = make_margin },
	{ "runner", .heading = "who", .type = CELL_TEXT, .at = { 9, 9, 1, 1 }, .room = 1,
	  FIELD(struct lap, runner) },
	{ "heartbeats", .heading = "beats", .type = CELL_COUNT, .at = { 3, 3, 4, 4 },
	  .none = { 1, 1, 1, 1 }, FIELD(struct lap, heartbeats) },
};

#define ALL (sizeof(columns) / sizeof(columns[0]))

static struct report report;
static char *out;

static void end(void)
{
	report_free(&report);
	free(out);
	out = NULL;
}

TestSuite(section, .init = golden_use_utf8, .fini = end);

static const struct section *make(enum reader reader, size_t count)
{
	static const struct view view;
	struct error err;

	report = report_of(NULL, &view, reader);
	struct section *s = section_new(&report, "laps", "Laps");
	s->shown = true;
	s->unit_ns = laps[1].ns;
	section_columns(s, columns, count);
	section_rows(s, laps, sizeof(laps) / sizeof(laps[0]), sizeof(laps[0]));
	cr_assert(section_end(s, &err) != NULL);
	return s;
}

static void print_text(size_t count)
{
	size_t size;
	struct error err;
	const struct section *s = make(READER_TEXT, count);
	const struct text text = { .out = open_memstream(&out, &size),
		                   .terminal = golden_terminal(100, false, false) };

	cr_assert_eq(text_section(&text, s, &err), 0);
	fclose(text.out);
}

static void print_page(size_t count)
{
	size_t size;
	FILE *stream = open_memstream(&out, &size);
	struct json j = json_start_in_page(stream);

	json_open(&j, NULL, '{');
	html_put_table(&j, "laps", make(READER_PAGE, count));
	json_close(&j);
	fclose(stream);
}

static void print_json(size_t count)
{
	size_t size;
	FILE *stream = open_memstream(&out, &size);
	struct json j = json_start_compact(stream);
	struct sheet sheet = { .json = &j };

	json_open(&j, NULL, '[');
	sheet_section(&sheet, make(READER_SHEET, count));
	json_close(&j);
	fclose(stream);
}

static void print_csv(size_t count)
{
	size_t size;
	struct sheet sheet = { .out = open_memstream(&out, &size) };

	sheet_section(&sheet, make(READER_SHEET, count));
	fclose(sheet.out);
}

static void print_report(size_t count)
{
	size_t size;
	FILE *stream = open_memstream(&out, &size);
	struct json j = json_start_compact(stream);

	json_open(&j, NULL, '{');
	section_json(&j, make(READER_JSON, count));
	json_close(&j);
	fclose(stream);
}

Test(section, a_column_that_is_added_appears_in_every_format)
{
	static const struct format {
		const char *name, *heading, *value;
		void (*print)(size_t count);
	} formats[] = {
		{ "text", "beats", "4,711", print_text },
		{ "page", "[\"heartbeats\",\"beats\",\"count\"]", "4711", print_page },
		{ "JSON", "\"heartbeats\":4711", "4711", print_json },
		{ "CSV", ",heartbeats", ",4711", print_csv },
		{ "report", "\"heartbeats\":4711", "4711", print_report },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const struct format *format = &formats[i];
		format->print(ALL - 1);
		cr_expect(strstr(out, format->heading) == NULL, "%s: %s", format->name, out);
		cr_expect(strstr(out, format->value) == NULL, "%s: %s", format->name, out);
		end();
		format->print(ALL);
		cr_expect(strstr(out, format->heading) != NULL, "%s: %s", format->name, out);
		cr_expect(strstr(out, format->value) != NULL, "%s: %s", format->name, out);
		end();
	}
}

static const struct section_column list_columns[] = {
	{ "runner", .type = CELL_TEXT, .at = { 1, 0, 0, 1 }, FIELD(struct lap, runner) },
	{ "time_ns", .type = CELL_NS, .at = { 2, 0, 0, 2 }, .form = FORM_DURATION,
	  FIELD(struct lap, ns) },
	{ "beats", .type = CELL_COUNT, .at = { 3, 0, 0, 3 }, .none = { 1, 0, 0, 1 },
	  FIELD(struct lap, heartbeats) },
	{ "words", .type = CELL_TEXT, .at = { 4, 0, 0, 4 }, .prose = true,
	  FIELD(struct lap, words) },
};

static void print_list(int width)
{
	static const struct view view;
	struct lap told[] = { laps[0], laps[1] };
	struct error err;
	size_t size;

	told[0].words = "ran and ran and ran and ran and ran and ran and ran";
	told[1].words = "walked";
	report = report_of(NULL, &view, READER_TEXT);
	struct section *s = section_new(&report, "laps", "Laps");
	s->shown = true;
	s->form = SECTION_LIST;
	SECTION_COLUMNS(s, list_columns);
	section_rows(s, told, 2, sizeof(told[0]));
	cr_assert(section_end(s, &err) != NULL);
	const struct text text = { .out = open_memstream(&out, &size),
		                   .terminal = golden_terminal(width, false, false) };
	cr_assert_eq(text_section(&text, s, &err), 0);
	fclose(text.out);
}

Test(section, a_list_has_numbers_and_paragraphs_beside_its_columns)
{
	print_list(65);
	cr_expect_str_eq(out, "\nLaps\n"
	                      "  1  ada  41.0 s  4,711  ran and ran and ran and ran and ran and\n"
	                      "                         ran and ran\n"
	                      "  2  bob  52.0 s         walked\n");
}

Test(section, paragraphs_of_a_list_are_below_its_columns_where_the_line_is_short)
{
	print_list(40);
	cr_expect_str_eq(out, "\nLaps\n"
	                      "  1  ada  41.0 s  4,711\n"
	                      "     ran and ran and ran and ran and ran\n"
	                      "     and ran and ran\n"
	                      "  2  bob  52.0 s\n"
	                      "     walked\n");
}

Test(section, rows_below_a_row_are_in_its_object)
{
	static const struct view view;
	size_t size;
	FILE *stream = open_memstream(&out, &size);
	struct json j = json_start_compact(stream);

	report = report_of(NULL, &view, READER_JSON);
	struct section *below = section_new(&report, "splits", NULL);
	section_columns(below, columns, 1);
	section_rows(below, laps, 2, sizeof(laps[0]));
	struct section *s = section_new(&report, "laps", NULL);
	section_columns(s, &columns[2], 1);
	section_row(s, &laps[0])->below = below;
	json_open(&j, NULL, '[');
	section_json_rows(&j, s);
	json_close(&j);
	fclose(stream);
	cr_expect(strstr(out, "\"runner\":\"ada\",\n"
	                      "  \"splits\":[{\"time_ns\":41000000000},"
	                      "{\"time_ns\":52000000000}\n  ]\n }") != NULL,
	          "%s", out);
}

static void make_all(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)row;
	cell->section = s->context;
}

static void make_nobody(const struct section *s, const void *row, struct section_cell *cell)
{
	(void)row;
	cell->section = section_new(s->report, "nobody", NULL);
}

static const struct section_column whole_columns[] = {
	{ "winner", .type = CELL_ROW, .at = { 0, 1, 0, 1 }, .make = make_all },
	{ "laps", .type = CELL_ROWS, .at = { 0, 2, 0, 2 }, .make = make_all },
	{ "nobody", .type = CELL_ROW, .at = { 0, 3, 0, 3 }, .make = make_nobody },
	{ "heartbeats", .type = CELL_COUNT, .at = { 0, 4, 0, 4 }, FIELD(struct lap, heartbeats) },
};

static const struct section *make_whole(enum reader reader)
{
	static const struct view view;

	report = report_of(NULL, &view, reader);
	struct section *all = section_new(&report, "laps", NULL);
	section_columns(all, &columns[2], 1);
	section_rows(all, laps, 2, sizeof(laps[0]));
	struct section *s = section_new(&report, "race", NULL);
	s->context = all;
	SECTION_COLUMNS(s, whole_columns);
	section_rows(s, laps, 1, sizeof(laps[0]));
	return s;
}

Test(section, rows_of_other_sections_are_members_where_their_columns_stand)
{
	static const char words[] = "{\"winner\":{\"runner\":\"ada\"},"
				    "\"laps\":[{\"runner\":\"ada\"},{\"runner\":\"bob\"}],"
				    "\"nobody\":null,\"heartbeats\":4711}";
	static const char in_page[] = "{\"winner\":{\"runner\":\"ada\"},"
				      "\"laps\":[[\"ada\"],[\"bob\"]],"
				      "\"nobody\":null,\"heartbeats\":4711}";

	for (int page = 0; page < 2; page++) {
		size_t size;
		FILE *stream = open_memstream(&out, &size);
		struct json j = json_start_compact(stream);
		const struct section *s = make_whole(page ? READER_PAGE : READER_JSON);
		json_open(&j, NULL, '[');
		json_open(&j, NULL, '[');
		json_open(&j, NULL, '[');
		if (page) {
			json_open(&j, NULL, '{');
			html_put_members(&j, s, 0);
			json_close(&j);
		} else {
			section_json_row(&j, NULL, s, 0);
		}
		json_close(&j);
		json_close(&j);
		json_close(&j);
		fclose(stream);
		cr_expect(strstr(out, page ? in_page : words) != NULL, "%s", out);
		end();
	}
}

Test(section, what_is_behind_a_section_is_printed_with_it)
{
	static const struct view view;
	struct error err;
	size_t size;

	report = report_of(NULL, &view, READER_TEXT);
	struct section *s = section_new(&report, "first", "first");
	s->shown = true;
	s->next = section_new(&report, "hidden", "hidden");
	s->next->next = section_new(&report, "last", "");
	s->next->next->shown = true;
	section_say(s->next->next, "goes on");
	const struct text text = { .out = open_memstream(&out, &size),
		                   .terminal = golden_terminal(80, false, false) };
	cr_assert_eq(text_section(&text, s, &err), 0);
	fclose(text.out);
	cr_expect_str_eq(out, "\nfirst\n  goes on\n");
}

static const struct section *make_notes(enum reader reader)
{
	static const struct view view;

	report = report_of(NULL, &view, reader);
	struct section *s = section_new(&report, "limits", "limits");
	s->shown = true;
	s->subtitle = "of this race";
	section_say(s, "%d laps \u00b7 \u00b1%d s", 2, 3);
	section_say(s, "a \033[31mname");
	return s;
}

static void print_notes(bool ascii)
{
	struct error err;
	size_t size;
	const struct section *s = make_notes(READER_TEXT);
	const struct text text = { .out = open_memstream(&out, &size),
		                   .terminal = golden_terminal(80, false, ascii) };

	cr_assert_eq(text_section(&text, s, &err), 0);
	fclose(text.out);
}

Test(section, notes_are_in_every_format_in_signs_that_it_has)
{
	size_t size;

	print_notes(false);
	cr_expect(strstr(out, "\nlimits  of this race\n  2 laps \u00b7 \u00b13 s\n") != NULL, "%s",
	          out);
	end();
	print_notes(true);
	cr_expect(strstr(out, "\nlimits  of this race\n  2 laps - +-3 s\n") != NULL, "%s", out);
	end();
	{
		FILE *stream = open_memstream(&out, &size);
		struct json j = json_start_in_page(stream);
		json_open(&j, NULL, '{');
		html_put_table(&j, "limits", make_notes(READER_PAGE));
		json_close(&j);
		fclose(stream);
		cr_expect(strstr(out, "\"words\":[\"2 laps \u00b7 \u00b13 s\",") != NULL, "%s",
		          out);
		end();
	}
	for (int page = 0; page < 2; page++) {
		FILE *stream = open_memstream(&out, &size);
		struct json j = json_start_in_page(stream);
		json_open(&j, NULL, '{');
		if (page)
			html_put_notes(&j, make_notes(READER_PAGE));
		else
			section_json_notes(&j, make_notes(READER_JSON));
		json_close(&j);
		fclose(stream);
		const char *words =
			page ? "\"limits  of this race\",\n  \"  2 laps \u00b7 \u00b13 s\","
			     : "[\n  \"2 laps \u00b7 \u00b13 s\",";
		cr_expect(strstr(out, words) != NULL, "%s", out);
		cr_expect(strchr(out, '\033') == NULL && strstr(out, "\\u001b") == NULL, "%s", out);
		end();
	}
}

Test(section, a_tie_and_a_margin_are_told_in_words_and_kept_as_numbers)
{
	print_text(ALL);
	cr_expect(strstr(out, "~\u00b12.0") != NULL, "%s", out);
	cr_expect(strstr(out, "  ~ as good as the next\n") != NULL, "%s", out);
	end();
	print_csv(ALL);
	cr_expect_str_eq(out, "runner,time_ns,margin,heartbeats\r\n"
	                      "ada,41000000000,0.02,4711\r\n"
	                      "bob,52000000000,0,\r\n");
}

Test(section, what_is_not_known_is_blank_and_null)
{
	print_page(ALL);
	cr_expect(strstr(out, "[52000000000,null,null,\"bob\"]") != NULL, "%s", out);
	end();
	print_text(ALL);
	cr_expect(strstr(out, "52.0 s                bob") != NULL, "%s", out);
}

Test(section, columns_that_are_taken_out_or_in_no_place_are_not_there)
{
	static const struct view view;
	static const struct section_column nowhere = { "secret", .heading = "secret",
		                                       .type = CELL_COUNT, .at = { 0, 0, 1 },
		                                       FIELD(struct lap, heartbeats) };

	report = report_of(NULL, &view, READER_TEXT);
	struct section *s = section_new(&report, "laps", "Laps");
	SECTION_COLUMNS(s, columns);
	section_columns(s, &nowhere, 1);
	section_without(s, "margin");
	cr_expect_eq(s->column_count, ALL - 1);
	cr_expect(section_column(s, "secret") == NULL && section_column(s, "margin") == NULL);
	cr_expect_str_eq(s->columns[s->column_count - 1].id, "runner"); // its place is the last
}

Test(section, more_rows_than_a_page_takes_are_counted)
{
	static const struct view view;
	static struct lap many[SECTION_PAGE_ROWS + 3];

	report = report_of(NULL, &view, READER_PAGE);
	struct section *s = section_new(&report, "laps", "Laps");
	SECTION_COLUMNS(s, columns);
	section_page_rows(s, many, SECTION_PAGE_ROWS + 3, sizeof(*many));
	cr_expect_eq(s->row_count, SECTION_PAGE_ROWS);
	cr_expect_eq(s->left_out, 3);
}

Test(section, both_ends_of_a_very_long_name_are_shown)
{
	static const struct view view;
	static const struct section_column who = { "runner",
		                                   .heading = "who",
		                                   .type = CELL_TEXT,
		                                   .at = { 1, 0, 0 },
		                                   .clip = CLIP_MIDDLE,
		                                   .room = 1,
		                                   FIELD(struct lap, runner) };
	char name[8192];
	struct error err;
	size_t size;

	memset(name, 'x', sizeof(name));
	memcpy(name, "head", 4);
	memcpy(name + sizeof(name) - 5, "tail", 5);
	const struct lap lap = { .runner = name };
	report = report_of(NULL, &view, READER_TEXT);
	struct section *s = section_new(&report, "laps", "Laps");
	s->shown = true;
	section_columns(s, &who, 1);
	section_rows(s, &lap, 1, sizeof(lap));
	const struct text text = { .out = open_memstream(&out, &size),
		                   .terminal = golden_terminal(80, false, false) };
	cr_assert_eq(text_section(&text, s, &err), 0);
	fclose(text.out);
	cr_expect(strstr(out, "head") != NULL && strstr(out, "tail") != NULL, "%s", out);
}

static void print_parts(int width)
{
	static const struct view view;
	static const struct section_column parts[] = {
		{ "number", .heading = "lap", .type = CELL_TEXT, .at = { 1, 0, 0 }, .right = true,
		  FIELD(struct lap, runner) },
		{ "at", .heading = "at", .type = CELL_NS, .at = { 2, 0, 0 }, .form = FORM_MOMENT,
		  FIELD(struct lap, ns) },
		{ "words", .heading = "why", .type = CELL_TEXT, .at = { 3, 0, 0 }, .room = 1,
		  .parts = 24, FIELD(struct lap, words) },
	};
	static const struct lap told[] = {
		{ .runner = "1-20", .ns = 1500000000, .words = "the wind\nthe rain" },
		{ .runner = "3", .ns = 12345678, .words = "" },
	};
	struct error err;
	size_t size;

	report = report_of(NULL, &view, READER_TEXT);
	struct section *s = section_new(&report, "laps", "Laps");
	s->shown = true;
	SECTION_COLUMNS(s, parts);
	section_rows(s, told, 2, sizeof(told[0]));
	const struct text text = { .out = open_memstream(&out, &size),
		                   .terminal = golden_terminal(width, false, false) };
	cr_assert_eq(text_section(&text, s, &err), 0);
	fclose(text.out);
}

Test(section, parts_that_have_no_room_in_the_line_are_left_out)
{
	print_parts(80);
	cr_expect_str_eq(out, "\nLaps\n"
	                      "   lap       at  why\n"
	                      "  1-20  1.500 s  the wind, the rain\n"
	                      "     3  0.012 s\n");
	end();
	print_parts(40);
	cr_expect(strstr(out, "  1-20  1.500 s  the wind\n") != NULL, "%s", out);
}

Test(section, a_page_has_members_of_a_row_and_rows_alone)
{
	size_t size;
	FILE *stream = open_memstream(&out, &size);
	struct json j = json_start_in_page(stream);

	json_open(&j, NULL, '[');
	json_open(&j, NULL, '{');
	html_put_members(&j, make(READER_PAGE, ALL), 1);
	report_free(&report);
	html_put_rows(&j, "items", make(READER_PAGE, 1));
	json_close(&j);
	json_close(&j);
	fclose(stream);
	cr_expect(strstr(out, "\"time\":52000000000,") != NULL, "%s", out);
	cr_expect(strstr(out, "[41000000000]") != NULL, "%s", out);
}

static int freed;

static void count_free(void *answer)
{
	free(answer);
	freed++;
}

Test(section, answers_live_as_long_as_the_report)
{
	struct error err;

	report = report_of(NULL, NULL, READER_TEXT);
	freed = 0;
	cr_expect(report_keep(&report, malloc(1), count_free, &err) != NULL);
	cr_expect(report_keep(&report, NULL, count_free, &err) == NULL);
	cr_expect_eq(freed, 0);
	report_free(&report);
	cr_expect_eq(freed, 1);
}
