// SPDX-License-Identifier: MIT
#include "merge/record/jit_names.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/module.h"
#include "base/temporary.h"
#include "merge/record/jvm.h"
#include "merge/record/notes.h"
#include "tracer/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NODE_OPTION   "--perf-basic-prof"
#define PHP_FILE      "names.ini"
#define PHP_LINE      "opcache.jit_debug=16\n" // ZEND_JIT_DEBUG_PERF; it enables no compiler

#define PROCESSES_MAX 64
#define FIRST_NS      (100 * NS_PER_MS)
#define GAP_NS        (250 * NS_PER_MS) // between two answers at least
#define GAP_PART      4                 // of a process's age: a run of a day is asked 50 times
#define TRIES_MAX     200               // of one process
#define EMPTY_MAX     5                 // looks at one that is no JVM, or none yet
#define KEPT_MAX      ((off_t)256 << 20)

// One that may be a JVM.
struct asked {
	pid_t pid, inner_pid;
	uid_t user;
	int place; // its /tmp
	uint64_t seen_ns, due_ns;
	unsigned int tries, answers, empty;
	bool done, jvm;
	bool ours;         // there was no map before it was asked
	char trouble[160]; // why it is not asked any more; "" if it was
};

struct jit_names {
	char directory[64];
	int alive;     // locked: other runs leave the directory alone
	bool theirs;   // the maps are what the user wants anyway
	uint32_t seen; // modules
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t wake; // by CLOCK_MONOTONIC
	// Under LOCK:
	struct asked processes[PROCESSES_MAX];
	size_t count;
	bool unwanted;
};

static bool write_whole(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t wrote = write(fd, bytes, size);
		if (wrote <= 0)
			return false;
		bytes += wrote;
		size -= (size_t)wrote;
	}
	return true;
}

// As tracer/reader/session.c does, which removes what dead runs leave.
static int hold(const char *directory)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, PROTOCOL_ALIVE_FILE);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &all) < 0)
		unlink(path); // without a lock it would stand for a dead run
	return fd;
}

static bool write_ini(const char *directory)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, PHP_FILE);
	cleanup_close int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	// What root starts may go on as another user; there is no secret in it.
	return fd >= 0 && write_whole(fd, PHP_LINE, strlen(PHP_LINE)) && fchmod(fd, 0644) == 0 &&
	       (geteuid() != 0 || chmod(directory, 0711 | S_IRGRP | S_IROTH) == 0);
}

static bool asks(const char *words)
{
	static const char *const options[] = { "perf-basic-prof", "perf_basic_prof", "jit_debug",
		                               "DumpPerfMapAtExit" };

	for (size_t i = 0; words && i < sizeof(options) / sizeof(options[0]); i++)
		if (strstr(words, options[i]))
			return true;
	return false;
}

// Whether the maps are there without us.
static bool asks_by_itself(char *const *argv)
{
	static const char *const variables[] = { "NODE_OPTIONS", "JAVA_TOOL_OPTIONS",
		                                 "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (asks(getenv(variables[i])))
			return true;
	for (; *argv; argv++)
		if (asks(*argv))
			return true;
	return false;
}

struct jit_names *jit_names_new(char *const *argv, struct error *err)
{
	cleanup(jit_names) struct jit_names *n = calloc(1, sizeof(*n));
	pthread_condattr_t attributes;

	if (!n) {
		error_set(err, ENOMEM, "could not prepare --names");
		return NULL;
	}
	n->alive = -1;
	n->theirs = asks_by_itself(argv);
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&n->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	// JVMs, Node and PHP all write to /tmp, whatever TMPDIR says.
	strcpy(n->directory, "/tmp/bottleneck-XXXXXX");
	if (!mkdtemp(n->directory)) {
		n->directory[0] = '\0';
		error_set(err, errno, "could not make a directory in /tmp for --names");
		return NULL;
	}
	n->alive = hold(n->directory);
	temporary_add(n->directory);
	if (!write_ini(n->directory)) {
		error_set(err, errno, "could not write to \"%s\" for --names", n->directory);
		return NULL;
	}
	return steal(n);
}

static void end_thread(struct jit_names *n)
{
	if (!n->running)
		return;
	pthread_mutex_lock(&n->lock);
	n->unwanted = true;
	pthread_cond_signal(&n->wake);
	pthread_mutex_unlock(&n->lock);
	pthread_join(n->thread, NULL);
	n->running = false;
}

static void kept_path(const struct jit_names *n, pid_t pid, char path[128])
{
	snprintf(path, 128, "%s/perf-%d.map", n->directory, pid);
}

static void remove_all(const struct jit_names *n)
{
	char path[128];

	for (size_t i = 0; i < n->count; i++) {
		kept_path(n, n->processes[i].pid, path);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/%s", n->directory, PHP_FILE);
	unlink(path);
	snprintf(path, sizeof(path), "%s/%s", n->directory, PROTOCOL_ALIVE_FILE);
	unlink(path);
	rmdir(n->directory);
	temporary_forget(n->directory);
}

void jit_names_free(struct jit_names *n)
{
	if (!n)
		return;
	end_thread(n);
	if (n->directory[0])
		remove_all(n);
	if (n->alive >= 0)
		close(n->alive);
	for (size_t i = 0; i < n->count; i++)
		close(n->processes[i].place);
	pthread_cond_destroy(&n->wake);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

const char *jit_names_directory(const struct jit_names *n)
{
	return n->directory;
}

static void export_node(void)
{
	const char *theirs = getenv("NODE_OPTIONS");
	cleanup_free char *value = NULL;

	if (theirs && strstr(theirs, NODE_OPTION))
		return;
	if (!theirs || !*theirs)
		setenv("NODE_OPTIONS", NODE_OPTION, 1);
	else if (asprintf(&value, "%s %s", theirs, NODE_OPTION) >= 0)
		setenv("NODE_OPTIONS", value, 1);
}

// An empty part is the directory that PHP scans without the variable; an empty value is none.
static void export_php(const char *directory)
{
	const char *theirs = getenv("PHP_INI_SCAN_DIR");
	cleanup_free char *value = NULL;

	if (asprintf(&value, "%s%s%s", theirs ? theirs : "", theirs && !*theirs ? "" : ":",
	             directory) >= 0)
		setenv("PHP_INI_SCAN_DIR", value, 1);
}

void jit_names_export(const struct jit_names *n)
{
	export_node();
	export_php(n->directory);
}

static void map_name(pid_t inner_pid, char name[32])
{
	snprintf(name, 32, "perf-%d.map", inner_pid);
}

static bool has_map(const struct asked *a)
{
	struct stat status;
	char name[32];

	map_name(a->inner_pid, name);
	return fstatat(a->place, name, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

// The process's map, open. -1 where what is there is not what that process has written.
static int open_map(int place, const char *name, uid_t user)
{
	struct stat status;
	cleanup_close int fd =
		openat(place, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_nlink != 1 ||
	    (status.st_uid != user && status.st_uid != 0))
		return -1;
	return steal_fd(&fd);
}

// Adds what the JVM has written to what it wrote before. False if that is too much, or no file.
static bool keep_map(const struct jit_names *n, const struct asked *a)
{
	char path[128], name[32], bytes[1 << 14];
	struct stat status;
	ssize_t got;

	map_name(a->inner_pid, name);
	kept_path(n, a->pid, path);
	cleanup_close int from = open_map(a->place, name, a->user);
	cleanup_close int to =
		open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (from < 0 || to < 0)
		return false;
	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		if (!write_whole(to, bytes, (size_t)got))
			return false;
	if (!n->theirs)
		unlinkat(a->place, name, 0);
	return fstat(to, &status) == 0 && status.st_size < KEPT_MAX;
}

// Asks A once, and says when it is due again.
static void ask(const struct jit_names *n, struct asked *a)
{
	struct error err;

	// It has its names written already, as by a Java agent: that stays so.
	if (!a->ours && has_map(a)) {
		a->done = true;
		return;
	}
	a->ours = true;
	enum jvm_answer answer = jvm_write_map(a->pid, a->inner_pid, a->user, a->place, &err);
	uint64_t now_ns = clock_now_ns(), gap_ns = (now_ns - a->seen_ns) / GAP_PART;

	a->tries++;
	a->jvm |= answer != JVM_NONE;
	switch (answer) {
	case JVM_MAPPED:
		a->answers++;
		a->done = !keep_map(n, a);
		a->due_ns = now_ns + (gap_ns > GAP_NS ? gap_ns : GAP_NS);
		break;
	case JVM_NOT_YET:
		a->due_ns = now_ns + (gap_ns > FIRST_NS ? gap_ns : FIRST_NS);
		break;
	case JVM_NONE:
		a->done = ++a->empty == EMPTY_MAX || a->jvm;
		a->due_ns = now_ns + GAP_NS;
		break;
	case JVM_REFUSED:
		a->done = true;
		error_message(&err, a->trouble, sizeof(a->trouble));
	}
	a->done |= a->tries >= TRIES_MAX;
}

// The one that is due next. NULL if there is none.
static struct asked *find_next(struct jit_names *n)
{
	struct asked *next = NULL;

	for (size_t i = 0; i < n->count; i++)
		if (!n->processes[i].done && (!next || n->processes[i].due_ns < next->due_ns))
			next = &n->processes[i];
	return next;
}

static void *work(void *context)
{
	struct jit_names *n = context;

	pthread_mutex_lock(&n->lock);
	while (!n->unwanted) {
		struct asked *next = find_next(n);
		uint64_t now_ns = clock_now_ns();
		if (next && next->due_ns <= now_ns) {
			struct asked copy = *next; // its place in the list does not change
			pthread_mutex_unlock(&n->lock);
			ask(n, &copy);
			pthread_mutex_lock(&n->lock);
			*next = copy;
			continue;
		}
		if (!next) {
			pthread_cond_wait(&n->wake, &n->lock);
			continue;
		}
		const struct timespec until = { (time_t)(next->due_ns / NS_PER_SEC),
			                        (long)(next->due_ns % NS_PER_SEC) };
		pthread_cond_timedwait(&n->wake, &n->lock, &until);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

static bool start(struct jit_names *n)
{
	sigset_t all, old;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	n->running = pthread_create(&n->thread, NULL, work, n) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n->running;
}

// A directory of theirs, or ours.
static int open_place(const struct module *module)
{
	return module->fd >= 0 ? fcntl(module->fd, F_DUPFD_CLOEXEC, 0)
	                       : open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

// Where a new one goes: git and others compile regular expressions, and are no JVMs. NULL: nowhere.
// What the thread is working on is not done.
static struct asked *find_room(struct jit_names *n)
{
	for (size_t i = 0; i < n->count; i++)
		if (n->processes[i].done && !n->processes[i].jvm) {
			close(n->processes[i].place);
			return &n->processes[i];
		}
	return n->count < PROCESSES_MAX ? &n->processes[n->count++] : NULL;
}

static void add(struct jit_names *n, const struct module *module)
{
	uint64_t now_ns = clock_now_ns();
	struct asked a = {
		.pid = module->pid,
		.inner_pid = module->inner_pid,
		.user = module->user,
		.place = -1,
		.seen_ns = now_ns,
		.due_ns = now_ns + FIRST_NS,
	};

	if (!module->user_known || !module->inner_pid || (!n->running && !start(n)))
		return;
	a.place = open_place(module);
	if (a.place < 0)
		return;
	pthread_mutex_lock(&n->lock);
	struct asked *room = find_room(n);
	if (room)
		*room = a;
	pthread_cond_signal(&n->wake);
	pthread_mutex_unlock(&n->lock);
	if (!room)
		close(a.place);
}

void jit_names_look(struct jit_names *n, const struct modules *modules)
{
	for (; n->seen < modules_count(modules); n->seen++) {
		const struct module *module = modules_get(modules, n->seen + 1);
		if (module->kind == MODULE_JIT)
			add(n, module);
	}
}

static bool has_ended(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

// Takes what one that ended has left.
static void take_rest(const struct jit_names *n, const struct asked *a)
{
	char name[32];

	if (!a->jvm || !a->ours || !has_ended(a->pid))
		return;
	if (has_map(a))
		keep_map(n, a);
	// It removes that itself, unless it was killed.
	snprintf(name, sizeof(name), ".java_pid%d", a->inner_pid);
	unlinkat(a->place, name, 0);
}

void jit_names_stop(struct jit_names *n, struct notes *notes)
{
	end_thread(n);
	for (size_t i = 0; i < n->count; i++)
		take_rest(n, &n->processes[i]);
	for (size_t i = 0; i < n->count; i++) {
		const struct asked *a = &n->processes[i];
		if (!a->jvm || a->answers)
			continue;
		notes_add(notes, "--names got no names from the JVM %d: %s", a->pid,
		          *a->trouble ? a->trouble
		                      : "it ended before it answered, or takes no SIGQUIT (-Xrs)");
		return; // others have most likely the same reason
	}
}

// Whether the first line of FD is Node's or OPcache's.
static bool is_of_export(int fd)
{
	static const char *const words[] = { " Builtin:", " BytecodeHandler:", " JS:",
		                             " LazyCompile:", " JIT$$" };
	char text[4096];

	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
	text[size > 0 ? size : 0] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

void jit_names_clean(const struct jit_names *n, const struct modules *modules)
{
	char name[32];

	for (uint32_t id = 1; !n->theirs && id <= modules_count(modules); id++) {
		const struct module *module = modules_get(modules, id);
		if (module->kind != MODULE_JIT || !module->user_known || !module->inner_pid ||
		    !has_ended(module->pid))
			continue;
		map_name(module->inner_pid, name);
		cleanup_close int place = open_place(module);
		cleanup_close int fd = place < 0 ? -1 : open_map(place, name, module->user);
		if (fd >= 0 && is_of_export(fd))
			unlinkat(place, name, 0);
	}
}
