// SPDX-License-Identifier: MIT
/*
 * Blocks in the way that its argument names, some calls below main.
 *
 * Built at -O0 with frame pointers and at -O2 without. Before it blocks it
 * prints where in the program main's code begins and ends.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char __executable_start[], __start_main_code[], __stop_main_code[];

static volatile long sink;

static void read_from(int fd)
{
	char byte[8];

	sink += read(fd, byte, sizeof(byte));
}

static void block_futex(void)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	pthread_mutex_lock(&mutex);
}

static void block_nanosleep(void)
{
	sleep(1000);
}

static void block_pause(void)
{
	pause();
}

static void bind_late(void)
{
	sink += getppid();
}

static void block_among_old_frames(void)
{
	volatile char room[8192];

	room[0] = 1;
	sink += room[0];
	pause();
}

// The dynamic linker's frames are still there, where nothing has been written since.
static void block_old_frames(void)
{
	bind_late();
	block_among_old_frames();
}

static void block_pipe(void)
{
	int ends[2];

	if (pipe(ends) == 0)
		read_from(ends[0]);
}

static void block_socket(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0)
		read_from(ends[0]);
}

static void block_terminal(void)
{
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, NULL) == 0)
		read_from(slave);
}

static void block_eventfd(void)
{
	read_from(eventfd(0, 0));
}

static void block_timerfd(void)
{
	read_from(timerfd_create(CLOCK_MONOTONIC, 0));
}

static void block_flock(void)
{
	char path[] = "/tmp/bottleneck-probe-XXXXXX";
	int first = mkstemp(path), second = open(path, O_RDWR);

	unlink(path);
	flock(first, LOCK_EX);
	flock(second, LOCK_EX);
}

static void block_wait(void)
{
	if (fork() == 0) {
		// Goes with its parent, which the test kills.
		poll(&(struct pollfd){ STDIN_FILENO, POLLIN, 0 }, 1, -1);
		_exit(0);
	}
	wait(NULL);
}

static void block_poll(void)
{
	int ends[2];

	if (pipe(ends) == 0)
		poll(&(struct pollfd){ ends[0], POLLIN, 0 }, 1, -1);
}

static void block_poll_nothing(void)
{
	poll(NULL, 0, -1);
}

static void block_select_nothing(void)
{
	select(0, NULL, NULL, NULL, &(struct timeval){ 1000, 0 });
}

static void block_epoll(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(0), &event, 1, -1);
}

/* A page that nobody will ever fill in. */
static void block_fault(void)
{
	long page = sysconf(_SC_PAGESIZE);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	char *memory = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                    -1, 0);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .range = { (unsigned long)memory, (unsigned long)page },
		                         .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &range) < 0)
		exit(77);
	sink += *(volatile char *)memory;
}

static void block_compute(void)
{
	for (;;)
		sink++;
}

static const struct {
	const char *name;
	void (*block)(void);
} ways[] = {
	{ "futex", block_futex },
	{ "nanosleep", block_nanosleep },
	{ "pause", block_pause },
	{ "pipe", block_pipe },
	{ "socket", block_socket },
	{ "terminal", block_terminal },
	{ "eventfd", block_eventfd },
	{ "timerfd", block_timerfd },
	{ "flock", block_flock },
	{ "wait", block_wait },
	{ "poll", block_poll },
	{ "poll-nothing", block_poll_nothing },
	{ "epoll", block_epoll },
	{ "select-nothing", block_select_nothing },
	{ "fault", block_fault },
	{ "compute", block_compute },
	{ "old-frames", block_old_frames },
};

__attribute__((noinline)) static void descend(int depth, void (*block)(void))
{
	char room[200]; // frames of more than a few words

	memset(room, depth, sizeof(room));
	if (depth)
		descend(depth - 1, block);
	else
		block();
	sink += room[depth]; // no tail call
}

__attribute__((section("main_code"))) int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		printf("%lx %lx\n", (unsigned long)(__start_main_code - __executable_start),
		       (unsigned long)(__stop_main_code - __executable_start));
		fflush(stdout);
		descend(5, ways[i].block);
	}
	return 1;
}
