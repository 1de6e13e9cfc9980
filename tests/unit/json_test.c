// SPDX-License-Identifier: MIT
// What is written is what a strict reader of JSON reads.
#include "cli/json.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

static char *page;
static size_t size;
static struct json j;

static void begin(void)
{
	j = json_start(open_memstream(&page, &size));
}

static void end(void)
{
	free(page);
}

TestSuite(json, .init = begin, .fini = end);

static json_t *read_back(void)
{
	json_error_t error;

	fclose(j.out);
	json_t *root = json_loadb(page, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	cr_assert(root != NULL, "%s at %d: %s", error.text, error.position, page);
	return root;
}

Test(json, nested_values)
{
	json_open(&j, NULL, '{');
	json_open(&j, "empty", '[');
	json_close(&j);
	json_open(&j, "rows", '[');
	json_open(&j, NULL, '{');
	json_put_count(&j, "most", UINT64_C(9007199254740993));
	json_put_integer(&j, "least", -3);
	json_close(&j);
	json_put_bool(&j, NULL, true);
	json_close(&j);
	json_put_number(&j, "share", 0.25);
	json_close(&j);
	json_t *root = read_back();
	json_t *rows = json_object_get(root, "rows");
	cr_expect_eq(json_array_size(json_object_get(root, "empty")), 0);
	cr_assert_eq(json_array_size(rows), 2);
	json_t *row = json_array_get(rows, 0);
	cr_expect_eq(json_integer_value(json_object_get(row, "most")), 9007199254740993);
	cr_expect_eq(json_integer_value(json_object_get(row, "least")), -3);
	cr_expect(json_is_true(json_array_get(rows, 1)));
	cr_expect_float_eq(json_real_value(json_object_get(root, "share")), 0.25, 1e-12);
	json_decref(root);
}

Test(json, what_is_not_there_is_null)
{
	json_open(&j, NULL, '[');
	json_put_text(&j, NULL, NULL);
	json_put_number(&j, NULL, NAN);
	json_put_number(&j, NULL, INFINITY);
	json_put_null(&j, NULL);
	json_close(&j);
	json_t *root = read_back();
	cr_assert_eq(json_array_size(root), 4);
	for (size_t i = 0; i < 4; i++)
		cr_expect(json_is_null(json_array_get(root, i)), "%zu", i);
	json_decref(root);
}

Test(json, what_a_terminal_would_obey_is_escaped)
{
	json_open(&j, NULL, '[');
	json_put_text(&j, NULL, "\033\x7f\xc2\x9b\u202e\U000e0041");
	json_close(&j);
	json_decref(read_back());
	cr_expect(strstr(page, "\"\\u001b\\u007f\\u009b\\u202e\\udb40\\udc41\""), "%s", page);
}

Test(json, texts_of_all_kinds)
{
	static const struct {
		const char *text, *read;
	} table[] = {
		{ "", "" },
		{ "a\"b\\c/d", "a\"b\\c/d" },
		{ "\b\f\n\r\t\x01\x1b\x7f", "\b\f\n\r\t\x01\x1b\x7f" },
		{ "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80",
		  "gr\xc3\xbc\xc3\x9f \xe6\x97\xa5 \xf0\x9f\x98\x80" },
		{ "\xc2\x85 \u202e \u2066 \ufeff \U000e0041",
		  "\xc2\x85 \u202e \u2066 \ufeff \U000e0041" },
		{ "\xff", "\xef\xbf\xbd" },
		{ "a\xc3", "a\xef\xbf\xbd" },
		{ "\xe6\x97", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf0\x80\x80\xaf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
	};
	const size_t count = sizeof(table) / sizeof(table[0]);

	json_open(&j, NULL, '[');
	for (size_t i = 0; i < count; i++)
		json_put_text(&j, NULL, table[i].text);
	json_close(&j);
	json_t *root = read_back();
	cr_assert_eq(json_array_size(root), count);
	for (size_t i = 0; i < count; i++)
		cr_expect_str_eq(json_string_value(json_array_get(root, i)), table[i].read, "%zu",
		                 i);
	json_decref(root);
}

Test(json, in_a_page_nothing_is_markup_and_all_reads_back)
{
	static const char *const texts[] = {
		"</script><img src=x onerror=alert(1)>",
		"<!-- <script>",
		"]]>",
		"a && b",
		"line\xe2\x80\xa8"
		"end\xe2\x80\xa9",
		"plain \xe2\x80\xa7 \xe2\x80\xaa",
	};
	const size_t count = sizeof(texts) / sizeof(texts[0]);

	j.in_page = json_start_in_page(NULL).in_page;
	json_open(&j, NULL, '{');
	json_open(&j, "<key>", '[');
	for (size_t i = 0; i < count; i++)
		json_put_text(&j, NULL, texts[i]);
	json_close(&j);
	json_close(&j);
	json_t *root = read_back();
	cr_expect(strpbrk(page, "<>&") == NULL, "%s", page);
	cr_expect(strstr(page, "\xe2\x80\xa8") == NULL && strstr(page, "\xe2\x80\xa9") == NULL);
	json_t *list = json_object_get(root, "<key>");
	cr_assert_eq(json_array_size(list), count);
	for (size_t i = 0; i < count; i++)
		cr_expect_str_eq(json_string_value(json_array_get(list, i)), texts[i], "%zu", i);
	json_decref(root);
}

Test(json, nanoseconds_are_exact_microseconds)
{
	static const uint64_t numbers[] = { 0, 1, 999, 1000, 123456789012345678 };
	static const char *const texts[] = { "0.000", "0.001", "0.999", "1.000",
		                             "123456789012345.678" };
	char *text = NULL;
	size_t written;
	FILE *out = open_memstream(&text, &written);
	struct json list = json_start_compact(out);

	json_open(&list, NULL, '[');
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_put_microseconds(&list, NULL, numbers[i]);
	json_close(&list);
	fclose(out);
	char *at = text;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		at = strstr(at, texts[i]);
		cr_assert(at != NULL, "%s in %s", texts[i], text);
		at += strlen(texts[i]);
	}
	free(text);
}

Test(json, milliseconds_are_exact_and_no_longer_than_needed)
{
	static const uint64_t numbers[] = { 0, 1, 1000000, 1500000, 123456789012345678 };
	char *text = NULL;
	size_t written;
	FILE *out = open_memstream(&text, &written);
	struct json list = json_start_compact(out);

	json_open(&list, NULL, '[');
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_put_milliseconds(&list, NULL, numbers[i]);
	json_close(&list);
	fclose(out);
	for (char *at = text, *to = at;; at++) {
		if (!strchr(" \n", *at) || !*at)
			*to++ = *at;
		if (!*at)
			break;
	}
	cr_expect_str_eq(text, "[0,0.000001,1,1.5,123456789012.345678]");
	free(text);
}
