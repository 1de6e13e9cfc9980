/* SPDX-License-Identifier: MIT */
/*
 * What frames and threads are called in formats that have one text for each.
 */
#pragma once

#include "cli/report/answers.h"

/*
 * "push (queue.c:88)", "memcpy [libc.so.6]", "«forward»" of an op; for the caller to free. In one
 * line, UTF-8, and without any character of FORBIDDEN, which become "_". NULL if there is no
 * memory.
 */
char *label_frame(const struct stack_frame *frame, const char *forbidden);

/* The same of any text: it is in one line, and UTF-8. */
char *label_text(const char *text, const char *forbidden);

/* "python3 4711", of a thread or a process. */
char *label_number(const char *name, uint32_t number, const char *forbidden);

/* "[waiting: locks]": stands below what waits so. */
struct label_wait {
	char text[48];
};
struct label_wait label_wait(enum metric metric);

/* The labels of all frames of STACKS: texts that go with label_frames_free(). */
struct label_frames {
	char **texts;
	size_t count;
};

int label_frames_init(struct label_frames *labels, const struct stacks *stacks,
                      const char *forbidden, struct error *err);
void label_frames_free(struct label_frames *labels);

static inline void label_frames_at_scope_end(struct label_frames *labels)
{
	label_frames_free(labels);
}
