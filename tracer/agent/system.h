/* SPDX-License-Identifier: MIT */
/*
 * System calls for handlers: libc's own open, read and close are cancellation
 * points, and another library may stand in front of them. Its stat and fstat are
 * of glibc 2.33, and the agent's own fstat stands in front of the latter.
 */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int system_open(const char *path, int flags, unsigned mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static inline long system_read(int fd, void *to, size_t size)
{
	return syscall(SYS_read, fd, to, size);
}

static inline void system_close(int fd)
{
	syscall(SYS_close, fd);
}

static inline int system_stat(const char *path, struct stat *status)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, status, 0);
}

static inline int system_fstat(int fd, struct stat *status)
{
	return (int)syscall(SYS_fstat, fd, status);
}

/* What is written to a shared mapping goes nowhere from now on. */
static inline void system_detach(void *start, size_t size)
{
	syscall(SYS_mmap, start, size, PROT_READ | PROT_WRITE,
	        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/*
 * No handler of the calling thread runs in between: it may fork, and its child would go on in the
 * middle of what it has interrupted. Signals that an instruction or a system call raises are let
 * through, as the kernel ends a process that blocks one of them.
 */
struct system_held {
	uint64_t mask; /* what was blocked before */
	bool held;
};

#define SYSTEM_SIGNAL(number) (UINT64_C(1) << ((number)-1))

static inline struct system_held system_hold_signals(void)
{
	const uint64_t held =
		~(SYSTEM_SIGNAL(SIGSEGV) | SYSTEM_SIGNAL(SIGBUS) | SYSTEM_SIGNAL(SIGFPE) |
	          SYSTEM_SIGNAL(SIGILL) | SYSTEM_SIGNAL(SIGTRAP) | SYSTEM_SIGNAL(SIGSYS));
	struct system_held before = { 0, false };

	before.held = syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before.mask,
	                      sizeof(before.mask)) == 0;
	return before;
}

static inline void system_let_signals(struct system_held before)
{
	if (before.held)
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before.mask, NULL, sizeof(before.mask));
}
