// SPDX-License-Identifier: MIT
#include "cli/message.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/terminal.h"

#include <stdarg.h>
#include <stdio.h>

static struct terminal terminal(void)
{
	return terminal_of(stderr, 0, COLOR_NEVER);
}

void message_error(const char *command, const struct error *err)
{
	const struct terminal t = terminal();
	char text[ERROR_TEXT_SIZE + 128];

	terminal_print(&t, stderr, "bottleneck%s%s: %s", command ? " " : "", command ? command : "",
	               error_message(err, text, sizeof(text)));
	fputc('\n', stderr);
	if (!err->hint[0])
		return;
	terminal_print(&t, stderr, "  hint: %s", err->hint);
	fputc('\n', stderr);
}

void message_warn(const char *format, ...)
{
	const struct terminal t = terminal();
	cleanup_free char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	terminal_print(&t, stderr, "bottleneck: %s", text ? text : "");
	fputc('\n', stderr);
}
