/* SPDX-License-Identifier: MIT */
/*
 * System calls for handlers: libc's own open, read and close are cancellation
 * points, and another library may stand in front of them. Its stat and fstat are
 * of glibc 2.33, and the agent's own fstat stands in front of the latter.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
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

/* A connection to the stream socket at PATH, at once or not at all. -1 if there is none. */
static inline int system_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = 0;

	while (path[length] && length < sizeof(address.sun_path) - 1) {
		address.sun_path[length] = path[length];
		length++;
	}
	if (path[length])
		return -1; // such a path cannot be named here
	int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && syscall(SYS_connect, fd, &address, sizeof(address)) < 0) {
		syscall(SYS_close, fd);
		return -1;
	}
	return fd;
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
