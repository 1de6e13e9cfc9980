// SPDX-License-Identifier: MIT
#include "tracer/agent/maps.h"

#include "tracer/agent/system.h"

#include <errno.h>
#include <sys/resource.h>

#include <string.h>
#include <sys/mman.h>

#define SPACE_SHARE 8 // of the address space that is left we take at most one part in so many

struct cursor {
	const char *at, *end;
};

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 99;
}

static bool take_number(struct cursor *c, int base, uint64_t *out)
{
	const char *first = c->at;

	*out = 0;
	for (; c->at < c->end && digit_value(*c->at) < base; c->at++)
		*out = *out * (uint64_t)base + (uint64_t)digit_value(*c->at);
	return c->at > first;
}

static bool take_char(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

// "r-xp "
static bool take_protection(struct cursor *c, uint32_t *out)
{
	if (c->end - c->at < 5 || c->at[4] != ' ')
		return false;
	*out = (c->at[0] == 'r' ? PROT_READ : 0u) | (c->at[1] == 'w' ? PROT_WRITE : 0u) |
	       (c->at[2] == 'x' ? PROT_EXEC : 0u);
	c->at += 5;
	return true;
}

static bool take_device(struct cursor *c, struct map *out)
{
	uint64_t major, minor;

	if (!take_number(c, 16, &major) || !take_char(c, ':') || !take_number(c, 16, &minor))
		return false;
	out->device_major = (uint32_t)major;
	out->device_minor = (uint32_t)minor;
	return take_char(c, ' ');
}

bool map_parse(const char *line, size_t length, struct map *out)
{
	struct cursor c = { line, line + length };

	if (!take_number(&c, 16, &out->start) || !take_char(&c, '-') ||
	    !take_number(&c, 16, &out->end) || !take_char(&c, ' ') ||
	    !take_protection(&c, &out->protection) || !take_number(&c, 16, &out->file_offset) ||
	    !take_char(&c, ' ') || !take_device(&c, out) || !take_number(&c, 10, &out->inode))
		return false;
	while (take_char(&c, ' '))
		;
	size_t path = (size_t)(c.end - c.at);
	if (path >= sizeof(out->path))
		path = sizeof(out->path) - 1;
	memcpy(out->path, c.at, path);
	out->path[path] = '\0';
	return out->end > out->start;
}

// Hands out the whole lines of TEXT; returns how many bytes it has used.
static size_t visit_lines(const char *text, size_t length,
                          void (*visit)(void *, const struct map *), void *context, bool *skipping)
{
	size_t used = 0;
	const char *newline;

	while ((newline = memchr(text + used, '\n', length - used))) {
		struct map map;
		size_t line = (size_t)(newline - (text + used));
		if (!*skipping && map_parse(text + used, line, &map))
			visit(context, &map);
		*skipping = false;
		used += line + 1;
	}
	return used;
}

bool maps_each(void (*visit)(void *context, const struct map *map), void *context)
{
	char buffer[MAPS_PATH_MAX + 256];
	size_t kept = 0;
	bool skipping = false; // in a line that is longer than the buffer
	long got;

	int fd = system_open("/proc/self/maps", O_RDONLY, 0);
	if (fd < 0)
		return false;
	while ((got = system_read(fd, buffer + kept, sizeof(buffer) - kept)) > 0 ||
	       (got < 0 && errno == EINTR)) {
		kept += got > 0 ? (size_t)got : 0;
		size_t used = visit_lines(buffer, kept, visit, context, &skipping);
		kept -= used;
		memmove(buffer, buffer + used, kept);
		if (kept == sizeof(buffer)) {
			skipping = true;
			kept = 0;
		}
	}
	system_close(fd);
	return got == 0;
}

// Of the address space that the process may take; SIZE_MAX where that has no limit.
static size_t space_left(void)
{
	struct rlimit limit;
	char text[32];
	size_t pages = 0;

	if (getrlimit(RLIMIT_AS, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return SIZE_MAX;
	int fd = system_open("/proc/self/statm", O_RDONLY, 0);
	long got = fd < 0 ? 0 : system_read(fd, text, sizeof(text));
	if (fd >= 0)
		system_close(fd);
	if (got <= 0)
		return 0;
	for (long i = 0; i < got && text[i] >= '0' && text[i] <= '9'; i++)
		pages = pages * 10 + (size_t)(text[i] - '0');
	size_t used = pages * (size_t)sysconf(_SC_PAGESIZE);
	return used < limit.rlim_cur ? limit.rlim_cur - used : 0;
}

bool maps_allow(size_t size)
{
	return size <= space_left() / SPACE_SHARE;
}
