// SPDX-License-Identifier: MIT
#include "cli/message.h"

#include "base/error.h"
#include "cli/format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void message_error(const char *command, const struct error *err)
{
	char text[ERROR_TEXT_SIZE + 128];
	char *clean = format_clean(error_message(err, text, sizeof(text)), false);

	fprintf(stderr, "bottleneck%s%s: %s\n", command ? " " : "", command ? command : "",
	        clean ? clean : text);
	if (err->hint[0])
		fprintf(stderr, "  hint: %s\n", err->hint);
	free(clean);
}

void message_warn(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("bottleneck: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}
