// SPDX-License-Identifier: MIT
#include "symbolize/jit/jit_module.h"

#include "base/error.h"
#include "base/strings.h"
#include "symbolize/demangle.h"
#include "symbolize/elf/read_file.h"
#include "symbolize/jit/jit_map.h"
#include "symbolize/jit/jitdump.h"

#include <errno.h>
#include <limits.h>

#define JIT_FILE_BYTES_MAX ((size_t)2 << 30)

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

// Reads NAME with the pid in it, here or in the process's own root.
static char *read_by_pid(const struct jit_search *search, const char *format_before,
                         const char *format_after, char *path, size_t *size)
{
	pid_t inner = inner_pid(search->pid);

	snprintf(path, PATH_MAX, "%s/%s%d%s", search->directory, format_before, search->pid,
	         format_after);
	char *text = read_file(path, JIT_FILE_BYTES_MAX, size, NULL);
	if (text)
		return text;
	snprintf(path, PATH_MAX, "/proc/%d/root%s/%s%d%s", search->pid, search->directory,
	         format_before, inner, format_after);
	return read_file(path, JIT_FILE_BYTES_MAX, size, NULL);
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

// PLACE becomes PATH; it may be NULL.
static char *read_at(const char *place, char *path, size_t *size)
{
	if (!place)
		return NULL;
	snprintf(path, PATH_MAX, "%s", place);
	return read_file(path, JIT_FILE_BYTES_MAX, size, NULL);
}

static char *read_dump(const struct jit_search *search, char *path, size_t *size)
{
	char *dump = read_at(search->dump, path, size);
	if (dump)
		return dump;
	cleanup_free char *mapped = find_mapped_dump(search->pid);
	dump = read_at(mapped, path, size);
	return dump ? dump : read_by_pid(search, "jit-", ".dump", path, size);
}

static const char *intern(struct strings *strings, const char *text, size_t length)
{
	return strings_get(strings, strings_add_bytes(strings, text, length));
}

static bool is_text(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ')
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
	} else if (hit->file && is_text(hit->file)) {
		frame->file = intern(search->paths, hit->file, strlen(hit->file));
	}
}

static int add_dump_frames(const struct jit_search *search, const struct jitdump_hit *hits,
                           size_t count, struct frames *frames)
{
	for (size_t i = 0; i < count; i++) {
		struct frame_found frame = { 0 };
		if (!hits[i].name)
			continue;
		struct jit_name name = { .text = hits[i].name,
			                 .length = (uint32_t)strlen(hits[i].name) };
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

static int resolve_by_dump(const struct jit_search *search, const uint64_t *addresses, size_t count,
                           struct frames *frames, struct debug_status *status)
{
	char path[PATH_MAX];
	size_t size;
	cleanup_free char *dump = read_dump(search, path, &size);

	if (!dump)
		return 0;
	cleanup_free struct jitdump_hit *hits = calloc(count + 1, sizeof(*hits));
	int found = -1;
	if (hits)
		found = jitdump_find((struct bytes){ (uint8_t *)dump, size }, addresses, count,
		                     hits);
	if (found <= 0)
		return found;
	status->level = DEBUG_LINES;
	snprintf(status->source, sizeof(status->source), "%.255s", path);
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

static int resolve_by_map(const struct jit_search *search, const uint64_t *addresses, size_t count,
                          struct frames *frames, struct debug_status *status)
{
	char path[PATH_MAX];
	size_t size;
	cleanup_free char *map = read_by_pid(search, "perf-", ".map", path, &size);

	if (!map)
		return 0;
	cleanup_free struct jit_name *names = calloc(count + 1, sizeof(*names));
	if (!names ||
	    jit_map_find((struct bytes){ (uint8_t *)map, size }, addresses, count, names) < 0)
		return -1;
	if (status->level < DEBUG_SYMBOLS) {
		status->level = DEBUG_SYMBOLS;
		snprintf(status->source, sizeof(status->source), "%.255s", path);
		tell_reused(names, count, status);
	}
	return add_map_frames(search, names, count, frames);
}

int jit_module_resolve(const struct jit_search *search, const uint64_t *addresses, size_t count,
                       struct frames *frames, struct debug_status *status, struct error *err)
{
	*status = (struct debug_status){ 0 };
	if (resolve_by_dump(search, addresses, count, frames, status) < 0 ||
	    resolve_by_map(search, addresses, count, frames, status) < 0)
		return error_set(err, ENOMEM, "could not look up code made at run time");
	if (status->level == DEBUG_NONE)
		snprintf(status->reason, sizeof(status->reason), "no perf-%d.map and no jitdump",
		         search->pid);
	return 0;
}
