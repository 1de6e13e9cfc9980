// SPDX-License-Identifier: MIT
#include "tracer/agent/trace/pattern.h"

#include <libiberty/demangle.h>
#include <string.h>

#define MANGLED_MAX 1024

// What stands at GLOB, "[…]", against C. *END gets what is behind it; NULL: it is no class.
static bool in_class(const char *glob, char c, const char **end)
{
	const char *at = glob + 1;
	bool inverted = *at == '!' || *at == '^', found = false;

	at += inverted;
	for (const char *first = at; *at && (*at != ']' || at == first); at++) {
		if (at[1] == '-' && at[2] && at[2] != ']') {
			found |= c >= at[0] && c <= at[2];
			at += 2;
		} else {
			found |= c == *at;
		}
	}
	*end = *at ? at + 1 : NULL;
	return found != inverted;
}

// Whether the first of GLOB, which is no star, takes C; *REST gets what is behind it.
static bool takes(const char *glob, char c, const char **rest)
{
	*rest = glob + 1;
	if (*glob == '?')
		return true;
	if (*glob == '[') {
		const char *end;
		bool found = in_class(glob, c, &end);
		if (end) {
			*rest = end;
			return found;
		}
	}
	return *glob == c;
}

bool pattern_glob(const char *glob, const char *text)
{
	const char *star = NULL, *from = NULL; // the last star, and what it does not take yet
	const char *rest;

	while (*text) {
		if (*glob == '*') {
			star = ++glob;
			from = text;
		} else if (*glob && takes(glob, *text, &rest)) {
			glob = rest;
			text++;
		} else if (star) {
			glob = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

// A colon that is not one of C++'s pairs.
static char *find_colon(char *text)
{
	for (char *at = text; *at; at++) {
		if (*at != ':')
			continue;
		if (at[1] != ':')
			return at;
		at++;
	}
	return NULL;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

// Names of the standard library are abbreviated; operators, types and numbers have other forms.
static bool may_look_otherwise(const char *word, size_t length)
{
	static const char *const words[] = { "std",           "allocator",     "basic_string",
		                             "string",        "char",          "char_traits",
		                             "operator",      "basic_istream", "istream",
		                             "ostream",       "basic_ostream", "iostream",
		                             "basic_iostream" };

	if (*word >= '0' && *word <= '9')
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0)
			return true;
	return false;
}

// The longest word of what stands before parameters and template arguments.
static void find_literal(struct pattern *p)
{
	const char *at = p->name;

	while (*at && *at != '(' && *at != '<' && *at != '[') {
		size_t length = 0;
		while (is_word(at[length]))
			length++;
		if (length > p->literal_bytes && !may_look_otherwise(at, length)) {
			p->literal = at;
			p->literal_bytes = length;
		}
		at += length ? length : 1;
	}
}

static void add(struct patterns *p, char *line)
{
	struct pattern *pattern = &p->of[p->count++];
	char *colon = find_colon(line);

	*pattern = (struct pattern){ .name = line };
	if (colon) {
		*colon = '\0';
		pattern->library = line;
		pattern->name = colon + 1;
	}
	find_literal(pattern);
}

bool patterns_parse(struct patterns *p, const char *text)
{
	size_t length = strlen(text);

	p->count = 0;
	if (length >= sizeof(p->text))
		return false;
	memcpy(p->text, text, length + 1);
	for (char *line = p->text; line && *line;) {
		char *end = strchr(line, '\n');
		if (end)
			*end = '\0';
		if (p->count == PATTERNS_MAX)
			return false;
		if (*line)
			add(p, line);
		line = end ? end + 1 : NULL;
	}
	return true;
}

bool pattern_is_for(const struct pattern *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');

	return !pattern->library || pattern_glob(pattern->library, path) ||
	       (slash && pattern_glob(pattern->library, slash + 1));
}

bool patterns_want(const struct patterns *p, const char *path)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (pattern_is_for(&p->of[i], path))
			return true;
	return false;
}

// "f.constprop.0" is f, made for some of its callers, and "f.avx2" for some machines. Of "f.cold"
// and "f.part.0" neither is.
static bool cut_clone(char *name)
{
	char *dot = *name ? strchr(name + 1, '.') : NULL;

	if (!dot)
		return true;
	if (strstr(dot, ".cold") || strstr(dot, ".part.") || strstr(dot, ".resolver"))
		return false;
	*dot = '\0';
	return true;
}

struct output {
	char *text;
	size_t used;
};

static void take_output(const char *text, size_t length, void *context)
{
	struct output *output = context;
	size_t room = PATTERN_NAME_BYTES - 1 - output->used;

	length = length < room ? length : room;
	memcpy(output->text + output->used, text, length);
	output->used += length;
}

static bool demangle(const char *symbol, int options, char name[PATTERN_NAME_BYTES])
{
	struct output output = { name, 0 };
	bool known = rust_demangle_callback(symbol, options, take_output, &output) && output.used;

	if (!known) {
		output.used = 0;
		known = cplus_demangle_v3_callback(symbol, options, take_output, &output) &&
		        output.used;
	}
	name[output.used] = '\0';
	return known;
}

static bool holds(const char *symbol, const struct pattern *pattern)
{
	size_t length = strlen(symbol);

	return !pattern->literal_bytes ||
	       memmem(symbol, length, pattern->literal, pattern->literal_bytes);
}

struct wanted {
	const char *symbol;
	bool mangled;
	bool asked;                                               // of the demangler
	char plain[PATTERN_NAME_BYTES], full[PATTERN_NAME_BYTES]; // without parameters, with them
};

static bool matches(const struct pattern *pattern, struct wanted *w)
{
	if (pattern_glob(pattern->name, w->symbol))
		return true;
	if (!w->mangled || !holds(w->symbol, pattern))
		return false;
	if (!w->asked) {
		w->asked = true;
		w->mangled = demangle(w->symbol, DMGL_ANSI, w->plain) &&
		             demangle(w->symbol, DMGL_ANSI | DMGL_PARAMS, w->full);
	}
	return w->mangled &&
	       (pattern_glob(pattern->name, w->plain) || pattern_glob(pattern->name, w->full));
}

int patterns_match(const struct patterns *p, const char *path, const char *symbol,
                   char name[PATTERN_NAME_BYTES])
{
	char base[MANGLED_MAX + 1];
	size_t length = strlen(symbol);
	struct wanted w = { .symbol = base };

	if (length > MANGLED_MAX)
		return -1;
	memcpy(base, symbol, length + 1);
	if (!cut_clone(base))
		return -1;
	w.mangled = strncmp(base, "_Z", 2) == 0 || strncmp(base, "_R", 2) == 0;
	for (uint32_t i = 0; i < p->count; i++) {
		if (!pattern_is_for(&p->of[i], path) || !matches(&p->of[i], &w))
			continue;
		if (!w.mangled || !demangle(base, DMGL_ANSI | DMGL_PARAMS, name)) {
			memcpy(name, base, PATTERN_NAME_BYTES - 1);
			name[PATTERN_NAME_BYTES - 1] = '\0';
		}
		return (int)i;
	}
	return -1;
}
