// SPDX-License-Identifier: MIT
#include "sampler/go/go_reader.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct go_reader {
	pthread_t thread;
	int fd;
	enum go_found found;
	struct go_layout layout;
	atomic_bool done; // the two before it are there
};

static void *work(void *context)
{
	struct go_reader *r = context;

	r->found = go_layout_read(r->fd, &r->layout);
	atomic_store_explicit(&r->done, true, memory_order_release);
	return NULL;
}

struct go_reader *go_reader_new(int fd)
{
	struct go_reader *r = calloc(1, sizeof(*r));
	sigset_t all, before;

	if (!r) {
		close(fd);
		return NULL;
	}
	r->fd = fd;
	// Signals are for the threads that were there before.
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int errnum = pthread_create(&r->thread, NULL, work, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errnum) {
		close(fd);
		free(r);
		return NULL;
	}
	return r;
}

void go_reader_free(struct go_reader *r)
{
	if (!r)
		return;
	pthread_join(r->thread, NULL);
	close(r->fd);
	free(r);
}

bool go_reader_done(struct go_reader *r, enum go_found *found, struct go_layout *layout)
{
	if (!atomic_load_explicit(&r->done, memory_order_acquire))
		return false;
	*found = r->found;
	*layout = r->layout;
	return true;
}
