// SPDX-License-Identifier: MIT
#include "cli/json.h"

#include "base/format.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define COMPACT_LINES 3 /* deeper values of compact texts follow without a line break */

struct json json_start(FILE *out)
{
	return (struct json){ .out = out };
}

struct json json_start_compact(FILE *out)
{
	return (struct json){ .out = out, .compact = true };
}

struct json json_start_in_page(FILE *out)
{
	return (struct json){ .out = out, .compact = true, .in_page = true };
}

// Bytes of the character that TEXT begins with; 0 if it is not UTF-8.
static int utf8_length(const unsigned char *text)
{
	unsigned first = text[0], low = 0x80, high = 0xbf;
	int length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

	if (first > 0xf4)
		return 0;
	// No longer forms than needed, no surrogates, nothing beyond U+10FFFF.
	low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : low;
	high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : high;
	for (int i = 1; i < length; i++) {
		if (text[i] < low || text[i] > high)
			return 0;
		low = 0x80;
		high = 0xbf;
	}
	return length;
}

// What means something in HTML, or ends a line in JavaScript; 0: none of these.
static unsigned markup(const unsigned char *text, int length)
{
	if (length == 1 && (text[0] == '<' || text[0] == '>' || text[0] == '&'))
		return text[0];
	if (length == 3 && text[0] == 0xe2 && text[1] == 0x80 && (text[2] & 0xfe) == 0xa8)
		return 0x2000u | (text[2] - 0x80u);
	return 0;
}

static unsigned code_of(const unsigned char *text, int length)
{
	unsigned code = length == 1 ? text[0] : text[0] & (0x7fu >> length);

	for (int i = 1; i < length; i++)
		code = code << 6 | (text[i] & 0x3fu);
	return code;
}

static void put_surrogates(FILE *out, unsigned code)
{
	code -= 0x10000;
	fprintf(out, "\\u%04x\\u%04x", 0xd800 | code >> 10, 0xdc00 | (code & 0x3ff));
}

// Documents are read on terminals, too: what those would obey or hide is escaped.
static void put_character(const struct json *j, const unsigned char *text, int length)
{
	FILE *out = j->out;
	static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	for (size_t i = 0; i + 1 < sizeof(shorts) && length == 1; i += 2) {
		if ((unsigned char)shorts[i] != text[0])
			continue;
		fprintf(out, "\\%c", shorts[i + 1]);
		return;
	}
	if (j->in_page && markup(text, length))
		fprintf(out, "\\u%04x", markup(text, length));
	else if (length < 4 && format_is_control(code_of(text, length)))
		fprintf(out, "\\u%04x", code_of(text, length));
	else if (format_is_control(code_of(text, length)))
		put_surrogates(out, code_of(text, length));
	else
		fwrite(text, 1, (size_t)length, out);
}

// How many bytes stand for themselves wherever they are: most texts are nothing else.
static size_t plain_length(const unsigned char *text)
{
	size_t length = 0;

	while (text[length] >= 0x20 && text[length] < 0x7f && !strchr("\"\\<>&", text[length]))
		length++;
	return length;
}

static void put_text(const struct json *j, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	FILE *out = j->out;

	fputc('"', out);
	while (*at) {
		size_t plain = plain_length(at);
		fwrite(at, 1, plain, out);
		at += plain;
		if (!*at)
			break;
		int length = utf8_length(at);
		if (length)
			put_character(j, at, length);
		else
			fputs("\\ufffd", out);
		at += length ? length : 1;
	}
	fputc('"', out);
}

static bool breaks_lines(const struct json *j)
{
	return !j->compact || j->depth < COMPACT_LINES;
}

// What stands before a value.
static void put_key(struct json *j, const char *key)
{
	if (j->any)
		fputc(',', j->out);
	if (j->depth && breaks_lines(j))
		fprintf(j->out, "\n%*s", j->depth, "");
	j->any = true;
	if (!key)
		return;
	put_text(j, key);
	fputs(j->compact ? ":" : ": ", j->out);
}

void json_open(struct json *j, const char *key, char bracket)
{
	put_key(j, key);
	fputc(bracket, j->out);
	j->closers[j->depth++] = bracket == '{' ? '}' : ']';
	j->any = false;
}

void json_close(struct json *j)
{
	char closer = j->closers[--j->depth];

	if (j->any && breaks_lines(j))
		fprintf(j->out, "\n%*s", j->depth, "");
	fputc(closer, j->out);
	if (!j->depth)
		fputc('\n', j->out);
	j->any = true;
}

void json_put_text(struct json *j, const char *key, const char *text)
{
	if (!text) {
		json_put_null(j, key);
		return;
	}
	put_key(j, key);
	put_text(j, text);
}

void json_put_count(struct json *j, const char *key, uint64_t number)
{
	put_key(j, key);
	fprintf(j->out, "%" PRIu64, number);
}

void json_put_integer(struct json *j, const char *key, int64_t number)
{
	put_key(j, key);
	fprintf(j->out, "%" PRId64, number);
}

void json_put_number(struct json *j, const char *key, double number)
{
	if (!isfinite(number)) {
		json_put_null(j, key);
		return;
	}
	put_key(j, key);
	fprintf(j->out, "%.6g", number);
}

void json_put_microseconds(struct json *j, const char *key, uint64_t ns)
{
	put_key(j, key);
	fprintf(j->out, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

void json_put_milliseconds(struct json *j, const char *key, uint64_t ns)
{
	char text[40];
	int length = snprintf(text, sizeof(text), "%" PRIu64 ".%06u", ns / 1000000,
	                      (unsigned)(ns % 1000000));

	while (text[length - 1] == '0')
		length--;
	if (text[length - 1] == '.')
		length--;
	put_key(j, key);
	fwrite(text, 1, (size_t)length, j->out);
}

void json_put_bool(struct json *j, const char *key, bool value)
{
	put_key(j, key);
	fputs(value ? "true" : "false", j->out);
}

void json_put_null(struct json *j, const char *key)
{
	put_key(j, key);
	fputs("null", j->out);
}
