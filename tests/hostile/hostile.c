// SPDX-License-Identifier: MIT
// What programs do that a profiler must survive, one by name: hostile NAME. Each prints the same in
// every run, and ends in the same way.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static const char *self;

static void burn(int ms)
{
	struct timespec now, end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += ms * 1000000L;
	end.tv_sec += end.tv_nsec / 1000000000L;
	end.tv_nsec %= 1000000000L;
	volatile unsigned long work = 0;
	do {
		for (int i = 0; i < 10000; i++)
			work += (unsigned long)i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
	         (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

typedef void handler(int);

// Every way to a default action that does not go by one name.
static void reset_all(handler *to, const char *by)
{
	handler *(*function)(int, handler *) =
		by ? (handler * (*)(int, handler *)) dlsym(RTLD_DEFAULT, by) : NULL;
	for (int s = 1; s < 65; s++) {
		if (s == SIGCHLD && to == SIG_IGN)
			continue; // wait() would have another result
		if (function) {
			function(s, to);
		} else {
			struct {
				handler *handler;
				unsigned long flags;
				void *restorer;
				unsigned long mask;
			} action = { .handler = to };
			syscall(SYS_rt_sigaction, s, &action, NULL, 8);
		}
	}
	burn(60);
	puts("reset");
}

static void reset(void)
{
	reset_all(SIG_DFL, "signal");
}
static void reset_sysv(void)
{
	reset_all(SIG_DFL, "__sysv_signal");
}
static void reset_bsd(void)
{
	reset_all(SIG_DFL, "bsd_signal");
}
static void reset_ssignal(void)
{
	reset_all(SIG_DFL, "ssignal");
}
static void reset_sigset(void)
{
	reset_all(SIG_DFL, "sigset");
}
static void reset_raw(void)
{
	reset_all(SIG_DFL, NULL);
}
static void ignore_all(void)
{
	reset_all(SIG_IGN, "signal");
}
static void ignore_raw(void)
{
	reset_all(SIG_IGN, NULL);
}

static void block_all(void)
{
	sigset_t all, pending;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	burn(60);
	raise(SIGUSR1);
	sigpending(&pending);
	printf("blocked, %d\n", sigismember(&pending, SIGUSR1));
}

static int storm_of(int depth)
{
	int sum = 1;
	for (int i = 0; i < 4; i++) {
		pid_t child = fork();
		if (child == 0)
			_exit(depth ? storm_of(depth - 1) : 1);
		int status = 0;
		if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
			return 255;
		sum += WEXITSTATUS(status);
	}
	return sum;
}

static void fork_storm(void)
{
	printf("%d processes\n", storm_of(2));
}

static void orphans(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (child == 0) {
			if (fork() == 0)
				burn(2);
			_exit(3);
		}
		int status;
		waitpid(child, &status, 0);
	}
	puts("orphans");
}

static void *thread_nothing(void *argument)
{
	return argument;
}

static void *thread_births(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED)) {
		pthread_t thread;
		if (!pthread_create(&thread, NULL, thread_nothing, NULL))
			pthread_join(thread, NULL);
	}
	return NULL;
}

static void forks_beside_threads(void)
{
	bool stop = false;
	pthread_t threads[3];
	int good = 0;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, thread_births, &stop);
	for (int i = 0; i < 50; i++) {
		pid_t child = fork();
		if (child == 0) {
			free(malloc(1000));
			_exit(7);
		}
		int status = 0;
		good += waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		        WEXITSTATUS(status) == 7;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%d children\n", good);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool waits;

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info, (void)size, (void)context;
	if (waits) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	} else {
		burn(1);
	}
	return 0;
}

static void *walks(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED))
		dl_iterate_phdr(visit, NULL);
	return NULL;
}

static void forks_beside_walks(void)
{
	bool stop = false;
	pthread_t walker, thread;
	int good = 0;
	pthread_create(&walker, NULL, walks, &stop);
	for (int i = 0; i < 20; i++) {
		burn(1);
		pid_t child = fork();
		if (child == 0) {
			free(malloc(1000));
			if (!pthread_create(&thread, NULL, thread_nothing, NULL))
				pthread_join(thread, NULL);
			_exit(7);
		}
		int status = 0;
		good += waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		        WEXITSTATUS(status) == 7;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(walker, NULL);
	printf("%d children\n", good);
}

static void waited_for_in_walks(void)
{
	bool stop = false;
	pthread_t walker, thread;
	waits = true;
	pthread_create(&walker, NULL, walks, &stop);
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&mutex);
		burn(1);
		if (!pthread_create(&thread, NULL, thread_nothing, NULL))
			pthread_join(thread, NULL);
		pthread_mutex_unlock(&mutex);
		sched_yield();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(walker, NULL);
	puts("walks");
}

static void spawns(void)
{
	int good = 0;
	for (int i = 0; i < 30; i++) {
		char *arguments[] = { (char *)self, (char *)"exit7", NULL };
		pid_t child;
		int status = 0;
		if (!posix_spawn(&child, self, NULL, NULL, arguments, environ))
			good += waitpid(child, &status, 0) == child && WIFEXITED(status) &&
			        WEXITSTATUS(status) == 7;
	}
	printf("%d spawned\n", good);
}

static void exit7(void)
{
	_exit(7);
}

static volatile sig_atomic_t got;
static void count(int s)
{
	(void)s;
	got++;
}

static void timers(void)
{
	struct itimerval often = { { 0, 2000 }, { 0, 2000 } }, off = { { 0, 0 }, { 0, 0 } };
	for (int which = 0; which < 3; which++) {
		const int signals[] = { SIGALRM, SIGVTALRM, SIGPROF };
		got = 0;
		signal(signals[which], count);
		setitimer(which, &often, NULL);
		while (got < 10)
			burn(1);
		setitimer(which, &off, NULL);
		printf("timer %d\n", which);
	}
}

static sigjmp_buf back;
static void leave(int s)
{
	siglongjmp(back, s);
}

static int deeper(int n)
{
	volatile char much[4096];
	much[0] = (char)n;
	return n == 1 << 30 ? 0 : deeper(n + 1) + much[0]; // which is more than any stack
}

static void overflow(void)
{
	static char small[64 << 10];
	stack_t stack = { .ss_sp = small, .ss_size = sizeof(small) };
	sigaltstack(&stack, NULL);
	struct sigaction action = { .sa_handler = leave, .sa_flags = SA_ONSTACK };
	sigaction(SIGSEGV, &action, NULL);
	for (int i = 0; i < 3; i++) {
		int s = sigsetjmp(back, 1);
		if (!s)
			deeper(0);
		printf("signal %d\n", s);
	}
}

static void close_all(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	burn(40);
	int fds[2];
	printf("pipe %d\n", pipe(fds));
}

static void take_all_fds(void)
{
	struct rlimit few = { 32, 32 };
	setrlimit(RLIMIT_NOFILE, &few);
	while (dup(0) >= 0)
		;
	burn(40);
	printf("%s\n", strerror(errno) ? "no more" : "");
}

static void *waits_for_signal(void *set)
{
	int s = 0;
	sigwait(set, &s);
	return (void *)(long)s;
}

static void sigwaits(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		void *got_signal;
		pthread_create(&thread, NULL, waits_for_signal, &set);
		kill(getpid(), SIGUSR2);
		pthread_join(thread, &got_signal);
		if ((long)got_signal != SIGUSR2)
			puts("another signal");
	}
	int fd = signalfd(-1, &set, 0);
	raise(SIGUSR2);
	struct signalfd_siginfo info;
	ssize_t bytes = read(fd, &info, sizeof(info));
	printf("%zd %u\n", bytes, info.ssi_signo);
}

static void *spins(void *argument)
{
	for (;;) {
		pthread_testcancel();
		burn(1);
	}
	return argument;
}

static void cancels(void)
{
	int cancelled = 0;
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		void *end;
		pthread_create(&thread, NULL, spins, NULL);
		pthread_cancel(thread);
		pthread_join(thread, &end);
		cancelled += end == PTHREAD_CANCELED;
	}
	printf("%d cancelled\n", cancelled);
}

static void *exits(void *argument)
{
	(void)argument;
	puts("from a thread");
	exit(5);
}

static void exit_in_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, exits, NULL);
	for (;;)
		burn(1);
}

static void daemonizes(void)
{
	fflush(stdout);
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			burn(30);
		_exit(0);
	}
	wait(NULL);
	puts("gone");
}

static void clear_environment(void)
{
	char *arguments[] = { (char *)self, (char *)"exit7", NULL };
	char *none[] = { NULL };
	execve(self, arguments, none);
}

static void exec_from_thread_body(void)
{
	execl(self, self, "exit7", (char *)NULL);
}
static void *execs(void *argument)
{
	exec_from_thread_body();
	return argument;
}

static void exec_in_thread(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, execs, NULL);
	for (;;)
		burn(1);
}

static void traced(void)
{
	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		burn(10);
		_exit(9);
	}
	int status = 0;
	waitpid(child, &status, 0);
	printf("stopped %d by %d\n", WIFSTOPPED(status), WSTOPSIG(status));
	ptrace(PTRACE_DETACH, child, 0, 0);
	waitpid(child, &status, 0);
	printf("exit %d\n", WEXITSTATUS(status));
}

static void stops(void)
{
	pid_t child = fork();
	if (child == 0) {
		burn(30);
		_exit(4);
	}
	int status = 0;
	for (int i = 0; i < 5; i++) {
		kill(child, SIGSTOP);
		waitpid(child, &status, WUNTRACED);
		if (!WIFSTOPPED(status))
			break;
		kill(child, SIGCONT);
	}
	if (WIFSTOPPED(status))
		waitpid(child, &status, 0);
	printf("exit %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void group_with(int s)
{
	signal(SIGTERM, SIG_DFL);
	if (fork() == 0)
		for (;;)
			pause();
	burn(20);
	kill(0, s);
	for (;;)
		pause();
}

static void kill_group(void)
{
	group_with(SIGKILL);
}
static void end_group(void)
{
	group_with(SIGTERM);
}
static void aborts(void)
{
	abort();
}
static void faults(void)
{
	raise(SIGSEGV);
}
static void killed(void)
{
	raise(SIGKILL);
}
static void realtime(void)
{
	raise(SIGRTMIN + 3);
}

static void interrupted(void)
{
	// A wait that a signal of ours broke would be shorter, or fail.
	int early = 0;
	for (int i = 0; i < 30; i++) {
		struct timespec rest = { 0, 2000000 };
		early += nanosleep(&rest, NULL) != 0;
	}
	int fds[2];
	if (pipe(fds))
		return;
	if (fork() == 0) {
		burn(40);
		_exit(write(fds[1], "x", 1) != 1);
	}
	char byte;
	errno = 0;
	ssize_t bytes = read(fds[0], &byte, 1);
	printf("%d early, read %zd %d\n", early, bytes, errno);
	wait(NULL);
}

static const struct {
	const char *name;
	void (*run)(void);
} acts[] = {
	{ "reset", reset },
	{ "reset_sysv", reset_sysv },
	{ "reset_bsd", reset_bsd },
	{ "reset_ssignal", reset_ssignal },
	{ "reset_sigset", reset_sigset },
	{ "reset_raw", reset_raw },
	{ "ignore_all", ignore_all },
	{ "ignore_raw", ignore_raw },
	{ "block_all", block_all },
	{ "fork_storm", fork_storm },
	{ "orphans", orphans },
	{ "forks_beside_threads", forks_beside_threads },
	{ "forks_beside_walks", forks_beside_walks },
	{ "waited_for_in_walks", waited_for_in_walks },
	{ "spawns", spawns },
	{ "exit7", exit7 },
	{ "timers", timers },
	{ "overflow", overflow },
	{ "close_all", close_all },
	{ "take_all_fds", take_all_fds },
	{ "sigwaits", sigwaits },
	{ "cancels", cancels },
	{ "exit_in_thread", exit_in_thread },
	{ "daemonizes", daemonizes },
	{ "clear_environment", clear_environment },
	{ "exec_in_thread", exec_in_thread },
	{ "traced", traced },
	{ "stops", stops },
	{ "kill_group", kill_group },
	{ "end_group", end_group },
	{ "aborts", aborts },
	{ "faults", faults },
	{ "killed", killed },
	{ "realtime", realtime },
	{ "interrupted", interrupted },
};

int main(int argc, char **argv)
{
	static char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	if (length < 0) // chroot without /proc
		length = 0;
	path[length] = '\0';
	self = path;
	for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++) {
		if (argc == 1)
			puts(acts[i].name);
		else if (strcmp(argv[1], acts[i].name) == 0) {
			acts[i].run();
			return 0;
		}
	}
	return argc == 1 ? 0 : 2;
}
