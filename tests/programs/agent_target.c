// SPDX-License-Identifier: MIT
// agent_target MODE: does what programs do that makes life hard for an agent inside them, and
// prints what came of it. The output has to be the same with the agent and without.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

extern char **environ;

static uint64_t cpu_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// Until the calling thread has used that much CPU time.
static void burn(uint64_t ms)
{
	uint64_t end = cpu_ms(CLOCK_THREAD_CPUTIME_ID) + ms;

	while (cpu_ms(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 100000; i++)
			;
}

static void *burn_5(void *argument)
{
	burn(5);
	return argument;
}

static int run_threads(void)
{
	static pthread_t threads[500];
	size_t sum = 0;

	for (size_t i = 0; i < 500; i++)
		if (pthread_create(&threads[i], NULL, burn_5, (void *)i) != 0)
			return 1;
	for (size_t i = 0; i < 500; i++) {
		void *result;
		pthread_join(threads[i], &result);
		sum += (size_t)result;
	}
	printf("sum %zu\n", sum);
	return 0;
}

static void *do_nothing(void *argument)
{
	return argument;
}

// Many more threads than lanes, a few at a time.
static int run_churn(void)
{
	pthread_t thread;

	for (int i = 0; i < 100; i++) {
		if (pthread_create(&thread, NULL, burn_5, NULL) != 0)
			return 1;
		pthread_detach(thread);
	}
	for (int i = 0; i < 3000; i++) {
		if (pthread_create(&thread, NULL, do_nothing, NULL) != 0)
			return 1;
		pthread_join(thread, NULL);
	}
	puts("joined");
	return 0;
}

static void *exit_by_pthread(void *argument)
{
	burn(20);
	pthread_exit(argument);
}

static int run_main_exits_first(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, exit_by_pthread, NULL);
	puts("main is gone");
	fflush(stdout);
	pthread_exit(NULL);
}

static int status_of(pid_t child)
{
	int status;

	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run_vfork(void)
{
	char *arguments[] = { "sh", "-c", "exit 7", NULL };
	pid_t child = vfork();

	if (child == 0)
		_exit(5);
	printf("vfork %d\n", status_of(child));
	child = vfork();
	if (child == 0) {
		execv("/bin/sh", arguments);
		_exit(1);
	}
	printf("vfork and exec %d\n", status_of(child));
	if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) != 0)
		return 1;
	printf("posix_spawn %d\n", status_of(child));
	printf("system %d\n", WEXITSTATUS(system("exit 9")));
	burn(50);
	return 0;
}

static int run_fork(void)
{
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();
		if (child == 0) {
			pthread_t thread;
			pthread_create(&thread, NULL, burn_5, NULL);
			burn(60);
			pthread_join(thread, NULL);
			_exit(i);
		}
		printf("fork %d\n", status_of(child));
		fflush(stdout);
	}
	burn(60);
	return 0;
}

// Half of them end by exit().
static int run_short_children(void)
{
	fflush(stdout);
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();
		if (child == 0) {
			burn(3);
			if (i % 2)
				exit(i);
			_exit(i);
		}
		printf("child %d\n", status_of(child));
		fflush(stdout);
	}
	return 0;
}

static int looking[2], looked[2];

static int look_long(struct dl_phdr_info *info, size_t size, void *context)
{
	char byte = 0;

	(void)info, (void)size, (void)context;
	return write(looking[1], &byte, 1) + read(looked[0], &byte, 1) != 0;
}

static void *look_at_objects(void *argument)
{
	dl_iterate_phdr(look_long, NULL);
	return argument;
}

// While another thread has the loader's lock. What a child may do, it does for the first time.
static int run_fork_among_loads(void)
{
	struct stat status;
	pthread_t thread;
	sigset_t none;
	char byte;

	if (pipe(looking) < 0 || pipe(looked) < 0 ||
	    pthread_create(&thread, NULL, look_at_objects, NULL) != 0 ||
	    read(looking[0], &byte, 1) != 1)
		return 1;
	sigemptyset(&none);
	pid_t child = fork();
	if (child == 0) {
		alarm(10);
		close(looked[0]);
		_exit(fstat(looked[1], &status) + sigprocmask(SIG_SETMASK, &none, NULL) +
		      (signal(SIGUSR1, SIG_IGN) == SIG_ERR) + 3);
	}
	printf("fork %d\n", status_of(child));
	return write(looked[1], &byte, 1) != 1 || pthread_join(thread, NULL) != 0;
}

static int run_close_fds(void)
{
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	burn(100);
	int fd = open("/dev/null", O_RDONLY);
	printf("next descriptor %d\n", fd);
	burn(100);
	return 0;
}

static int run_clearenv(void)
{
	char *arguments[] = { "sh", "-c", "echo ${LD_PRELOAD-none}", NULL };
	char *empty[] = { NULL };

	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		execve("/bin/sh", arguments, empty);
		_exit(1);
	}
	printf("status %d\n", status_of(child));
	clearenv();
	burn(60);
	return 0;
}

static volatile sig_atomic_t handled, last_value;

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	handled++;
	last_value = info->si_value.sival_int;
}

// Every real-time signal there is, among them the agent's.
static int run_handlers(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, seen;
	int defaults = 0, mine = 0;

	sigfillset(&action.sa_mask);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
		sigaction(number, NULL, &seen);
		defaults += seen.sa_handler == SIG_DFL;
		sigaction(number, &action, NULL);
	}
	burn(100);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++) {
		sigqueue(getpid(), number, (union sigval){ .sival_int = number - SIGRTMIN });
		sigaction(number, NULL, &seen);
		mine += seen.sa_sigaction == on_signal;
	}
	printf("%d defaults, %d mine, %d handled, last %d\n", defaults, mine, (int)handled,
	       (int)last_value);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		signal(number, SIG_IGN);
	burn(50);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		raise(number);
	printf("%d handled\n", (int)handled);
	return 0;
}

static int run_killed_by_ours(void)
{
	burn(50);
	raise(SIGRTMIN + 21);
	return 0;
}

static void burn_on_stack(int number)
{
	(void)number;
	burn(60);
}

static int run_alternate_stack(void)
{
	static char stack[16384];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct sigaction action = { .sa_handler = burn_on_stack, .sa_flags = SA_ONSTACK };

	sigaltstack(&alternate, NULL);
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	burn(60);
	puts("back");
	return 0;
}

// As oneDNN's kernels for products of matrices do: the stack pointer walks through a buffer.
static void *point_elsewhere(void *argument)
{
	static const size_t size = 65536;
	unsigned char *buffer = malloc(size);
	uint64_t turns = 300000000;
	size_t changed = 0;

	memset(buffer, 0x5a, size);
	__asm__ volatile("mov %%rsp, %%rbx\n\t"
	                 "mov %1, %%rsp\n"
	                 "1:\tdec %0\n\t"
	                 "jnz 1b\n\t"
	                 "mov %%rbx, %%rsp"
	                 : "+r"(turns)
	                 : "r"(buffer + size / 2)
	                 : "rbx", "cc", "memory");
	for (size_t i = 0; i < size; i++)
		changed += buffer[i] != 0x5a;
	printf("%zu bytes changed\n", changed);
	free(buffer);
	return argument;
}

static void tell_alternate_stack(void)
{
	stack_t seen;

	sigaltstack(NULL, &seen);
	printf("%d %d %zu\n", seen.ss_flags, seen.ss_sp != NULL, seen.ss_size);
}

static int run_stack_elsewhere(void)
{
	static char stack[16384];
	const stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const stack_t none = { .ss_flags = SS_DISABLE };
	pthread_t thread;

	point_elsewhere(NULL);
	pthread_create(&thread, NULL, point_elsewhere, NULL);
	pthread_join(thread, NULL);
	tell_alternate_stack();
	sigaltstack(&own, NULL);
	tell_alternate_stack();
	sigaltstack(&none, NULL);
	tell_alternate_stack();
	point_elsewhere(NULL);
	return 0;
}

// The smallest that there may be, which no signal of the program's ever uses.
static int run_tiny_alternate_stack(void)
{
	static char stack[2048];
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) }, told;

	printf("%d", sigaltstack(&alternate, NULL));
	burn(100);
	printf(" %d", sigaltstack(NULL, &told));
	printf(" %d %zu %d", told.ss_sp == stack, told.ss_size, told.ss_flags);
	alternate.ss_flags = SS_DISABLE;
	printf(" %d", sigaltstack(&alternate, &told));
	printf(" %d %zu %d", told.ss_sp == stack, told.ss_size, told.ss_flags);
	printf(" %d", sigaltstack(NULL, &told));
	printf(" %d\n", told.ss_flags);
	burn(20);
	return 0;
}

static ucontext_t main_context, coroutine_context;

static void coroutine(void)
{
	burn(100);
	swapcontext(&coroutine_context, &main_context);
}

static int run_coroutine(void)
{
	size_t size = 65536;
	// Right below memory that cannot be read.
	char *stack =
		mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(stack + size, 4096, PROT_NONE);
	getcontext(&coroutine_context);
	coroutine_context.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = size };
	makecontext(&coroutine_context, coroutine, 0);
	swapcontext(&main_context, &coroutine_context);
	puts("back");
	return 0;
}

static int run_killed(void)
{
	burn(200);
	return raise(SIGKILL);
}

static int run_quick_exit(void)
{
	burn(100);
	puts("quick");
	fflush(stdout);
	_exit(4);
}

static int run_errno(void)
{
	int changed = 0;

	errno = 42;
	for (int i = 0; i < 300; i++) {
		for (volatile int j = 0; j < 1000000; j++)
			;
		changed += errno != 42;
	}
	printf("errno changed %d times\n", changed);
	return 0;
}

static void *burn_300(void *argument)
{
	burn(300);
	return argument;
}

static int run_sleeps(void)
{
	struct timespec millisecond = { 0, 1000000 };
	int interrupted = 0;
	pthread_t thread;

	pthread_create(&thread, NULL, burn_300, NULL);
	for (int i = 0; i < 200; i++) {
		interrupted += nanosleep(&millisecond, NULL) != 0;
		interrupted += poll(NULL, 0, 1) != 0;
		burn(1);
	}
	pthread_join(thread, NULL);
	printf("%d interrupted\n", interrupted);
	return 0;
}

static int run_blocked_signals(void)
{
	sigset_t all, seen;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_sigmask(SIG_BLOCK, NULL, &seen);
	int blocked = 0;
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		blocked += sigismember(&seen, number);
	printf("%d blocked\n", blocked);
	burn(200);
	return 0;
}

static int burn_c11(void *argument)
{
	burn(100);
	return argument ? 23 : 0;
}

static int run_c11(void)
{
	thrd_t thread;
	int result = 0;

	thrd_create(&thread, burn_c11, &thread);
	thrd_join(thread, &result);
	printf("result %d\n", result);
	return 0;
}

// A thread that nobody could wrap.
static int run_unwrapped(void)
{
	typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	create *real = (create *)dlsym(libc, "pthread_create");
	pthread_t thread;

	if (!real || real(&thread, NULL, burn_300, NULL) != 0)
		return 1;
	burn(300);
	pthread_join(thread, NULL);
	puts("joined");
	return 0;
}

static int run_small_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN + 16384);
	if (pthread_create(&thread, &attributes, burn_300, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	puts("joined");
	return 0;
}

static int run_no_descriptors(void)
{
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	for (int i = 0; i < 40; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, burn_5, NULL);
		pthread_join(thread, NULL);
	}
	printf("%s\n", strerror(errno));
	return 0;
}

static int run_waits(void)
{
	struct timespec wait = { 0, 200 * 1000000 };

	for (int i = 0; i < 2; i++) {
		burn(150);
		nanosleep(&wait, NULL);
	}
	return 0;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *take_turns(void *name)
{
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < 5; i++) {
		pthread_mutex_lock(&mutex);
		burn(20);
		pthread_mutex_unlock(&mutex);
		sched_yield();
	}
	return NULL;
}

static int run_locks(void)
{
	static char names[4][16] = { "locker1", "locker2", "locker3", "locker4" };
	pthread_t threads[4];

	// On a busy machine the first could else be done before the last begins, and nobody waits.
	pthread_mutex_lock(&mutex);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, take_turns, names[i]);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

// Ends for a while: its memory takes long to be given back.
static int run_memory(void)
{
	size_t size = (size_t)256 << 20;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t at = 0; at < size; at += 4096)
		memory[at] = 1;
	return 0;
}

// The agent's files, if the collector has not taken their names away already.
static int run_cut_rings(void)
{
	const char *path = getenv("BOTTLENECK_AGENT_DIR");
	DIR *directory = path ? opendir(path) : NULL;
	int fds[16], count = 0;

	for (struct dirent *entry; directory && count < 16 && (entry = readdir(directory));)
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') // PID-IMAGE-NUMBER
			fds[count++] = openat(dirfd(directory), entry->d_name, O_RDWR);
	burn(100);
	for (int i = 0; i < count; i++)
		if (ftruncate(fds[i], 0) < 0)
			return 1;
	_exit(count ? 6 : 125); // before the next tick, which would be a SIGBUS
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} modes[] = {
		{ "threads", run_threads },
		{ "churn", run_churn },
		{ "main-exits-first", run_main_exits_first },
		{ "vfork", run_vfork },
		{ "fork", run_fork },
		{ "fork-among-loads", run_fork_among_loads },
		{ "close-fds", run_close_fds },
		{ "clearenv", run_clearenv },
		{ "handlers", run_handlers },
		{ "killed-by-ours", run_killed_by_ours },
		{ "alternate-stack", run_alternate_stack },
		{ "stack-elsewhere", run_stack_elsewhere },
		{ "tiny-alternate-stack", run_tiny_alternate_stack },
		{ "coroutine", run_coroutine },
		{ "killed", run_killed },
		{ "quick-exit", run_quick_exit },
		{ "short-children", run_short_children },
		{ "errno", run_errno },
		{ "sleeps", run_sleeps },
		{ "blocked-signals", run_blocked_signals },
		{ "c11", run_c11 },
		{ "unwrapped", run_unwrapped },
		{ "small-stack", run_small_stack },
		{ "no-descriptors", run_no_descriptors },
		{ "waits", run_waits },
		{ "locks", run_locks },
		{ "memory", run_memory },
		{ "cut-rings", run_cut_rings },
	};

	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			return modes[i].run();
	return 125;
}
