// SPDX-License-Identifier: MIT
// What processes do now: one recording after the other of what runs already, each on the screen
// when it has ended.
//
// Each window of time is a run of bottleneck -p of its own. The next one begins before the last
// one's report is made, so that nothing of the time is missed.
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/common_options.h"
#include "cli/message.h"
#include "cli/option.h"
#include "cli/report/display.h"
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define WINDOWS       2 // one records while the other one's report is made
#define INTERVAL_NS   (3 * NS_PER_SEC)
#define LINES_DEFAULT 40
#define READ_BYTES    ((size_t)16 << 10)

// Escape sequences: to the alternate screen and back, to the upper left corner, erase the rest.
#define SCREEN_OTHER "\033[?1049h\033[?25l"
#define SCREEN_BACK  "\033[?25h\033[?1049l"
#define SCREEN_START "\033[H"
#define LINE_REST    "\033[K"
#define SCREEN_REST  "\033[J"

struct top_options {
	const char *pids;
	uint64_t interval_ns;
	uint32_t frequency_hz; // 0: the default
	struct display display;
};

struct window {
	pid_t pid; // 0: there is none
	int fd;    // its report, and its messages
	char *text;
	size_t size, capacity;
};

struct top {
	const struct top_options *options;
	struct terminal terminal;
	struct termios before;
	bool raw;
	struct window windows[WINDOWS];
	unsigned next;
	uint64_t due_ns; // when the next window begins
	bool shown;
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

// Descriptors of ours are not for it, and its messages go with its report.
static int begin_window(struct top *t, struct error *err)
{
	struct window *w = &t->windows[t->next % WINDOWS];
	char seconds[32], width[16], hertz[16];
	int fds[2];

	if (w->pid) // it is still at its report: the next one begins when it is done
		return 0;
	snprintf(seconds, sizeof(seconds), "%.3f", (double)t->options->interval_ns / 1e9);
	snprintf(width, sizeof(width), "%d", t->terminal.width);
	snprintf(hertz, sizeof(hertz), "%u", t->options->frequency_hz);
	char *const argv[] = { (char *)"bottleneck",
		               (char *)"-v",
		               (char *)"-p",
		               (char *)t->options->pids,
		               (char *)"--duration",
		               seconds,
		               (char *)"--width",
		               width,
		               (char *)"--color",
		               (char *)(t->terminal.color ? "always" : "never"),
		               t->options->frequency_hz ? (char *)"-F" : NULL,
		               hertz,
		               NULL };
	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set(err, errno, "could not start a recording");
	w->pid = fork();
	if (w->pid == 0) {
		int null = open("/dev/null", O_RDWR);
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(fds[1], STDERR_FILENO);
		setpgid(0, 0); // a Ctrl-C is for us
		execv("/proc/self/exe", argv);
		_exit(EXIT_OURS);
	}
	close(fds[1]);
	if (w->pid < 0) {
		w->pid = 0;
		close(fds[0]);
		return error_set(err, errno, "could not start a recording");
	}
	w->fd = fds[0];
	w->size = 0;
	t->next++;
	t->due_ns = clock_now_ns() + t->options->interval_ns;
	return 0;
}

static size_t screen_lines(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row ? size.ws_row
	                                                                   : LINES_DEFAULT;
}

// The report is ours: no foreign name in it has what a terminal obeys.
static void show(struct top *t, const struct window *w)
{
	const char *at = w->text, *end = w->text + w->size;
	size_t left = screen_lines() - 1;

	while (at < end && *at == '\n')
		at++;
	t->shown = true;
	if (!t->terminal.is_tty) {
		terminal_put(&t->terminal, stdout, at, (size_t)(end - at));
		putchar('\n');
		return;
	}
	fputs(SCREEN_START, stdout);
	while (at < end && left--) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		line = line ? line : end;
		terminal_put(&t->terminal, stdout, at, (size_t)(line - at));
		fputs(LINE_REST "\r\n", stdout);
		at = line + 1;
	}
	fputs(SCREEN_REST, stdout);
	terminal_print(&t->terminal, stdout,
	               "q ends; bottleneck report shows all of the last window");
}

// True while there is more to come.
static bool read_more(struct window *w)
{
	if (!array_reserve(&w->text, &w->capacity, w->size + READ_BYTES))
		return false;
	ssize_t count = read(w->fd, w->text + w->size, READ_BYTES);
	if (count <= 0)
		return count < 0 && errno == EINTR;
	w->size += (size_t)count;
	return true;
}

// Its report is complete. 1: there will be no other, since it could not be made: nothing runs any
// more, or it may not be looked at.
static int end_window(struct top *t, struct window *w)
{
	int status = 0;

	close(w->fd);
	while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
		;
	w->pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		show(t, w);
		fflush(stdout);
		return 0;
	}
	return 1;
}

static void set_terminal(struct top *t)
{
	struct termios now;

	if (!t->terminal.is_tty)
		return;
	if (tcgetattr(STDIN_FILENO, &t->before) == 0) {
		now = t->before;
		now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		t->raw = tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
	}
	fputs(SCREEN_OTHER SCREEN_START SCREEN_REST, stdout);
	terminal_print(&t->terminal, stdout, "recording for %.3g s ...",
	               (double)t->options->interval_ns / 1e9);
	fflush(stdout);
}

static void reset_terminal(struct top *t)
{
	if (t->raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &t->before);
	if (t->terminal.is_tty)
		fputs(SCREEN_BACK, stdout);
	fflush(stdout);
}

static bool wants_to_quit(int fd)
{
	char key;

	return read(fd, &key, 1) == 1 && (key == 'q' || key == 'Q');
}

// 1: it is over.
static int step(struct top *t, struct error *err)
{
	struct pollfd fds[WINDOWS + 1];
	uint64_t now = clock_now_ns();
	int result = 0;

	if (now >= t->due_ns && begin_window(t, err) < 0)
		return -1;
	for (int i = 0; i < WINDOWS; i++)
		fds[i] = (struct pollfd){ .fd = t->windows[i].pid ? t->windows[i].fd : -1,
			                  .events = POLLIN };
	fds[WINDOWS] = (struct pollfd){ .fd = t->raw ? STDIN_FILENO : -1, .events = POLLIN };
	now = clock_now_ns();
	int timeout_ms = t->due_ns > now ? (int)((t->due_ns - now) / NS_PER_MS) + 1 : 100;
	if (poll(fds, WINDOWS + 1, timeout_ms) < 0)
		return errno == EINTR ? 0 : error_set(err, errno, "could not wait");
	for (int i = 0; i < WINDOWS && result == 0; i++)
		if (fds[i].revents && !read_more(&t->windows[i]))
			result = end_window(t, &t->windows[i]);
	if (fds[WINDOWS].revents && wants_to_quit(STDIN_FILENO))
		stopped = 1;
	return result;
}

static void end_all(struct top *t)
{
	for (int i = 0; i < WINDOWS; i++) {
		struct window *w = &t->windows[i];
		if (w->pid) {
			kill(w->pid, SIGKILL); // nothing of it is in what it looks at
			close(w->fd);
			waitpid(w->pid, NULL, 0);
		}
	}
}

// The messages of the window that failed. What was shown before that has ended since: no failure.
static int say_why(const struct top *t)
{
	const struct window *w = &t->windows[0];

	for (int i = 1; i < WINDOWS; i++)
		if (t->windows[i].size && !t->shown)
			w = &t->windows[i];
	if (t->shown) {
		printf("The processes have ended: %s\n", t->options->pids);
		return 0;
	}
	terminal_put(&t->terminal, stderr, w->text, w->size);
	return EXIT_OURS;
}

static int watch(const struct top_options *options)
{
	const struct sigaction stopping = { .sa_handler = stop };
	struct top t = { .options = options,
		         .terminal = display_terminal(&options->display, stdout) };
	struct error err;
	int result;

	sigaction(SIGINT, &stopping, NULL);
	sigaction(SIGTERM, &stopping, NULL);
	sigaction(SIGHUP, &stopping, NULL);
	set_terminal(&t);
	do
		result = step(&t, &err);
	while (result == 0 && !stopped);
	end_all(&t);
	reset_terminal(&t);
	int status = result < 0 ? EXIT_OURS : result > 0 ? say_why(&t) : 0;
	if (result < 0)
		message_error("top", &err);
	for (int i = 0; i < WINDOWS; i++)
		free(t.windows[i].text);
	return status;
}

#define AT(field) offsetof(struct top_options, field)

static const struct option_spec specs[] = {
	{ .letter = 'p',
	  .name = "pid",
	  .argument = "PIDS",
	  .kind = OPTION_TEXT,
	  .offset = AT(pids),
	  .help = "the processes, separated by commas" },
	{ .name = "interval",
	  .argument = "SECONDS",
	  .kind = OPTION_SECONDS,
	  .offset = AT(interval_ns),
	  .help = "how long to record for each screen (3)" },
	COMMON_FREQUENCY(AT(frequency_hz)),
};

static int run(int argc, char **argv)
{
	struct top_options options = { .interval_ns = INTERVAL_NS,
		                       .display = { .color = COLOR_AUTO } };
	const struct option_group groups[] = {
		{ "Options", specs, sizeof(specs) / sizeof(specs[0]), &options },
		display_options(&options.display),
	};
	struct error err;
	int first = option_parse(groups, 2, argc, argv, OPTION_OPERANDS_MIX, &err);

	if (first >= 0 && !options.display.help && (!options.pids || argv[first])) {
		error_set(&err, 0, "the processes are named by -p alone: bottleneck top -p PID");
		first = -1;
	}
	if (first >= 0 && options.interval_ns < NS_PER_SEC / 10) {
		error_set(&err, 0, "--interval: at least 0.1 s are needed");
		first = -1;
	}
	if (first < 0) {
		message_error("top", &err);
		return EXIT_OURS;
	}
	return options.display.help ? command_help(&command_top, groups, 2) : watch(&options);
}

const struct command command_top = {
	.name = "top",
	.usage = { "top [OPTIONS] -p PID[,PID...]" },
	.summary = "show what processes do now, again and again",
	.run = run,
};
