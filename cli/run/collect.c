// SPDX-License-Identifier: MIT
#include "cli/run/collect.h"

#include "base/clock.h"
#include "cli/run/job.h"
#include "cli/run/launch.h"
#include "merge/record/ahead.h"
#include "merge/record/checkpoint.h"
#include "merge/record/machine.h"
#include "merge/record/recorder.h"
#include "sampler/proc/proc_io.h"
#include "sampler/sampler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define POLL_LIMIT_MS 1000
#define STACK_BYTES   ((size_t)8 << 20)
#define IO_NS         (50 * NS_PER_MS)

static uint64_t usage_cpu_ns(const struct rusage *usage)
{
	return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * NS_PER_US;
}

static uint64_t own_cpu_ns(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) == 0 ? usage_cpu_ns(&usage) : 0;
}

// A sampler that broke is not a reason to stop the target.
static void drain(struct collect *c)
{
	if (!c->broken.text[0] && sampler_drain(c->sampler, &c->broken) == 0)
		c->broken.text[0] = '\0';
}

static void take_sampler_facts(struct collect *c)
{
	const struct sampler_status *status = sampler_status(c->sampler);
	struct run *run = &c->run;

	run->rung = status->rung;
	run->rung_reason = status->rung_reason;
	run->rung_remedy = status->rung_remedy;
	run->kernel_stacks = status->kernel_stacks;
	run->off_cpu_exact = status->off_cpu_exact;
	run->frequency_hz =
		status->self_samples * 2 > status->samples ? c->self_hz : status->frequency_hz;
	run->samples = status->samples;
	run->lost = status->lost;
	run->truncated = status->truncated;
	run->joined = status->joined;
	run->guessed = status->guessed;
	run->handlers_ns = status->handlers_ns;
	run->hooks_ops_ns = hooks_ops_ns(&c->recorder->hooks);
	run->hooks_cupti_ns = c->recorder->hooks.cupti_ns;
	run->hooks_memory_ns = c->recorder->hooks.ns[HOOKS_MEMORY];
	memcpy(run->hooks_ns, c->recorder->hooks.ns, sizeof(run->hooks_ns));
	run->unseen_processes = status->unseen_processes;
	run->unseen_name = status->unseen_name;
}

static void take_time(struct collect *c)
{
	const struct machine now = machine_now();

	c->run.wall_ns = clock_now_ns() - c->run.start_ns;
	machine_tell(c->machine, &now, &c->run);
	recorded_tell(&c->recorder->recorded, &c->run);
}

// Of a zombie root alone may read them: for others what was read last has to do.
static void take_io(struct collect *c)
{
	struct proc_io io;

	if (!proc_io_read((uint32_t)c->launch->pid, &io))
		return;
	c->run.read_bytes = io.read_bytes;
	c->run.read_calls = io.read_calls;
	c->run.write_bytes = io.write_bytes;
	c->run.write_calls = io.write_calls;
}

static void take_io_if_due(struct collect *c, uint64_t now_ns)
{
	if (now_ns < c->io_due_ns)
		return;
	take_io(c);
	c->io_due_ns = now_ns + IO_NS;
}

// True when the target has ended.
static bool reap(struct collect *c)
{
	struct rusage usage;
	int status;

	checkpoint_reap(c->checkpoint, false);
	take_io(c);
	if (wait4(c->launch->pid, &status, WNOHANG | WUNTRACED, &usage) != c->launch->pid)
		return false;
	if (WIFSTOPPED(status)) {
		drain(c); // what it did before does not wait until it goes on
		job_stopped(c->job, WSTOPSIG(status));
		return false;
	}
	c->job->child = 0;
	c->run.exit_status = status;
	take_time(c);
	c->run.target_cpu_ns = usage_cpu_ns(&usage);
	c->run.peak_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
	return true;
}

// Waits for something to do, does it, and says whether the target has ended.
static int step(struct collect *c, struct error *err)
{
	struct pollfd fds[] = {
		{ .fd = c->broken.text[0] ? -1 : sampler_fd(c->sampler), .events = POLLIN },
		{ .fd = c->job->fd, .events = POLLIN },
		{ .fd = c->launch->pidfd, .events = POLLIN },
		{ .fd = c->job->witness.fd, .events = POLLIN },
	};
	uint64_t now_ns = clock_now_ns();
	int timeout_ms = c->broken.text[0] ? POLL_LIMIT_MS : sampler_timeout_ms(c->sampler);

	if (timeout_ms < 0 || timeout_ms > POLL_LIMIT_MS)
		timeout_ms = POLL_LIMIT_MS;
	if (ahead_is_idle(c->ahead)) // else it may be due, and would not be done
		timeout_ms = checkpoint_timeout_ms(c->checkpoint, now_ns, timeout_ms);
	timeout_ms = ahead_timeout_ms(c->ahead, now_ns, timeout_ms);
	timeout_ms = cpu_clock_timeout_ms(&c->clock, now_ns, timeout_ms);
	if (poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms) < 0 && errno != EINTR)
		return error_set(err, errno, "could not wait for the program");
	drain(c);
	if ((job_handle(c->job) || fds[2].revents) && reap(c))
		return 1;
	if (cpu_clock_maybe(&c->clock, clock_now_ns()))
		cpu_clock_tell(&c->clock, &c->run);
	take_io_if_due(c, clock_now_ns());
	take_sampler_facts(c);
	c->run.wall_ns = clock_now_ns() - c->run.start_ns;
	recorded_tell(&c->recorder->recorded, &c->run);
	ahead_maybe(c->ahead, c->profile, clock_now_ns());
	// A fork waits for whoever is in the middle of an allocation, be he ever so slow.
	if (ahead_is_idle(c->ahead))
		checkpoint_maybe(c->checkpoint, c->profile, &c->run, clock_now_ns());
	return 0;
}

// Whatever still runs in the background goes on without us: nobody waits for it, nor do we.
static void note_background(struct collect *c)
{
	const char *name;

	c->background = recorder_count_running(c->recorder, (uint32_t)c->launch->pid, &name);
	snprintf(c->background_name, sizeof(c->background_name), "%s", name);
}

static int run_to_exit(struct collect *c, struct error *err)
{
	uint64_t start_cpu_ns = own_cpu_ns();
	int ended;

	c->broken.text[0] = '\0';
	c->run.exit_status = -1;
	cpu_clock_init(&c->clock, CPU_CLOCK_ROOT, (uint32_t)c->launch->pid, c->run.start_ns);
	sampler_begin(c->sampler);
	do
		ended = step(c, err);
	while (ended == 0);
	if (ended < 0)
		return -1;
	drain(c);
	note_background(c);
	checkpoint_reap(c->checkpoint, true);
	struct error finish;
	if (sampler_finish(c->sampler, &finish) < 0 && !c->broken.text[0])
		c->broken = finish;
	profile_end_gpu(c->profile);
	take_sampler_facts(c);
	recorded_tell(&c->recorder->recorded, &c->run);
	c->run.collector_cpu_ns = own_cpu_ns() - start_cpu_ns + c->checkpoint->cpu_ns;
	c->run.complete = true;
	return 0;
}

struct turn {
	struct collect *collect;
	struct error *err;
	int result;
};

static void *run_in_thread(void *context)
{
	struct turn *turn = context;

	turn->result = run_to_exit(turn->collect, turn->err);
	return NULL;
}

// Whatever the limit for stacks is: it is the target's.
static int start_thread(pthread_t *thread, struct turn *turn)
{
	pthread_attr_t attributes;

	int failed = pthread_attr_init(&attributes);
	if (failed)
		return failed;
	failed = pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (!failed)
		failed = pthread_create(thread, &attributes, run_in_thread, turn);
	pthread_attr_destroy(&attributes);
	return failed;
}

// In a thread of its own, as it becomes a real-time one: a program that asks for its parent's
// policy asks for the main thread's.
int collect_until_exit(struct collect *c, struct error *err)
{
	struct turn turn = { .collect = c, .err = err };
	pthread_t thread;

	if (start_thread(&thread, &turn))
		return run_to_exit(c, err);
	pthread_join(thread, NULL);
	return turn.result;
}
