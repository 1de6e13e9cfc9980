// SPDX-License-Identifier: MIT
#include "symbolize/early.h"

#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// Behind the program, yet not so far that somebody who must wait for us waits long.
#define NICE 10

struct question {
	struct question *next;
	struct module module;
	size_t count;
	uint64_t addresses[];
};

struct early {
	struct symbolizer *symbolizer; // the thread's, while that runs
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t asked;
	// Under LOCK:
	struct question *questions, **last;
	pid_t tid; // of the thread, once it runs
	bool busy, unwanted;
};

struct early *early_new(const struct symbolizer_options *options, struct error *err)
{
	cleanup(early) struct early *e = calloc(1, sizeof(*e));

	if (!e) {
		error_set(err, ENOMEM, "could not start the symbolizer");
		return NULL;
	}
	pthread_mutex_init(&e->lock, NULL);
	pthread_cond_init(&e->asked, NULL);
	e->last = &e->questions;
	e->symbolizer = symbolizer_new(options, err);
	return e->symbolizer ? steal(e) : NULL;
}

static void drop_questions(struct early *e)
{
	while (e->questions) {
		struct question *next = e->questions->next;
		free(e->questions);
		e->questions = next;
	}
	e->last = &e->questions;
}

void early_free(struct early *e)
{
	if (!e)
		return;
	symbolizer_free(early_finish(e));
	pthread_cond_destroy(&e->asked);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

// Waits for the next question. NULL at the end.
static struct question *next_question(struct early *e)
{
	pthread_mutex_lock(&e->lock);
	e->busy = false;
	while (!e->questions && !e->unwanted)
		pthread_cond_wait(&e->asked, &e->lock);
	struct question *q = e->unwanted ? NULL : e->questions;
	if (q) {
		e->busy = true;
		e->questions = q->next;
		if (!e->questions)
			e->last = &e->questions;
	}
	pthread_mutex_unlock(&e->lock);
	return q;
}

// True unless there is no memory. That is said by who asks again, at the end.
static bool answer(struct early *e, const struct question *q)
{
	cleanup_free struct symbol_chain *chains = calloc(q->count, sizeof(*chains));

	return chains && symbolizer_resolve(e->symbolizer, &q->module, q->addresses, q->count,
	                                    chains, NULL) == 0;
}

static void *work(void *context)
{
	struct early *e = context;
	struct question *q;
	bool good = true;

	pthread_mutex_lock(&e->lock);
	e->tid = (pid_t)syscall(SYS_gettid);
	// Of this thread alone. Who started it may have a better priority than he was born with.
	if (getpriority(PRIO_PROCESS, (id_t)e->tid) < NICE)
		setpriority(PRIO_PROCESS, (id_t)e->tid, NICE);
	pthread_mutex_unlock(&e->lock);
	while (good && (q = next_question(e))) {
		good = answer(e, q);
		free(q);
	}
	pthread_mutex_lock(&e->lock);
	e->unwanted = true;
	e->busy = false;
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

static bool start(struct early *e)
{
	sigset_t all, old;

	// Signals are for those who wait for them; but this one is about what the thread itself
	// does.
	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	e->running = pthread_create(&e->thread, NULL, work, e) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return e->running;
}

bool early_is_idle(struct early *e)
{
	pthread_mutex_lock(&e->lock);
	bool idle = !e->busy && (!e->questions || e->unwanted);
	pthread_mutex_unlock(&e->lock);
	return idle;
}

bool early_ask(struct early *e, const struct module *module, const uint64_t *addresses,
               size_t count)
{
	if (!count || (module->kind != MODULE_ELF && module->kind != MODULE_VDSO))
		return true;
	cleanup_free struct question *q = malloc(sizeof(*q) + count * sizeof(*addresses));
	if (!q || (!e->running && !start(e)))
		return false;
	q->next = NULL;
	q->module = *module;
	q->count = count;
	memcpy(q->addresses, addresses, count * sizeof(*addresses));
	pthread_mutex_lock(&e->lock);
	*e->last = q;
	e->last = &q->next;
	pthread_cond_signal(&e->asked);
	pthread_mutex_unlock(&e->lock);
	steal(q);
	return true;
}

struct symbolizer *early_finish(struct early *e)
{
	if (!e->running)
		return e->symbolizer;
	pthread_mutex_lock(&e->lock);
	e->unwanted = true;
	// From now on somebody waits for it. Where that is a privilege it stays as it is.
	if (e->tid)
		setpriority(PRIO_PROCESS, (id_t)e->tid, getpriority(PRIO_PROCESS, 0));
	pthread_cond_signal(&e->asked);
	pthread_mutex_unlock(&e->lock);
	pthread_join(e->thread, NULL);
	e->running = false;
	drop_questions(e);
	return e->symbolizer;
}
