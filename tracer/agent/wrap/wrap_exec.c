// SPDX-License-Identifier: MIT
// A tick that falls into the kernel is told of on the way back to user code, and after an exec that
// is another program, which a SIGTRAP would end. So there are none while a process becomes another
// one. They may be called in a child of vfork(), which has its parent's memory: nothing is kept.
#include "tracer/agent/cupti/cupti.h"
#include "tracer/agent/self.h"
#include "tracer/agent/wrap/wrap.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <unistd.h>

typedef int execve_function(const char *path, char *const argv[], char *const envp[]);
typedef int execv_function(const char *path, char *const argv[]);

static void *next_execve, *next_execv, *next_execvp, *next_execvpe, *next_fexecve, *next_execveat;

void wrap_start_exec(void)
{
	wrap_next(&next_execve, "execve");
	wrap_next(&next_execv, "execv");
	wrap_next(&next_execvp, "execvp");
	wrap_next(&next_execvpe, "execvpe");
	wrap_next(&next_fexecve, "fexecve");
	wrap_next(&next_execveat, "execveat");
}

static bool prepare(void)
{
	cupti_finish();
	return self_pause();
}

// It has failed, or we would not be here.
static int back(bool paused, int result)
{
	int error = errno;

	cupti_resume();
	if (paused)
		self_resume();
	errno = error;
	return result;
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	execve_function *next = (execve_function *)wrap_next(&next_execve, "execve");
	bool paused = prepare();

	return back(paused, next(path, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
	execv_function *next = (execv_function *)wrap_next(&next_execv, "execv");
	bool paused = prepare();

	return back(paused, next(path, argv));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	execv_function *next = (execv_function *)wrap_next(&next_execvp, "execvp");
	bool paused = prepare();

	return back(paused, next(file, argv));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	execve_function *next = (execve_function *)wrap_next(&next_execvpe, "execvpe");
	bool paused = prepare();

	return back(paused, next(file, argv, envp));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	typedef int function(int, char *const[], char *const[]);
	function *next = (function *)wrap_next(&next_fexecve, "fexecve");
	bool paused = prepare();

	return back(paused, next(fd, argv, envp));
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	typedef int function(int, const char *, char *const[], char *const[], int);
	function *next = (function *)wrap_next(&next_execveat, "execveat");
	bool paused = prepare();

	return back(paused, next(fd, path, argv, envp, flags));
}

static size_t count_arguments(const char *first, va_list list)
{
	size_t count = 0;

	for (; first; first = va_arg(list, char *))
		count++;
	return count;
}

static void copy_arguments(char **argv, const char *first, va_list list)
{
	for (; first; first = va_arg(list, char *))
		*argv++ = (char *)first;
	*argv = NULL;
}

// The list of arguments as an array: on the stack, as the heap may be another's.
#define ARGUMENTS(argv, first, list)                                                               \
	va_start(list, first);                                                                     \
	char **argv = __builtin_alloca((count_arguments(first, list) + 1) * sizeof(*argv));        \
	va_end(list);                                                                              \
	va_start(list, first);                                                                     \
	copy_arguments(argv, first, list)

EXPORT int execl(const char *path, const char *first, ...)
{
	va_list list;

	ARGUMENTS(argv, first, list);
	va_end(list);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list list;

	ARGUMENTS(argv, first, list);
	va_end(list);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	va_list list;

	ARGUMENTS(argv, first, list);
	char *const *envp = va_arg(list, char *const *);
	va_end(list);
	return execve(path, argv, envp);
}
