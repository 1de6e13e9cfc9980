/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, in words for the user.
 *
 * The caller owns the struct and passes its address down; the function that
 * fails fills it and returns -1, false or NULL. Nothing here allocates, so an
 * error needs no freeing and out-of-memory can be reported like any other.
 * Only cli/ prints. ERR may be NULL where the caller does not care why.
 */
#pragma once

#define ERROR_TEXT_SIZE 512
#define ERROR_HINT_SIZE 384

struct error {
	int errnum;                 /* an errno, or 0 if no system call is to blame */
	char text[ERROR_TEXT_SIZE]; /* "could not open \"x\"": lower case, no period, no errno */
	char hint[ERROR_HINT_SIZE]; /* a sentence with an action, or "" */
};

/* Sets errnum and text, clears the hint. Returns -1, so that a caller can return it. */
int error_set(struct error *err, int errnum, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts context and ": " in front of the text that is there. Returns -1. */
int error_wrap(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says what the user can do about it. Returns -1. */
int error_hint(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__
/* It reads one file at a time, and would go on where these returned something else. */
#define error_set(...)  ((void)(error_set)(__VA_ARGS__), -1)
#define error_wrap(...) ((void)(error_wrap)(__VA_ARGS__), -1)
#define error_hint(...) ((void)(error_hint)(__VA_ARGS__), -1)
#endif

/*
 * Writes "text: cause" (no hint) into BUFFER, cut if it does not fit. Returns BUFFER.
 */
const char *error_message(const struct error *err, char *buffer, unsigned long size);
