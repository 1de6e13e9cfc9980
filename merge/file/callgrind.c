// SPDX-License-Identifier: MIT
#include "merge/file/callgrind.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/strings.h"
#include "merge/profile/counts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 64

// Names by the numbers that stand for them later: "(12) main", then "(12)".
struct names {
	uint32_t *ids; /* strings */
	size_t capacity, count;
};

enum name_kind {
	NAME_OBJECT,
	NAME_FILE,
	NAME_FUNCTION,
	NAME_KINDS
};

struct call {
	uint64_t count; /* 0: the next line of costs is the function's own */
	uint32_t object, file;
	bool has_object, has_file;
	uint32_t function; /* string, with what callgrind has appended */
};

struct reader {
	struct counts *counts;
	struct strings *strings;
	struct names names[NAME_KINDS];
	uint32_t object, file;
	uint32_t function; /* number in counts; 0: none yet */
	struct call call;
	int positions; /* numbers before the costs: 1 or 2, the last of which is the line */
	bool has_line;
	size_t event; /* the index of what counts */
	bool has_events;
	uint64_t last[2]; /* positions of the last line */
};

static bool starts(const char *line, const char *word)
{
	return strncmp(line, word, strlen(word)) == 0;
}

static bool is_unknown(const char *name)
{
	return strcmp(name, "???") == 0;
}

// The string behind KEY=, in LINE: with a number in brackets, without a name the one it had before.
static bool read_name(struct reader *r, enum name_kind kind, const char *text, uint32_t *name)
{
	struct names *n = &r->names[kind];
	char *end;

	if (*text != '(') {
		*name = is_unknown(text) ? 0 : strings_add(r->strings, text);
		return *name || is_unknown(text);
	}
	unsigned long number = strtoul(text + 1, &end, 10);
	if (end == text + 1 || *end != ')' || number >= COUNTS_MAX)
		return false;
	end += end[1] == ' ' ? 2 : 1;
	if (!*end) { // known, or never named
		*name = number < n->count ? n->ids[number] : 0;
		return number < n->count;
	}
	if (!array_reserve(&n->ids, &n->capacity, number + 1))
		return false;
	while (n->count <= number)
		n->ids[n->count++] = 0;
	n->ids[number] = is_unknown(end) ? 0 : strings_add(r->strings, end);
	*name = n->ids[number];
	return *name || is_unknown(end);
}

// The length of NAME without "'2", which stands for being entered again while it runs.
static size_t plain_length(const char *name)
{
	size_t length = strlen(name), at = length;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	return at > 1 && at < length && name[at - 1] == '\'' ? at - 1 : length;
}

static uint32_t plain_name(struct reader *r, uint32_t name, bool *again)
{
	const char *text = strings_get(r->strings, name);
	size_t length = text ? plain_length(text) : 0;

	*again = text && text[length];
	return *again ? strings_add_bytes(r->strings, text, length) : name;
}

static bool begin_function(struct reader *r, const char *text)
{
	uint32_t name;
	bool again;

	if (!read_name(r, NAME_FUNCTION, text, &name))
		return false;
	r->function = counts_function(r->counts, plain_name(r, name, &again), r->file, r->object);
	return r->function != 0;
}

// "+3", "-2", "*", "12" or "0x1f": a position, some of which go by the last one.
static bool read_position(const char **at, uint64_t *last)
{
	const char *text = *at;
	char *end;

	if (*text == '*') {
		end = (char *)text + 1;
	} else if (*text == '+' || *text == '-') {
		uint64_t step = strtoull(text + 1, &end, 0);
		if (end == text + 1)
			return false;
		*last = *text == '+' ? *last + step : *last - step;
	} else {
		*last = strtoull(text, &end, 0);
		if (end == text)
			return false;
	}
	while (*end == ' ' || *end == '\t')
		end++;
	*at = end;
	return true;
}

// Costs that are not there are 0.
static bool read_cost(const char *at, size_t event, uint64_t *cost)
{
	*cost = 0;
	for (size_t i = 0; *at; i++) {
		char *end;
		uint64_t value = strtoull(at, &end, 10);
		if (end == at || (*end && *end != ' ' && *end != '\t'))
			return false;
		if (i == event)
			*cost = value;
		for (at = end; *at == ' ' || *at == '\t'; at++)
			;
	}
	return true;
}

static bool add_call(struct reader *r, uint64_t cost)
{
	struct call *call = &r->call;
	bool again;
	uint32_t name = plain_name(r, call->function, &again);
	uint32_t callee = counts_function(r->counts, name, call->has_file ? call->file : r->file,
	                                  call->has_object ? call->object : r->object);

	if (!callee)
		return false;
	// What is entered again counts in the call that it is within.
	if (!again && callee != r->function) {
		r->counts->functions[callee - 1].calls += call->count;
		r->counts->functions[callee - 1].called += cost;
		r->counts->functions[r->function - 1].callees += cost;
	}
	*call = (struct call){ 0 };
	return true;
}

static bool read_costs(struct reader *r, const char *at)
{
	uint64_t cost;

	for (int i = 0; i < r->positions; i++)
		if (!read_position(&at, &r->last[i]))
			return false;
	if (!r->function || !read_cost(at, r->event, &cost))
		return false;
	if (r->call.count)
		return add_call(r, cost);
	uint64_t line = r->has_line ? r->last[r->positions - 1] : 0;
	return counts_add(r->counts, r->function, r->file, line > INT32_MAX ? 0 : (uint32_t)line,
	                  cost);
}

static bool read_calls(struct reader *r, const char *at)
{
	char *end;

	r->call.count = strtoull(at, &end, 10);
	return end != at && r->call.count && r->call.function;
}

static bool read_events(struct reader *r, char *at)
{
	char *rest, *word = strtok_r(at, " \t", &rest);

	r->event = 0;
	for (size_t i = 0; word && i < EVENTS_MAX; i++) {
		if (strcmp(word, "Ir") == 0)
			r->event = i;
		word = strtok_r(NULL, " \t", &rest);
	}
	r->has_events = true;
	return true;
}

static bool read_positions(struct reader *r, const char *at)
{
	bool address = strstr(at, "instr") || strstr(at, "addr");

	r->has_line = strstr(at, "line") != NULL;
	r->positions = address + r->has_line;
	return r->positions > 0;
}

// "key: value". Those that we do not know are no error: newer versions may have more.
static bool read_header(struct reader *r, char *line)
{
	if (starts(line, "version:"))
		return strtoul(line + strlen("version:"), NULL, 10) == 1;
	if (starts(line, "positions:"))
		return read_positions(r, line + strlen("positions:"));
	if (starts(line, "events:"))
		return read_events(r, line + strlen("events:"));
	return strchr(line, ':') != NULL;
}

static bool read_specification(struct reader *r, const char *line)
{
	uint32_t ignored;

	if (starts(line, "fl=") || starts(line, "fi=") || starts(line, "fe="))
		return read_name(r, NAME_FILE, line + 3, &r->file);
	if (starts(line, "fn="))
		return begin_function(r, line + 3);
	if (starts(line, "ob="))
		return read_name(r, NAME_OBJECT, line + 3, &r->object);
	if (starts(line, "cob="))
		return r->call.has_object = true,
		       read_name(r, NAME_OBJECT, line + 4, &r->call.object);
	if (starts(line, "cfi=") || starts(line, "cfl="))
		return r->call.has_file = true, read_name(r, NAME_FILE, line + 4, &r->call.file);
	if (starts(line, "cfn="))
		return read_name(r, NAME_FUNCTION, line + 4, &r->call.function);
	if (starts(line, "calls="))
		return read_calls(r, line + strlen("calls="));
	if (starts(line, "jfi="))
		return read_name(r, NAME_FILE, line + 4, &ignored);
	if (starts(line, "jfn="))
		return read_name(r, NAME_FUNCTION, line + 4, &ignored);
	return starts(line, "jump=") || starts(line, "jcnd=") || starts(line, "rcalls=");
}

static bool read_line(struct reader *r, char *line)
{
	char *end = line + strlen(line);

	while (end > line && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r'))
		*--end = '\0';
	if (!*line || *line == '#')
		return true;
	if (strchr("0123456789+-*", *line))
		return r->has_events && read_costs(r, line);
	const char *equals = strchr(line, '='), *colon = strchr(line, ':');
	if (equals && (!colon || equals < colon))
		return read_specification(r, line);
	return read_header(r, line);
}

static int refuse(size_t line, struct error *err)
{
	return error_set(err, 0, "line %zu is not callgrind's format", line);
}

static int read_lines(struct reader *r, struct bytes text, struct error *err)
{
	const uint8_t *at = text.data, *end = text.data + text.size;
	cleanup_free char *line = NULL;
	size_t capacity = 0, number = 0;

	for (; at < end; number++) {
		const uint8_t *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		if (!array_reserve(&line, &capacity, length + 1))
			return error_set(err, ENOMEM, "could not read the counts");
		memcpy(line, at, length);
		line[length] = '\0';
		if (!read_line(r, line))
			return refuse(number + 1, err);
		at += length + 1;
		if (!newline)
			break;
	}
	return r->has_events ? 0 : refuse(number + 1, err);
}

int callgrind_read(struct bytes text, struct counts *counts, struct strings *strings,
                   struct error *err)
{
	struct reader r = {
		.counts = counts, .strings = strings, .positions = 1, .has_line = true
	};

	int failed = text.size ? read_lines(&r, text, err) : refuse(1, err);
	for (int i = 0; i < NAME_KINDS; i++)
		free(r.names[i].ids);
	return failed;
}
