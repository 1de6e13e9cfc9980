// SPDX-License-Identifier: MIT
#include "sampler/inject/inject.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/module.h"
#include "base/path.h"
#include "sampler/event/event.h"
#include "sampler/inject/hijack.h"
#include "sampler/inject/object.h"
#include "sampler/tracker/mapper.h"
#include "sampler/unwind/unwinder.h"
#include "tracer/protocol.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHOOSE_NS       (10 * NS_PER_SEC) // until a thread is found that can be borrowed
#define MAIN_NS         (50 * NS_PER_MS)  // of that, until it may be another than the main one
#define OWN_NS          (3 * NS_PER_SEC)  // the same where the program has an allocator of its own
#define TRY_AGAIN_NS    (2 * NS_PER_MS)
#define LOCK_MS         500   // for a lock of the loader's that another thread has
#define CALL_MS         10000 // for the agent, and for reading its file from a slow disk
#define LEAVE_TRIES     5
#define STACK_COPY      ((size_t)64 << 10)
#define STACK_LOOK      ((size_t)1 << 20) // of one that could not be unwound
#define STACK_RESERVE   ((uint64_t)8 << 10)
#define STACK_DEEP      ((uint64_t)64 << 20)
#define RSEQ_CONFIG     0x420f      // PTRACE_GET_RSEQ_CONFIGURATION
#define MODE_OF_LIBC    0x80000000u // __RTLD_DLOPEN, of __libc_dlopen_mode()
#define SYSCALL_LOOK    64          // bytes of syscall()
#define RUNS_NEAR_START 3           // outermost frames, which are libc's for each thread

struct inject {
	pid_t pid;
	const char *library, *directory, *config;
	bool joins;
	struct object libc, loader, dl, agent;
	struct modules *modules;
	struct unwinder *unwinder;
	int allocator; // 1: it has one that is not libc's; -1: it has not; 0: not known yet
	struct process process; // its mappings alone
	struct hijack hijack;
	struct error *err;
	int result;
	bool stopped; // a thread has been, since one is to be chosen
};

// ------------------------------------------------------------------ what can be known beforehand

struct status {
	char state;
	unsigned long tracer, seccomp;
	bool shadow_stacks;
};

static bool read_status(pid_t pid, struct status *out)
{
	char path[64];
	cleanup_free char *line = NULL;
	size_t room = 0;

	*out = (struct status){ 0 };
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	cleanup_fclose FILE *file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 0) {
		sscanf(line, "State: %c", &out->state);
		sscanf(line, "TracerPid: %lu", &out->tracer);
		sscanf(line, "Seccomp: %lu", &out->seccomp);
		if (strncmp(line, "x86_Thread_features:", 20) == 0)
			out->shadow_stacks = strstr(line, "shstk") != NULL;
	}
	return out->state;
}

static int refuse(const struct inject *i, const char *why, const char *hint)
{
	if (!i->joins)
		return error_set(i->err, 0,
		                 "the agent stays in process %d, where its hooks go on: %s",
		                 (int)i->pid, why);
	error_set(i->err, 0, "could not load the agent into process %d: %s", (int)i->pid, why);
	return hint ? error_hint(i->err, "%s", hint) : -1;
}

static int check_status(const struct inject *i)
{
	struct status status;
	char name[64] = "", path[64], why[160];

	if (!read_status(i->pid, &status))
		return refuse(i, "it has ended", NULL);
	if (status.state == 'Z' || status.state == 'X')
		return refuse(i, "it has ended, and its parent has not waited for it (zombie)",
		              NULL);
	if (status.tracer) {
		snprintf(path, sizeof(path), "/proc/%lu/comm", status.tracer);
		cleanup_fclose FILE *file = fopen(path, "re");
		if (file && fgets(name, sizeof(name), file))
			name[strcspn(name, "\n")] = '\0';
		snprintf(why, sizeof(why), "process %lu (%s) traces it already", status.tracer,
		         name[0] ? name : "unknown");
		return refuse(i, why, "Detach the debugger, or leave out --agent.");
	}
	if (status.state == 'T' || status.state == 't')
		return refuse(i, "it is stopped",
		              "Let it go on (kill -CONT), or leave out --agent.");
	if (status.seccomp)
		return refuse(
			i,
			"it runs under a filter of system calls (seccomp), which may end it for "
			"those of the agent",
			"Leave out --agent.");
	if (status.shadow_stacks)
		return refuse(i, "it has shadow stacks (CET), which allow no calls from outside",
		              "Leave out --agent, or start it with GLIBC_TUNABLES="
		              "glibc.cpu.x86_shstk=off.");
	return 0;
}

// Whether PATH is the same file or directory for the process as for us.
static bool sees(pid_t pid, const char *path)
{
	char theirs[PATH_MAX + 32];
	struct stat ours, seen;

	snprintf(theirs, sizeof(theirs), "/proc/%d/root%s", (int)pid, path);
	return stat(path, &ours) == 0 && stat(theirs, &seen) == 0 && ours.st_dev == seen.st_dev &&
	       ours.st_ino == seen.st_ino;
}

static bool has_space(pid_t pid)
{
	char path[64];
	cleanup_free char *line = NULL;
	size_t room = 0;
	unsigned long bytes;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
	cleanup_fclose FILE *file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 0)
		if (sscanf(line, "Max address space %lu", &bytes) == 1)
			return bytes >= PROTOCOL_SPACE_LEAST;
	return true;
}

static bool begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool is_libc(const char *name)
{
	return strcmp(name, "libc.so.6") == 0 || (begins(name, "libc-2.") && strstr(name, ".so"));
}

static bool is_loader(const char *name)
{
	return begins(name, "ld-linux") || begins(name, "ld.so") ||
	       (begins(name, "ld-2.") && strstr(name, ".so"));
}

static bool is_dl(const char *name)
{
	return begins(name, "libdl.so") || begins(name, "libdl-2.");
}

static bool is_agent(const char *name)
{
	return strcmp(name, PROTOCOL_AGENT_LIBRARY) == 0;
}

static int check_agent(struct inject *i)
{
	struct stat status;

	if (!object_find(&i->agent, i->pid, is_agent))
		return 0;
	if (i->agent.deleted || stat(i->library, &status) < 0 || status.st_ino != i->agent.inode)
		return refuse(i, "it has the agent of another version of bottleneck in it",
		              "Restart the process, or leave out --agent.");
	return 0;
}

static int check_libraries(struct inject *i)
{
	object_find(&i->loader, i->pid, is_loader);
	object_find(&i->dl, i->pid, is_dl);
	if (!object_find(&i->libc, i->pid, is_libc))
		return refuse(i,
		              "it has no C library that loads others: it is statically linked, or "
		              "has another one than glibc",
		              "Leave out --agent.");
	if (!object_function(&i->libc, "syscall") || !i->loader.path[0])
		return refuse(i, "its C library could not be read", "Leave out --agent.");
	return 0;
}

static int check(struct inject *i)
{
	if (check_status(i) < 0)
		return -1;
	if (access("/proc/self/mem", F_OK) < 0)
		return refuse(i, "/proc is not available", NULL);
	if (i->joins && (!sees(i->pid, i->library) || !sees(i->pid, i->directory))) {
		char path[64];
		snprintf(path, sizeof(path), "/proc/%d/root/", (int)i->pid);
		if (access(path, X_OK) < 0)
			return refuse(i, "it may not be looked into",
			              "Run bottleneck as its user or as root, and see "
			              "kernel.yama.ptrace_scope, or leave out --agent.");
		return refuse(
			i,
			"it has another root directory (a container or chroot), where it finds "
			"neither the agent nor its files",
			"Run bottleneck in there, or leave out --agent.");
	}
	if (i->joins && !has_space(i->pid))
		return refuse(i, "it may take too little address space (ulimit -v)",
		              "Leave out --agent.");
	return check_agent(i) < 0 || check_libraries(i) < 0 ? -1 : 0;
}

// ------------------------------------------------------------------ a thread that can be borrowed

// In these libc holds no lock for the time that they block, or the stack tells.
static const int plain_calls[] = {
	SYS_read,        SYS_readv,     SYS_poll,    SYS_ppoll,           SYS_select,
	SYS_pselect6,    SYS_nanosleep, SYS_futex,   SYS_clock_nanosleep, SYS_epoll_wait,
	SYS_epoll_pwait, SYS_accept,    SYS_accept4, SYS_recvfrom,        SYS_recvmsg,
	SYS_wait4,       SYS_waitid,    SYS_pause,   SYS_rt_sigsuspend,   SYS_rt_sigtimedwait,
};

// What holds locks of libc's or of the loader's, or is about to.
static const char *const busy_functions[] = {
	"malloc",
	"calloc",
	"realloc",
	"reallocarray",
	"free",
	"cfree",
	"memalign",
	"posix_memalign",
	"aligned_alloc",
	"valloc",
	"pvalloc",
	"malloc_trim",
	"malloc_info",
	"malloc_stats",
	"mallopt",
	"mallinfo",
	"mallinfo2",
	"fork",
	"_Fork",
	"__libc_fork",
	"vfork",
	"posix_spawn",
	"posix_spawnp",
	"popen",
	"dlopen",
	"__libc_dlopen_mode",
	"dlsym",
	"dlvsym",
	"dlclose",
	"dladdr",
	"dladdr1",
	"dlinfo",
	"dlerror",
	"dlmopen",
	"dl_iterate_phdr",
	"_dl_find_object",
	"pthread_create",
	"thrd_create",
	"pthread_exit",
	"thrd_exit",
	"pthread_atfork",
	"__register_atfork",
	"exit",
	"quick_exit",
	"_exit",
	"abort",
	"backtrace",
	"__cxa_finalize",
	"__cxa_thread_atexit_impl",
	"longjmp",
	"_longjmp",
	"setcontext",
	"swapcontext",
};

static bool is_plain_call(int number)
{
	for (size_t k = 0; k < sizeof(plain_calls) / sizeof(plain_calls[0]); k++)
		if (plain_calls[k] == number)
			return true;
	return false;
}

static bool is_busy_function(const char *name)
{
	for (size_t k = 0; name && k < sizeof(busy_functions) / sizeof(busy_functions[0]); k++)
		if (strcmp(busy_functions[k], name) == 0)
			return true;
	return false;
}

// Allocators and sanitizers, which dlopen() calls, too, and the agent.
static bool is_busy_library(const char *name)
{
	return is_loader(name) || is_agent(name) || strstr(name, "malloc") ||
	       strstr(name, "alloc.so") || begins(name, "libasan") || begins(name, "libtsan") ||
	       begins(name, "libhoard");
}

static bool is_busy_frame(const struct inject *i, const struct frame *frame, size_t index,
                          size_t count, bool blocked)
{
	const struct module *module = modules_get(i->modules, frame->module);

	if (!module || module->kind != MODULE_ELF)
		return module && module->kind == MODULE_VDSO && !blocked;
	const char *name = path_base(module->path);
	if (!is_libc(name))
		return is_busy_library(name);
	const char *function = object_name(&i->libc, frame_lookup_address(*frame));
	if (is_busy_function(function))
		return true;
	return !blocked && (index == 0 || (!function && index + RUNS_NEAR_START < count));
}

// The agent's functions in front of libc's wait where those wait, and have nothing meanwhile.
static bool waits_for_libc(const struct inject *i, const struct frame *frames, size_t index)
{
	const struct module *module =
		index ? modules_get(i->modules, frames[index - 1].module) : NULL;
	const char *name = module ? path_base(module->path) : "";

	if (!module || module->kind != MODULE_ELF)
		return false;
	if (begins(name, "libpthread"))
		return true;
	if (!is_libc(name))
		return false;
	const char *function = object_name(&i->libc, frame_lookup_address(frames[index - 1]));
	return !function || begins(function, "pthread_") || begins(function, "__pthread_") ||
	       begins(function, "sem_");
}

static bool is_agent_frame(const struct inject *i, const struct frame *frame)
{
	const struct module *module = modules_get(i->modules, frame->module);

	return module && module->kind == MODULE_ELF && is_agent(path_base(module->path));
}

static bool is_any_busy(const struct inject *i, const struct frame *frames, size_t count, int call)
{
	for (size_t k = 0; k < count; k++) {
		if (frames[k].kind == FRAME_MARK)
			continue;
		if (is_agent_frame(i, &frames[k]) && call >= 0) {
			if (call != SYS_futex || !waits_for_libc(i, frames, k))
				return true;
		} else if (is_busy_frame(i, &frames[k], k, count, call >= 0)) {
			return true;
		}
	}
	return false;
}

static struct event_sample sample_of(const struct user_regs_struct *r, const uint8_t *stack,
                                     size_t bytes)
{
	return (struct event_sample){
		.kind = SAMPLE_ON_CPU,
		.has_user = true,
		.has_rbp = true,
		.regs = { [DWARF_RAX] = r->rax,
		          [DWARF_RDX] = r->rdx,
		          [DWARF_RCX] = r->rcx,
		          [DWARF_RBX] = r->rbx,
		          [DWARF_RSI] = r->rsi,
		          [DWARF_RDI] = r->rdi,
		          [DWARF_RBP] = r->rbp,
		          [DWARF_RSP] = r->rsp,
		          [DWARF_R8] = r->r8,
		          [DWARF_R9] = r->r9,
		          [DWARF_R10] = r->r10,
		          [DWARF_R11] = r->r11,
		          [DWARF_R12] = r->r12,
		          [DWARF_R13] = r->r13,
		          [DWARF_R14] = r->r14,
		          [DWARF_R15] = r->r15,
		          [DWARF_RIP] = r->rip },
		.stack = stack,
		.stack_bytes = (uint32_t)bytes,
		.syscall = -1,
	};
}

// Where a stack could not be unwound, as below code that was made at run time, each word counts as
// a return address.
static bool may_be_in_loader(struct inject *i)
{
	static uint64_t words[512];
	uint64_t at = i->hijack.registers.rsp & ~UINT64_C(7);

	for (size_t looked = 0; looked < STACK_LOOK; looked += sizeof(words), at += sizeof(words)) {
		ssize_t got = pread(i->hijack.memory, words, sizeof(words), (off_t)at);
		if (got <= 0)
			return false; // the end of the stack
		for (size_t k = 0; k < (size_t)got / sizeof(words[0]); k++) {
			const struct mapping *m = address_space_find(i->process.space, words[k]);
			const struct module *module = m ? modules_get(i->modules, m->module) : NULL;
			if (module && module->kind == MODULE_ELF &&
			    is_busy_library(path_base(module->path)))
				return true;
		}
	}
	return true;
}

// Up to its end, where that is near.
static size_t read_stack(const struct hijack *h, uint8_t *stack)
{
	ssize_t got = pread(h->memory, stack, STACK_COPY, (off_t)h->registers.rsp);

	return got > 0 ? (size_t)got & ~(size_t)7 : 0;
}

// A sequence that is cut short when its thread is stopped would go on where it was.
static bool is_in_sequence(const struct hijack *h)
{
	struct {
		uint64_t place;
		uint32_t size, signature, flags, pad;
	} config = { 0 };
	uint64_t sequence = 0;

	return ptrace(RSEQ_CONFIG, h->tid, (void *)sizeof(config), &config) > 0 && config.place &&
	       (!hijack_read(h, config.place + 8, &sequence, sizeof(sequence)) || sequence);
}

// The agent's is none, where it has been loaded late.
static bool is_of_libc(const char *name)
{
	return is_libc(name) || is_loader(name) || is_agent(name);
}

// Whether it stands on the stack that it was made with, which libc has put its own data above, and
// has room there. Coroutines have small ones, with something else of the program's below.
static bool has_stack(const struct hijack *h)
{
	uint64_t low = h->registers.rsp - hijack_frame_bytes(h) - STACK_RESERVE;
	char path[64];
	cleanup_free char *line = NULL;
	size_t room = 0;
	struct event_map map;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)h->pid);
	cleanup_fclose FILE *maps = fopen(path, "re");
	while (maps && getline(&line, &room, maps) > 0) {
		if (!mapper_parse(line, &map) || h->registers.rsp - map.start >= map.length)
			continue;
		if (low < map.start || low > h->registers.rsp)
			return false;
		return strcmp(map.path, "[stack]") == 0 ||
		       (h->registers.fs_base > h->registers.rsp &&
		        h->registers.fs_base < map.start + map.length &&
		        h->registers.fs_base - h->registers.rsp < STACK_DEEP);
	}
	return false;
}

// Whether the thread, which is stopped, can be made to call dlopen().
static bool is_free(struct inject *i, bool must_block)
{
	static uint8_t stack[STACK_COPY];
	static struct frame frames[STACK_MAX_FRAMES];
	struct hijack *h = &i->hijack;
	int call = hijack_in_call(h);
	bool blocked = call >= 0;
	uint32_t flags = 0;

	if (h->registers.cs != 0x33 || (blocked ? !is_plain_call(call) : must_block))
		return false;
	// Its own allocator may have been interrupted: which functions are of it nobody knows.
	if (!blocked &&
	    ((int64_t)h->registers.orig_rax >= 0 || i->allocator > 0 || is_in_sequence(h)))
		return false;
	if (!has_stack(h))
		return false;
	struct event_sample sample = sample_of(&h->registers, stack, read_stack(h, stack));
	if (!sample.stack_bytes)
		return false;
	mapper_reset(&i->process);
	mapper_reread(i->modules, &i->process, clock_now_ns());
	size_t count = unwinder_unwind(i->unwinder, i->process.space, &sample, i->pid, frames,
	                               STACK_MAX_FRAMES, &flags);
	if (is_any_busy(i, frames, count, call))
		return false;
	if (flags & (STACK_TRUNCATED | STACK_GUESSED) || count == STACK_MAX_FRAMES)
		return blocked && !may_be_in_loader(i);
	return true;
}

// Others are not to be disturbed.
static bool is_in_plain_call(pid_t pid, pid_t tid)
{
	char path[64];
	int number;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	cleanup_fclose FILE *file = fopen(path, "re");
	if (!file)
		return true; // who refuses that says why when the thread is to be stopped
	return fscanf(file, "%d", &number) == 1 ? is_plain_call(number) : ferror(file) != 0;
}

static bool is_runnable(pid_t pid, pid_t tid, bool *sleeps)
{
	char path[64], text[512];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	cleanup_fclose FILE *file = fopen(path, "re");
	if (!file || !fgets(text, sizeof(text), file))
		return false;
	const char *end = strrchr(text, ')');
	char state = end && end[1] == ' ' ? end[2] : 'X';
	*sleeps = state == 'S';
	return state == 'R' || (*sleeps && is_in_plain_call(pid, tid));
}

static int refused(const struct inject *i)
{
	int error = errno;
	cleanup_fclose FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	error_set(i->err, error, "could not load the agent into process %d", (int)i->pid);
	if (error != EPERM)
		return -1;
	if (scope == 3)
		return error_hint(i->err, "kernel.yama.ptrace_scope is 3: nobody may. Leave out "
		                          "--agent.");
	return error_hint(i->err, "Run bottleneck as root%s, or leave out --agent.",
	                  scope ? ", or set kernel.yama.ptrace_scope to 0 as the same user"
	                        : " or as the process's user, if it is not privileged");
}

// 1: found, and stopped; 0: not this time; -1: refused.
static int choose_thread(struct inject *i, pid_t tid, bool must_block)
{
	bool sleeps = false;

	if (tid <= 0 || !is_runnable(i->pid, tid, &sleeps) || (must_block && !sleeps))
		return 0;
	switch (hijack_stop(&i->hijack, i->pid, tid)) {
	case HIJACK_STOPPED:
		i->stopped = true;
		if (is_free(i, must_block))
			return 1;
		hijack_release(&i->hijack);
		return 0;
	case HIJACK_REFUSED:
		return refused(i);
	case HIJACK_PENDING: // to go on while it may stop at any moment would hold it
		return refuse(i, "one of its threads did not stop in time",
		              "Try again, or leave out --agent.");
	case HIJACK_GONE:
		break;
	}
	return 0;
}

static int choose_any(struct inject *i, bool must_block)
{
	char path[64];
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)i->pid);
	DIR *tasks = opendir(path);
	if (!tasks)
		return refuse(i, "it has ended", NULL);
	for (struct dirent *entry; !found && (entry = readdir(tasks));)
		found = choose_thread(i, (pid_t)strtol(entry->d_name, NULL, 10), must_block);
	closedir(tasks);
	return found;
}

// The main thread, if it comes to a call in time: what a thread allocates for the first time may
// stay for good, as an arena of libc's, or the thread that jemalloc starts for each of its arenas.
// That main has left its call until it is stopped is no reason for the latter.
static int choose(struct inject *i)
{
	uint64_t begun_ns = clock_now_ns(), now_ns = begun_ns;

	i->stopped = false;
	if (!i->allocator)
		i->allocator = object_any(i->pid, "malloc", is_of_libc) ? 1 : -1;
	do {
		int found = choose_thread(i, i->pid, true);
		uint64_t tried_ns = now_ns - begun_ns;
		bool others =
			i->allocator > 0 ? tried_ns >= OWN_NS : i->stopped || tried_ns >= MAIN_NS;
		for (int any = 0; !found && others && any < 2; any++)
			found = choose_any(i, !any);
		if (found)
			return found < 0 ? -1 : 0;
		nanosleep(&(struct timespec){ 0, TRY_AGAIN_NS }, NULL);
		now_ns = clock_now_ns();
	} while (now_ns - begun_ns < CHOOSE_NS);
	return refuse(i,
	              "all of its threads were busy with memory, libraries or the kernel for "
	              "10 seconds",
	              "Try again, or leave out --agent.");
}

// ---------------------------------------------------------------------------------- the calls

static uint64_t find_function(const struct inject *i, const char *name)
{
	uint64_t function = object_function(&i->libc, name);

	return function ? function : object_function(&i->dl, name);
}

// In syscall(), which has one such instruction, before it looks at the result.
static uint64_t find_system_call(const struct inject *i)
{
	static const uint8_t wanted[] = { 0x0f, 0x05, 0x48, 0x3d };
	uint64_t function = object_function(&i->libc, "syscall");
	uint8_t bytes[SYSCALL_LOOK];

	if (!hijack_read(&i->hijack, function, bytes, sizeof(bytes)))
		return 0;
	const uint8_t *found = memmem(bytes, sizeof(bytes), wanted, sizeof(wanted));
	return found ? function + (uint64_t)(found - bytes) : 0;
}

// What libc has its handlers of signals return to.
static uint64_t find_return_code(const struct inject *i)
{
	static const uint8_t wanted[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	cleanup_free uint8_t *code = malloc(i->libc.code_bytes);

	if (!code || !hijack_read(&i->hijack, i->libc.code, code, i->libc.code_bytes))
		return 0;
	const uint8_t *found = memmem(code, i->libc.code_bytes, wanted, sizeof(wanted));
	return found ? i->libc.code + (uint64_t)(found - code) : 0;
}

enum answer {
	ANSWERED,
	LEFT_ALONE // and all is said
};

static enum answer call(struct inject *i, uint64_t function, uint64_t a, uint64_t b, uint64_t c,
                        unsigned limit_ms, uint64_t *result)
{
	const uint64_t arguments[3] = { a, b, c };

	switch (hijack_call(&i->hijack, function, arguments, limit_ms, result)) {
	case HIJACK_RETURNED:
		return ANSWERED;
	case HIJACK_CRASHED:
		refuse(i, "the call in it was ended by a signal", "Report this as a defect.");
		hijack_end(&i->hijack);
		break;
	case HIJACK_STUCK:
		refuse(i,
		       "the call in it did not return in time: it ends by itself, and the process "
		       "goes on then",
		       NULL);
		hijack_leave(&i->hijack);
		break;
	}
	return LEFT_ALONE;
}

// Each of the loader's locks is taken and let go before there is anything that could be left half
// done: who has one may wait for the thread that we have stopped.
static enum answer pass_lock(struct inject *i, uint64_t function, uint64_t a, uint64_t b)
{
	const uint64_t arguments[3] = { a, b };
	uint64_t result;
	enum hijack_called called;

	if (!function)
		return ANSWERED;
	called = hijack_call(&i->hijack, function, arguments, LOCK_MS, &result);
	if (called == HIJACK_RETURNED)
		return ANSWERED;
	if (called == HIJACK_STUCK && !hijack_waits(&i->hijack)) {
		refuse(i, "its loader did not answer in time", "Try again, or leave out --agent.");
		hijack_leave(&i->hijack);
		return LEFT_ALONE;
	}
	refuse(i, "another of its threads is loading libraries, or looks at them",
	       "Try again later, or leave out --agent.");
	hijack_end(&i->hijack); // it waits for the lock, and has nothing
	return LEFT_ALONE;
}

static enum answer pass_locks(struct inject *i)
{
	if (pass_lock(i, find_function(i, "dladdr"), object_function(&i->libc, "syscall"),
	              i->hijack.data + HIJACK_ROOM) != ANSWERED)
		return LEFT_ALONE;
	return pass_lock(i, object_function(&i->libc, "dl_iterate_phdr"), hijack_one(&i->hijack),
	                 0);
}

static void read_text(const struct inject *i, uint64_t at, char *text, size_t size)
{
	size_t used = 0;

	while (at && used + 1 < size && hijack_read(&i->hijack, at + used, text + used, 1) &&
	       text[used])
		used++;
	text[used] = '\0';
}

static enum answer load(struct inject *i)
{
	uint64_t open = find_function(i, "dlopen"), error = find_function(i, "dlerror");
	unsigned mode = RTLD_NOW;
	uint64_t path = hijack_put(&i->hijack, 0, i->library), handle = 0, text = 0;
	char why[256] = "";

	if (!open) {
		open = object_function(&i->libc, "__libc_dlopen_mode");
		mode |= MODE_OF_LIBC;
	}
	if (!open || !path) {
		refuse(i, "its C library has no dlopen()", "Leave out --agent.");
		hijack_end(&i->hijack);
		return LEFT_ALONE;
	}
	if (call(i, open, path, mode, 0, CALL_MS, &handle) != ANSWERED)
		return LEFT_ALONE;
	if (handle)
		return ANSWERED;
	if (error && call(i, error, 0, 0, 0, CALL_MS, &text) != ANSWERED)
		return LEFT_ALONE;
	read_text(i, text, why, sizeof(why));
	refuse(i, why[0] ? why : "dlopen() failed", "Leave out --agent.");
	hijack_end(&i->hijack);
	return LEFT_ALONE;
}

static enum answer enter(struct inject *i, int *answer)
{
	uint64_t directory = hijack_put(&i->hijack, 1, i->directory);
	uint64_t config = hijack_put(&i->hijack, 2, i->config), result = PROTOCOL_JOIN_FAILED;

	object_fini(&i->agent);
	object_find(&i->agent, i->pid, is_agent);
	uint64_t join = object_function(&i->agent, PROTOCOL_JOIN);
	*answer = PROTOCOL_JOIN_FAILED;
	if (!join || !directory || !config)
		return ANSWERED;
	if (call(i, join, directory, config, 0, CALL_MS, &result) != ANSWERED)
		return LEFT_ALONE;
	*answer = (int)(uint32_t)result;
	return ANSWERED;
}

// The process's last word on errors of its own calls of dlopen() is not to be ours.
static enum answer forget_error(struct inject *i)
{
	uint64_t error = find_function(i, "dlerror"), ignored;

	return error ? call(i, error, 0, 0, 0, CALL_MS, &ignored) : ANSWERED;
}

static void finish(struct inject *i, uint64_t error_place, const uint32_t *error)
{
	if (error_place)
		hijack_write(&i->hijack, error_place, error, sizeof(*error));
	hijack_end(&i->hijack);
}

static int start_calls(struct inject *i, uint64_t *error_place, uint32_t *error)
{
	uint64_t system_call = find_system_call(i),
		 location = object_function(&i->libc, "__errno_location");

	uint64_t return_code = find_return_code(i);

	if (!system_call || !return_code || !location) {
		hijack_release(&i->hijack);
		return refuse(i, "its C library is not known", "Leave out --agent.");
	}
	if (hijack_start(&i->hijack, system_call, return_code, i->err) < 0) {
		hijack_release(&i->hijack);
		return -1;
	}
	if (call(i, location, 0, 0, 0, CALL_MS, error_place) != ANSWERED)
		return -1;
	if (!hijack_read(&i->hijack, *error_place, error, sizeof(*error)))
		*error_place = 0;
	return 0;
}

static int join(struct inject *i)
{
	bool known = i->agent.path[0];
	uint64_t error_place = 0;
	uint32_t error = 0;
	int answer;

	if (choose(i) < 0 || start_calls(i, &error_place, &error) < 0 ||
	    pass_locks(i) != ANSWERED || (!known && load(i) != ANSWERED) ||
	    enter(i, &answer) != ANSWERED || forget_error(i) != ANSWERED)
		return -1;
	finish(i, error_place, &error);
	if (answer == PROTOCOL_JOIN_BUSY)
		return refuse(i,
		              "an agent is at work in it: another bottleneck records it, or has "
		              "started it",
		              "Wait for that to end, or leave out --agent.");
	if (answer != PROTOCOL_JOINED)
		return refuse(i, "the agent cannot work in it", "Leave out --agent.");
	return 0;
}

static int leave(struct inject *i)
{
	uint64_t function = object_function(&i->agent, PROTOCOL_LEAVE), error_place = 0, stays = 1;
	uint32_t error = 0;

	if (!i->agent.path[0])
		return 0; // the process has become another program

	for (int tries = 0; function && stays && tries < LEAVE_TRIES; tries++) {
		if (choose(i) < 0 || start_calls(i, &error_place, &error) < 0 ||
		    pass_locks(i) != ANSWERED ||
		    call(i, function, 0, 0, 0, CALL_MS, &stays) != ANSWERED ||
		    forget_error(i) != ANSWERED)
			return -1;
		finish(i, error_place, &error);
		stays = (uint32_t)stays;
	}
	if (!stays)
		return 0;
	return error_set(i->err, 0,
	                 "the agent in process %d is off, but its memory stays: threads are "
	                 "in the middle of it",
	                 (int)i->pid);
}

// ---------------------------------------------------------------------------------------------

static void *run(void *context)
{
	struct inject *i = context;
	struct error ignored;

	i->modules = modules_new();
	i->process = (struct process){ .pid = (uint32_t)i->pid, .space = address_space_new() };
	i->unwinder = i->modules ? unwinder_new(i->modules, UNWIND_BY_TABLE, &ignored) : NULL;
	if (!i->unwinder || !i->process.space)
		i->result = error_set(i->err, ENOMEM, "could not load the agent");
	else
		i->result = i->joins ? join(i) : leave(i);
	unwinder_free(i->unwinder);
	address_space_free(i->process.space);
	modules_free(i->modules);
	return NULL;
}

// In a thread of its own: what it has stopped and could not let go is let go at its end.
static int inject(struct inject *i)
{
	pthread_t thread;
	int error;

	i->result = check(i);
	if (i->result == 0) {
		error = pthread_create(&thread, NULL, run, i);
		if (error)
			i->result = error_set(i->err, error, "could not load the agent");
		else
			pthread_join(thread, NULL);
	}
	object_fini(&i->libc);
	object_fini(&i->loader);
	object_fini(&i->dl);
	object_fini(&i->agent);
	return i->result;
}

static struct inject *inject_new(pid_t pid, const char *library, struct error *err)
{
	struct inject *i = calloc(1, sizeof(*i));

	if (!i) {
		error_set(err, ENOMEM, "could not load the agent");
		return NULL;
	}
	i->pid = pid;
	i->library = library;
	i->err = err;
	return i;
}

int inject_join(pid_t pid, const char *library, const char *directory, const char *config,
                struct error *err)
{
	cleanup_free struct inject *i = inject_new(pid, library, err);

	if (!i)
		return -1;
	i->directory = directory;
	i->config = config;
	i->joins = true;
	return inject(i);
}

int inject_leave(pid_t pid, const char *library, struct error *err)
{
	cleanup_free struct inject *i = inject_new(pid, library, err);
	struct status status;

	if (!i)
		return -1;
	if (!read_status(pid, &status) || status.state == 'Z' || status.state == 'X')
		return 0;
	return inject(i);
}
