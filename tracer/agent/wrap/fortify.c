// SPDX-License-Identifier: MIT
/*
 * What libiberty asks of glibc, as it was built with _FORTIFY_SOURCE, and musl lacks: a program of
 * musl's that is given us must be able to load us.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden"), format(printf, 4, 5)))

// NOLINTBEGIN(bugprone-reserved-identifier): the names are glibc's
HIDDEN int __sprintf_chk(char *text, int flag, size_t size, const char *format, ...);
__attribute__((visibility("hidden"), format(printf, 5, 6))) int
__snprintf_chk(char *text, size_t length, int flag, size_t size, const char *format, ...);

__attribute__((visibility("hidden"))) void *__memcpy_chk(void *to, const void *from, size_t length,
                                                         size_t size);
__attribute__((visibility("hidden"))) void *__memmove_chk(void *to, const void *from, size_t length,
                                                          size_t size);

int __sprintf_chk(char *text, int flag, size_t size, const char *format, ...)
{
	va_list args;

	(void)flag;
	va_start(args, format);
	int length = vsnprintf(text, size, format, args);
	va_end(args);
	return length;
}

int __snprintf_chk(char *text, size_t length, int flag, size_t size, const char *format, ...)
{
	va_list args;

	(void)flag;
	va_start(args, format);
	int wanted = vsnprintf(text, length < size ? length : size, format, args);
	va_end(args);
	return wanted;
}

void *__memcpy_chk(void *to, const void *from, size_t length, size_t size)
{
	return memcpy(to, from, length < size ? length : size);
}

void *__memmove_chk(void *to, const void *from, size_t length, size_t size)
{
	return memmove(to, from, length < size ? length : size);
}
// NOLINTEND(bugprone-reserved-identifier)
