// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_title.h"

#include "base/cleanup.h"
#include "base/name_list.h"
#include "base/path.h"
#include "base/rank.h"
#include "base/secret.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CMDLINE_MAX 4096
#define ENVIRON_MAX 65536 // a launcher's words are within; more would be a mapping for each process
#define FILES_TRIED 8     // of a command line, at most
#define PLAIN_MAX   24    // bytes of a word that names no file
#define COMM_MAX    15    // bytes of a name that the kernel keeps

static bool begins_with(const char *text, const char *beginning)
{
	return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_below(const char *const *folders, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++)
		if (begins_with(word, folders[i]))
			return true;
	return false;
}

// Linkers are given many of these.
static bool is_of_system(const char *word)
{
	static const char *const folders[] = { "/usr/", "/lib" };

	return is_below(folders, sizeof(folders) / sizeof(folders[0]), word);
}

// Their names are others in the next run, or say nothing.
static bool is_temporary(const char *word)
{
	static const char *const folders[] = { "/tmp/", "/var/tmp/", "/dev/", "/proc/", "/sys/" };

	return is_below(folders, sizeof(folders) / sizeof(folders[0]), word);
}

// A script that the process finds, and we do not: it has changed its folder since.
static bool is_script(const char *word)
{
	static const char suffixes[] = "py|sh|bash|pl|rb|js|mjs|ts|php|lua|R|jl|tcl|awk";
	const char *dot = strrchr(path_base(word), '.');

	return dot && name_list_has(suffixes, dot + 1, strlen(dot + 1));
}

// Programs whose first word says which of their commands is run. The first word of others is as
// often a number or a pattern, and may be a secret.
static bool is_subcommand(const char *word, const char *command)
{
	static const char programs[] =
		"git|hg|svn|bzr|cargo|rustup|go|docker|podman|buildah|kubectl|helm|terraform|npm|"
		"npx|yarn|pnpm|pip|pip3|uv|pipx|poetry|conda|mamba|apt|apt-get|dpkg-deb|dnf|yum|"
		"zypper|pacman|apk|brew|snap|flatpak|systemctl|loginctl|ip|nmcli|tmux|perf|"
		"bottleneck|openssl|aws|az|gcloud|gsutil|gh|make|gmake|ninja|meson|bazel|dotnet|"
		"gradle|mvn|swift|zig|gem|bundle|rails|rake|composer|mix|stack|cabal|dune|opam|"
		"nix|zfs|btrfs|lvm|virsh|vagrant|ansible|dvc|wandb|mlflow|ollama";
	size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-");

	return length && !word[length] && length <= PLAIN_MAX && islower((unsigned char)*word) &&
	       name_list_has(programs, command, strlen(command));
}

static bool is_plain(const char *word)
{
	size_t length =
		strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                     "_.,:@%+/-");

	return length && !word[length] && length <= PLAIN_MAX && *word != '-';
}

static const char *next_word(const char *word)
{
	return word + strlen(word) + 1;
}

// python3 -m pytest. NULL: none is run so.
static const char *module_of(const char *word, const char *end, const char *command)
{
	if (!begins_with(command, "python") && !begins_with(command, "pypy"))
		return NULL;
	for (; word < end && *word == '-'; word = next_word(word))
		if (strcmp(word, "-m") == 0)
			return next_word(word) < end ? next_word(word) : NULL;
	return NULL;
}

// The word that tells most, behind the first one; NULL: none does.
static const char *find_word(const char *first, const char *end, const char *command,
                             proc_title_is_file *is_file, void *context)
{
	const char *behind_option = NULL, *of_system = NULL;
	bool option = false;
	int tried = 0;

	for (const char *word = first; word < end && tried < FILES_TRIED; word = next_word(word)) {
		const char **found = is_of_system(word) ? &of_system : &behind_option;
		bool best = found == &behind_option && !option;
		bool may_be = *word && *word != '-' && !is_temporary(word) &&
		              strcmp(path_base(word), command) != 0 && (best || !*found);
		if (may_be && ++tried && is_file(context, word)) {
			if (best)
				return word;
			*found = word;
		}
		option = *word == '-';
	}
	if (behind_option || of_system)
		return behind_option ? behind_option : of_system;
	if (first >= end)
		return NULL;
	bool script = is_script(first) && is_plain(first) && !is_temporary(first) &&
	              strcmp(path_base(first), command) != 0;
	return script || is_subcommand(first, command) ? first : NULL;
}

// What a process has written over its command line, without the spaces behind it.
static bool take_written(const char *words, const char *command, char *title)
{
	size_t length = strlen(command), end;

	if (strncmp(words, command, length) != 0 || words[length] != ':')
		return false;
	cleanup_free char *shown = secret_mask(words);
	snprintf(title, PROC_TITLE_MAX, "%s", shown ? shown : command);
	for (end = strlen(title); end > 0 && isspace((unsigned char)title[end - 1]);)
		title[--end] = '\0';
	if (end > length + 1)
		return true;
	*title = '\0';
	return false;
}

void proc_title_of(const char *words, size_t size, const char *command, proc_title_is_file *is_file,
                   void *context, char title[PROC_TITLE_MAX])
{
	const char *end = words + size, *first = size ? next_word(words) : end;

	title[0] = '\0';
	// It has not become what its name says yet, or was long ago.
	if (!size || take_written(words, command, title))
		return;
	const char *module = module_of(first, end, command);
	const char *word = module ? module : find_word(first, end, command, is_file, context);
	if (word && *word)
		snprintf(title, PROC_TITLE_MAX, "%s%s %.*s", command, module ? " -m" : "",
		         PROC_TITLE_MAX - 2 - COMM_MAX, module ? module : path_base(word));
}

static bool is_file_of(void *context, const char *word)
{
	const uint32_t *pid = context;
	char path[CMDLINE_MAX];
	struct statx status;

	int length = snprintf(path, sizeof(path), "/proc/%u/%s/%s", *pid,
	                      *word == '/' ? "root" : "cwd", word);
	// A file system that does not answer must not be waited for.
	return length < (int)sizeof(path) &&
	       statx(AT_FDCWD, path, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE, &status) ==
	               0 &&
	       S_ISREG(status.stx_mode);
}

// Where all of the run is one rank, that tells no process from others.
static void add_rank(uint32_t pid, const char *command, char title[PROC_TITLE_MAX])
{
	char path[32];

	if (rank_now().known)
		return;
	cleanup_free char *words = malloc(ENVIRON_MAX + 1);
	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = words && fd >= 0 ? read(fd, words, ENVIRON_MAX) : -1;
	if (size <= 0)
		return;
	words[size] = '\0';
	struct rank rank = rank_of(words, (size_t)size);
	if (rank.known && !*title)
		snprintf(title, PROC_TITLE_MAX, "%s", command);
	if (rank.known)
		rank_add_to_title(title, PROC_TITLE_MAX, rank.number);
}

void proc_title_read(uint32_t pid, const char *command, char title[PROC_TITLE_MAX])
{
	char path[32], words[CMDLINE_MAX + 1];

	title[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	cleanup_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, words, CMDLINE_MAX) : -1;
	if (size <= 0)
		return;
	words[size] = '\0';
	proc_title_of(words, (size_t)size, command, is_file_of, &pid, title);
	add_rank(pid, command, title);
}
