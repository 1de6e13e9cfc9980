// SPDX-License-Identifier: MIT
#include "cli/bench/statement.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/temporary.h"
#include "cli/inherited.h"
#include "cli/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_FD 3 // of the process: a line for each block, the number of its calls
#define REPLIES_FD  4 // "ns user system peak", "ready", or "! what went wrong"
#define REPLY_SIZE  1024
#define WORDS_MAX   32
#define LATE_MS     200

/*
 * The loop is that of timeit, with names as locals. A hundredth of the calls comes first, untimed,
 * so that a block does not begin with the caches of a process that has slept. Collections of
 * garbage are off while it is timed, as in timeit. Arguments: count, threads, setup, statement.
 */
static const char python_driver[] =
	"import gc, itertools, os, resource, signal, sys, time\n"
	"def main():\n"
	"    count, threads = int(sys.argv[1]), int(sys.argv[2])\n"
	"    setup, code = sys.argv[3:5]\n"
	"    sys.argv[:] = ['-c']\n"
	"    if not count:\n" // bottleneck is interrupted, and ends it
	"        signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
	"    def say(text):\n"
	"        if not count:\n"
	"            os.write(4, text.encode('utf-8', 'replace') + b'\\n')\n"
	"    try:\n"
	"        compile(setup, '<setup>', 'exec')\n"
	"        compile(setup + '\\n' + code, '<statement>', 'exec')\n"
	"        def indented(text, columns):\n"
	"            return (' ' * columns + text.replace('\\n', '\\n' + ' ' * columns)\n"
	"                    if text.strip() else ' ' * columns + 'pass') + '\\n'\n"
	"        body = ('def inner(_timer, _repeat, _after_setup):\\n' + indented(setup, 4) +\n"
	"                '    _after_setup()\\n    _count = yield None\\n    while True:\\n'\n"
	"                '        _turns = _repeat(None, _count)\\n        _begin = _timer()\\n'\n"
	"                '        for _turn in _turns:\\n' + indented(code, 12) +\n"
	"                '        _end = _timer()\\n        _count = yield _end - _begin\\n')\n"
	"        names = {'__name__': '__main__'}\n"
	"        exec(compile(body, '<statement>', 'exec'), names)\n"
	"        timer = [time.perf_counter_ns]\n"
	"        def after_setup():\n"
	"            torch = sys.modules.get('torch')\n"
	"            if torch is None:\n"
	"                return\n"
	"            torch.set_num_threads(threads)\n"
	"            if torch.cuda.is_available():\n"
	"                def synchronized():\n"
	"                    torch.cuda.synchronize()\n"
	"                    return time.perf_counter_ns()\n"
	"                timer[0] = synchronized\n"
	"        loop = names['inner'](lambda: timer[0](), itertools.repeat, after_setup)\n"
	"        next(loop)\n"
	"        gc.disable()\n"
	"        if count:\n"
	"            loop.send(count)\n"
	"            return 0\n"
	"        say('ready')\n"
	"        with os.fdopen(3) as commands:\n"
	"            for line in commands:\n"
	"                wanted = int(line)\n"
	"                if wanted >= 100:\n"
	"                    loop.send(wanted // 100)\n"
	"                before = resource.getrusage(resource.RUSAGE_SELF)\n"
	"                gc.disable()\n"
	"                taken = loop.send(wanted)\n"
	"                gc.enable()\n"
	"                now = resource.getrusage(resource.RUSAGE_SELF)\n"
	"                say('%d %d %d %d' % (taken, (now.ru_utime - before.ru_utime) * 1e9,\n"
	"                                     (now.ru_stime - before.ru_stime) * 1e9,\n"
	"                                     now.ru_maxrss * 1024))\n"
	"    except BaseException as error:\n"
	"        if count:\n"
	"            raise\n"
	"        text = ' '.join(str(error).split())\n"
	"        say('! ' + type(error).__name__ + (': ' + text if text else ''))\n"
	"        return 1\n"
	"    return 0\n"
	"sys.exit(main())\n";

// The empty asm keeps stores of the statement, and the loop, from being left out.
static const char cxx_head[] = "#include <chrono>\n#include <cinttypes>\n#include <cstdint>\n"
			       "#include <csignal>\n#include <cstdio>\n#include <cstdlib>\n"
			       "#include <exception>\n"
			       "#include <sys/resource.h>\n#include <unistd.h>\n";
static const char cxx_main[] =
	"static uint64_t bn_ns(const timeval &t)\n"
	"{\n\treturn (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;\n}\n"
	"static int bn_main(uint64_t bn_wanted)\n{\n";
static const char cxx_loop[] =
	"\tFILE *bn_commands = bn_wanted ? nullptr : fdopen(3, \"r\");\n"
	"\tif (!bn_wanted)\n\t\tdprintf(4, \"ready\\n\");\n"
	"\tuint64_t bn_count = bn_wanted;\n"
	"\twhile (bn_wanted || (bn_commands && fscanf(bn_commands, \"%\" SCNu64, &bn_count) == 1)) {\n"
	"\t\tuint64_t bn_taken = 0;\n\t\trusage bn_before{}, bn_now{};\n"
	"\t\tfor (int bn_pass = bn_wanted || bn_count < 100; bn_pass < 2; bn_pass++) {\n"
	"\t\t\tuint64_t bn_end = bn_pass ? bn_count : bn_count / 100;\n"
	"\t\t\tgetrusage(RUSAGE_SELF, &bn_before);\n"
	"\t\t\tauto bn_begin = std::chrono::steady_clock::now();\n"
	"\t\t\tfor (uint64_t bn_turn = 0; bn_turn < bn_end; bn_turn++) {\n"
	"\t\t\t\t__asm__ volatile(\"\" ::: \"memory\");\n";
static const char cxx_tail[] =
	"\n\t\t\t}\n"
	"\t\t\t__asm__ volatile(\"\" ::: \"memory\");\n"
	"\t\t\tbn_taken = (uint64_t)std::chrono::duration_cast<std::chrono::nanoseconds>(\n"
	"\t\t\t\tstd::chrono::steady_clock::now() - bn_begin).count();\n"
	"\t\t\tgetrusage(RUSAGE_SELF, &bn_now);\n\t\t}\n"
	"\t\tif (bn_wanted)\n\t\t\treturn 0;\n"
	"\t\tdprintf(4, \"%\" PRIu64 \" %\" PRIu64 \" %\" PRIu64 \" %\" PRIu64 \"\\n\", bn_taken,\n"
	"\t\t\tbn_ns(bn_now.ru_utime) - bn_ns(bn_before.ru_utime),\n"
	"\t\t\tbn_ns(bn_now.ru_stime) - bn_ns(bn_before.ru_stime),\n"
	"\t\t\t(uint64_t)bn_now.ru_maxrss * 1024);\n\t}\n\treturn 0;\n}\n"
	"int main(int argc, char **argv)\n{\n"
	"\tuint64_t wanted = argc > 1 ? strtoull(argv[1], nullptr, 10) : 0;\n"
	"\tif (!wanted)\n\t\tsignal(SIGINT, SIG_IGN);\n"
	"\ttry {\n\t\treturn bn_main(wanted);\n\t} catch (const std::exception &e) {\n"
	"\t\tdprintf(wanted ? 2 : 4, \"! %s\\n\", e.what());\n\t\treturn 1;\n\t}\n}\n";

// What libraries read the number of their threads from.
static const char *const thread_variables[] = {
	"OMP_NUM_THREADS",        "MKL_NUM_THREADS",     "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS",
	"VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS",
};

// Where the includes and libraries of PyTorch are, as words of a compiler's command line.
static const char torch_flags[] =
	"import torch, torch.utils.cpp_extension as c\n"
	"print('\\n'.join(['-isystem' + p for p in c.include_paths()] + "
	"['-D_GLIBCXX_USE_CXX11_ABI=%d' % torch._C._GLIBCXX_USE_CXX11_ABI] + "
	"[w for p in c.library_paths() for w in ('-L' + p, '-Wl,-rpath,' + p)] + "
	"['-ltorch', '-ltorch_cpu', '-lc10']))\n";

void statement_set_threads(uint32_t threads)
{
	char number[16];

	snprintf(number, sizeof(number), "%" PRIu32, threads);
	for (size_t i = 0; i < sizeof(thread_variables) / sizeof(thread_variables[0]); i++)
		setenv(thread_variables[i], number, 1);
}

__attribute__((format(printf, 1, 2))) static char *text_of(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

// SETUP with the variable in front of it.
static char *whole_setup(const struct statement *s)
{
	const char *end = s->language == REPEAT_CXX ? ";" : "";
	const char *type = s->language == REPEAT_CXX ? "const auto " : "";

	if (!s->name)
		return text_of("%s", s->setup);
	return text_of("%s%s = %s%s\n%s", type, s->name, s->value, end, s->setup);
}

void statement_free_command(char **command)
{
	for (size_t i = 0; command && command[i]; i++)
		free(command[i]);
	free(command);
}

/* Starting. */

static int spawn(const char *const *words, int commands, int replies, int output,
                 const struct job *job, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t plain;
	int failed = posix_spawn_file_actions_init(&actions);

	if (failed)
		return failed;
	failed = posix_spawnattr_init(&attributes);
	if (failed) {
		posix_spawn_file_actions_destroy(&actions);
		return failed;
	}
	sigemptyset(&plain);
	if (job->old_pipe.sa_handler == SIG_DFL)
		sigaddset(&plain, SIGPIPE);
	inherited_defaults(&plain);
	posix_spawnattr_setsigdefault(&attributes, &plain);
	posix_spawnattr_setsigmask(&attributes, &job->old_mask);
	posix_spawnattr_setflags(&attributes,
	                         (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
	                                 (job->apart ? POSIX_SPAWN_SETPGROUP : 0)));
	posix_spawnattr_setpgroup(&attributes, job->group);
	failed = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!failed && output < 0)
		failed = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
		                                          O_WRONLY, 0);
	else if (!failed)
		failed = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!failed && commands >= 0)
		failed = posix_spawn_file_actions_adddup2(&actions, commands, COMMANDS_FD);
	if (!failed && replies >= 0)
		failed = posix_spawn_file_actions_adddup2(&actions, replies, REPLIES_FD);
	if (!failed)
		failed = posix_spawnp(pid, words[0], &actions, &attributes, (char *const *)words,
		                      environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return failed;
}

// A descriptor that is neither of the two that the process has, closed when a program begins.
static int out_of_the_way(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);

	close(fd);
	return moved;
}

static int make_pipe(int ends[2], struct error *err)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "could not make a pipe");
	ends[0] = out_of_the_way(ends[0]);
	ends[1] = out_of_the_way(ends[1]);
	if (ends[0] >= 0 && ends[1] >= 0)
		return 0;
	return error_set(err, errno, "could not make a pipe");
}

// True: there is something to read. False: the user has interrupted it.
static bool wait_for(int fd, struct job *job)
{
	struct pollfd fds[3] = { { .fd = fd, .events = POLLIN },
		                 { .fd = job->fd, .events = POLLIN },
		                 { .fd = job->witness.pid > 0 ? job->witness.fd : -1,
		                   .events = POLLIN } };

	for (;;) {
		if (poll(fds, 3, -1) < 0 && errno != EINTR)
			return true; // reading will say what is wrong
		if (fds[1].revents || fds[2].revents)
			job_handle(job);
		if (job->interrupts)
			return false;
		if (fds[2].revents & (POLLHUP | POLLERR))
			fds[2].fd = -1;
		if (fds[0].revents)
			return true;
	}
}

// A line without its end, or all that was said before the end. 1: interrupted.
static int read_line(int fd, struct job *job, char *line, size_t size, struct error *err)
{
	size_t used = 0;

	for (;;) {
		char c;
		if (!wait_for(fd, job))
			return 1;
		ssize_t got = read(fd, &c, 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "could not hear from the statement");
		if (got == 0 || c == '\n')
			break;
		if (used + 1 < size)
			line[used++] = c;
	}
	line[used] = '\0';
	return 0;
}

// The process may have got the user's interrupt before we have.
static bool is_interrupted(struct job *job)
{
	const struct timespec moment = { 0, NS_PER_MS };

	for (int i = 0; !job->interrupts && i < LATE_MS; i++) {
		nanosleep(&moment, NULL);
		job_handle(job);
	}
	return job->interrupts;
}

static int ended(struct statement_process *p, struct job *job, struct error *err)
{
	int status = 0;

	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT && is_interrupted(job))
		return 1;
	if (WIFSIGNALED(status))
		return error_set(err, 0, "the statement was killed by signal %d (%s)",
		                 WTERMSIG(status), strsignal(WTERMSIG(status)));
	return error_set(err, 0, "the statement's process ended with status %d",
	                 WEXITSTATUS(status));
}

// What WORDS print, all of it; NULL on error, with *INTERRUPTED set where the user wants an end.
static char *output_of(const char *const *words, struct job *job, struct error *err)
{
	int ends[2], status = 0;
	char *text = NULL;
	size_t size;
	pid_t pid;

	if (make_pipe(ends, err) < 0)
		return NULL;
	int failed = spawn(words, -1, -1, ends[1], job, &pid);
	close(ends[1]);
	FILE *out = failed ? NULL : open_memstream(&text, &size);
	for (char buffer[4096]; out;) {
		ssize_t got = read(ends[0], buffer, sizeof(buffer));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		fwrite(buffer, 1, (size_t)got, out);
	}
	close(ends[0]);
	while (!failed && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (out && fclose(out) == 0 && status == 0)
		return text;
	free(text);
	error_set(err, failed, "could not run \"%s\"", words[0]);
	return NULL;
}

/* C++. */

static int make_directory(struct statement_process *p, struct error *err)
{
	const char *base = getenv("TMPDIR");

	snprintf(p->directory, sizeof(p->directory), "%s/bottleneck-stmt-XXXXXX",
	         base && *base ? base : "/tmp");
	if (!mkdtemp(p->directory)) {
		p->directory[0] = '\0';
		error_set(err, errno, "could not make a directory for the statement");
		return error_hint(err, "Name another place in TMPDIR.");
	}
	temporary_add(p->directory);
	if (snprintf(p->source, sizeof(p->source), "%s/statement.cc", p->directory) >=
	            (int)sizeof(p->source) ||
	    snprintf(p->program, sizeof(p->program), "%s/statement", p->directory) >=
	            (int)sizeof(p->program))
		return error_set(err, ENAMETOOLONG, "could not make a directory for the statement");
	return 0;
}

static bool uses_torch(const struct statement *s)
{
	const char *const parts[] = { s->code, s->setup, s->global };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(parts[i], "torch::") || strstr(parts[i], "at::") ||
		    strstr(parts[i], "torch/"))
			return true;
	return false;
}

static int write_source(const struct statement_process *p, const struct statement *s,
                        struct error *err)
{
	cleanup_free char *setup = whole_setup(s);
	cleanup_fclose FILE *out = fopen(p->source, "we");

	if (!setup || !out)
		return error_set(err, errno, "could not write \"%s\"", p->source);
	fputs(cxx_head, out);
	if (uses_torch(s))
		fputs("#include <torch/torch.h>\n", out);
	fprintf(out, "#line 1 \"<global>\"\n%s\n#line 1 \"<driver>\"\n%s", s->global, cxx_main);
	fprintf(out, "#line 1 \"<setup>\"\n%s\n", setup);
	if (uses_torch(s))
		fprintf(out, "at::set_num_threads(%" PRIu32 ");\n", s->threads);
	fprintf(out, "#line 1 \"<driver>\"\n%s#line 1 \"<statement>\"\n%s;\n", cxx_loop, s->code);
	fprintf(out, "#line 1 \"<driver>\"\n%s", cxx_tail);
	if (fflush(out) != 0)
		return error_set(err, errno, "could not write \"%s\"", p->source);
	return 0;
}

static size_t add_words(char *text, const char **words, size_t count)
{
	char *rest;

	for (char *word = text ? strtok_r(text, " \n", &rest) : NULL; word && count < WORDS_MAX - 1;
	     word = strtok_r(NULL, " \n", &rest))
		words[count++] = word;
	return count;
}

static int compile(struct statement_process *p, const struct statement *s, struct job *job,
                   struct error *err)
{
	const char *compiler = getenv("CXX"), *flags = getenv("CXXFLAGS");
	const char *const ask[] = { s->python, "-c", torch_flags, NULL };
	const char *words[WORDS_MAX] = { compiler && *compiler ? compiler : "c++" };
	cleanup_free char *torch = NULL, *own = text_of("%s", flags ? flags : "-O2");
	int status = 0;
	pid_t pid;

	if (make_directory(p, err) < 0 || write_source(p, s, err) < 0)
		return -1;
	if (uses_torch(s)) {
		torch = output_of(ask, job, err);
		if (!torch)
			return error_wrap(err, "the statement uses PyTorch's C++ interface");
	}
	size_t count = 1;
	words[count++] = "-std=c++17";
	words[count++] = "-g";
	words[count++] = "-o";
	words[count++] = p->program;
	words[count++] = p->source;
	count = add_words(own, words, count);
	count = add_words(torch, words, count);
	words[count] = NULL;
	int failed = spawn(words, -1, -1, STDERR_FILENO, job, &pid);
	if (failed) {
		error_set(err, failed, "could not run the compiler \"%s\"", words[0]);
		return error_hint(err, "CXX names another one.");
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	unlink(p->source);
	if (status == 0)
		return 0;
	return error_set(err, 0, "the statement does not compile");
}

/* Commands. */

char **statement_command(struct statement_process *p, const struct statement *s, uint64_t count,
                         struct job *job, struct error *err)
{
	char **words = calloc(8, sizeof(*words));

	if (words && s->language == REPEAT_CXX) {
		if (!p->program[0] && compile(p, s, job, err) < 0) {
			free(words);
			return NULL;
		}
		words[0] = strdup(p->program);
		words[1] = text_of("%" PRIu64, count);
		if (words[0] && words[1])
			return words;
	} else if (words) {
		words[0] = strdup(s->python);
		words[1] = strdup("-c");
		words[2] = strdup(python_driver);
		words[3] = text_of("%" PRIu64, count);
		words[4] = text_of("%" PRIu32, s->threads);
		words[5] = whole_setup(s);
		words[6] = strdup(s->code);
		size_t whole = 0;
		while (whole < 7 && words[whole])
			whole++;
		if (whole == 7)
			return words;
		for (size_t i = 0; i < 7; i++)
			free(words[i]);
		free(words);
		words = NULL;
	}
	statement_free_command(words);
	error_set(err, ENOMEM, "could not make the command");
	return NULL;
}

int statement_start(struct statement_process *p, const struct statement *s, struct job *job,
                    struct error *err)
{
	int commands[2] = { -1, -1 }, replies[2] = { -1, -1 };
	char line[REPLY_SIZE];

	statement_set_threads(s->threads);
	char **words = statement_command(p, s, 0, job, err);
	if (!words)
		return job->interrupts ? 1 : -1;
	int failed = make_pipe(commands, err) < 0 || make_pipe(replies, err) < 0 ? -1 : 0;
	if (!failed) {
		int error = spawn((const char *const *)words, commands[0], replies[1],
		                  s->show_output ? STDOUT_FILENO : -1, job, &p->pid);
		p->pid = error ? 0 : p->pid;
		if (error)
			failed = error_set(err, error, "could not run \"%s\"", words[0]);
	}
	statement_free_command(words);
	if (commands[0] >= 0)
		close(commands[0]);
	if (replies[1] >= 0)
		close(replies[1]);
	p->commands = commands[1] > 0 ? commands[1] : 0;
	p->replies = replies[0] > 0 ? replies[0] : 0;
	if (failed)
		return -1;
	job->child = p->pid;
	int got = read_line(p->replies, job, line, sizeof(line), err);
	if (got)
		return got;
	if (strcmp(line, "ready") == 0)
		return 0;
	if (line[0] == '!')
		return error_set(err, 0, "the statement failed before its first call:%s", line + 1);
	return ended(p, job, err);
}

int statement_time(struct statement_process *p, uint64_t count, struct job *job,
                   struct statement_block *block, struct error *err)
{
	struct statement_block b;
	char line[REPLY_SIZE];

	job->child = p->pid;
	dprintf(p->commands, "%" PRIu64 "\n", count);
	int got = read_line(p->replies, job, line, sizeof(line), err);
	if (got)
		return got;
	if (line[0] == '!')
		return error_set(err, 0, "the statement failed:%s", line + 1);
	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &b.ns, &b.user_ns,
	           &b.system_ns, &b.peak_rss_bytes) != 4)
		return ended(p, job, err);
	*block = b;
	return 0;
}

// It ends by itself as its commands do; what does not within a second is in the middle of a call.
static void end_process(pid_t pid)
{
	const struct timespec moment = { 0, NS_PER_MS };

	for (int i = 0; i < 1000; i++) {
		pid_t got = waitpid(pid, NULL, WNOHANG);
		if (got == pid || (got < 0 && errno != EINTR))
			return;
		nanosleep(&moment, NULL);
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void statement_stop(struct statement_process *p)
{
	if (p->commands)
		close(p->commands);
	if (p->replies)
		close(p->replies);
	if (p->pid)
		end_process(p->pid);
	if (p->directory[0]) {
		unlink(p->source);
		unlink(p->program);
		rmdir(p->directory);
		temporary_forget(p->directory);
	}
	*p = (struct statement_process){ 0 };
}
