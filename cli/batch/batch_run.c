// SPDX-License-Identifier: MIT
#include "cli/batch/batch_run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/format.h"
#include "cli/batch/batch_file.h"
#include "cli/command.h"
#include "cli/inherited.h"
#include "cli/message.h"
#include "cli/report/cut.h"
#include "cli/report/view.h"
#include "cli/run/run_options.h"
#include "cli/words.h"
#include "merge/profile/profile.h"
#include "merge/query/query.h"
#include "merge/rules/finding.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define SELF           "/proc/self/exe"
#define GRACE_NS       (10 * NS_PER_SEC)
#define STATUS_TIMEOUT 124 // as of timeout(1)

// One run of the command, and the names of what it leaves.
struct attempt {
	const struct batch_job *job;
	char profile[PATH_MAX], report[PATH_MAX], output[PATH_MAX];
	wordexp_t options, command;
	char **argv;
	pid_t pid;
	int status; // of wait(2)
	bool timed_out;
	int stopped_by; // SIGTTIN or SIGTTOU
};

const char *batch_outcome_name(enum batch_outcome outcome)
{
	static const char *const names[] = {
		[BATCH_NOT_RUN] = "not run",
		[BATCH_PASSED] = "passed",
		[BATCH_INCONCLUSIVE] = "inconclusive",
		[BATCH_GATE] = "gate",
		[BATCH_FAILED] = "failed",
		[BATCH_TIMEOUT] = "timeout",
		[BATCH_STOPPED] = "stopped",
		[BATCH_CRASHED] = "crashed",
		[BATCH_ERROR] = "error",
	};

	return names[outcome];
}

int batch_runner_open(struct batch_runner *runner, const char *directory, struct error *err)
{
	static const int signals[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP };
	const struct sigaction plain = { .sa_handler = SIG_DFL };

	*runner = (struct batch_runner){ 0 };
	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		return error_set(err, errno, "could not make the directory \"%s\"", directory);
	if (!realpath(directory, runner->directory) || access(runner->directory, W_OK | X_OK) < 0)
		return error_set(err, errno, "could not write to \"%s\"", directory);
	sigemptyset(&runner->waited);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaddset(&runner->waited, signals[i]);
	sigprocmask(SIG_BLOCK, &runner->waited, &runner->old_mask);
	// Where it is ignored, children leave no status, and nobody is told of their ends.
	sigaction(SIGCHLD, &plain, &runner->old_child);
	return 0;
}

void batch_runner_close(struct batch_runner *runner)
{
	sigaction(SIGCHLD, &runner->old_child, NULL);
	sigprocmask(SIG_SETMASK, &runner->old_mask, NULL);
}

static int name_file(const struct batch_runner *runner, const struct batch_job *job, uint32_t run,
                     const char *suffix, char *path, struct error *err)
{
	char number[16] = "";

	if (job->repeat > 1)
		snprintf(number, sizeof(number), ".%u", run + 1);
	int length =
		snprintf(path, PATH_MAX, "%s/%s%s%s", runner->directory, job->name, number, suffix);
	return length < PATH_MAX ? 0 : error_set(err, ENAMETOOLONG, "could not name the files");
}

// bottleneck run OPTIONS --fail-on GATE ... -o PROFILE -R REPORT -- COMMAND
static int make_command(struct attempt *a, struct error *err)
{
	const struct option_list *gates = &a->job->gates;
	size_t options = a->options.we_wordc, words = a->command.we_wordc, n = 0;

	a->argv = calloc(options + 2 * gates->count + words + 8, sizeof(*a->argv));
	if (!a->argv)
		return error_set(err, ENOMEM, "could not make the command");
	a->argv[n++] = "bottleneck";
	a->argv[n++] = "run";
	for (size_t i = 0; i < options; i++)
		a->argv[n++] = a->options.we_wordv[i];
	for (size_t i = 0; i < gates->count; i++) {
		a->argv[n++] = "--fail-on";
		a->argv[n++] = (char *)gates->items[i];
	}
	a->argv[n++] = "-o";
	a->argv[n++] = a->profile;
	a->argv[n++] = "-R";
	a->argv[n++] = a->report;
	a->argv[n++] = "--";
	for (size_t i = 0; i < words; i++)
		a->argv[n++] = a->command.we_wordv[i];
	return 0;
}

static int prepare(struct attempt *a, struct error *err)
{
	if (a->job->options && words_split(a->job->options, &a->options, err) < 0)
		return -1;
	if (words_split(a->job->command, &a->command, err) < 0)
		return -1;
	return make_command(a, err);
}

static void release(struct attempt *a)
{
	free(a->argv);
	if (a->options.we_wordv)
		wordfree(&a->options);
	if (a->command.we_wordv)
		wordfree(&a->command);
}

// That they are options of bottleneck run, and none of those that are ours.
static int check_options(const struct attempt *a, struct error *err)
{
	static char name[] = "run", command[] = "true";
	size_t count = a->options.we_wordc;
	cleanup_free char **argv = calloc(count + 3, sizeof(*argv));
	struct run_options options;

	if (!argv)
		return error_set(err, ENOMEM, "could not make the command");
	argv[0] = name;
	for (size_t i = 0; i < count; i++)
		argv[1 + i] = a->options.we_wordv[i];
	argv[1 + count] = command;
	if (run_options_parse(&options, (int)count + 2, argv, err) < 0)
		return error_wrap(err, "options");
	if (options.output || options.report_file)
		return error_set(err, 0,
		                 "options: -%c belongs to the batch, see -o of bottleneck batch",
		                 options.output ? 'o' : 'R');
	if (options.argv[0] != command)
		return error_set(err, 0, "options: \"%s\" is none", options.argv[0]);
	return 0;
}

int batch_check(const struct batch_job *job, struct error *err)
{
	struct attempt a = { .job = job };
	int failed = prepare(&a, err);

	if (failed == 0)
		failed = check_options(&a, err);
	release(&a);
	return failed;
}

// "%" has a meaning in names of profiles, cli/file_name.h.
static bool escape(char *path)
{
	char plain[PATH_MAX];
	size_t used = 0;

	snprintf(plain, sizeof(plain), "%s", path);
	for (const char *c = plain; *c; c++) {
		if (used + 3 > PATH_MAX)
			return false;
		path[used++] = *c;
		if (*c == '%')
			path[used++] = '%';
	}
	path[used] = '\0';
	return true;
}

__attribute__((format(printf, 1, 2), noreturn)) static void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vdprintf(STDERR_FILENO, format, args);
	va_end(args);
	_exit(EXIT_OURS);
}

// Its own process group: what it has started can be killed with it, and Ctrl-C is ours alone.
__attribute__((noreturn)) static void run_child(const struct batch_runner *runner,
                                                struct attempt *a)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int out = open(a->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (null < 0 || out < 0)
		_exit(EXIT_OURS);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	setpgid(0, 0);
	inherited_restore();
	sigaction(SIGCHLD, &runner->old_child, NULL);
	sigprocmask(SIG_SETMASK, &runner->old_mask, NULL);
	for (size_t i = 0; i < a->job->environment.count; i++)
		if (putenv((char *)a->job->environment.items[i]) != 0)
			give_up("bottleneck batch: could not set the environment\n");
	if (a->job->directory && chdir(a->job->directory) < 0)
		give_up("bottleneck batch: could not go to \"%s\": %s\n", a->job->directory,
		        strerror(errno));
	if (!escape(a->profile) || !escape(a->report))
		_exit(EXIT_OURS);
	execv(SELF, a->argv);
	give_up("bottleneck batch: could not run bottleneck: %s\n", strerror(errno));
}

// SIGTERM goes to bottleneck alone, which passes it on and writes its report. Once more: to all.
static void end_attempt(const struct attempt *a, bool last)
{
	if (last)
		kill(-a->pid, SIGKILL);
	else
		kill(a->pid, SIGTERM);
}

static struct timespec time_until(uint64_t deadline_ns)
{
	uint64_t now = clock_now_ns();
	uint64_t left = deadline_ns > now ? deadline_ns - now : 0;

	return (struct timespec){ (time_t)(left / NS_PER_SEC), (long)(left % NS_PER_SEC) };
}

// Who reads from the terminal, or sets it, in the background is stopped, and nobody would continue
// it. By another signal somebody has stopped it who means to continue it.
static void take_stop(struct attempt *a, int signal, bool *ending, uint64_t *deadline)
{
	if (signal != SIGTTIN && signal != SIGTTOU) {
		message_warn("%s was stopped by %s: kill -CONT -%d lets it go on", a->job->name,
		             signal == SIGSTOP ? "SIGSTOP" : "SIGTSTP", (int)a->pid);
		return;
	}
	a->stopped_by = signal;
	*ending = true;
	*deadline = clock_now_ns() + GRACE_NS;
	kill(-a->pid, SIGTERM); // waits until they go on
	kill(-a->pid, SIGCONT);
}

static bool has_ended(struct attempt *a, bool *ending, uint64_t *deadline)
{
	pid_t got;

	while ((got = waitpid(a->pid, &a->status, WNOHANG | WUNTRACED)) == a->pid &&
	       WIFSTOPPED(a->status)) {
		if (*ending)
			end_attempt(a, true);
		else
			take_stop(a, WSTOPSIG(a->status), ending, deadline);
	}
	return got != 0;
}

static void await(struct batch_runner *runner, struct attempt *a)
{
	uint64_t deadline = a->job->timeout_ns ? clock_now_ns() + a->job->timeout_ns : 0;
	bool ending = false;

	while (!has_ended(a, &ending, &deadline)) {
		struct timespec left = time_until(deadline);
		int got = sigtimedwait(&runner->waited, NULL, deadline ? &left : NULL);
		bool late = got < 0 && errno == EAGAIN;
		if (got == SIGCHLD || (got < 0 && !late))
			continue;
		if (got > 0)
			runner->stopped_by = got;
		end_attempt(a, ending);
		a->timed_out |= late && !runner->stopped_by;
		ending = true;
		deadline = clock_now_ns() + GRACE_NS;
	}
	if (ending)
		kill(-a->pid, SIGKILL); // what it has left behind
}

static void say(struct batch_result *result, enum batch_outcome outcome, int status,
                const char *message)
{
	if (outcome <= result->outcome)
		return; // the worst run counts
	result->outcome = outcome;
	result->status = status;
	snprintf(result->message, sizeof(result->message), "%s", message);
}

static void judge_signal(int signal, struct batch_result *result)
{
	char text[96];

	snprintf(text, sizeof(text), "killed by signal %d (%s)", signal, strsignal(signal));
	say(result, BATCH_CRASHED, 128 + signal, text);
	if (result->outcome == BATCH_CRASHED)
		result->signal = signal;
}

// Where 90 and 92 come from the profile's gates, the program itself has succeeded.
static void judge_status(const struct attempt *a, const struct profile *profile,
                         struct batch_result *result)
{
	int status = WEXITSTATUS(a->status);
	bool ours = profile && profile_run(profile)->exit_status == 0;
	char text[160];

	if (status == 0)
		say(result, BATCH_PASSED, 0, "");
	else if (ours && status == EXIT_FINDING)
		say(result, BATCH_GATE, status, "a gate has found something: see the report");
	else if (ours && status == EXIT_INCONCLUSIVE) {
		snprintf(text, sizeof(text), "the measurement cannot be trusted: see %.100s.out",
		         a->job->name);
		say(result, BATCH_INCONCLUSIVE, status, text);
	} else if (!profile) {
		snprintf(text, sizeof(text), "could not be run: see %.100s.out", a->job->name);
		say(result, BATCH_ERROR, status, text);
	} else {
		snprintf(text, sizeof(text), "exit status %d", status);
		say(result, BATCH_FAILED, status, text);
	}
}

static void judge(const struct attempt *a, const struct profile *profile,
                  struct batch_result *result)
{
	char text[96];

	if (a->stopped_by) {
		snprintf(text, sizeof(text), "%s: it wanted the terminal",
		         a->stopped_by == SIGTTIN ? "SIGTTIN" : "SIGTTOU");
		say(result, BATCH_STOPPED, 128 + a->stopped_by, text);
	} else if (a->timed_out) {
		snprintf(text, sizeof(text), "took longer than %s",
		         format_duration(a->job->timeout_ns).text);
		say(result, BATCH_TIMEOUT, STATUS_TIMEOUT, text);
	} else if (WIFSIGNALED(a->status)) {
		judge_signal(WTERMSIG(a->status), result);
	} else {
		judge_status(a, profile, result);
	}
}

static void look_at(const struct profile *profile, struct batch_result *result)
{
	const struct query query = { .by = BY_FUNCTION, .without_others = true };
	struct view view = view_default();
	struct error err;
	cleanup(rows) struct rows *rows = query_run(profile, &query, &err);
	cleanup(findings) struct findings *found =
		cut_resolve(&view, profile, &err) == 0 ? cut_findings(&view, profile, NULL, &err)
						       : NULL;

	result->function[0] = result->finding[0] = '\0';
	if (rows && rows->count)
		snprintf(result->function, sizeof(result->function), "%s", rows->rows[0].name);
	if (found && found->shown)
		snprintf(result->finding, sizeof(result->finding), "%s", found->items[0].rule->id);
}

static int start(const struct batch_runner *runner, struct attempt *a, struct error *err)
{
	// What an earlier batch has left must not be taken for this one's.
	unlink(a->profile);
	unlink(a->report);
	a->pid = fork();
	if (a->pid == 0)
		run_child(runner, a);
	if (a->pid < 0)
		return error_set(err, errno, "could not start a process");
	setpgid(a->pid, a->pid); // whoever of the two is first
	return 0;
}

static int attempt_run(struct batch_runner *runner, const struct batch_job *job, uint32_t run,
                       struct batch_result *result, uint64_t *wall_ns, struct error *err)
{
	struct attempt a = { .job = job };
	struct error ignored;
	int failed = 0;

	if (name_file(runner, job, run, ".bneck", a.profile, err) < 0 ||
	    name_file(runner, job, run, ".txt", a.report, err) < 0 ||
	    name_file(runner, job, run, ".out", a.output, err) < 0)
		return -1;
	if (prepare(&a, err) < 0 || start(runner, &a, err) < 0) {
		failed = -1;
	} else {
		uint64_t begin = clock_now_ns();
		await(runner, &a);
		*wall_ns = clock_now_ns() - begin;
		cleanup(profile) struct profile *profile = profile_read(a.profile, &ignored);
		if (profile && profile_run(profile)->complete) {
			*wall_ns = profile_run(profile)->wall_ns;
			look_at(profile, result);
		}
		if (!runner->stopped_by)
			judge(&a, profile, result);
	}
	release(&a);
	return failed;
}

static int compare_times(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static uint64_t median_of(uint64_t *times, uint32_t count)
{
	qsort(times, count, sizeof(*times), compare_times);
	return count % 2 ? times[count / 2] : times[count / 2 - 1] / 2 + times[count / 2] / 2;
}

void batch_run(struct batch_runner *runner, const struct batch_job *job,
               struct batch_result *result)
{
	uint64_t times[BATCH_REPEAT_MAX] = { 0 };
	struct error err;
	char text[ERROR_TEXT_SIZE];

	*result = (struct batch_result){ 0 };
	for (uint32_t i = 0; i < job->repeat && !runner->stopped_by; i++) {
		if (attempt_run(runner, job, i, result, &times[i], &err) < 0) {
			say(result, BATCH_ERROR, EXIT_OURS,
			    error_message(&err, text, sizeof(text)));
			break;
		}
		if (runner->stopped_by)
			break;
		result->sum_ns += times[i];
		result->runs++;
	}
	if (runner->stopped_by) {
		*result = (struct batch_result){ 0 };
		snprintf(result->message, sizeof(result->message), "interrupted");
	} else if (result->runs) {
		result->wall_ns = median_of(times, result->runs);
	}
}
