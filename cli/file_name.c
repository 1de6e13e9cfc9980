// SPDX-License-Identifier: MIT
#include "cli/file_name.h"

#include "base/error.h"
#include "base/rank.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct filling {
	const char *pattern;
	bool cycles;
	const struct rank *rank;
	char *buffer;
	size_t size, used;
	struct error *err;
};

static int put(struct filling *f, const char *text, size_t length)
{
	if (length >= f->size - f->used)
		return error_set(f->err, ENAMETOOLONG, "could not name a file \"%s\"", f->pattern);
	memcpy(f->buffer + f->used, text, length);
	f->used += length;
	f->buffer[f->used] = '\0';
	return 0;
}

static int put_number(struct filling *f, uint32_t number)
{
	char text[16];

	return put(f, text, (size_t)snprintf(text, sizeof(text), "%u", number));
}

static int put_rank(struct filling *f)
{
	if (f->rank->known)
		return put_number(f, f->rank->number);
	error_set(f->err, 0, "\"%s\": there is no rank in the environment for %%r", f->pattern);
	error_hint(f->err, "Start it by mpirun, srun or torchrun, or name the file by %%p.");
	return -1;
}

static int put_host(struct filling *f)
{
	struct utsname name;

	if (uname(&name) < 0)
		return error_set(f->err, errno, "\"%s\": the host has no name", f->pattern);
	return put(f, name.nodename, strlen(name.nodename));
}

// What is in a variable is to be a part of a name, not a way to another directory.
static int put_variable(struct filling *f, const char *name, size_t length)
{
	char variable[256];

	if (length >= sizeof(variable))
		return error_set(f->err, ENAMETOOLONG, "could not name a file \"%s\"", f->pattern);
	memcpy(variable, name, length);
	variable[length] = '\0';
	const char *value = getenv(variable);
	if (!value)
		return error_set(f->err, 0, "\"%s\": %s is not set", f->pattern, variable);
	size_t start = f->used;
	if (put(f, value, strlen(value)) < 0)
		return -1;
	for (char *c = f->buffer + start; *c; c++)
		if (*c == '/')
			*c = '_';
	return 0;
}

// What AT, behind a percent sign, stands for; *END is behind it.
static int put_one(struct filling *f, const char *at, const char **end)
{
	const char *brace = at[0] == 'q' && at[1] == '{' ? strchr(at, '}') : NULL;

	*end = brace ? brace + 1 : at + 1;
	switch (*at) {
	case '%':
		return put(f, "%", 1);
	case 'h':
		return put_host(f);
	case 'p':
		return put_number(f, (uint32_t)getpid());
	case 'r':
		return put_rank(f);
	default:
		break;
	}
	if (*at == 'c' && f->cycles)
		return put(f, "%c", 2);
	if (brace)
		return put_variable(f, at + 2, (size_t)(brace - at - 2));
	return error_set(f->err, 0, "\"%s\": behind %% there may be h, p, r, q{NAME} or %%",
	                 f->pattern);
}

int file_name_fill(const char *pattern, bool cycles, const struct rank *rank, char *buffer,
                   size_t size, struct error *err)
{
	struct filling f = { pattern, cycles, rank, buffer, size, 0, err };

	buffer[0] = '\0';
	for (const char *at = pattern; *at;) {
		size_t plain = strcspn(at, "%");
		if (put(&f, at, plain) < 0)
			return -1;
		at += plain;
		if (*at && put_one(&f, at + 1, &at) < 0)
			return -1;
	}
	return 0;
}
