// SPDX-License-Identifier: MIT
#include "tracer/reader/session.h"

#include "base/error.h"
#include "base/provider.h"
#include "base/temporary.h"
#include "tracer/protocol.h"
#include "tracer/reader/dead_runs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

struct session {
	char directory[200]; /* fits the agent's, see tracer/agent/rings.h */
	int alive;           // see dead_runs.h
	struct session_options options;
	char library[PATH_MAX];
};

// A directory of ours in which nobody else can rename things, or a sticky one of ours or of root's,
// as /tmp is. By root, too, which may write to those of all others.
static bool is_usable(const char *parent)
{
	struct stat status;

	if (!parent || parent[0] != '/' || stat(parent, &status) < 0 || !S_ISDIR(status.st_mode) ||
	    access(parent, W_OK | X_OK) < 0)
		return false;
	if (status.st_uid != geteuid() && (status.st_uid != 0 || !(status.st_mode & S_ISVTX)))
		return false;
	return !(status.st_mode & (S_IWGRP | S_IWOTH)) || status.st_mode & S_ISVTX;
}

static bool make_directory(struct session *s, const char *parent)
{
	int length = snprintf(s->directory, sizeof(s->directory), "%s/bottleneck-XXXXXX", parent);

	// mkdtemp() gives mode 0700.
	return length > 0 && (size_t)length < sizeof(s->directory) && mkdtemp(s->directory);
}

static int make_anywhere(struct session *s, struct error *err)
{
	const char *parents[] = { getenv("XDG_RUNTIME_DIR"), "/tmp" };

	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++)
		if (is_usable(parents[i]))
			dead_runs_remove(parents[i]);
	errno = ENOENT;
	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++)
		if (is_usable(parents[i]) && make_directory(s, parents[i]))
			return 0;
	error_set(err, errno, "could not make a private directory in $XDG_RUNTIME_DIR or /tmp");
	s->directory[0] = '\0';
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
	s->alive = -1;
	strcpy(s->library, options->library);
	s->options = *options;
	s->options.library = s->library;
	if (make_anywhere(s, err) < 0)
		return NULL;
	s->alive = dead_runs_hold(s->directory);
	temporary_add(s->directory);
	return steal(s);
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

void session_free(struct session *s)
{
	if (!s)
		return;
	if (s->directory[0]) {
		empty(s->directory);
		rmdir(s->directory);
		temporary_forget(s->directory);
		if (s->alive >= 0)
			close(s->alive); // not before: a parallel start would take it for dead
	}
	free(s);
}

const char *session_directory(const struct session *s)
{
	return s->directory;
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

int session_export(const struct session *s, struct error *err)
{
	char config[192];

	snprintf(config, sizeof(config),
	         "hz=%u,stack=%u,kernel=%d,python=%u,ops=%u,malloc=%u,calls=%d,gpu=%u,"
	         "launches=%u",
	         s->options.frequency_hz, s->options.stack_bytes, s->options.kernel_only,
	         s->options.python_hz, s->options.ops, s->options.malloc_bytes,
	         s->options.count_calls, s->options.gpu, s->options.launches);
	if (export_preload(s) && export_sanitizer() && export_injections(s) && export_trace(s) &&
	    setenv(PROTOCOL_ENV_DIRECTORY, s->directory, 1) == 0 &&
	    setenv(PROTOCOL_ENV_CONFIG, config, 1) == 0)
		return 0;
	return error_set(err, errno, "could not set the agent's environment");
}
