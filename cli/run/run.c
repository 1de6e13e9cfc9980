// SPDX-License-Identifier: MIT
#include "base/cleanup.h"
#include "base/error.h"
#include "base/new_file.h"
#include "base/rank.h"
#include "base/stop.h"
#include "base/temporary.h"
#include "cli/command.h"
#include "cli/export/exports.h"
#include "cli/file_name.h"
#include "cli/inherited.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/report/cut.h"
#include "cli/report/facts.h"
#include "cli/report/gate.h"
#include "cli/run/attach.h"
#include "cli/run/collect.h"
#include "cli/run/job.h"
#include "cli/run/launch.h"
#include "cli/run/run_options.h"
#include "cli/state.h"
#include "cli/text/text.h"
#include "merge/profile/profile.h"
#include "merge/record/recording.h"
#include "merge/record/surroundings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// The report of a run, made in a thread of its own while the profile is written.
//
// Both only read the profile, which nobody may change from page_start() to
// page_print(). The functions are for one thread.

struct page {
	struct text text;
	struct view view;
	FILE *out;
	char *bytes; /* what has been made */
	size_t size;
	pthread_t thread;
	bool threaded;
	int failed;
	struct error error;
};

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

// People who watch are shown one screen; a file, and who asks for more, has all.
static struct view view_for(const struct view *view, const FILE *out)
{
	struct view shown = *view;

	if (!view->verbose && (out == stderr || out == stdout))
		view_make_brief(&shown);
	return shown;
}

// Starts to make PROFILE's report as VIEW and LIMITS (may be NULL) want it, for OUT.
static void page_start(struct page *page, const struct profile *profile, const struct view *view,
                       const struct rule_limits *limits, FILE *out)
{
	memset(page, 0, sizeof(*page));
	page->out = out;
	page->view = view_for(view, out);
	page->text = (struct text){
		.out = open_memstream(&page->bytes, &page->size),
		.profile = profile,
		.view = &page->view,
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
	cleanup_free char *bytes = NULL;
	size_t size;
	FILE *whole = open_memstream(&bytes, &size); // standard error has no buffer

	if (!whole)
		return error_set(err, errno, "could not write the report");
	if (out == stderr || out == stdout)
		fputc('\n', whole); // the program may not have ended its last line
	else if (ftruncate(fileno(out), 0) < 0)
		errno = 0; // a pipe or a device: it was empty
	terminal_put(&page->text.terminal, whole, page->bytes, page->size);
	if (fclose(whole) != 0 || fwrite(bytes, 1, size, out) != size || fflush(out) != 0)
		return error_set(err, errno, "could not write the report");
	return 0;
}

// Waits for the report and prints it with LAST (NULL: none) as its last line, all in one write,
// so that nothing else gets between its lines.
static int page_print(struct page *page, const char *last, struct error *err)
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

// The report's place is found out before the program runs, not after hours of it.
static FILE *open_report(const struct run_options *options, struct error *err)
{
	const char *path = options->report_file;
	cleanup_close int fd = -1;
	FILE *file;

	if (!path)
		return stderr;
	if (strcmp(path, "-") == 0)
		return stdout;
	fd = new_file_open_in_place(path, options->view.shared ? 0666 : 0600);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file) {
		error_set(err, errno == ELOOP ? 0 : errno, "could not write \"%s\"%s", path,
		          errno == ELOOP ? ": it is a symbolic link of another user" : "");
		return NULL;
	}
	steal_fd(&fd);
	return file;
}

// One run: the program, what records it, and where that goes.
struct running {
	const struct run_options *options;
	struct facts facts;
	struct job job;
	struct launch launch;
	struct attach attach; // count 0: the program is launched
	struct recording *recording;
	char path[PATH_MAX];          // where the profile goes; "" if nowhere
	char kernel_names[PATH_MAX];  // of the kernel's functions, kept from run to run
	char names[PATH_MAX];         // the same of libraries
	char prices[PATH_MAX];        // of what recording costs
	char kept[PATH_MAX * 2 + 64]; // where the profile is, or why not; "" if nobody asked
};

// Finds out where the profile will go. -1 if the user named a place that cannot be written.
static int running_open(struct running *r, const struct run_options *options, struct error *err)
{
	struct error reason;
	char text[ERROR_TEXT_SIZE];

	memset(r, 0, sizeof(*r));
	r->options = options;
	r->job.fd = -1;
	r->launch = (struct launch){ .pid = -1, .pidfd = -1, .gate = -1, .exec = -1 };
	if (options->output) {
		if (state_check_output(options->output, err) < 0)
			return -1;
		snprintf(r->path, sizeof(r->path), "%s", options->output);
	} else if (state_prepare(r->path, sizeof(r->path), &reason) < 0) {
		// Nobody asked for a file, so the run goes on without one.
		r->path[0] = '\0';
		snprintf(r->kept, sizeof(r->kept), "the run is not kept for bottleneck report: %s",
		         error_message(&reason, text, sizeof(text)));
	}
	return 0;
}

static void running_close(struct running *r)
{
	launch_close(&r->launch);
	recording_free(r->recording); // it may have to let go of what is attached
	r->recording = NULL;
	if (r->attach.count)
		attach_close(&r->attach);
	facts_fini(&r->facts);
	job_close(&r->job);
}

// As long as we hold them open, nobody at their other ends learns that the target closed them.
static void let_go_of_streams(const struct run_options *options)
{
	cleanup_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup3(null, STDIN_FILENO, O_CLOEXEC);
	if (!options->report_file || strcmp(options->report_file, "-") != 0)
		dup3(null, STDOUT_FILENO, O_CLOEXEC);
}

// Of this run. The texts are R's.
static struct recording_options options_of(struct running *r)
{
	struct recording_options options = run_options_recording(r->options);

	options.checkpoint = r->path[0] ? r->path : NULL;
	if (state_kallsyms(r->kernel_names, sizeof(r->kernel_names), NULL) == 0)
		options.kernel_names = r->kernel_names;
	if (state_names(r->names, sizeof(r->names), NULL) == 0)
		options.names = r->names;
	if (state_prices(r->prices, sizeof(r->prices), NULL) == 0)
		options.prices = r->prices;
	options.pricer = "/proc/self/exe";
	return options;
}

// Records what runs already until the user has had enough of it.
static int watch_target(struct running *r, struct error *err)
{
	struct recording_options options = options_of(r);
	struct run run;

	if (attach_open(&r->attach, r->options->pids, err) < 0)
		return -1;
	options.argv = r->attach.argv;
	options.attached = r->attach.pids;
	options.attached_count = r->attach.count;
	options.duration_ns = 0;
	r->job.handled = r->attach.handled;
	r->recording = recording_new(&options, err);
	if (!r->recording)
		return -1;
	if (recording_attach(r->recording, r->attach.pids[0], err) < 0) {
		attach_refused(&r->attach, err);
		return -1;
	}
	if (attach_facts(&r->attach, &r->facts, &run) < 0)
		return error_set(err, ENOMEM, "could not start");
	recording_start(r->recording, &run);
	if (attach_collect(&r->attach, r->recording, r->options->duration_ns, err) < 0)
		return -1;
	return recording_finish(r->recording, err);
}

// While the last records are taken.
static void prepare_end(void)
{
	profile_write_prepare();
	surroundings_prepare();
}

// Launches the target and records it until it has ended. -1 with the exit status for it in *STATUS.
static int run_target(struct running *r, int *status, struct error *err)
{
	char **argv = r->options->argv;
	struct recording_options options = options_of(r);
	struct run run;

	*status = EXIT_OURS;
	r->recording = recording_new(&options, err);
	if (!r->recording || job_open(&r->job, err) < 0 ||
	    launch_start(&r->launch, argv, r->recording, &r->job, err) < 0)
		return -1;
	r->job.child = r->launch.pid;
	let_go_of_streams(r->options);
	if (recording_attach(r->recording, r->launch.pid, err) < 0)
		return -1;
	if (facts_take(&r->facts, argv, &run) < 0)
		return error_set(err, ENOMEM, "could not start");
	recording_start(r->recording, &run);
	if (launch_release(&r->launch, argv[0], status, err) < 0 ||
	    collect_until_exit(r->recording, &r->job, &r->launch,
	                       r->path[0] ? prepare_end : surroundings_prepare, err) < 0)
		return -1;
	return recording_finish(r->recording, err);
}

static int name_addresses(struct running *r, struct error *err)
{
	struct terminal terminal = terminal_of(stderr, 0, COLOR_NEVER);
	struct progress progress;

	progress_start(&progress, &terminal);
	progress.wanted = progress.wanted && !r->options->view.quiet;
	int failed = recording_symbolize(r->recording, progress_tell, &progress, err);
	progress_end(&progress);
	return failed;
}

static int save(struct running *r, struct error *err)
{
	sigset_t old;

	if (!r->path[0])
		return 0;
	// A Ctrl-C here would leave a temporary file behind.
	sigprocmask(SIG_BLOCK, &r->job.handled, &old);
	const struct profile *profile = recording_profile(r->recording);
	int failed = r->options->output ? profile_write(profile, r->path, err)
	                                : profile_write_unsynced(profile, r->path, err);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (failed)
		return error_wrap(err, "the profile is not kept");
	if (r->options->output)
		snprintf(r->kept, sizeof(r->kept), "profile: %s (bottleneck report %s)", r->path,
		         r->path);
	else
		snprintf(r->kept, sizeof(r->kept), "profile: %s (bottleneck report)%s", r->path,
		         state_is_moved() ? ": the home directory of the environment belongs to "
		                            "another user"
		                          : "");
	return 0;
}

// Signals that come when the target has ended, and its profile and report are being made: the first
// leaves out what takes long (base/stop.h), so that addresses get their names when the profile is
// read again; the second ends bottleneck, without its temporary files and directories.
static void handle(int number)
{
	if (!stop_is_wanted()) {
		stop_want(number);
		return;
	}
	temporary_remove_all();
	signal(number, SIG_DFL);
	raise(number); // blocked while this runs, it comes when this has returned
}

// Before job_leave(), which lets signals in. Those that were ignored stay so.
static void handle_signals(void)
{
	// Without SA_RESTART: what waits for a reader of the report, or for a server, goes on.
	static const struct sigaction handling = { .sa_handler = handle };
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct sigaction now;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaction(signals[i], &handling, NULL);
}

// After the target's end nothing may change its status any more but gates that were asked for:
// troubles are only told. Returns what gates say.
static int conclude(struct running *r, const struct rule_limits *limits, FILE *report)
{
	const struct profile *profile = recording_profile(r->recording);
	bool wanted = !r->options->no_report;
	struct page page;
	struct error err;

	handle_signals();
	if (r->attach.count)
		attach_let_go(&r->attach);
	else
		job_leave(&r->job); // its end is not waited for before the report
	if (name_addresses(r, &err) < 0)
		message_error(NULL, &err);
	if (wanted)
		page_start(&page, profile, &r->options->view, limits, report);
	if (save(r, &err) < 0)
		message_error(NULL, &err);
	// A report in a file is to equal the one that the profile prints later.
	const char *kept = report == stderr && r->kept[0] ? r->kept : NULL;
	if (wanted && page_print(&page, kept, &err) < 0)
		message_error(NULL, &err);
	if (stop_signal_name() && r->options->view.exports.count)
		message_warn("%s came: no file is exported. bottleneck report --export does so",
		             stop_signal_name());
	else if (exports_write(profile, &r->options->view, limits, &err) < 0)
		message_error(NULL, &err);
	struct view view = r->options->view;
	int status = cut_resolve(&view, profile, &err);
	if (status == 0)
		status = gate_status(profile, &view, limits, &err);
	if (status >= 0)
		return status;
	message_error(NULL, &err);
	return EXIT_INCONCLUSIVE;
}

static int record(struct running *r, const struct rule_limits *limits, FILE *report)
{
	struct error err;
	int status = EXIT_OURS;

	if (r->options->pids ? watch_target(r, &err) < 0 : run_target(r, &status, &err) < 0) {
		message_error(NULL, &err);
		return status;
	}
	int ended = profile_run(recording_profile(r->recording))->exit_status;
	int gate = conclude(r, limits, report);
	if (r->options->pids)
		return gate;
	if (WIFSIGNALED(ended)) {
		running_close(r);
		job_die(WTERMSIG(ended));
		return 128 + WTERMSIG(ended); // that signal does not end a process here
	}
	return WEXITSTATUS(ended) ? WEXITSTATUS(ended) : gate;
}

// Names that differ from rank to rank, filled in.
struct names {
	char output[PATH_MAX], report[PATH_MAX];
	char exports[OPTION_LIST_MAX][PATH_MAX];
};

static int fill_names(struct names *names, struct run_options *options, struct error *err)
{
	struct rank rank = rank_now();

	if (options->output) {
		if (file_name_fill(options->output, false, &rank, names->output,
		                   sizeof(names->output), err) < 0)
			return -1;
		options->output = names->output;
	}
	if (options->report_file) {
		if (file_name_fill(options->report_file, false, &rank, names->report,
		                   sizeof(names->report), err) < 0)
			return -1;
		options->report_file = names->report;
	}
	for (size_t i = 0; i < options->view.exports.count; i++) {
		const char **item = &options->view.exports.items[i];
		if (file_name_fill(*item, true, &rank, names->exports[i], sizeof(names->exports[i]),
		                   err) < 0)
			return -1;
		*item = names->exports[i];
	}
	return exports_check(&options->view, false, err);
}

// Where there is no rank, there are no others that could be looked at instead.
static bool is_wanted(const struct run_options *options)
{
	struct rank rank = rank_now();
	struct error err;

	return !options->ranks || !rank.known || rank_in_list(options->ranks, rank.number, &err);
}

// As if we had never been there.
static int run_unprofiled(char **argv)
{
	struct error err;

	inherited_restore();
	execvp(argv[0], argv);
	int status = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
	error_set(&err, errno, "could not run \"%s\"", argv[0]);
	message_error(NULL, &err);
	return status;
}

static int run(int argc, char **argv)
{
	// Once a process, and larger than the stack may be: ulimit -s.
	static struct run_options options;
	static struct names names;
	static struct running running;
	struct error err;

	if (run_options_parse(&options, argc, argv, &err) < 0) {
		message_error(NULL, &err);
		return EXIT_OURS;
	}
	if (options.view.display.help || options.help_all) {
		printf("usage: bottleneck %s\n", command_run.usage[0]);
		run_options_help(stdout);
		return 0;
	}
	if (options.version) {
		printf("bottleneck %s\n", BOTTLENECK_VERSION);
		return 0;
	}
	cleanup(rule_limits) struct rule_limits *limits = gate_limits(&options.view, &err);
	if (limits && !is_wanted(&options))
		return run_unprofiled(options.argv);
	if (limits && fill_names(&names, &options, &err) < 0) {
		message_error(NULL, &err);
		return EXIT_OURS;
	}
	cleanup_fclose FILE *report = limits ? open_report(&options, &err) : NULL;
	if (!report || running_open(&running, &options, &err) < 0) {
		message_error(NULL, &err);
		return EXIT_OURS;
	}
	int status = record(&running, limits, report);
	running_close(&running);
	return status;
}

const struct command command_run = {
	.name = "run",
	.usage = { "[run] [OPTIONS] [--] PROGRAM [ARGUMENT ...]" },
	.summary = "run a program once and report what made it slow",
	.run = run,
};
