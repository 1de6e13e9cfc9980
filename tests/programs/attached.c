// SPDX-License-Identifier: MIT
// Notices what stopping and borrowing one of its threads could change: results and times of calls
// that wait, errno, signal masks, registers. Says "ready", and at the end of its input what was
// wrong.
//
// attached LETTERS: what its threads do; in capitals, the main thread does that alone, until a
// signal.
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KEPT   77 // errno, before and after calls that succeed
#define VALUES 64
#define BLOCKS 200

static volatile sig_atomic_t over;
static int wrong; // atomic

#define EXPECT(what)                                                                               \
	do {                                                                                       \
		if (!(what) && !over) {                                                            \
			printf("line %d: not %s, errno %d\n", __LINE__, #what, errno);             \
			__atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);                           \
		}                                                                                  \
	} while (0)

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void expect_signals(void)
{
	sigset_t blocked;
	stack_t stack;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	EXPECT(sigismember(&blocked, SIGUSR2) == 1);
	EXPECT(sigismember(&blocked, SIGINT) == 0);
	sigaltstack(NULL, &stack);
	EXPECT(stack.ss_flags == SS_DISABLE);
}

static void wait_in_poll(void)
{
	double begin = now_ms();

	errno = KEPT;
	int result = poll(NULL, 0, 20);
	EXPECT(result == 0 && errno == KEPT);
	EXPECT(now_ms() - begin >= 19.5);
}

static void wait_in_nanosleep(void)
{
	struct timespec wanted = { 0, 30000000 };
	double begin = now_ms();

	errno = KEPT;
	int result = nanosleep(&wanted, NULL);
	EXPECT(result == 0 && errno == KEPT);
	EXPECT(now_ms() - begin >= 29.5);
}

// The kernel does not restart this one.
static void wait_in_epoll(void)
{
	static __thread int fd;
	struct epoll_event event;
	double begin = now_ms();

	if (!fd)
		fd = epoll_create1(0);
	errno = KEPT;
	int result = epoll_wait(fd, &event, 1, 25);
	EXPECT(result == 0 && errno == KEPT);
	EXPECT(now_ms() - begin >= 24.5);
}

static void wait_in_futex(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 15000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	int result = pthread_cond_timedwait(&never, &mutex, &until);
	EXPECT(result == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);
}

static void wait_in_recv(void)
{
	static __thread int ends[2];
	struct timeval limit = { 0, 20000 };
	char byte;

	if (!ends[0]) {
		socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
		setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	}
	ssize_t result = recv(ends[0], &byte, 1, 0);
	EXPECT(result == -1 && errno == EAGAIN);
}

static double compute(void)
{
	double values[VALUES], sum = 0;

	for (int i = 0; i < VALUES; i++)
		values[i] = i * 0.37 + 1;
	for (int k = 0; k < 2000; k++)
		for (int i = 0; i < VALUES; i++)
			values[i] = sqrt(values[i] * 1.0001 + 0.5 * k) * 1.7 +
			            values[(i + 1) % VALUES] * 1e-3;
	for (int i = 0; i < VALUES; i++)
		sum += values[i];
	return sum;
}

static double computed; // before anybody has come

static void work(void)
{
	errno = KEPT;
	EXPECT(compute() == computed);
	EXPECT(errno == KEPT);
}

static void allocate(void)
{
	unsigned char *blocks[BLOCKS];

	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = malloc(10 + (size_t)i * 137);
		if (!blocks[i])
			abort();
		memset(blocks[i], i, 10);
	}
	for (int i = 0; i < BLOCKS; i++) {
		EXPECT(blocks[i][9] == (unsigned char)i);
		free(blocks[i]);
	}
}

static void (*const ways[])(void) = { ['p' - 'a'] = wait_in_poll,  ['n' - 'a'] = wait_in_nanosleep,
	                              ['e' - 'a'] = wait_in_epoll, ['f' - 'a'] = wait_in_futex,
	                              ['r' - 'a'] = wait_in_recv,  ['w' - 'a'] = work,
	                              ['a' - 'a'] = allocate };

static unsigned begun; // atomic: threads that have what they need

static void go_on(void (*way)(void), bool tells)
{
	bool first = true;

	while (!over) {
		way();
		expect_signals();
		if (first && tells)
			puts("ready");
		if (first)
			__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
		first = false;
	}
}

static void *run(void *argument)
{
	go_on(ways[*(const char *)argument - 'a'], false);
	return NULL;
}

static void end(int number)
{
	(void)number;
	over = 1;
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = end };
	const char *letters = argc > 1 ? argv[1] : "pnefrwa";
	pthread_t threads[16];
	unsigned count = 0;
	sigset_t blocked;
	char byte;

	computed = compute();
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	sigaction(SIGTERM, &action, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (letters[0] >= 'A' && letters[0] <= 'Z') {
		go_on(ways[letters[0] - 'A'], true);
	} else {
		for (; letters[count] && count < 16; count++)
			if (letters[count] < 'a' || letters[count] > 'z' ||
			    (size_t)(letters[count] - 'a') >= sizeof(ways) / sizeof(ways[0]) ||
			    !ways[letters[count] - 'a'])
				return 2;
		for (count = 0; letters[count] && count < 16; count++)
			pthread_create(&threads[count], NULL, run, (void *)&letters[count]);
		while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < count)
			usleep(1000);
		puts("ready");
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
		over = 1;
		while (count)
			pthread_join(threads[--count], NULL);
	}
	printf("%d wrong\n", wrong);
	return wrong != 0;
}
