// SPDX-License-Identifier: MIT
#include "cli/export/label.h"

#include "base/error.h"
#include "base/format.h"
#include "base/path.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *cleaned(char *text, const char *forbidden)
{
	char *clean = text ? format_clean(text, false) : NULL;

	free(text);
	for (char *at = clean; at && *forbidden && *at; at++)
		if (strchr(forbidden, *at))
			*at = '_';
	return clean;
}

__attribute__((format(printf, 2, 3))) static char *make(const char *forbidden, const char *format,
                                                        ...)
{
	va_list arguments;
	char *text = NULL;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	return cleaned(text, forbidden);
}

char *label_frame(const struct stack_frame *frame, const char *forbidden)
{
	if (frame->op)
		return make(forbidden, "«%s»", frame->name);
	if (frame->file && frame->line > 0)
		return make(forbidden, "%s (%s:%d)", frame->name, path_base(frame->file),
		            frame->line);
	if (frame->file)
		return make(forbidden, "%s (%s)", frame->name, path_base(frame->file));
	// Code without a name is called after its module already.
	if (!frame->module || frame->name[0] == '[')
		return make(forbidden, "%s", frame->name);
	return make(forbidden, frame->module[0] == '[' ? "%s %s" : "%s [%s]", frame->name,
	            path_base(frame->module));
}

char *label_text(const char *text, const char *forbidden)
{
	return make(forbidden, "%s", text);
}

char *label_number(const char *name, uint32_t number, const char *forbidden)
{
	return make(forbidden, "%s %u", name, number);
}

struct label_wait label_wait(enum metric metric)
{
	struct label_wait wait;

	snprintf(wait.text, sizeof(wait.text), "[waiting: %s]", metric_name(metric));
	return wait;
}

void label_frames_free(struct label_frames *labels)
{
	for (size_t i = 0; i < labels->count; i++)
		free(labels->texts[i]);
	free(labels->texts);
	*labels = (struct label_frames){ 0 };
}

int label_frames_init(struct label_frames *labels, const struct stacks *stacks,
                      const char *forbidden, struct error *err)
{
	*labels = (struct label_frames){ .texts = calloc(stacks->frame_count + 1, sizeof(char *)) };
	while (labels->texts && labels->count < stacks->frame_count) {
		char *text = label_frame(&stacks->frames[labels->count], forbidden);
		if (!text)
			break;
		labels->texts[labels->count++] = text;
	}
	if (labels->texts && labels->count == stacks->frame_count)
		return 0;
	label_frames_free(labels);
	return error_set(err, ENOMEM, "could not name the frames");
}
