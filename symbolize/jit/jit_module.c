// SPDX-License-Identifier: MIT
#include "symbolize/jit/jit_module.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/foreign_file.h"
#include "base/mapped.h"
#include "base/strings.h"
#include "symbolize/elf/read_file.h"
#include "symbolize/frame/demangle.h"
#include "symbolize/jit/jit_map.h"
#include "symbolize/jit/jitdump.h"

#include <errno.h>
#include <limits.h>

// Maps of large servers have some ten MB; dumps hold the code itself.
#define JIT_FILE_BYTES_MAX ((size_t)512 << 20)

// The process's number where it lives, which names its files; PID itself if that is unknown.
static pid_t inner_pid(pid_t pid)
{
	char path[64];
	size_t size;
	long inner = pid;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	cleanup_free char *text = read_file(path, (size_t)1 << 16, &size, NULL);
	char *line = text ? strstr(text, "\nNSpid:") : NULL;
	if (!line)
		return pid;
	// From the outermost namespace to its own, in one line.
	for (char *at = line + 7, *end; *at && *at != '\n'; at = end) {
		long number = strtol(at, &end, 10);
		if (end == at)
			break;
		inner = number;
	}
	return (pid_t)inner;
}

// What a compiler wrote, while we read it; the path it was found at, or why it is not taken.
struct jit_file {
	struct mapped map;
	char path[PATH_MAX];
	char refusal[256]; // "" unless there is a file that must not be believed
};

static void jit_file_at_scope_end(struct jit_file *file)
{
	mapped_close(&file->map);
}

// What the clocks of files and of processes may differ by.
#define BORN_SLACK_NS NS_PER_SEC

// What anybody can write to in /tmp is believed only of the process's own user, or of root, and
// only if it is not of an older process of the same number. It is mapped, as a file of any size may
// be there: only what is looked at takes memory. SHOWN is how the path is called; FD, unless it is
// -1, what it leads to.
static bool open_as(const struct jit_search *search, const char *path, int fd, const char *shown,
                    struct jit_file *file)
{
	const struct foreign_rules rules = {
		.no_links = true,
		.owned = true,
		.user = search->user,
		.max_bytes = JIT_FILE_BYTES_MAX,
		.not_before_ns =
			search->born_ns > BORN_SLACK_NS ? search->born_ns - BORN_SLACK_NS : 0,
	};
	struct error err = { 0 };
	struct stat st;
	cleanup_close int own = fd >= 0 ? foreign_open_again(fd, shown, &rules, &st, &err)
	                                : foreign_open(path, &rules, &st, &err);

	if (own < 0 && err.errnum != ENOENT && err.errnum != ENOTDIR && !*file->refusal)
		error_message(&err, file->refusal, sizeof(file->refusal));
	if (own < 0 || !st.st_size)
		return false;
	if (mapped_open(&file->map, own, (size_t)st.st_size, MAPPED_READ, NULL) < 0)
		return false;
	snprintf(file->path, sizeof(file->path), "%s", shown);
	return true;
}

static bool open_at(const struct jit_search *search, const char *path, struct jit_file *file)
{
	return open_as(search, path, -1, path, file);
}

// In the process's own directory, by its number there.
static bool open_inside(const struct jit_search *search, const char *before, const char *after,
                        struct jit_file *file)
{
	pid_t inner = search->inner_pid ? search->inner_pid : inner_pid(search->pid);
	char shown[PATH_MAX], path[PATH_MAX];

	snprintf(shown, sizeof(shown), "/proc/%d/root%s/%s%d%s", search->pid, search->directory,
	         before, inner, after);
	if (search->place < 0)
		return open_at(search, shown, file);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s%d%s", search->place, before, inner,
	         after);
	return open_as(search, path, -1, shown, file);
}

static bool open_here(const struct jit_search *search, pid_t pid, const char *before,
                      const char *after, struct jit_file *file)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s%d%s", search->directory, before, pid, after);
	return open_at(search, path, file);
}

// Opens the file with the pid in its name, here or in the process's own root. The number that it
// has where it lives comes first: here, another process has that, unless both have the same /tmp.
static bool open_by_pid(const struct jit_search *search, const char *before, const char *after,
                        struct jit_file *file)
{
	bool renamed = search->inner_pid && search->inner_pid != search->pid;

	if (renamed &&
	    (search->place >= 0 ? open_inside(search, before, after, file)
	                        : open_here(search, search->inner_pid, before, after, file)))
		return true;
	return open_here(search, search->pid, before, after, file) ||
	       (!renamed && open_inside(search, before, after, file));
}

// A compiler maps its dump, which is how others find it: perf-record(1) does the same.
static char *find_mapped_dump(pid_t pid)
{
	char path[64], name[64];
	size_t size;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	snprintf(name, sizeof(name), "/jit-%d.dump\n", inner_pid(pid));
	cleanup_free char *maps = read_file(path, (size_t)64 << 20, &size, NULL);
	char *found = maps ? strstr(maps, name) : NULL;
	if (!found)
		return NULL;
	char *end = found + strlen(name) - 1;
	char *line = found;
	while (line > maps && line[-1] != '\n')
		line--;
	char *start = strchr(line, '/');
	char *full = NULL;
	if (!start || asprintf(&full, "/proc/%d/root%.*s", pid, (int)(end - start), start) < 0)
		return NULL;
	return full;
}

static bool open_dump(const struct jit_search *search, struct jit_file *file)
{
	if (search->dump && open_as(search, search->dump, search->dump_fd, search->dump, file))
		return true;
	cleanup_free char *mapped = find_mapped_dump(search->pid);
	return (mapped && open_at(search, mapped, file)) ||
	       open_by_pid(search, "jit-", ".dump", file);
}

static const char *intern(struct strings *strings, const char *text, size_t length)
{
	return strings_get(strings, strings_add_bytes(strings, text, length));
}

static bool is_text(const char *text, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ')
			return false;
	return true;
}

// V8's file names are of strings that have moved away, and so may be anything (seen in node
// 20.20.2); its names of functions, which end in the file, are right.
static void set_source(const struct jit_search *search, const struct jitdump_hit *hit,
                       struct jit_name *name, struct frame_found *frame)
{
	struct jit_name file;
	int line;

	frame->line = hit->line;
	if (jit_map_source(name, &file, &line)) {
		frame->file = intern(search->paths, file.text, file.length);
		frame->line = hit->line ? hit->line : line;
	} else if (hit->file && is_text(hit->file, hit->file_length)) {
		frame->file = intern(search->paths, hit->file, hit->file_length);
	}
}

static int add_dump_frames(const struct jit_search *search, const struct jitdump_hit *hits,
                           size_t count, struct frames *frames)
{
	for (size_t i = 0; i < count; i++) {
		struct frame_found frame = { 0 };
		if (!hits[i].name)
			continue;
		struct jit_name name = { .text = hits[i].name, .length = hits[i].name_length };
		set_source(search, &hits[i], &name, &frame);
		frame.function = demangler_name(search->names, name.text, name.length);
		if (!frame.function || !frames_add(frames, i, frame))
			return -1;
	}
	return 0;
}

static int add_map_frames(const struct jit_search *search, struct jit_name *names, size_t count,
                          struct frames *frames)
{
	for (size_t i = 0; i < count; i++) {
		struct frame_found frame = { 0 };
		struct jit_name file;
		if (!names[i].text || frames->counts[i])
			continue;
		if (jit_map_source(&names[i], &file, &frame.line))
			frame.file = intern(search->paths, file.text, file.length);
		frame.function = demangler_name(search->names, names[i].text, names[i].length);
		if (!frame.function || !frames_add(frames, i, frame))
			return -1;
	}
	return 0;
}

// What there is of the kind, and is not taken, is the reason for what is missing.
static void tell_refusal(const struct jit_file *file, struct debug_status *status)
{
	if (!*file->refusal || *status->reason)
		return;
	snprintf(status->reason, sizeof(status->reason), "%s", file->refusal);
	snprintf(status->remedy, sizeof(status->remedy),
	         "remove that file if it is not the program's, and profile again");
}

static int resolve_by_dump(const struct jit_search *search, const uint64_t *addresses, size_t count,
                           struct frames *frames, struct debug_status *status)
{
	cleanup(jit_file) struct jit_file file = { 0 };

	if (!open_dump(search, &file)) {
		tell_refusal(&file, status);
		return 0;
	}
	cleanup_free struct jitdump_hit *hits = calloc(count + 1, sizeof(*hits));
	int found = -1;
	if (hits)
		found = jitdump_find((struct bytes){ file.map.data, file.map.size }, addresses,
		                     count, hits);
	if (found <= 0)
		return found;
	status->level = DEBUG_LINES;
	snprintf(status->source, sizeof(status->source), "%.255s", file.path);
	return add_dump_frames(search, hits, count, frames);
}

static void tell_reused(const struct jit_name *names, size_t count, struct debug_status *status)
{
	size_t reused = 0;

	for (size_t i = 0; i < count; i++)
		reused += names[i].reused;
	if (reused)
		snprintf(status->reason, sizeof(status->reason),
		         "%zu of %zu places held other code before, whose time counts for what "
		         "came last",
		         reused, count);
}

static int resolve_by_file(const struct jit_search *search, const struct jit_file *file,
                           const uint64_t *addresses, size_t count, struct frames *frames,
                           struct debug_status *status)
{
	cleanup_free struct jit_name *names = calloc(count + 1, sizeof(*names));

	if (!names || jit_map_find((struct bytes){ file->map.data, file->map.size }, addresses,
	                           count, names) < 0)
		return -1;
	if (status->level < DEBUG_SYMBOLS) {
		*status = (struct debug_status){ .level = DEBUG_SYMBOLS };
		snprintf(status->source, sizeof(status->source), "%.255s", file->path);
		tell_reused(names, count, status);
	}
	return add_map_frames(search, names, count, frames);
}

// What was compiled later, or freed before its compiler was asked.
static void tell_nameless(const struct frames *frames, size_t count, struct debug_status *status)
{
	size_t nameless = 0;

	for (size_t i = 0; i < count; i++)
		nameless += !frames->counts[i];
	if (nameless)
		snprintf(status->reason, sizeof(status->reason),
		         "%zu of %zu places have no names: compiled after the last time that "
		         "--names asked for them, or freed before",
		         nameless, count);
}

static int resolve_by_map(const struct jit_search *search, const uint64_t *addresses, size_t count,
                          struct frames *frames, struct debug_status *status)
{
	cleanup(jit_file) struct jit_file kept = { 0 }, file = { 0 };
	char path[PATH_MAX];
	bool has_kept = false;

	if (search->kept) {
		snprintf(path, sizeof(path), "%s/perf-%d.map", search->kept, search->pid);
		has_kept = open_at(search, path, &kept);
	}
	if (has_kept && resolve_by_file(search, &kept, addresses, count, frames, status) < 0)
		return -1;
	if (!open_by_pid(search, "perf-", ".map", &file))
		tell_refusal(&file, status);
	else if (resolve_by_file(search, &file, addresses, count, frames, status) < 0)
		return -1;
	if (has_kept)
		tell_nameless(frames, count, status);
	return 0;
}

int jit_module_resolve(const struct jit_search *search, const uint64_t *addresses, size_t count,
                       struct frames *frames, struct debug_status *status, struct error *err)
{
	*status = (struct debug_status){ 0 };
	if (resolve_by_dump(search, addresses, count, frames, status) < 0 ||
	    resolve_by_map(search, addresses, count, frames, status) < 0)
		return error_set(err, ENOMEM, "could not look up code made at run time");
	if (status->level == DEBUG_LINES)
		status->reason[0] = status->remedy[0] = '\0'; // nothing is missing
	if (status->level == DEBUG_NONE && !*status->reason)
		snprintf(status->reason, sizeof(status->reason), "no perf-%d.map and no jitdump",
		         search->pid);
	return 0;
}
