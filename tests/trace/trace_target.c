// SPDX-License-Identifier: MIT
/*
 * trace_target PART…: calls of functions that --trace is told to follow, in all the ways that calls
 * are made and left. Each part checks that the program goes as without us, and prints what it
 * found; what must be equal is what it prints, and its status.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static int rounds = 1000;

struct large {
	long numbers[10];
};
struct mixed {
	double real;
	long whole;
};

NOINLINE static long f_static(long x)
{
	__asm__ volatile("");
	return 3 * x;
}

NOINLINE double f_doubles(double a, double b, double c, double d, double e, double f, double g,
                          double h, double i, double j)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

NOINLINE long double f_long_double(long double x)
{
	return x * 2;
}

NOINLINE _Complex long double f_complex(long double x)
{
	return x + 2 * x * (_Complex long double)1.0iL;
}

NOINLINE struct large f_large(long from)
{
	struct large result;

	for (int i = 0; i < 10; i++)
		result.numbers[i] = from + i;
	return result;
}

NOINLINE struct mixed f_mixed(double real, long whole)
{
	return (struct mixed){ real / 2, whole * 2 };
}

NOINLINE long f_variable(int count, ...)
{
	long sum = 0;
	va_list args;

	va_start(args, count);
	for (int i = 0; i < count; i++)
		sum += i % 2 ? (long)va_arg(args, double) : va_arg(args, long);
	va_end(args);
	return sum;
}

typedef double wide __attribute__((vector_size(32)));

__attribute__((target("avx"))) NOINLINE wide f_wide(wide a, wide b)
{
	return a * b + a;
}

__attribute__((target("avx"))) static void print_wide(void)
{
	volatile wide a = { 1, 2, 3, 4 }, b = { 5, 6, 7, 8 };

	for (int i = 0; i < rounds; i++) {
		wide r = f_wide(a, b);
		if (r[0] != 6 || r[1] != 14 || r[2] != 24 || r[3] != 36)
			printf("wide differs\n");
	}
}

static void kinds(void)
{
	struct large large = f_large(5);
	struct mixed mixed = f_mixed(5, 7);
	_Complex long double z = f_complex(1.5L);

	printf("static %ld, doubles %.0f, long double %.2Lf, complex %.2Lf %.2Lf\n", f_static(14),
	       f_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), f_long_double(1.25L), __real__ z,
	       __imag__ z);
	printf("large %ld %ld, mixed %.1f %ld\n", large.numbers[0], large.numbers[9], mixed.real,
	       mixed.whole);
	printf("variable %ld\n",
	       f_variable(40, 1L, 2.0, 3L, 4.0, 5L, 6.0, 7L, 8.0, 9L, 10.0, 11L, 12.0, 13L, 14.0,
	                  15L, 16.0, 17L, 18.0, 19L, 20.0, 21L, 22.0, 23L, 24.0, 25L, 26.0, 27L,
	                  28.0, 29L, 30.0, 31L, 32.0, 33L, 34.0, 35L, 36.0, 37L, 38.0, 39L, 40.0));
	errno = 42;
	f_static(1);
	printf("errno %d\n", errno);
	if (__builtin_cpu_supports("avx"))
		print_wide();
}

NOINLINE static long f_deep(long depth)
{
	long result = depth ? f_deep(depth - 1) + 1 : 0;

	__asm__ volatile("");
	return result;
}

NOINLINE static long f_fibonacci(long n)
{
	return n < 2 ? n : f_fibonacci(n - 1) + f_fibonacci(n - 2);
}

static void recursion(void)
{
	printf("deep %ld, fibonacci %ld\n", f_deep(rounds - 1), f_fibonacci(rounds > 10 ? 12 : 3));
}

// Each is left by a jump to the next.
NOINLINE long f_tail_c(long x)
{
	__asm__ volatile("");
	return x + 1;
}

NOINLINE long f_tail_b(long x)
{
	__asm__ volatile("");
	return f_tail_c(x * 2);
}

NOINLINE long f_tail_a(long x)
{
	__asm__ volatile("");
	return f_tail_b(x + 3);
}

long f_odd(long n);

NOINLINE long f_even(long n)
{
	__asm__ volatile("");
	return n == 0 ? 1 : f_odd(n - 1);
}

NOINLINE long f_odd(long n)
{
	__asm__ volatile("");
	return n == 0 ? 0 : f_even(n - 1);
}

static void tails(void)
{
	printf("tails %ld, %ld\n", f_tail_a(1), f_even(rounds > 10 ? 100000 : 4));
}

static jmp_buf back;

NOINLINE static void f_inner(int jump)
{
	__asm__ volatile("");
	if (jump)
		longjmp(back, jump);
}

NOINLINE static void f_outer(int jump)
{
	f_inner(jump);
	__asm__ volatile("");
}

NOINLINE static int f_catcher(int jump)
{
	volatile int told = jump;
	int came = setjmp(back);

	if (came)
		return came == told;
	f_outer(jump);
	return 2;
}

static void jumps(void)
{
	int right = 0;

	for (int i = 1; i <= rounds; i++)
		right += f_catcher(i);
	f_catcher(0);
	f_outer(0);
	printf("jumps %d\n", right);
}

static ucontext_t main_context, contexts[2];

NOINLINE static long f_step(long which, long i)
{
	swapcontext(&contexts[which], &main_context);
	__asm__ volatile("");
	return i;
}

static long sums[2];

NOINLINE static void f_routine(int which)
{
	for (long i = 0; i < 5; i++)
		sums[which] += f_step(which, i + which);
}

static void routines(void)
{
	static char stacks[2][65536];

	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))(void *)f_routine, 1, i);
	}
	for (int round = 0; round < 6; round++)
		for (int i = 0; i < 2; i++) {
			swapcontext(&main_context, &contexts[i]);
			f_static(i);
		}
	printf("routines %ld %ld\n", sums[0], sums[1]);
}

// Both processes return from it.
NOINLINE static pid_t f_fork(int *status)
{
	pid_t child = fork();

	if (child)
		waitpid(child, status, 0);
	__asm__ volatile("");
	return child;
}

static void forks(void)
{
	int status = 0;

	fflush(stdout);
	pid_t child = f_fork(&status);
	if (child == 0)
		_exit((int)(f_static(1) + f_deep(2)));
	child = vfork();
	if (child == 0) {
		f_static(2);
		_exit(3);
	}
	int second = 0;
	waitpid(child, &second, 0);
	printf("forks %d %d %ld\n", WEXITSTATUS(status), WEXITSTATUS(second), f_static(2));
}

static volatile long handled;

NOINLINE static void f_handler(int number)
{
	handled += f_static(number);
}

NOINLINE static long f_signalled(long x)
{
	raise(SIGUSR1);
	__asm__ volatile("");
	return x;
}

static volatile int alarms;

static void on_alarm(int number)
{
	alarms++;
	handled += f_static(number);
}

// Signals at any moment, also in the middle of a hook.
static void handlers(void)
{
	struct itimerval every = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	long sum = 0;

	signal(SIGUSR1, f_handler);
	printf("handled %ld %ld\n", f_signalled(5), handled);
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	while (alarms < 2000)
		sum += f_static(1) - f_deep(3);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("handlers %ld\n", sum);
}

#define THREADS 8
static long thread_calls = 100000;

NOINLINE static void *f_thread(void *argument)
{
	long sum = 0;

	for (long i = 0; i < thread_calls; i++)
		sum += f_static(i & 1);
	*(long *)argument = sum;
	return NULL;
}

static void threads(void)
{
	pthread_t ids[THREADS];
	long results[THREADS], sum = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&ids[i], NULL, f_thread, &results[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(ids[i], NULL);
		sum += results[i];
	}
	printf("threads %ld\n", sum);
}

static int cleaned;

static void clean(void *argument)
{
	cleaned += *(int *)argument;
}

#pragma GCC diagnostic ignored "-Wpragmas" // gcc before 12 knows no such recursion
#pragma GCC diagnostic ignored "-Winfinite-recursion"
NOINLINE static void f_exits(int depth)
{
	int one = 1;

	pthread_cleanup_push(clean, &one);
	if (depth)
		f_exits(depth - 1);
	else
		pthread_exit(NULL);
	pthread_cleanup_pop(0);
}

NOINLINE static void f_waits(int depth)
{
	int ten = 10;

	pthread_cleanup_push(clean, &ten);
	if (depth)
		f_waits(depth - 1);
	else
		for (;;)
			pause();
	pthread_cleanup_pop(0);
}

static void *run_exits(void *argument)
{
	f_exits(3);
	return argument;
}

static void *run_waits(void *argument)
{
	f_waits(3);
	return argument;
}

static void endings(void)
{
	pthread_t id;
	void *result = NULL;

	for (int i = 0; i < rounds / 10 + 1; i++) {
		pthread_create(&id, NULL, run_exits, NULL);
		pthread_join(id, NULL);
	}
	pthread_create(&id, NULL, run_waits, NULL);
	usleep(50000);
	pthread_cancel(id);
	pthread_join(id, &result);
	printf("endings %d %d\n", cleaned, result == PTHREAD_CANCELED);
}

// From its constructor on, and again when it is loaded anew.
static void plugins(void)
{
	long sum = 0;

	for (int i = 0; i < 3; i++) {
		void *library = dlopen(getenv("TRACE_PLUGIN"), RTLD_NOW);
		long (*call)(long) = library ? (long (*)(long))dlsym(library, "plugin_call") : NULL;
		sum += call ? call(i) : -1000;
		if (library && i)
			dlclose(library);
	}
	printf("plugins %ld\n", sum);
}

NOINLINE static int f_trace_back(void **frames, int max)
{
	int count = backtrace(frames, max);

	__asm__ volatile("");
	return count;
}

// The program's own frames are all there.
static void backtraces(void)
{
	void *frames[64];
	int count = f_trace_back(frames, 64), own = 0;
	Dl_info here, info;

	dladdr((void *)(uintptr_t)&backtraces, &here);
	for (int i = 0; i < count; i++)
		own += dladdr(frames[i], &info) && info.dli_fbase == here.dli_fbase;
	printf("backtraces %d\n", own);
}

// Whether the return address of its caller's frame is one of the program's own: with shadow stacks
// no other may be put there.
NOINLINE static bool f_returns_home(int depth)
{
	Dl_info here, info;
	bool deeper = depth == 0 || f_returns_home(depth - 1);

	dladdr((void *)(uintptr_t)&f_returns_home, &here);
	return dladdr(__builtin_return_address(0), &info) && info.dli_fbase == here.dli_fbase &&
	       deeper;
}

static void returns(void)
{
	int home = 0;

	for (int i = 0; i < rounds; i++)
		home += f_returns_home(i % 4);
	printf("%d of %d calls return into the program\n", home, rounds);
}

#define PART(name)                                                                                 \
	{                                                                                          \
#name, name                                                                        \
	}

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	PART(kinds),    PART(recursion), PART(tails),      PART(jumps),
	PART(routines), PART(forks),     PART(handlers),   PART(threads),
	PART(endings),  PART(plugins),   PART(backtraces), PART(returns),
};

NOINLINE static void f_part(const struct part *part)
{
	part->run();
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (getenv("TRACE_CALLS"))
		thread_calls = atol(getenv("TRACE_CALLS"));
	if (getenv("TRACE_ROUNDS"))
		rounds = atoi(getenv("TRACE_ROUNDS"));
	for (int i = 1; i < argc; i++)
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			if (strcmp(argv[i], parts[k].name) == 0)
				f_part(&parts[k]);
	return argc > 1 ? 3 : 2;
}
