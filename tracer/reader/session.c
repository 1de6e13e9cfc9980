// SPDX-License-Identifier: MIT
#include "tracer/reader/session.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/namespaces.h"
#include "base/provider.h"
#include "base/temporary.h"
#include "tracer/protocol.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Which private directories belong to a collector that is alive, and what dead ones left.
//
// The collector locks a file in its directory (PROTOCOL_ALIVE_FILE, see tracer/protocol.h). The
// kernel lets go of the lock when the collector ends, however that happens, and the lock holds
// across PID namespaces and containers that share the directory.

#define PREFIX    "bottleneck-"
#define SUFFIX    6     // letters that mkdtemp() puts there
#define SECRET    32    // hexadecimal digits: the name of the directory that others write to
#define LOOKS_MAX 20000 // entries of the parent: a huge one must not delay a run
#define AGE_MIN_S 10    // a run that is just starting has no lock yet

static bool lock(int fd, off_t length)
{
	struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = length };

	return fcntl(fd, F_OFD_SETLK, &range) == 0;
}

// Goes when any descriptor of the file is closed in this process. Who finds no number looks
// further.
static void lock_as_process(int fd)
{
	struct flock byte = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = PROTOCOL_ALIVE_BYTE, .l_len = 1
	};

	fcntl(fd, F_SETLK, &byte);
}

// Marks DIRECTORY as a live run's until the descriptor that is returned is closed. -1: there are
// no locks here; then nobody takes it for a dead run's either.
static int dead_runs_hold(const char *directory)
{
	cleanup_close int parent = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd = parent < 0 ? -1
	                    : openat(parent, PROTOCOL_ALIVE_FILE,
	                             O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return fd;
	if (lock(fd, PROTOCOL_ALIVE_BYTE)) {
		lock_as_process(fd);
		return fd;
	}
	unlinkat(parent, PROTOCOL_ALIVE_FILE, 0); // without a lock it would tell of a dead run
	close(fd);
	return -1;
}

static bool is_name(const char *name)
{
	return strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
	       strlen(name) == strlen(PREFIX) + SUFFIX;
}

static bool is_ours(int fd, struct stat *status)
{
	return fstat(fd, status) == 0 && S_ISDIR(status->st_mode) && status->st_uid == geteuid() &&
	       !(status->st_mode & (S_IWOTH | S_ISVTX)) &&
	       time(NULL) - status->st_mtime >= AGE_MIN_S;
}

// The lock file of a run that does not hold its lock any more: locked. -1: there is none.
static int take_lock(int directory)
{
	struct stat status;
	int fd = openat(directory, PROTOCOL_ALIVE_FILE,
	                O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	    status.st_uid == geteuid() && lock(fd, 0))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool is_secret(const char *name)
{
	return strspn(name, "0123456789abcdef") == SECRET && !name[SECRET];
}

// The one that processes of other users write to. To remove any other directory would be wrong, and
// most of all "..", of which unlinkat() says what it says of directories.
static void remove_inside(int directory, const char *name)
{
	int fd = is_secret(name)
	                 ? openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
	                 : -1;
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	for (struct dirent *entry; list && (entry = readdir(list));)
		unlinkat(fd, entry->d_name, 0);
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
	if (fd >= 0)
		unlinkat(directory, name, AT_REMOVEDIR);
}

// The lock file goes last: until then a removal that was interrupted can be taken up again.
static void empty_directory(int directory)
{
	int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(list));)
		if (strcmp(entry->d_name, PROTOCOL_ALIVE_FILE) != 0 &&
		    unlinkat(directory, entry->d_name, 0) < 0 && errno == EISDIR)
			remove_inside(directory, entry->d_name);
	closedir(list);
	unlinkat(directory, PROTOCOL_ALIVE_FILE, 0);
}

static void remove_if_dead(int parent, const char *name)
{
	cleanup_close int fd =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || !is_ours(fd, &status))
		return;
	cleanup_close int held = take_lock(fd);
	if (held < 0)
		return;
	empty_directory(fd);
	unlinkat(parent, name,
	         AT_REMOVEDIR); // of another that has come to be there: if it is empty
}

// Removes the directories that dead runs of the caller's user have left in PARENT. Follows no
// links, and leaves alone what is not certain to be one.
static void dead_runs_remove(const char *parent)
{
	int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list) {
		if (fd >= 0)
			close(fd);
		return;
	}
	struct dirent *entry;
	for (int looks = 0; looks < LOOKS_MAX && (entry = readdir(list)); looks++)
		if (is_name(entry->d_name))
			remove_if_dead(fd, entry->d_name);
	closedir(list);
}

struct session {
	char home[PATH_MAX]; // what mkdtemp() has made; "": nothing
	/* The same, or a directory in it; fits the agent's, see tracer/agent/rings.h. */
	char directory[200];
	int alive, alive_inside; // of dead_runs_hold()
	pid_t collector;         // who has locked them: a child may export this
	struct session_options options;
	char library[PATH_MAX];
};

// A directory of ours in which nobody else can rename things, or a sticky one of ours or of root's,
// as /tmp is. By root, too, which may write to those of all others.
static bool is_usable(const char *parent)
{
	struct stat status;

	if (parent[0] != '/' || stat(parent, &status) < 0 || !S_ISDIR(status.st_mode) ||
	    access(parent, W_OK | X_OK) < 0)
		return false;
	if (status.st_uid != geteuid() && (status.st_uid != 0 || !(status.st_mode & S_ISVTX)))
		return false;
	return !(status.st_mode & (S_IWGRP | S_IWOTH)) || status.st_mode & S_ISVTX;
}

// Whether other users can get at what is in the directory PATH, and in those above it.
static bool is_passable(const char *path)
{
	char part[PATH_MAX];
	struct stat status;

	for (const char *at = path;; at++) {
		if (*at && *at != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s/", (int)(at - path), path);
		if (stat(part, &status) < 0 || !(status.st_mode & S_IXOTH))
			return false;
		if (!*at)
			return true;
	}
}

static bool make_directory(struct session *s, const char *parent)
{
	int length = snprintf(s->home, sizeof(s->home), "%s/bottleneck-XXXXXX", parent);

	// mkdtemp() gives mode 0700.
	if (length > 0 && (size_t)length < sizeof(s->directory) && mkdtemp(s->home)) {
		strcpy(s->directory, s->home);
		return true;
	}
	s->home[0] = '\0';
	return false;
}

static bool set_mode(const char *path, mode_t mode)
{
	cleanup_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && fchmod(fd, mode) == 0;
}

// Removes the files in the directory; agents make no directories.
static void empty(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);

	if (!directory) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(directory));)
		unlinkat(fd, entry->d_name, 0);
	closedir(directory);
}

static void remove_directory(const char *path)
{
	empty(path);
	rmdir(path);
	temporary_forget(path);
}

// "HOME/SECRET". False if there are no random numbers, or the path is too long.
static bool name_inside(const struct session *s, char *path, size_t size)
{
	uint64_t secret[2];

	if (getrandom(secret, sizeof(secret), GRND_NONBLOCK) != (ssize_t)sizeof(secret))
		return false;
	// As is_secret() knows it.
	int length = snprintf(path, size, "%s/%016lx%016lx", s->home, (unsigned long)secret[0],
	                      (unsigned long)secret[1]);
	return length > 0 && (size_t)length < size;
}

// What root starts may go on as another user, which then needs a way in. Strangers have none:
//
//	bottleneck-XXXXXX  0711   nobody can list it
//	└── SECRET         01733  128 random bits that stand in the program's environment alone
//
// Whoever is in there can make files, and neither list, open nor remove those of others.
static void let_other_users_in(struct session *s)
{
	char inside[sizeof(s->directory)];

	if (!name_inside(s, inside, sizeof(inside)) || mkdir(inside, 0700) < 0)
		return;
	s->alive_inside = dead_runs_hold(inside);
	// Others look whether it is locked.
	if ((s->alive_inside < 0 || fchmod(s->alive_inside, 0644) == 0) &&
	    set_mode(inside, 01733) && set_mode(s->home, 0711)) {
		strcpy(s->directory, inside);
		return;
	}
	set_mode(s->home, 0700);
	remove_directory(inside);
}

static bool make_anywhere(struct session *s)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *parents[] = { runtime ? runtime : "", "/tmp" };
	size_t count = sizeof(parents) / sizeof(parents[0]);
	bool is_root = geteuid() == 0;

	for (size_t i = 0; i < count; i++)
		if (is_usable(parents[i]))
			dead_runs_remove(parents[i]);
	errno = ENOENT;
	for (size_t i = 0; is_root && i < count; i++) {
		if (is_usable(parents[i]) && is_passable(parents[i]) &&
		    make_directory(s, parents[i])) {
			let_other_users_in(s);
			return true;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (is_usable(parents[i]) && make_directory(s, parents[i]))
			return true;
	return false;
}

static int make_home(struct session *s, struct error *err)
{
	if (make_anywhere(s))
		return 0;
	error_set(err, errno, "could not make a private directory in $XDG_RUNTIME_DIR or /tmp");
	return error_hint(err,
	                  "Make /tmp writable, or set XDG_RUNTIME_DIR to a directory of yours.");
}

struct session *session_new(const struct session_options *options, struct error *err)
{
	cleanup(session) struct session *s = calloc(1, sizeof(*s));

	if (!s) {
		error_set(err, errno, "could not start the agent's session");
		return NULL;
	}
	// LD_PRELOAD splits its value at colons and blanks.
	if (strlen(options->library) >= sizeof(s->library) || strpbrk(options->library, ": ")) {
		error_set(err, 0, "the agent's library cannot be preloaded from \"%s\"",
		          options->library);
		error_hint(
			err,
			"Install bottleneck in a directory without blanks and colons in its name.");
		return NULL;
	}
	s->alive = s->alive_inside = -1;
	s->collector = getpid();
	strcpy(s->library, options->library);
	s->options = *options;
	s->options.library = s->library;
	if (make_home(s, err) < 0)
		return NULL;
	s->alive = dead_runs_hold(s->home);
	if (session_is_open(s))
		temporary_add(s->directory); // it goes before the one that it is in
	temporary_add(s->home);
	return steal(s);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	if (session_is_open(s))
		remove_directory(s->directory);
	if (s->home[0])
		remove_directory(s->home);
	// Not before: a parallel start would take it for dead.
	if (s->alive >= 0)
		close(s->alive);
	if (s->alive_inside >= 0)
		close(s->alive_inside);
	free(s);
}

const char *session_directory(const struct session *s)
{
	return s->directory;
}

bool session_is_open(const struct session *s)
{
	return strcmp(s->directory, s->home) != 0;
}

static bool export_preload(const struct session *s)
{
	const char *theirs = getenv("LD_PRELOAD");
	cleanup_free char *value = NULL;

	if (!theirs || !*theirs)
		return setenv("LD_PRELOAD", s->library, 1) == 0;
	return asprintf(&value, "%s:%s", s->library, theirs) >= 0 &&
	       setenv("LD_PRELOAD", value, 1) == 0;
}

// Programs that gcc has sanitized end at once if another library comes before their runtime, even
// one that leaves malloc() to it. The user's own word on that stands.
static bool export_sanitizer(void)
{
	const char *theirs = getenv("ASAN_OPTIONS");
	const char *ours = "verify_asan_link_order=0";
	cleanup_free char *value = NULL;

	if (!theirs || !*theirs)
		return setenv("ASAN_OPTIONS", ours, 1) == 0;
	return strstr(theirs, "verify_asan_link_order") ||
	       (asprintf(&value, "%s:%s", theirs, ours) >= 0 &&
	        setenv("ASAN_OPTIONS", value, 1) == 0);
}

// A session within a session finds ours there, and the user's one moved already.
static bool is_agent(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, PROTOCOL_AGENT_LIBRARY) == 0;
}

// Programs look for injection libraries of an API in one variable, and ours for the user's own in
// another.
static bool export_injection(const struct session *s, const struct provider *p)
{
	const char *theirs = getenv(p->injection);

	if (!(s->options.ops & 1u << p->id))
		return true;
	if (!theirs || !*theirs)
		unsetenv(p->chain);
	else if (!is_agent(theirs) && setenv(p->chain, theirs, 1) < 0)
		return false;
	return setenv(p->injection, s->library, 1) == 0;
}

static bool export_injections(const struct session *s)
{
	for (size_t i = 0; i < provider_count; i++)
		if (providers[i].injection && !export_injection(s, &providers[i]))
			return false;
	return true;
}

static bool export_trace(const struct session *s)
{
	char value[PROTOCOL_TRACE_BYTES] = "";
	size_t used = 0;

	if (!s->options.trace_count)
		return unsetenv(PROTOCOL_ENV_TRACE) == 0;
	for (size_t i = 0; i < s->options.trace_count && used < sizeof(value); i++)
		used += (size_t)snprintf(value + used, sizeof(value) - used, "%s%s", i ? "\n" : "",
		                         s->options.trace[i]);
	return used < sizeof(value) && setenv(PROTOCOL_ENV_TRACE, value, 1) == 0;
}

void session_config(const struct session *s, char *text, size_t size)
{
	struct namespaces own;

	namespaces_read(&own);
	snprintf(
		text, size,
		"hz=%u,stack=%u,kernel=%d,python=%u,ops=%u,opshare=%u,mallocshare=%u,malloc=%u,calls=%d,gpu=%u,"
		"launches=%u,waits=%d,pidns=%u,filters=%u",
		s->options.frequency_hz, s->options.stack_bytes, s->options.kernel_only,
		s->options.python_hz, s->options.ops, s->options.ops_allowed,
		s->options.malloc_allowed, s->options.malloc_bytes, s->options.count_calls,
		s->options.gpu, s->options.launches, s->options.waits, own.pid,
		namespaces_read_filters());
}

// How far CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. Whoever has to wait for a CPU between the two
// is wrong by that.
static uint64_t monotonic_zero_ns(void)
{
	uint64_t now_ns = clock_now_ns();

	return clock_ns(CLOCK_REALTIME) - now_ns;
}

// What those that are started can compare, as they count processes and time as we do, mostly.
static void add_own(const struct session *s, char *config, size_t size)
{
	size_t used = strlen(config);
	uint64_t zero_ns = monotonic_zero_ns();

	snprintf(config + used, size - used, ",collector=%u,zero=%u,zerons=%u",
	         (unsigned)s->collector, (unsigned)(zero_ns / NS_PER_SEC),
	         (unsigned)(zero_ns % NS_PER_SEC));
}

int session_export(const struct session *s, struct error *err)
{
	char config[384];

	session_config(s, config, sizeof(config));
	add_own(s, config, sizeof(config));
	if (export_preload(s) && export_sanitizer() && export_injections(s) && export_trace(s) &&
	    setenv(PROTOCOL_ENV_DIRECTORY, s->directory, 1) == 0 &&
	    setenv(PROTOCOL_ENV_CONFIG, config, 1) == 0)
		return 0;
	return error_set(err, errno, "could not set the agent's environment");
}
