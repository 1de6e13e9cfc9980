// SPDX-License-Identifier: MIT
#include "cli/run/collect.h"

#include "base/error.h"
#include "cli/run/job.h"
#include "cli/run/launch.h"
#include "merge/record/recording.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define POLL_LIMIT_MS 1000
#define STACK_BYTES   ((size_t)8 << 20)

struct turn {
	struct collecting base; // first
	struct job *job;
	const struct launch *launch;
};

struct work {
	struct collecting *collecting;
	int result;
};

// True when the target has ended.
static bool reap(struct turn *t)
{
	struct rusage usage;
	int status;

	recording_look(t->base.recording);
	if (wait4(t->launch->pid, &status, WNOHANG | WUNTRACED, &usage) != t->launch->pid)
		return false;
	if (WIFSTOPPED(status)) {
		recording_drain(
			t->base.recording); // what it did before does not wait until it goes on
		job_stopped(t->job, WSTOPSIG(status));
		return false;
	}
	t->job->child = 0;
	collect_ended(&t->base);
	recording_end(t->base.recording, status, &usage);
	return true;
}

// Waits for something to do, does it, and says whether the target has ended.
static int step(struct collecting *base)
{
	struct turn *t = (struct turn *)base;
	struct recording *r = base->recording;
	struct pollfd fds[] = {
		{ .fd = recording_fd(r), .events = POLLIN },
		{ .fd = t->job->fd, .events = POLLIN },
		{ .fd = t->launch->pidfd, .events = POLLIN },
		{ .fd = t->job->witness.fd, .events = POLLIN },
	};

	if (poll(fds, sizeof(fds) / sizeof(fds[0]), recording_timeout_ms(r, POLL_LIMIT_MS)) < 0 &&
	    errno != EINTR)
		return error_set(base->err, errno, "could not wait for the program");
	recording_drain(r);
	if ((job_handle(t->job) || fds[2].revents) && reap(t))
		return 1;
	recording_step(r);
	return 0;
}

void collect_ended(struct collecting *c)
{
	sem_post(&c->ended);
}

static void *run_to_exit(void *context)
{
	struct work *work = context;
	struct collecting *c = work->collecting;
	int ended;

	recording_begin(c->recording);
	do
		ended = c->step(c);
	while (ended == 0);
	work->result = ended < 0 ? -1 : 0;
	collect_ended(c);
	return NULL;
}

// Whatever the limit for stacks is: it is the target's.
static int start_thread(pthread_t *thread, struct work *work)
{
	pthread_attr_t attributes;

	int failed = pthread_attr_init(&attributes);
	if (failed)
		return failed;
	failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (!failed)
		failed = pthread_create(thread, &attributes, run_to_exit, work);
	pthread_attr_destroy(&attributes);
	return failed;
}

// In a thread of its own, as it becomes a real-time one: a program that asks for its parent's
// policy asks for the main thread's.
int collect(struct collecting *c)
{
	struct work work = { .collecting = c };
	pthread_t thread;

	sem_init(&c->ended, 0, 0);
	if (start_thread(&thread, &work)) {
		run_to_exit(&work);
	} else {
		while (sem_wait(&c->ended) < 0 && errno == EINTR)
			;
		if (c->meanwhile)
			c->meanwhile();
		pthread_join(thread, NULL);
	}
	sem_destroy(&c->ended);
	return work.result;
}

int collect_until_exit(struct recording *r, struct job *job, const struct launch *launch,
                       void (*meanwhile)(void), struct error *err)
{
	struct turn turn = {
		.base = { .recording = r, .step = step, .err = err, .meanwhile = meanwhile },
		.job = job,
		.launch = launch,
	};

	return collect(&turn.base);
}
