/* SPDX-License-Identifier: MIT */
/*
 * JSON as it is written, value by value, to a stream.
 *
 *	struct json j = json_start(out);
 *	json_open(&j, NULL, '{');
 *	json_put_text(&j, "id", "CPU-LOCK");
 *	json_open(&j, "rows", '[');
 *	json_put_count(&j, NULL, 3);
 *	json_close(&j);
 *	json_close(&j);
 *
 * A value in an object has a key, one in an array has NULL. Numbers that JSON does not have (NaN,
 * infinities) and texts that are NULL become null; texts that are not UTF-8 get U+FFFD where they
 * are not. Errors of the stream stay in it: ask ferror().
 *
 * Within a page of HTML no text can end the element it stands in, nor begin another: what could
 * be markup is escaped. Such a page is compact, too.
 *
 * A struct json is its caller's, for one thread, and has nothing to free; it borrows the stream.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 32

struct json {
	FILE *out;
	bool compact; /* hardly any line breaks */
	int depth;
	char closers[JSON_DEPTH_MAX];
	bool any; /* in the innermost one, before */
	bool in_page;
};

struct json json_start(FILE *out);
struct json json_start_in_page(FILE *out);

/* With hardly any line breaks: for large files that nobody reads by eye. */
struct json json_start_compact(FILE *out);

/* BRACKET: '{' or '['. At most JSON_DEPTH_MAX deep. */
void json_open(struct json *j, const char *key, char bracket);
void json_close(struct json *j);

void json_put_text(struct json *j, const char *key, const char *text);
void json_put_count(struct json *j, const char *key, uint64_t number);
void json_put_integer(struct json *j, const char *key, int64_t number);
void json_put_number(struct json *j, const char *key, double number);
/* Nanoseconds as microseconds, exact. */
void json_put_microseconds(struct json *j, const char *key, uint64_t ns);
/* Nanoseconds as milliseconds, exact, and no longer than needed. */
void json_put_milliseconds(struct json *j, const char *key, uint64_t ns);
void json_put_bool(struct json *j, const char *key, bool value);
void json_put_null(struct json *j, const char *key);
