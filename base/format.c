// SPDX-License-Identifier: MIT
#include "base/format.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/function_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define NS_PER_MINUTE   (60 * NS_PER_SEC)
#define NS_PER_HOUR     (60 * NS_PER_MINUTE)

#define MEASURED_DIGITS 5 // behind the point, at most

// Rows are picked by what would be printed, so 999.6 ms is "1.00 s" and not "1000 ms".
static const struct {
	uint64_t below_ns;
	struct time_unit unit;
} units[] = {
	{ 9995, { "us", 1e3, 2 } },
	{ 99950, { "us", 1e3, 1 } },
	{ 999500, { "us", 1e3, 0 } },
	{ 9995000, { "ms", 1e6, 2 } },
	{ 99950000, { "ms", 1e6, 1 } },
	{ 999500000, { "ms", 1e6, 0 } },
	{ UINT64_C(9995000000), { "s", 1e9, 2 } },
	{ UINT64_MAX, { "s", 1e9, 1 } },
};

struct time_unit format_time_unit(uint64_t largest_ns)
{
	size_t i = 0;

	while (largest_ns >= units[i].below_ns && units[i].below_ns != UINT64_MAX)
		i++;
	return units[i].unit;
}

struct short_text format_time(uint64_t ns, struct time_unit unit)
{
	struct short_text out;

	snprintf(out.text, sizeof(out.text), "%.*f %s", unit.digits, (double)ns / unit.ns,
	         unit.name);
	return out;
}

struct time_unit format_measured_unit(double value_ns, double width_ns)
{
	bool sure = width_ns > 0; // not NaN
	double step = sure ? width_ns : value_ns;
	uint64_t whole = value_ns > 0 && value_ns < 1e18 ? (uint64_t)value_ns : 0;
	struct time_unit unit =
		value_ns < 999.5 ? (struct time_unit){ "ns", 1, 0 } : format_time_unit(whole);
	int digits = sure ? 1 : 2;

	unit.digits = 0;
	if (!(step > 0))
		return unit;
	// NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): counts digits
	for (step /= unit.ns; step >= 10 && digits > 0; step /= 10)
		digits--;
	// NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): the same
	for (; step < 1 && digits < MEASURED_DIGITS; step *= 10)
		digits++;
	unit.digits = digits < MEASURED_DIGITS ? digits : MEASURED_DIGITS;
	return unit;
}

struct short_text format_measured(double ns, struct time_unit unit)
{
	struct short_text out;

	snprintf(out.text, sizeof(out.text), "%.*f %s", unit.digits, ns / unit.ns, unit.name);
	return out;
}

struct short_text format_duration(uint64_t ns)
{
	struct short_text out;
	uint64_t seconds = (ns + NS_PER_SEC / 2) / NS_PER_SEC;

	if (!ns)
		return (struct short_text){ "0 s" };
	if (ns < 10 * NS_PER_MINUTE)
		return format_time(ns, format_time_unit(ns));
	if (ns < NS_PER_HOUR)
		snprintf(out.text, sizeof(out.text), "%llu min %02llu s",
		         (unsigned long long)seconds / 60, (unsigned long long)seconds % 60);
	else
		snprintf(out.text, sizeof(out.text), "%llu h %02llu min",
		         (unsigned long long)seconds / 3600,
		         (unsigned long long)seconds % 3600 / 60);
	return out;
}

struct short_text format_count(uint64_t count)
{
	struct short_text out;
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t at = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			out.text[at++] = ',';
		out.text[at++] = digits[i];
	}
	out.text[at] = '\0';
	return out;
}

struct short_text format_scaled(double number)
{
	static const char *const prefixes[] = { "", " K", " M", " G", " T", " P", " E" };
	size_t i = 0;
	struct short_text out;

	for (; number >= 999.5 && i + 1 < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		number /= 1000;
	snprintf(out.text, sizeof(out.text), "%.*f%s",
	         number >= 99.95 || !i ? 0
	         : number >= 9.995     ? 1
	                               : 2,
	         number, prefixes[i]);
	return out;
}

struct short_text format_bytes(uint64_t bytes)
{
	static const char *const names[] = { "B", "KB", "MB", "GB", "TB", "PB" };
	struct short_text out;
	double value = (double)bytes;
	size_t i = 0;

	for (; value >= 999.5 && i + 1 < sizeof(names) / sizeof(names[0]); i++)
		value /= 1024;
	snprintf(out.text, sizeof(out.text), "%.*f %s", i && value < 9.95 ? 1 : 0, value, names[i]);
	return out;
}

struct short_text format_percent(uint64_t part, uint64_t all)
{
	struct short_text out;

	snprintf(out.text, sizeof(out.text), "%.1f",
	         all ? 100.0 * (double)part / (double)all : 0.0);
	return out;
}

void format_tenths(const uint64_t *parts, size_t count, unsigned *tenths)
{
	double sum = 0;
	unsigned given = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)parts[i];
	for (size_t i = 0; i < count; i++) {
		tenths[i] = sum > 0 ? (unsigned)((double)parts[i] / sum * 1000) : 0;
		given += tenths[i];
	}
	// Each round gives one tenth to the part that is furthest below its exact value.
	for (; sum > 0 && given < 1000; given++) {
		size_t best = 0;
		double best_gap = -1;
		for (size_t i = 0; i < count; i++) {
			double gap = (double)parts[i] / sum * 1000 - tenths[i];
			if (gap > best_gap) {
				best_gap = gap;
				best = i;
			}
		}
		tenths[best]++;
	}
}

// Decodes one character of TEXT; *BYTES is its length. -1 (one byte) if it is not UTF-8.
static int32_t decode(const char *text, size_t *bytes)
{
	const unsigned char *p = (const unsigned char *)text;
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = *p < 0x80             ? 1
	                : (*p & 0xe0) == 0xc0 ? 2
	                : (*p & 0xf0) == 0xe0 ? 3
	                : (*p & 0xf8) == 0xf0 ? 4
	                                      : 0;

	*bytes = 1;
	if (length <= 1)
		return length ? *p : -1;
	uint32_t code = *p & (0x7f >> length);
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80) // also the end of the string
			return -1;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < smallest[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return -1;
	*bytes = length;
	return (int32_t)code;
}

// Controls, line ends, and those of Unicode's category Cf that change the direction of text or take
// no room.
bool format_is_control(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x00, 0x1f },     { 0x7f, 0x9f },     { 0xad, 0xad },       { 0x61c, 0x61c },
		{ 0x180e, 0x180e }, { 0x200b, 0x200f }, { 0x2028, 0x202e },   { 0x2060, 0x206f },
		{ 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	return false;
}

static size_t code_width(int32_t code)
{
	int width = code < 0x7f ? 1 : wcwidth((wchar_t)code);

	return width < 0 ? 1 : (size_t)width;
}

size_t format_width(const char *text)
{
	size_t width = 0, bytes;

	for (; *text; text += bytes)
		width += code_width(decode(text, &bytes));
	return width;
}

// Puts the shown form of CODE (BYTES of FROM) at TO, which has room for 3 bytes or BYTES.
static size_t clean_one(char *to, const char *from, size_t bytes, int32_t code, bool ascii)
{
	if (code >= 0 && code < 0x20) {
		to[0] = '^';
		to[1] = (char)(code + '@');
		return 2;
	}
	if (code < 0 || format_is_control((uint32_t)code) || (ascii && code >= 0x80)) {
		const char *mark = ascii ? "?" : "\uFFFD";
		for (bytes = 0; mark[bytes]; bytes++)
			to[bytes] = mark[bytes];
		return bytes;
	}
	memcpy(to, from, bytes);
	return bytes;
}

char *format_clean(const char *text, bool ascii)
{
	char *out = malloc(strlen(text) * 3 + 1);
	size_t at = 0, bytes;

	if (!out)
		return NULL;
	for (; *text; text += bytes) {
		int32_t code = decode(text, &bytes);
		at += clean_one(out + at, text, bytes, code, ascii);
	}
	out[at] = '\0';
	return out;
}

// Bytes of TEXT that fit into WIDTH columns.
static size_t fitting_bytes(const char *text, size_t width)
{
	size_t at = 0, used = 0, bytes;

	while (text[at]) {
		used += code_width(decode(text + at, &bytes));
		if (used > width)
			break;
		at += bytes;
	}
	return at;
}

// Where the last WIDTH columns of TEXT begin.
static size_t tail_start(const char *text, size_t width)
{
	size_t skip = format_width(text), at = 0, bytes;

	for (skip = skip > width ? skip - width : 0; skip && text[at]; at += bytes) {
		size_t one = code_width(decode(text + at, &bytes));
		skip = one < skip ? skip - one : 0;
	}
	return at;
}

// From the least to the most that is lost, as far as it takes to fit into WIDTH.
static char *drop_types(const char *plain, size_t width)
{
	char *bare = function_name_bare(plain);

	while (bare && (format_width(bare) > width || strncmp(bare, "::", 2) == 0)) {
		const char *rest = function_name_part(bare);
		if (strncmp(rest, "::", 2) != 0)
			break;
		memmove(bare, rest + 2, strlen(rest + 2) + 1);
	}
	return bare;
}

// "{ndarray.sum}"; where that does not fit either, "{sum}". NULL: it is no such name, or there is
// no memory.
static char *shorten_called(const char *text, size_t width)
{
	cleanup_free char *name = function_name_called(text);
	char *out = NULL;

	if (!name || asprintf(&out, "{%s}", name) < 0)
		return NULL;
	const char *dot = strrchr(out, '.');
	if (dot && format_width(out) > width)
		memmove(out + 1, dot + 1, strlen(dot + 1) + 1);
	return out;
}

// "memmove" of "__memmove_avx512_unaligned_erms", where that is too long: which of its versions the
// CPU has chosen says the least. NULL: it is no such name, or there is no memory.
static char *drop_instruction_set(const char *text)
{
	static const char *const sets[] = { "_avx", "_evex", "_sse", "_ssse" };
	const char *end = NULL;

	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]) && !end; i++)
		end = strncmp(text, "__", 2) == 0 ? strstr(text + 2, sets[i]) : NULL;
	return end && end > text + 2 ? strndup(text + 2, (size_t)(end - text) - 2) : NULL;
}

// What tells functions apart is their name, not the types that it was made for; of a long name the
// end, not the namespaces.
static char *clip_name(const char *text, size_t width, bool ascii)
{
	const char *mark = ascii ? "..." : "\u2026";
	cleanup_free char *called = format_width(text) > width ? shorten_called(text, width) : NULL;
	if (called)
		return format_clip(called, width, CLIP_MIDDLE, ascii);
	cleanup_free char *any = format_width(text) > width ? drop_instruction_set(text) : NULL;
	if (any)
		return format_clip(any, width, CLIP_MIDDLE, ascii);
	cleanup_free char *plain = function_name_fold(text, '(', mark);
	if (!plain || format_width(plain) <= width)
		return steal(plain);
	cleanup_free char *folded = function_name_fold(plain, '<', mark);
	if (!folded || format_width(folded) <= width)
		return steal(folded);
	// Those of C and of what is in brackets of our own have nothing to drop.
	cleanup_free char *bare = strstr(folded, "::") || strchr(folded, '(')
	                                  ? drop_types(folded, width)
	                                  : strdup(folded);
	return bare ? format_clip(bare, width, CLIP_MIDDLE, ascii) : NULL;
}

#define CALLED_BY   " < "
#define OTHERS      ", others"
#define NAMES_WIDTH 16 // in which two can be told

// "memcpy < decode, others": both names stay, and the words between them and behind.
static char *clip_call(const char *text, const char *by, size_t width, bool ascii)
{
	size_t between = strlen(CALLED_BY), length = strlen(by + between), others = strlen(OTHERS);
	char *out = NULL;

	others = length > others && strcmp(text + strlen(text) - others, OTHERS) == 0 ? others : 0;
	cleanup_free char *called = strndup(text, (size_t)(by - text));
	cleanup_free char *caller = strndup(by + between, length - others);
	size_t names = width > between + others ? width - between - others : 0;
	if (!called || !caller)
		return NULL;
	if (names < NAMES_WIDTH)
		return format_clip(text, width, CLIP_MIDDLE, ascii);
	// That there are more callers says less than the names.
	if (format_width(called) + between + format_width(caller) <= width)
		return strndup(text, strlen(text) - (others ? strlen(OTHERS) : 0));
	// The caller is the user's own.
	size_t least = format_width(called) < names * 2 / 5 ? format_width(called) : names * 2 / 5;
	cleanup_free char *outer = clip_name(caller, names - least, ascii);
	size_t rest = outer && names > format_width(outer) ? names - format_width(outer) : 0;
	cleanup_free char *inner = clip_name(called, rest, ascii);
	if (!outer || !inner ||
	    asprintf(&out, "%s%s%s%s", inner, CALLED_BY, outer, others ? OTHERS : "") < 0)
		return NULL;
	return out;
}

// In a tree a name stands behind branches, which stay.
static char *clip_symbol(const char *text, size_t width, bool ascii)
{
	size_t branches = 0;
	char *out = NULL;

	const char *by = strstr(text, CALLED_BY);

	if (by && by > text)
		return clip_call(text, by, width, ascii);
	while (text[branches] && (strchr(" |`-", text[branches]) || text[branches] & 0x80))
		branches++;
	cleanup_free char *before = strndup(text, branches);
	size_t taken = before ? format_width(before) : 0;
	cleanup_free char *name =
		clip_name(text + branches, width > taken ? width - taken : 0, ascii);
	if (!before || !name || asprintf(&out, "%s%s", before, name) < 0)
		return NULL;
	return out;
}

// Names of ours that stand for no code, and what is left of them where there is little room.
static const struct {
	const char *name, *shorter;
} marks[] = {
	{ "[waiting for a free CPU]", "[no free CPU]" }, { "[waiting for the GIL]", "[GIL wait]" },
	{ "[too short to sample: ", "[short: " },        { "[too short to sample]", "[too short]" },
	{ "[outside user code]", "[not user]" },         { "[stack not seen]", "[no stack]" },
	{ "[callers missing]", "[no callers]" },
};

// What is at TEXT in fewer bytes: NULL if there is nothing to leave out. *BYTES: of TEXT.
static const char *shorter_at(const char *text, size_t *bytes)
{
	static const char library[] = ".so.";

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		*bytes = strlen(marks[i].name);
		if (strncmp(text, marks[i].name, *bytes) == 0)
			return marks[i].shorter;
	}
	size_t size = strlen(library);
	bool versioned = strncmp(text, library, size) == 0;
	*bytes = size - 1 + (versioned ? strspn(text + size - 1, ".0123456789") : 0);
	return versioned && *bytes > size ? ".so" : NULL;
}

// TEXT without versions of libraries, and with the short forms of marks. NULL: there is no memory.
static char *shorten(const char *text)
{
	char *out = malloc(strlen(text) + 1);
	size_t at = 0, bytes;

	while (out && *text) {
		const char *shorter = shorter_at(text, &bytes);
		if (shorter) {
			memcpy(out + at, shorter, strlen(shorter));
			at += strlen(shorter);
			text += bytes;
		} else {
			out[at++] = *text++;
		}
	}
	if (out)
		out[at] = '\0';
	return out;
}

// "[liblzma]" of "[liblzma.so]".
static void drop_suffix(char *text, size_t width)
{
	static const char suffix[] = ".so]";
	size_t length = strlen(text), size = strlen(suffix);

	if (*text == '[' && length > size && strcmp(text + length - size, suffix) == 0 &&
	    format_width(text) > width && format_width(text) - (size - 1) <= width)
		memcpy(text + length - size, "]", 2);
}

char *format_clip(const char *text, size_t width, enum clip clip, bool ascii)
{
	const char *mark = ascii ? "..." : "\u2026";
	size_t mark_width = ascii ? 3 : 1;
	char *out = NULL;

	if (format_width(text) <= width)
		return strdup(text);
	cleanup_free char *shorter = clip == CLIP_END ? NULL : shorten(text);
	if (shorter) {
		drop_suffix(shorter, width);
		if (format_width(shorter) <= width)
			return steal(shorter);
		text = shorter;
	}
	if (clip == CLIP_SYMBOL)
		return clip_symbol(text, width, ascii);
	if (width <= mark_width)
		return strndup(text, fitting_bytes(text, width));
	// "[module]" is no path: the ends of _umath_linalg and _multiarray_umath are the same.
	if (clip == CLIP_START && text[0] == '[')
		clip = CLIP_MIDDLE;

	size_t keep = width - mark_width;
	size_t head = clip == CLIP_MIDDLE ? (keep + 1) / 2 : clip == CLIP_END ? keep : 0;
	if (asprintf(&out, "%.*s%s%s", (int)fitting_bytes(text, head), text, mark,
	             text + (keep == head ? strlen(text) : tail_start(text, keep - head))) < 0)
		return NULL;
	return out;
}
