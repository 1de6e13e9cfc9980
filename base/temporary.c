// SPDX-License-Identifier: MIT
#include "base/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX 32

// Apart from the paths: to look for one's own touches one page.
static pid_t owners[MAX]; // atomic; 0: free
static char paths[MAX][PATH_MAX];

bool temporary_add(const char *path)
{
	pid_t self = getpid();

	if (strlen(path) >= sizeof(paths[0]))
		return false;
	for (int i = 0; i < MAX; i++) {
		if (__atomic_load_n(&owners[i], __ATOMIC_RELAXED) == self)
			continue;
		strcpy(paths[i], path);
		__atomic_store_n(&owners[i], self, __ATOMIC_RELEASE);
		return true;
	}
	return false;
}

void temporary_forget(const char *path)
{
	pid_t self = getpid();

	for (int i = 0; i < MAX; i++)
		if (owners[i] == self && strcmp(paths[i], path) == 0)
			__atomic_store_n(&owners[i], 0, __ATOMIC_RELEASE);
}

// As the kernel has it: opendir() allocates, which a handler may not.
struct entry {
	uint64_t inode, next;
	uint16_t size;
	uint8_t type;
	char name[];
};

static void empty(int directory)
{
	_Alignas(struct entry) char entries[4096];
	long size;

	while ((size = syscall(SYS_getdents64, directory, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < size;) {
			const struct entry *entry =
				(const struct entry *)(const void *)(entries + at);
			unlinkat(directory, entry->name, 0); // not "." and "..": those stay
			at += entry->size;
		}
	}
}

static void remove_one(const char *path)
{
	if (unlink(path) == 0 || errno != EISDIR)
		return;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	empty(fd);
	close(fd);
	rmdir(path);
}

void temporary_remove_all(void)
{
	int error = errno;
	pid_t self = getpid();

	for (int i = 0; i < MAX; i++) {
		if (__atomic_load_n(&owners[i], __ATOMIC_ACQUIRE) != self)
			continue;
		remove_one(paths[i]);
		__atomic_store_n(&owners[i], 0, __ATOMIC_RELAXED);
	}
	errno = error;
}

// Blocked while this runs, the signal comes when it has returned.
static void end(int number)
{
	temporary_remove_all();
	signal(number, SIG_DFL);
	raise(number);
}

void temporary_catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction catching = { .sa_handler = end };
	struct sigaction now;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL &&
		    !(now.sa_flags & SA_SIGINFO))
			sigaction(numbers[i], &catching, NULL);
}
