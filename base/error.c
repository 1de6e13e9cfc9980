// SPDX-License-Identifier: MIT
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// In brackets: for clang's analyzer they are macros, too.
int(error_set)(struct error *err, int errnum, const char *format, ...)
{
	if (!err)
		return -1;

	va_list args;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	err->errnum = errnum;
	err->hint[0] = '\0';
	return -1;
}

int(error_wrap)(struct error *err, const char *format, ...)
{
	if (!err)
		return -1;

	char inner[ERROR_TEXT_SIZE];
	memcpy(inner, err->text, sizeof(inner));

	va_list args;
	va_start(args, format);
	int length = vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	if (length >= 0 && (size_t)length < sizeof(err->text))
		snprintf(err->text + length, sizeof(err->text) - (size_t)length, ": %s", inner);
	return -1;
}

int(error_hint)(struct error *err, const char *format, ...)
{
	if (!err)
		return -1;

	va_list args;
	va_start(args, format);
	vsnprintf(err->hint, sizeof(err->hint), format, args);
	va_end(args);
	return -1;
}

const char *error_message(const struct error *err, char *buffer, unsigned long size)
{
	if (err->errnum)
		snprintf(buffer, size, "%s: %s", err->text, strerror(err->errnum));
	else
		snprintf(buffer, size, "%s", err->text);
	return buffer;
}
