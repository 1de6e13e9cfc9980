// SPDX-License-Identifier: MIT
#include "cli/run/page.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *make(void *context)
{
	struct page *page = context;

	page->failed = text_print(&page->text, &page->error);
	return NULL;
}

// Signals are for the thread that writes the file. A fault is the affair of who makes it.
static bool start_thread(struct page *page)
{
	sigset_t all, old;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	bool started = pthread_create(&page->thread, NULL, make, page) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return started;
}

void page_start(struct page *page, const struct profile *profile, const struct view *view,
                const struct rule_limits *limits, FILE *out)
{
	memset(page, 0, sizeof(*page));
	page->out = out;
	page->text = (struct text){
		.out = open_memstream(&page->bytes, &page->size),
		.profile = profile,
		.view = view,
		.terminal = display_terminal(&view->display, out),
		.limits = limits,
	};
	if (!page->text.out) {
		page->failed = error_set(&page->error, errno, "could not print the report");
		return;
	}
	page->threaded = start_thread(page);
	if (!page->threaded)
		make(page);
}

static int put(const struct page *page, struct error *err)
{
	FILE *out = page->out;

	if (out == stderr || out == stdout)
		fputc('\n', out); // the program may not have ended its last line
	else if (ftruncate(fileno(out), 0) < 0)
		errno = 0; // a pipe or a device: it was empty
	terminal_put(&page->text.terminal, out, page->bytes, page->size);
	return fflush(out) == 0 ? 0 : error_set(err, errno, "could not write the report");
}

int page_print(struct page *page, const char *last, struct error *err)
{
	if (page->threaded)
		pthread_join(page->thread, NULL);
	if (last && !page->failed)
		text_say(&page->text, "%s", last);
	if (page->text.out && fclose(page->text.out) != 0 && !page->failed)
		page->failed = error_set(&page->error, errno, "could not print the report");
	int failed = page->failed;
	if (failed)
		*err = page->error;
	else
		failed = put(page, err);
	free(page->bytes);
	return failed;
}
