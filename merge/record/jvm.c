// SPDX-License-Identifier: MIT
#include "merge/record/jvm.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define LOOK_NS    (20 * NS_PER_MS) // between two looks whether it listens
#define ANSWER_MAX 4096
#define SHARED_MAX (1 << 20) // bytes of hsperfdata: 32 KB, unless somebody asks for more
#define TEXT_MAX   (256 << 10)

static bool read_text(const char *path, char *text, size_t size, size_t *length)
{
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = 0;

	*length = 0;
	while (fd >= 0 && *length + 1 < size &&
	       (got = read(fd, text + *length, size - 1 - *length)) > 0)
		*length += (size_t)got;
	text[*length] = '\0';
	return fd >= 0 && got >= 0;
}

// One of the names of HotSpot's library; in maps of a thousand lines, line by line.
static bool has_libjvm(pid_t pid)
{
	char path[32], line[512];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	cleanup_fclose FILE *maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = strstr(line, "/libjvm.so") != NULL;
	return found;
}

// Its handler comes late in its start.
static bool catches_quit(pid_t pid)
{
	char path[32], text[4096];
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (!read_text(path, text, sizeof(text), &length))
		return false;
	const char *line = strstr(text, "\nSigCgt:");
	return line && strtoull(line + 8, NULL, 16) >> (SIGQUIT - 1) & 1;
}

int jvm_may_be_asked(const char *bytes, size_t size)
{
	static const char name[] = "sun.rt.jvmCapabilities";

	// An entry: its name, padded, and its text, "1…" if it can be asked.
	const char *at = memmem(bytes, size, name, sizeof(name));
	const char *end = bytes + size;
	if (!at)
		return -1;
	for (at += sizeof(name); at < end && !*at;)
		at++;
	return at == end || (*at != '0' && *at != '1') ? -1 : *at == '1';
}

// What it shares is /tmp/hsperfdata_USER/PID. Its name of the user may be another than ours.
static int read_capabilities(int directory, pid_t inner_pid, uid_t user)
{
	char path[NAME_MAX + 32];
	int answer = -1;
	int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = again < 0 ? NULL : fdopendir(again);

	if (!list && again >= 0)
		close(again);
	cleanup_free char *bytes = malloc(SHARED_MAX);
	for (struct dirent *entry; bytes && list && answer < 0 && (entry = readdir(list));) {
		struct stat status;
		if (strncmp(entry->d_name, "hsperfdata_", 11) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%d", entry->d_name, inner_pid);
		cleanup_close int fd =
			openat(directory, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
		    status.st_uid != user)
			continue;
		ssize_t size = read(fd, bytes, SHARED_MAX);
		if (size > 0)
			answer = jvm_may_be_asked(bytes, (size_t)size);
	}
	if (list)
		closedir(list);
	return answer;
}

// Options that forbid a JVM to be asked, or that name a file with more options.
static bool is_told_not_to(const char *words, size_t size)
{
	for (size_t at = 0; at < size; at += strlen(words + at) + 1)
		if (strstr(words + at, "DisableAttachMechanism") || words[at] == '@' ||
		    strstr(words + at, "-XX:Flags=") || strstr(words + at, "-XX:VMOptionsFile="))
			return true;
	return false;
}

// Of one that shares nothing: -XX:-UsePerfData, -XX:+PerfDisableSharedMem.
static bool is_refused_by_words(pid_t pid)
{
	static const char *const files[] = { "cmdline", "environ" };
	cleanup_free char *text = malloc(TEXT_MAX);
	char path[32];
	size_t length;

	for (int i = 0; text && i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, files[i]);
		if (!read_text(path, text, TEXT_MAX, &length) || is_told_not_to(text, length))
			return true;
	}
	return !text;
}

// Waits for FD (-1: for nothing), or until NS are over. False if the process has ended, which its
// descriptor PIDFD reports.
static bool wait_for(int fd, int pidfd, uint64_t ns)
{
	struct pollfd fds[] = { { .fd = pidfd, .events = POLLIN }, { .fd = fd, .events = POLLIN } };

	poll(fds, 2, (int)(ns / NS_PER_MS) + 1);
	return !fds[0].revents || fds[1].revents; // an answer may have come before the end
}

static int connect_to(int directory, pid_t inner_pid, uid_t user)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat status;
	char name[32];

	snprintf(name, sizeof(name), ".java_pid%d", inner_pid);
	if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISSOCK(status.st_mode) || status.st_uid != user) {
		errno = ENOENT;
		return -1;
	}
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", directory,
	         name);
	cleanup_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return steal_fd(&fd);
}

// Has it listen; its Signal Dispatcher looks for the file when it gets the signal.
static int make_listen(pid_t pid, int pidfd, pid_t inner_pid, uid_t user, int directory)
{
	char name[32];
	int fd = -1;

	snprintf(name, sizeof(name), ".attach_pid%d", inner_pid);
	cleanup_close int trigger =
		openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (trigger < 0)
		return -1; // something else is about to ask it
	// It must be the JVM's own user's: root's alone is another's to old ones.
	if ((geteuid() == user || fchown(trigger, user, (gid_t)-1) == 0) && catches_quit(pid) &&
	    syscall(SYS_pidfd_send_signal, pidfd, SIGQUIT, NULL, 0) == 0)
		for (uint64_t waited = 0; fd < 0 && waited < JVM_WAIT_NS; waited += LOOK_NS) {
			if (!wait_for(-1, pidfd, LOOK_NS))
				break;
			fd = connect_to(directory, inner_pid, user);
		}
	unlinkat(directory, name, 0);
	return fd;
}

// All of the answer, as text. False if it does not come to its end in time.
static bool ask(int fd, int pidfd, const char *request, size_t size, char answer[ANSWER_MAX])
{
	size_t used = 0;
	uint64_t until = clock_now_ns() + JVM_WAIT_NS;

	answer[0] = '\0';
	if (send(fd, request, size, MSG_NOSIGNAL) != (ssize_t)size)
		return false;
	while (used + 1 < ANSWER_MAX) {
		uint64_t now = clock_now_ns();
		if (now >= until || !wait_for(fd, pidfd, until - now))
			return false;
		ssize_t got = recv(fd, answer + used, ANSWER_MAX - 1 - used, MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got < 0)
			return false;
		answer[used += (size_t)got] = '\0';
		if (got == 0)
			return true;
	}
	return true;
}

enum jvm_answer jvm_write_map(pid_t pid, pid_t inner_pid, uid_t user, int directory,
                              struct error *err)
{
	// The protocol's version, the command, and three arguments.
	static const char request[] = "1\0jcmd\0Compiler.perfmap\0\0";
	char answer[ANSWER_MAX];

	// From here on PID is this process, whatever ends meanwhile.
	cleanup_close int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || !has_libjvm(pid))
		return JVM_NONE;
	if (geteuid() != user && geteuid() != 0) {
		error_set(err, 0, "it belongs to uid %u", user);
		return JVM_REFUSED;
	}
	int asked = read_capabilities(directory, inner_pid, user);
	if (!asked || (asked < 0 && catches_quit(pid) && is_refused_by_words(pid))) {
		error_set(err, 0,
		          "its options do not allow tools to attach "
		          "(-XX:+DisableAttachMechanism, or they cannot be read)");
		return JVM_REFUSED;
	}
	cleanup_close int fd = connect_to(directory, inner_pid, user);
	if (fd < 0 && !catches_quit(pid))
		return JVM_NOT_YET;
	if (fd < 0)
		fd = make_listen(pid, pidfd, inner_pid, user, directory);
	if (fd < 0 || !ask(fd, pidfd, request, sizeof(request), answer))
		return JVM_NOT_YET;
	if (answer[0] == '0')
		return JVM_MAPPED;
	error_set(err, 0,
	          strstr(answer, "Unknown diagnostic command")
	                  ? "it has no Compiler.perfmap (its JDK is older than 17)"
	                  : "it did not carry out Compiler.perfmap");
	return JVM_REFUSED;
}
