// SPDX-License-Identifier: MIT
#include "cli/batch/batch_file.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 100
#define TIMEOUT_MAX    31536000.0 // a year
#define FILE_BYTES_MAX (16u << 20)

struct parser {
	struct batch_file *file;
	struct batch_job defaults; // of what stands before the first section
	const char *name;
	unsigned line;
	struct error *err;
};

static int wrong(struct parser *p, const char *what, const char *value)
{
	return error_set(p->err, 0, "\"%s\", line %u: %s \"%.100s\"", p->name, p->line, what,
	                 value);
}

// The name becomes that of files: it must not lead anywhere, or look like an option.
static bool is_name(const char *name)
{
	size_t length = strlen(name);

	if (!length || length > NAME_BYTES_MAX || !isalnum((unsigned char)name[0]))
		return false;
	for (const char *c = name; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			return false;
	return true;
}

// BLANK: nothing but blanks. Both ends of TEXT lose theirs.
static char *trim(char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	size_t length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	text[length] = '\0';
	return text;
}

static int check_last(struct parser *p)
{
	const struct batch_job *job = p->file->count ? &p->file->jobs[p->file->count - 1] : NULL;

	if (!job || job->command)
		return 0;
	p->line = job->line;
	return wrong(p, "there is no command in", job->name);
}

static int begin_section(struct parser *p, char *text)
{
	struct batch_file *file = p->file;
	char *end = strrchr(text, ']');

	if (check_last(p) < 0)
		return -1;
	if (!end || end[1])
		return wrong(p, "there is no ] at the end of", text);
	*end = '\0';
	char *name = trim(text + 1);
	if (!is_name(name))
		return wrong(p, "a name has letters and digits, and . _ - after the first, unlike",
		             name);
	for (size_t i = 0; i < file->count; i++)
		if (strcasecmp(file->jobs[i].name, name) == 0)
			return wrong(p, "there is already a", file->jobs[i].name);
	if (file->count >= BATCH_JOBS_MAX)
		return wrong(p, "there are too many commands before", name);
	if (!array_reserve(&file->jobs, &file->capacity, file->count + 1))
		return error_set(p->err, ENOMEM, "could not read \"%s\"", p->name);
	struct batch_job *job = &file->jobs[file->count++];
	*job = p->defaults;
	job->name = name;
	job->line = p->line;
	return 0;
}

static int add_item(struct parser *p, struct option_list *list, const char *value)
{
	if (list->count >= OPTION_LIST_MAX)
		return wrong(p, "there are too many of these:", value);
	list->items[list->count++] = value;
	return 0;
}

static int set_repeat(struct parser *p, struct batch_job *job, const char *value)
{
	char *end;
	unsigned long repeat = isdigit((unsigned char)*value) ? strtoul(value, &end, 10) : 0;

	if (!repeat || *end || repeat > BATCH_REPEAT_MAX)
		return wrong(p, "repeat is a number from 1 to 1000, unlike", value);
	job->repeat = (uint32_t)repeat;
	return 0;
}

static int set_timeout(struct parser *p, struct batch_job *job, const char *value)
{
	char *end;
	double seconds = strtod(value, &end);

	if (!isdigit((unsigned char)*value) || *end || !(seconds >= 0 && seconds <= TIMEOUT_MAX))
		return wrong(p, "timeout is a number of seconds, unlike", value);
	job->timeout_ns = (uint64_t)(seconds * 1e9);
	return 0;
}

static int add_variable(struct parser *p, struct batch_job *job, const char *value)
{
	const char *equals = strchr(value, '=');

	if (!equals || equals == value)
		return wrong(p, "environment is NAME=VALUE, unlike", value);
	return add_item(p, &job->environment, value);
}

static int set_text(struct parser *p, const char **to, const char *value)
{
	if (!*value)
		return wrong(p, "there is nothing behind", "=");
	*to = value;
	return 0;
}

static int set_command(struct parser *p, struct batch_job *job, const char *value)
{
	if (job == &p->defaults)
		return wrong(p, "there is no [name] before the command", value);
	if (job->command)
		return wrong(p, "this one has a command already:", job->name);
	return set_text(p, &job->command, value);
}

static int take_pair(struct parser *p, char *text)
{
	struct batch_job *job = p->file->count ? &p->file->jobs[p->file->count - 1] : &p->defaults;
	char *equals = strchr(text, '=');

	if (!equals)
		return wrong(p, "expected [name] or KEY = VALUE:", text);
	*equals = '\0';
	const char *key = trim(text), *value = trim(equals + 1);
	if (strcmp(key, "command") == 0)
		return set_command(p, job, value);
	if (strcmp(key, "options") == 0)
		return set_text(p, &job->options, value);
	if (strcmp(key, "directory") == 0)
		return set_text(p, &job->directory, value);
	if (strcmp(key, "environment") == 0)
		return add_variable(p, job, value);
	if (strcmp(key, "gate") == 0)
		return *value ? add_item(p, &job->gates, value)
		              : wrong(p, "there is nothing behind", "=");
	if (strcmp(key, "repeat") == 0)
		return set_repeat(p, job, value);
	if (strcmp(key, "timeout") == 0)
		return set_timeout(p, job, value);
	wrong(p, "there is no such key:", key);
	return error_hint(p->err, "See bottleneck-batch(5).");
}

static int take_line(struct parser *p, char *line)
{
	char *text = trim(line);

	if (!*text || *text == '#' || *text == ';')
		return 0;
	return *text == '[' ? begin_section(p, text) : take_pair(p, text);
}

static int parse(struct parser *p, size_t size)
{
	char *text = p->file->text, *end = text + size;

	if (memchr(text, '\0', size))
		return error_set(p->err, 0, "\"%s\" is no text: it has a NUL byte", p->name);
	while (text < end) {
		char *line = text;
		text += strcspn(text, "\n");
		*text++ = '\0';
		p->line++;
		if (take_line(p, line) < 0)
			return -1;
	}
	if (check_last(p) < 0)
		return -1;
	return p->file->count ? 0 : error_set(p->err, 0, "\"%s\" names no commands", p->name);
}

struct batch_file *batch_file_parse(const char *name, const char *bytes, size_t size,
                                    struct error *err)
{
	cleanup(batch_file) struct batch_file *file = calloc(1, sizeof(*file));
	struct parser p = { .file = file, .defaults = { .repeat = 1 }, .name = name, .err = err };

	if (file)
		file->text = malloc(size + 1);
	if (!file || !file->text) {
		error_set(err, ENOMEM, "could not read \"%s\"", name);
		return NULL;
	}
	memcpy(file->text, bytes, size);
	file->text[size] = '\0';
	return parse(&p, size) < 0 ? NULL : steal(file);
}

struct batch_file *batch_file_read(const char *path, struct error *err)
{
	cleanup_fclose FILE *in = strcmp(path, "-") == 0 ? fdopen(dup(0), "r") : fopen(path, "re");
	cleanup_free char *bytes = NULL;
	size_t size = 0, capacity = 0, got;

	if (!in) {
		error_set(err, errno, "could not read \"%s\"", path);
		return NULL;
	}
	do {
		if (size > FILE_BYTES_MAX || !array_reserve(&bytes, &capacity, size + 4096)) {
			error_set(err, size > FILE_BYTES_MAX ? EFBIG : ENOMEM,
			          "could not read \"%s\"", path);
			return NULL;
		}
		got = fread(bytes + size, 1, 4096, in);
		size += got;
	} while (got);
	if (ferror(in)) {
		error_set(err, errno, "could not read \"%s\"", path);
		return NULL;
	}
	return batch_file_parse(path, bytes, size, err);
}

void batch_file_free(struct batch_file *file)
{
	if (!file)
		return;
	free(file->text);
	free(file->jobs);
	free(file);
}

// FNV-1a; the NUL goes in, too, so that no two lists of texts look alike.
static uint64_t mix(uint64_t hash, const char *text)
{
	const char *c = text ? text : "\1";

	do
		hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	while (*c++);
	return hash;
}

static uint64_t mix_list(uint64_t hash, const struct option_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		hash = mix(hash, list->items[i]);
	return mix(hash, "");
}

uint64_t batch_job_fingerprint(const struct batch_job *job)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	char numbers[64];

	snprintf(numbers, sizeof(numbers), "%u %llu", job->repeat,
	         (unsigned long long)job->timeout_ns);
	hash = mix(mix(mix(hash, job->command), job->options), job->directory);
	return mix(mix_list(mix_list(hash, &job->environment), &job->gates), numbers);
}
