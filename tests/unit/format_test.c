// SPDX-License-Identifier: MIT
#include "base/format.h"

#include "base/clock.h"
#include "tests/support/expect.h"

#include <locale.h>

static void use_utf8(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");
}

TestSuite(format, .init = use_utf8);

Test(format, durations_have_about_three_digits)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "0 s" },
		{ 999, "1.00 us" },
		{ 120 * NS_PER_US, "120 us" },
		{ 9994 * NS_PER_US, "9.99 ms" },
		{ 412 * NS_PER_MS, "412 ms" },
		{ UINT64_C(999499999), "999 ms" },
		{ UINT64_C(999600000), "1.00 s" },
		{ UINT64_C(9996000000), "10.0 s" },
		{ 19812 * NS_PER_MS, "19.8 s" },
		{ 599 * NS_PER_SEC, "599.0 s" },
		{ 751 * NS_PER_SEC, "12 min 31 s" },
		{ 7380 * NS_PER_SEC, "2 h 03 min" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect(eq(str, format_duration(rows[i].ns).text, (char *)rows[i].text));
}

Test(format, a_column_has_one_unit)
{
	struct time_unit unit = format_time_unit(19812 * NS_PER_MS);

	cr_expect(eq(str, format_time(19812 * NS_PER_MS, unit).text, "19.8 s"));
	cr_expect(eq(str, format_time(412 * NS_PER_MS, unit).text, "0.4 s"));
}

Test(format, counts_are_grouped_by_three)
{
	cr_expect(eq(str, format_count(0).text, "0"));
	cr_expect(eq(str, format_count(999).text, "999"));
	cr_expect(eq(str, format_count(1000).text, "1,000"));
	cr_expect(eq(str, format_count(41022).text, "41,022"));
	cr_expect(eq(str, format_count(UINT64_MAX).text, "18,446,744,073,709,551,615"));
}

Test(format, bytes_are_counted_in_powers_of_1024)
{
	cr_expect(eq(str, format_bytes(512).text, "512 B"));
	cr_expect(eq(str, format_bytes(1536).text, "1.5 KB"));
	cr_expect(eq(str, format_bytes(123u << 20).text, "123 MB"));
	cr_expect(eq(str, format_bytes(UINT64_MAX).text, "16384 PB"));
}

Test(format, a_share_of_nothing_is_zero)
{
	cr_expect(eq(str, format_percent(5, 0).text, "0.0"));
	cr_expect(eq(str, format_percent(481, 1000).text, "48.1"));
}

Test(format, tenths_sum_to_exactly_one_thousand)
{
	static const uint64_t tables[][4] = {
		{ 1, 1, 1, 0 },
		{ 333, 333, 334, 1 },
		{ 1, 999999999, 0, 0 },
		{ 7, 11, 13, 17 },
		{ UINT64_MAX / 4, UINT64_MAX / 4, UINT64_MAX / 4, 3 },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		unsigned tenths[4], sum = 0;
		format_tenths(tables[i], 4, tenths);
		for (size_t j = 0; j < 4; j++)
			sum += tenths[j];
		cr_expect(eq(uint, sum, 1000), "row %zu", i);
	}
}

Test(format, tenths_go_to_the_largest_remainder)
{
	const uint64_t parts[] = { 6666, 3333, 1 };
	unsigned tenths[3];

	format_tenths(parts, 3, tenths);
	cr_expect(eq(uint, tenths[0], 667)); // 666.6
	cr_expect(eq(uint, tenths[1], 333)); // 333.3
	cr_expect(eq(uint, tenths[2], 0));
}

Test(format, tenths_of_nothing_are_nothing)
{
	const uint64_t parts[] = { 0, 0 };
	unsigned tenths[2] = { 7, 7 };

	format_tenths(parts, 2, tenths);
	cr_expect(eq(uint, tenths[0] + tenths[1], 0));
}

Test(format, width_counts_columns_and_not_bytes)
{
	cr_expect(eq(sz, format_width("abc"), 3));
	cr_expect(eq(sz, format_width("größe"), 5));
	cr_expect(eq(sz, format_width("\xe6\xbc\xa2"), 2)); // a wide character
	cr_expect(eq(sz, format_width(""), 0));
}

Test(format, what_a_terminal_would_obey_does_not_get_through)
{
	static const struct {
		const char *raw, *utf8, *ascii;
	} rows[] = {
		{ "plain", "plain", "plain" },
		{ "\033[31mred", "^[[31mred", "^[[31mred" },
		{ "a\nb\tc", "a^Jb^Ic", "a^Jb^Ic" },
		{ "del\x7f", "del\uFFFD", "del?" },
		{ "c1\xc2\x9b", "c1\uFFFD", "c1?" },
		{ "\xff\xfe", "\uFFFD\uFFFD", "??" },
		{ "cut\xe6\xbc", "cut\uFFFD\uFFFD", "cut??" },
		{ "over\xc0\xafly", "over\uFFFD\uFFFDly", "over??ly" },
		{ "rtl\u202etxt", "rtl\uFFFDtxt", "rtl?txt" },
		{ "soft\u00adhyphen\u200b", "soft\uFFFDhyphen\uFFFD", "soft?hyphen?" },
		{ "tag\U000e0041", "tag\uFFFD", "tag?" },
		{ "größe", "größe", "gr??e" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *utf8 = format_clean(rows[i].raw, false);
		char *ascii = format_clean(rows[i].raw, true);
		cr_expect(eq(str, utf8, (char *)rows[i].utf8), "row %zu", i);
		cr_expect(eq(str, ascii, (char *)rows[i].ascii), "row %zu", i);
		free(utf8);
		free(ascii);
	}
}

Test(format, clipping_keeps_the_part_that_tells)
{
	static const struct {
		enum clip clip;
		size_t width;
		const char *text, *clipped;
	} rows[] = {
		{ CLIP_MIDDLE, 20, "short", "short" },
		{ CLIP_MIDDLE, 5, "12345", "12345" },
		{ CLIP_MIDDLE, 7, "abcdefghij", "abc…hij" },
		{ CLIP_START, 7, "abcdefghij", "…efghij" },
		{ CLIP_END, 7, "abcdefghij", "abcdef…" },
		{ CLIP_MIDDLE, 1, "abc", "a" },
		{ CLIP_MIDDLE, 0, "abc", "" },
		{ CLIP_END, 4, "ääääää", "äää…" },
		{ CLIP_START, 4, "ääääää", "…äää" },
		// Half a wide character is none.
		{ CLIP_END, 4, "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", "\xe6\xbc\xa2…" },
		{ CLIP_START, 4, "\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", "…\xe6\xbc\xa2" },
		{ CLIP_START, 14, "[_umath_linalg.cpython.so]", "[_umath…on.so]" },
		{ CLIP_START, 16, "[liblzma.so.5.4.1]", "[liblzma.so]" },
		{ CLIP_MIDDLE, 9, "[liblzma.so.5.4.1]", "[liblzma]" },
		{ CLIP_SYMBOL, 8, "[liblzma.so.5.4.1]", "[lib…so]" },
		{ CLIP_SYMBOL, 23, "read < [liblzma.so.5.4]", "read < [liblzma.so.5.4]" },
		{ CLIP_SYMBOL, 22, "read < [liblzma.so.5.4]", "read < [liblzma.so]" },
		{ CLIP_START, 18, "/usr/lib/libz.so.1.2.13", "/usr/lib/libz.so" },
		{ CLIP_START, 12, "/usr/lib/libz.so.1.2.13", "…lib/libz.so" },
		{ CLIP_SYMBOL, 16, "[waiting for a free CPU]", "[no free CPU]" },
		{ CLIP_MIDDLE, 12, "[waiting for the GIL]", "[GIL wait]" },
		{ CLIP_SYMBOL, 20, "[too short to sample: gzip]", "[short: gzip]" },
		{ CLIP_END, 16, "[waiting for a free CPU]", "[waiting for a …" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *clipped = format_clip(rows[i].text, rows[i].width, rows[i].clip, false);
		cr_expect(eq(str, clipped, (char *)rows[i].clipped), "row %zu", i);
		cr_expect(le(sz, format_width(clipped), rows[i].width), "row %zu", i);
		free(clipped);
	}
}

Test(format, without_utf8_the_ellipsis_is_three_dots)
{
	char *clipped = format_clip("abcdefghij", 7, CLIP_MIDDLE, true);

	cr_expect(eq(str, clipped, "ab...ij"));
	free(clipped);
}

Test(format, a_long_symbol_keeps_the_functions_own_name)
{
	static const struct {
		size_t width;
		const char *text, *clipped;
	} rows[] = {
		{ 60, "std::vector<int, std::allocator<int> >::at(unsigned long)",
		  "std::vector<int, std::allocator<int> >::at(unsigned long)" },
		{ 50, "std::vector<int, std::allocator<int> >::at(unsigned long)",
		  "std::vector<int, std::allocator<int> >::at(…)" },
		{ 40, "std::vector<int, std::allocator<int> >::at(unsigned long)",
		  "std::vector<…>::at(…)" },
		{ 20, "std::vector<int, std::allocator<int> >::at(unsigned long)",
		  "std::vector::at" },
		{ 12, "std::vector<int, std::allocator<int> >::at(unsigned long)", "vector::at" },
		{ 4, "std::vector<int, std::allocator<int> >::at(unsigned long)", "at" },
		{ 24, "bool a::operator< <char>(std::less<char>, int)",
		  "bool a::operator< <…>(…)" },
		{ 30, "std::ostream& operator<<(std::ostream&, std::string const&)",
		  "std::ostream& operator<<(…)" },
		{ 20, "bool a::operator< <char>(std::less<char>, int)", "a::operator<" },
		{ 36, "std::unique_ptr<T, D>::operator->() const noexcept [clone]",
		  "std::unique_ptr::operator->()" },
		{ 20, "unsigned long a::b::hash<int>(int const&)", "a::b::hash" },
		{ 16, "a::run(int)::{lambda(auto)#1}::operator()(long) const", "operator()" },
		{ 14, "(anonymous namespace)::f(int, char)", "f" },
		{ 20, "JS:*render /home/me/pages/file.js:12:3", "JS:*render…e.js:12:3" },
		{ 40,
		  "std::__cxx11::basic_string<char, std::char_traits<char>, "
		  "std::allocator<char> >::compare(char const*) const",
		  "std::string::compare(…) const" },
		{ 36, "(anonymous namespace)::f(int, char, long, double)",
		  "(anonymous namespace)::f(…)" },
		{ 20, "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "vec::Vec::drop" },
		{ 30, "core::slice::sort::stable::driftsort_main::<u64, F, Vec<u64>>",
		  "sort::stable::driftsort_main" },
		{ 6, "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "drop" },
		{ 30, "std::__cxx11::basic_string<char, std::allocator<char> >::compare(int) const",
		  "std::basic_string::compare" },
		{ 16, "  │  └─ std::vector<int>::at(int)", "  │  └─ at" },
		{ 40,
		  "std::lock_guard<std::mutex>::lock_guard(std::mutex&) < count(std::vector<int>)",
		  "std::lock_guard::lock_guard < count(…)" },
		{ 30, "std::istream& operator>>(std::istream&, std::string&) < main, others",
		  "operator>> < main, others" },
		{ 30, "_BaseDataLoaderIter.__next__ < <module>, others",
		  "_Base…ext__ < <module>, others" },
		{ 28, "a_rather_long_function_of_c < another_function_that_is_long",
		  "a_rat…of_c < another…is_long" },
		{ 10, "broken<name(that<never ends", "broke…ends" },
		{ 40, "{method 'sum' of 'numpy.ndarray' objects}", "{ndarray.sum}" },
		{ 30, "{slot '__getitem__' of 'numpy.ndarray' objects} < distances",
		  "{__getitem__} < distances" },
		{ 20, "{built-in method builtins.len}", "{builtins.len}" },
		{ 10, "{built-in method builtins.len}", "{len}" },
		{ 20, "__memmove_avx512_unaligned_erms", "memmove" },
		{ 12, "__strcasecmp_l_evex", "strcasecmp_l" },
		{ 31, "[too short to sample] < child_execute_job, others",
		  "[too short] < child_execute_job" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *clipped = format_clip(rows[i].text, rows[i].width, CLIP_SYMBOL, false);
		cr_expect(eq(str, clipped, (char *)rows[i].clipped), "row %zu", i);
		free(clipped);
	}
}

// A measured value, its interval, and how they look together.
Test(format, what_is_measured_has_two_digits_of_how_far_it_is_sure)
{
	static const struct {
		double value, width;
		const char *words;
	} rows[] = {
		{ 1640000000.0, 180000000.0, "1.64 s" },
		{ 123450000.0, 2800000.0, "123.5 ms" },
		{ 20.34, 0.021, "20.340 ns" },
		{ 20.34, 3.0, "20.3 ns" },
		{ 20.34, 30.0, "20 ns" },
		{ 20.34, 0, "20.3 ns" },
		{ 999.7, 1.0, "0.9997 us" },
		{ 0, 0, "0 ns" },
		{ 1e12, 1e12, "1000 s" },
		{ 5e6, 1e-9, "5.00000 ms" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct time_unit unit = format_measured_unit(rows[i].value, rows[i].width);
		cr_expect(
			eq(str, format_measured(rows[i].value, unit).text, (char *)rows[i].words));
	}
}
