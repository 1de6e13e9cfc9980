// SPDX-License-Identifier: MIT
// A tick that falls into the kernel is told of on the way back to user code, and after an exec that
// is another program, which a SIGTRAP would end. So there are none while a process becomes another
// one. They may be called in a child of vfork(), which has its parent's memory: nothing is kept.
//
// Where our library cannot be opened (another root directory, another user) the loader of the next
// program would say so on its standard error, and where address space is short our library would
// take what the program needs: the loader is not asked for it.
#include "tracer/agent/agent.h"
#include "tracer/agent/op/op.h"
#include "tracer/agent/op/op_state.h"
#include "tracer/agent/provider.h"
#include "tracer/agent/sample/threads.h"
#include "tracer/agent/system.h"
#include "tracer/agent/table.h"
#include "tracer/agent/wrap/wrap.h"
#include "tracer/protocol.h"

#include <errno.h>
#include <linux/capability.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PRELOAD          "LD_PRELOAD="
#define PATH_BYTES       400  // of a library that is looked for: a handler may run on a small stack
#define REST_BYTES       4096 // of the libraries beside ours
#define GROUPS_LOOKED_AT 256  // of more, none is known

// One of these is to run: by the path, by a search for it, by a descriptor, in a directory.
enum exec_kind {
	EXECVE,
	EXECVPE,
	FEXECVE,
	EXECVEAT,
	SPAWN, // in a new process
	SPAWNP
};

struct exec_call {
	enum exec_kind kind;
	int fd;
	const char *path;
	char *const *argv;
	char *const *envp;
	int flags;
	pid_t *pid;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
};

typedef int execve_function(const char *path, char *const argv[], char *const envp[]);
typedef int fexecve_function(int fd, char *const argv[], char *const envp[]);
typedef int execveat_function(int fd, const char *path, char *const argv[], char *const envp[],
                              int flags);
typedef int spawn_function(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const argv[],
                           char *const envp[]);

static void *next_execve, *next_execvpe, *next_fexecve, *next_execveat, *next_chroot;
static void *next_spawn, *next_spawnp, *next_system, *next_popen;
static void *next_exit, *next_exit_c99;

void wrap_start_exec(void)
{
	wrap_next(&next_execve, "execve");
	wrap_next(&next_execvpe, "execvpe");
	wrap_next(&next_fexecve, "fexecve");
	wrap_next(&next_execveat, "execveat");
	wrap_next(&next_spawn, "posix_spawn");
	wrap_next(&next_spawnp, "posix_spawnp");
	wrap_next(&next_system, "system");
	wrap_next(&next_popen, "popen");
	wrap_next(&next_chroot, "chroot");
}

// It has failed, or we would not be here.
static int back(uint32_t paused, int result)
{
	int error = errno;

	providers_exec_failed(paused);
	errno = error;
	return result;
}

static bool can_open(const char *path)
{
	int error = errno;
	int fd = system_open(path, O_RDONLY | O_NONBLOCK, 0);
	bool can = fd >= 0 || (errno != ENOENT && errno != EACCES && errno != ENOTDIR);

	if (fd >= 0)
		system_close(fd);
	errno = error;
	return can;
}

// Whether the process, of a user who is not root, has rights to read any file: setpriv still does
// when it calls exec, which takes them away.
static bool has_passing_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };
	uint32_t reading = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;

	return geteuid() != 0 && syscall(SYS_capget, &header, sets) == 0 &&
	       sets[0].effective & reading;
}

static bool is_in_group(gid_t group)
{
	gid_t groups[GROUPS_LOOKED_AT];
	int count = getgroups(GROUPS_LOOKED_AT, groups);

	for (int i = 0; i < count; i++)
		if (groups[i] == group)
			return true;
	return group == getegid();
}

// WANTED: S_IROTH or S_IXOTH. By mode alone.
static bool allows(const char *path, mode_t wanted)
{
	struct stat status;

	if (system_stat(path, &status) < 0)
		return false;
	if (status.st_uid == geteuid())
		wanted <<= 6;
	else if (is_in_group(status.st_gid))
		wanted <<= 3;
	return status.st_mode & wanted;
}

// PATH is written to and back.
static bool can_open_without_rights(char *path)
{
	bool can = allows(path, S_IROTH);

	for (char *slash = path; can && (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		can = allows(path, S_IXOTH);
		*slash = '/';
	}
	return can;
}

static bool space_is_short(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < PROTOCOL_SPACE_LEAST;
}

// Whether the next program is to have our library.
static bool is_welcome(char *library)
{
	if (!can_open(library) || (has_passing_rights() && !can_open_without_rights(library)))
		return false;
	if (!space_is_short())
		return true;
	if (op_agent)
		rings_append_refusal(&op_agent->rings);
	return false;
}

// The entry of ENVP that asks the loader for our library where it must not; NULL if there is none.
// REST: where the other libraries begin in it.
static char *const *find_unwelcome(char *const *envp, const char **rest)
{
	char path[PATH_BYTES];

	if (wrap_is_stopped()) // a filter may forbid to look
		return NULL;
	for (; envp && *envp; envp++) {
		if (strncmp(*envp, PRELOAD, strlen(PRELOAD)) != 0)
			continue;
		const char *first = *envp + strlen(PRELOAD);
		size_t length = strcspn(first, ": ");
		size_t own = strlen("/" PROTOCOL_AGENT_LIBRARY);
		if (length < own || length >= sizeof(path) ||
		    strncmp(first + length - own, "/" PROTOCOL_AGENT_LIBRARY, own) != 0)
			return NULL;
		memcpy(path, first, length);
		path[length] = '\0';
		*rest = first + length + (first[length] != '\0');
		return is_welcome(path) ? NULL : envp;
	}
	return NULL;
}

static size_t count_entries(char *const *envp)
{
	size_t count = 0;

	while (envp[count])
		count++;
	return count;
}

static int call_next(const struct exec_call *c)
{
	switch (c->kind) {
	case EXECVE:
		return ((execve_function *)wrap_next(&next_execve, "execve"))(c->path, c->argv,
		                                                              c->envp);
	case EXECVPE:
		return ((execve_function *)wrap_next(&next_execvpe, "execvpe"))(c->path, c->argv,
		                                                                c->envp);
	case FEXECVE:
		return ((fexecve_function *)wrap_next(&next_fexecve, "fexecve"))(c->fd, c->argv,
		                                                                 c->envp);
	case EXECVEAT:
		return ((execveat_function *)wrap_next(&next_execveat, "execveat"))(
			c->fd, c->path, c->argv, c->envp, c->flags);
	case SPAWN:
		return ((spawn_function *)wrap_next(&next_spawn, "posix_spawn"))(
			c->pid, c->path, c->actions, c->attributes, c->argv, c->envp);
	case SPAWNP:
		return ((spawn_function *)wrap_next(&next_spawnp, "posix_spawnp"))(
			c->pid, c->path, c->actions, c->attributes, c->argv, c->envp);
	}
	errno = ENOSYS;
	return -1;
}

// On the stack, as the heap may be another's.
static int call_without_agent(struct exec_call c, char *const *entry, const char *rest)
{
	size_t count = count_entries(c.envp), at = (size_t)(entry - c.envp);
	char **envp = __builtin_alloca((count + 1) * sizeof(*envp));
	char *preload = __builtin_alloca(strlen(PRELOAD) + strlen(rest) + 1);

	memcpy(envp, c.envp, (count + 1) * sizeof(*envp));
	if (*rest)
		envp[at] = strcat(strcpy(preload, PRELOAD), rest);
	else
		memmove(envp + at, envp + at + 1, (count - at) * sizeof(*envp));
	c.envp = envp;
	return call_next(&c);
}

static int become(const struct exec_call *c)
{
	uint32_t paused = providers_before_exec();
	const char *rest;
	char *const *entry = find_unwelcome(c->envp, &rest);

	return back(paused, entry ? call_without_agent(*c, entry, rest) : call_next(c));
}

// This process stays what it is.
static int spawn(const struct exec_call *c)
{
	const char *rest;
	char *const *entry = find_unwelcome(c->envp, &rest);

	return entry ? call_without_agent(*c, entry, rest) : call_next(c);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	return spawn(&(struct exec_call){ .kind = SPAWN,
	                                  .path = path,
	                                  .argv = argv,
	                                  .envp = envp,
	                                  .pid = pid,
	                                  .actions = actions,
	                                  .attributes = attributes });
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
	return spawn(&(struct exec_call){ .kind = SPAWNP,
	                                  .path = file,
	                                  .argv = argv,
	                                  .envp = envp,
	                                  .pid = pid,
	                                  .actions = actions,
	                                  .attributes = attributes });
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return become(
		&(struct exec_call){ .kind = EXECVE, .path = path, .argv = argv, .envp = envp });
}

EXPORT int execv(const char *path, char *const argv[])
{
	return become(
		&(struct exec_call){ .kind = EXECVE, .path = path, .argv = argv, .envp = environ });
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return become(&(struct exec_call){
		.kind = EXECVPE, .path = file, .argv = argv, .envp = environ });
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return become(
		&(struct exec_call){ .kind = EXECVPE, .path = file, .argv = argv, .envp = envp });
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	return become(&(struct exec_call){ .kind = FEXECVE, .fd = fd, .argv = argv, .envp = envp });
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return become(&(struct exec_call){ .kind = EXECVEAT,
	                                   .fd = fd,
	                                   .path = path,
	                                   .argv = argv,
	                                   .envp = envp,
	                                   .flags = flags });
}

// libc's own execs (in system() and popen()) take the environment as it is. Other threads may read
// it meanwhile: one word changes.
static bool leave_environment(void)
{
	AGENT_TABLE static char preload[sizeof(PRELOAD) + REST_BYTES];
	const char *rest;
	char *const *entry = find_unwelcome(environ, &rest);

	if (!entry || strlen(rest) >= REST_BYTES)
		return false;
	strcat(strcpy(preload, PRELOAD), rest);
	__atomic_store_n((char **)entry, preload, __ATOMIC_RELEASE);
	return true;
}

EXPORT int system(const char *command)
{
	int (*next)(const char *) = (int (*)(const char *))wrap_next(&next_system, "system");

	leave_environment();
	return next(command);
}

EXPORT FILE *popen(const char *command, const char *mode)
{
	typedef FILE *function(const char *, const char *);
	function *next = (function *)wrap_next(&next_popen, "popen");

	leave_environment();
	return next(command, mode);
}

EXPORT int chroot(const char *path)
{
	int (*next)(const char *) = (int (*)(const char *))wrap_next(&next_chroot, "chroot");
	struct op_thread *t = op_enter(); // from the new root our files cannot be made

	if (t)
		op_leave(t);
	int result = next(path);
	if (result == 0 && leave_environment())
		op_say("programs that were started in another root directory (chroot) could not "
		       "load the agent: their ops, allocations and Python functions are not seen");
	return result;
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

void wrap_start_exit(void)
{
	wrap_next(&next_exit, "_exit");
	wrap_next(&next_exit_c99, "_Exit");
}

static _Noreturn void leave(void **next, const char *name, int status)
{
	typedef void leave_function(int);

	providers_exit();
	if (op_agent)
		threads_leave(op_agent);
	((leave_function *)wrap_next(next, name))(status);
	__builtin_unreachable();
}

// No destructor runs, so what is left is told here.
EXPORT void _exit(int status)
{
	leave(&next_exit, "_exit", status);
}

EXPORT void _Exit(int status)
{
	leave(&next_exit_c99, "_Exit", status);
}
