// SPDX-License-Identifier: MIT
#include "tests/support/rung_run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "tests/support/turns.h"
#include "tracer/reader/session.h"

#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void die(const char *what, const struct error *err)
{
	char text[1024];

	fprintf(stderr, "rung_run: %s: %s\n", what, error_message(err, text, sizeof(text)));
	exit(125);
}

static struct rung_thread *thread_of(struct rung_run *run, uint32_t number)
{
	for (uint32_t i = run->thread_count; i-- > 0;)
		if (run->threads[i].number == number)
			return &run->threads[i];
	return NULL;
}

static void on_process(void *context, const struct process_event *event)
{
	struct rung_run *run = context;

	run->execs += event->exec;
	run->processes += !event->exec;
	snprintf(run->last_command, sizeof(run->last_command), "%s", event->command);
}

static void on_process_end(void *context, uint32_t process, uint64_t time_ns)
{
	struct rung_run *run = context;

	(void)process;
	(void)time_ns;
	run->processes_ended++;
}

static void on_thread(void *context, const struct thread_event *event)
{
	struct rung_run *run = context;
	struct rung_thread *thread = thread_of(run, event->thread);

	if (!thread) {
		if (run->thread_count == sizeof(run->threads) / sizeof(run->threads[0]))
			return;
		thread = &run->threads[run->thread_count++];
		thread->number = event->thread;
		thread->process = event->process;
		thread->tid = event->tid;
		thread->start_ns = event->time_ns;
	}
	snprintf(thread->name, sizeof(thread->name), "%s", event->name);
}

static void on_thread_end(void *context, const struct thread_end *end)
{
	struct rung_thread *thread = thread_of(context, end->thread);

	if (!thread)
		return;
	memcpy(thread->told_ns, end->ns, sizeof(thread->told_ns));
	thread->end_ns = end->time_ns;
	thread->ended = true;
}

static void on_stack(void *context, const struct stack *stack)
{
	struct rung_thread *thread = thread_of(context, stack->thread);

	if (!thread)
		return;
	thread->stack_ns[stack->metric] += stack->weight_ns;
	if (stack->metric != METRIC_ON_CPU)
		return;
	thread->samples += stack->samples;
	if (stack->count == 1 && stack->frames[0].kind == FRAME_MARK)
		thread->unknown_ns += stack->weight_ns;
}

static void on(void *context, const struct sampled *what)
{
	if (what->kind == SAMPLED_PROCESS)
		on_process(context, what->process);
	else if (what->kind == SAMPLED_PROCESS_END)
		on_process_end(context, what->at.number, what->at.time_ns);
	else if (what->kind == SAMPLED_THREAD)
		on_thread(context, what->thread);
	else if (what->kind == SAMPLED_THREAD_END)
		on_thread_end(context, what->thread_end);
	else if (what->kind == SAMPLED_STACK)
		on_stack(context, what->stack);
}

static uint64_t cpu_ns(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NS_PER_SEC +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * NS_PER_US;
}

static pid_t start_child(const struct session *session, int gate, char *const argv[])
{
	pid_t child = fork();
	char byte;

	if (child)
		return child;
	if (session)
		session_export(session, NULL);
	if (read(gate, &byte, 1) == 1)
		execvp(argv[0], argv);
	_exit(127);
}

static void drain_until_exit(struct rung_run *run, struct sampler *sampler, pid_t child)
{
	struct error err = { 0 };
	struct turns turns = { .last_ns = clock_now_ns() };

	while (waitpid(child, &run->status, WNOHANG) != child) {
		struct epoll_event event;
		int timeout = sampler_timeout_ms(sampler);
		epoll_wait(sampler_fd(sampler), &event, 1, timeout);
		if (sampler_drain(sampler, &err) < 0)
			die("drain", &err);
		turns_count(&turns, timeout);
	}
	run->late_ns = turns.late_ns;
	if (sampler_finish(sampler, &err) < 0)
		die("finish", &err);
}

void rung_run(struct rung_run *run, enum rung rung, char *const argv[])
{
	struct session_options wanted = {
		.library = AGENT_LIBRARY,
		.frequency_hz = 999,
		.stack_bytes = 32768,
	};
	struct error err = { 0 };
	int gate[2];

	memset(run, 0, sizeof(*run));
	cleanup(session) struct session *session =
		rung == RUNG_AGENT ? session_new(&wanted, &err) : NULL;
	if ((rung == RUNG_AGENT && !session) || pipe2(gate, O_CLOEXEC) < 0)
		die("start", &err);
	uint64_t cpu = cpu_ns(RUSAGE_CHILDREN), self = cpu_ns(RUSAGE_SELF);
	pid_t child = start_child(session, gate[0], argv);
	close(gate[0]);

	struct sampler_options options = {
		.best_rung = rung,
		.off_cpu = true,
		.agent_directory = session ? session_directory(session) : NULL,
	};
	struct sampler_sink sink = { .context = run, .take = on };
	cleanup(modules) struct modules *modules = modules_new();
	cleanup(sampler) struct sampler *sampler = sampler_new(&options, modules, &sink, &err);
	if (!sampler || sampler_attach(sampler, child, &err) < 0)
		die("attach", &err);
	sampler_begin(sampler);
	uint64_t start = clock_now_ns();
	if (write(gate[1], "x", 1) != 1)
		die("gate", &err);
	close(gate[1]);
	drain_until_exit(run, sampler, child);
	run->wall_ns = clock_now_ns() - start;
	run->cpu_ns = cpu_ns(RUSAGE_CHILDREN) - cpu;
	run->cpu_self_ns = cpu_ns(RUSAGE_SELF) - self;
	run->sampler = *sampler_status(sampler);
}

uint64_t rung_on_cpu_ns(const struct rung_run *run)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < run->thread_count; i++)
		sum += run->threads[i].stack_ns[METRIC_ON_CPU];
	return sum;
}

uint64_t rung_unknown_ns(const struct rung_run *run)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < run->thread_count; i++)
		sum += run->threads[i].unknown_ns;
	return sum;
}
