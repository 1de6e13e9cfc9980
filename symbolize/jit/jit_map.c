// SPDX-License-Identifier: MIT
#include "symbolize/jit/jit_map.h"

#include "base/cleanup.h"
#include "symbolize/dwarf/cover.h"

static bool hex_digit(uint8_t byte, uint64_t *digit)
{
	if (byte >= '0' && byte <= '9')
		*digit = (uint64_t)byte - '0';
	else if ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f')
		*digit = (uint64_t)(byte | 0x20) - 'a' + 10;
	else
		return false;
	return true;
}

// A number and the blank behind it.
static bool read_hex(struct cursor *c, uint64_t *number)
{
	const uint8_t *start = c->at;
	uint64_t digit;

	*number = 0;
	if (cursor_left(c) > 2 && c->at[0] == '0' && (c->at[1] | 0x20) == 'x')
		c->at += 2;
	for (; c->at < c->end && hex_digit(*c->at, &digit); c->at++)
		*number = *number << 4 | digit;
	return c->at > start && cursor_u8(c) == ' ';
}

static bool read_line(struct bytes line, uint64_t *start, uint64_t *size, struct jit_name *name)
{
	struct cursor c = cursor_at(line, 0);

	if (!read_hex(&c, start) || !read_hex(&c, size) || !cursor_left(&c))
		return false;
	*name = (struct jit_name){ .text = (const char *)c.at,
		                   .length = (uint32_t)cursor_left(&c) };
	return true;
}

// Names the addresses that LINE holds and that no line has named before.
static void name_those_in(struct bytes line, struct cover *cover, struct jit_name *names)
{
	uint64_t start, size;
	struct jit_name name = { 0 };
	size_t at;

	if (!line.size || !read_line(line, &start, &size, &name))
		return;
	while ((at = cover_take(cover, start, size)) < cover->count)
		names[at] = name;
}

// From the last line to the first: what was written last is what ran last.
static void find_last_names(struct bytes map, struct cover *cover, struct jit_name *names)
{
	const uint8_t *end = map.size ? memrchr(map.data, '\n', map.size) : NULL;

	while (end) {
		size_t before = (size_t)(end - map.data);
		const uint8_t *newline = before ? memrchr(map.data, '\n', before) : NULL;
		const uint8_t *text = newline ? newline + 1 : map.data;
		name_those_in((struct bytes){ text, (size_t)(end - text) }, cover, names);
		end = newline;
	}
}

static void find_first_names(struct bytes map, struct cover *cover, struct jit_name *names)
{
	const uint8_t *at = map.data, *end = map.data + map.size, *newline;

	while (at < end && (newline = memchr(at, '\n', (size_t)(end - at)))) {
		name_those_in((struct bytes){ at, (size_t)(newline - at) }, cover, names);
		at = newline + 1;
	}
}

static bool is_same(const struct jit_name *a, const struct jit_name *b)
{
	return a->length == b->length && (!a->length || memcmp(a->text, b->text, a->length) == 0);
}

int jit_map_find(struct bytes map, const uint64_t *addresses, size_t count, struct jit_name *names)
{
	cleanup_free struct jit_name *first = calloc(count + 1, sizeof(*first));
	struct cover last_cover, first_cover;

	memset(names, 0, count * sizeof(*names));
	if (!first || !cover_init(&last_cover, addresses, count))
		return -1;
	find_last_names(map, &last_cover, names);
	cover_fini(&last_cover);
	if (!cover_init(&first_cover, addresses, count))
		return -1;
	find_first_names(map, &first_cover, first);
	cover_fini(&first_cover);
	for (size_t i = 0; i < count; i++)
		names[i].reused = !is_same(&names[i], &first[i]);
	return 0;
}

// Takes ":DIGITS" off the end of TEXT.
static bool take_number(struct jit_name *text, int *number)
{
	uint32_t at = text->length;
	int value = 0, scale = 1;

	for (; at && text->text[at - 1] >= '0' && text->text[at - 1] <= '9'; scale *= 10) {
		if (text->length - at >= 9)
			return false;
		value += (text->text[--at] - '0') * scale;
	}
	if (at == text->length || !at || text->text[at - 1] != ':')
		return false;
	*number = value;
	text->length = at - 1;
	return true;
}

static const char *find_last(const struct jit_name *name, char wanted)
{
	return memrchr(name->text, wanted, name->length);
}

static bool python_source(struct jit_name *name, struct jit_name *file)
{
	const char *colon = find_last(name, ':');

	if (name->length < 6 || memcmp(name->text, "py::", 4) != 0 || !colon ||
	    colon < name->text + 5)
		return false;
	*file = (struct jit_name){ .text = colon + 1,
		                   .length = (uint32_t)(name->text + name->length - (colon + 1)) };
	name->text += 4;
	name->length = (uint32_t)(colon - name->text);
	return file->length && file->text[0] != '<';
}

static bool begins_with(const struct jit_name *name, const char *prefix)
{
	size_t length = strlen(prefix);

	return name->length >= length && memcmp(name->text, prefix, length) == 0;
}

static void skip(struct jit_name *name, uint32_t count)
{
	name->text += count;
	name->length -= count;
}

// Takes "JS:*" off NAME: what kind of code V8 calls it, and how that was made: "~" is interpreted,
// "^", "+" and "*" (with "'" where it holds for one context) are its compilers' words. A function
// is compiled again and again, and stays one function. False if NAME is none of V8's functions.
static bool take_tier(struct jit_name *name)
{
	// All but the first up to Node 18, which has several of them for one function.
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Eval:",
		                             "Script:" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint32_t length = (uint32_t)strlen(kinds[i]);
		if (!begins_with(name, kinds[i]) || name->length == length ||
		    !strchr("~^+*", name->text[length]) || !name->text[length])
			continue;
		skip(name, length + 1);
		if (begins_with(name, "'"))
			skip(name, 1);
		return true;
	}
	return false;
}

// Where in TEXT a file's name begins: behind the first blank that a path or an address follows,
// which may hold blanks itself; else behind the last one. NULL if there is none.
static const char *find_file(const struct jit_name *text)
{
	static const char *const starts[] = { "/", "file:", "node:" };

	for (uint32_t i = 0; i < text->length; i++) {
		struct jit_name rest = { text->text + i + 1, text->length - i - 1, false };
		if (text->text[i] != ' ')
			continue;
		for (size_t k = 0; k < sizeof(starts) / sizeof(starts[0]); k++)
			if (begins_with(&rest, starts[k]))
				return rest.text;
	}
	const char *blank = find_last(text, ' ');
	return blank ? blank + 1 : NULL;
}

// "fit /a/b.js:12:3"; of V8 up to Node 18.19, "fit /a/b.js:12".
static bool split_source(struct jit_name *name, bool v8, struct jit_name *file, int *line)
{
	struct jit_name rest = *name;
	int column, row;

	if (!take_number(&rest, &column))
		return false;
	if (!take_number(&rest, &row)) {
		if (!v8)
			return false;
		row = column;
	}
	const char *at = find_file(&rest);
	if (!at || at == rest.text)
		return false;
	*file = (struct jit_name){ .text = at, .length = (uint32_t)(rest.text + rest.length - at) };
	if (begins_with(file, "file://"))
		skip(file, 7);
	name->length = (uint32_t)(at - 1 - name->text);
	*line = file->length ? row : 0;
	return file->length;
}

// OPcache calls functions "JIT$Class::fit", and parts of them "TRACE-7$fit$LINE"; the code outside
// of functions has the file in place of a name. "JIT$$other" is its own.
static bool php_source(struct jit_name *name, struct jit_name *file, int *line)
{
	const char *end = name->text + name->length;
	bool trace = begins_with(name, "TRACE-");
	const char *dollar = memchr(name->text, '$', name->length);

	if (!dollar || dollar + 1 == end || dollar[1] == '$' ||
	    (!trace && (!begins_with(name, "JIT$") || dollar != name->text + 3)))
		return false;
	struct jit_name rest = { dollar + 1, (uint32_t)(end - dollar - 1), name->reused };
	const char *last = trace ? find_last(&rest, '$') : NULL;
	int row = 0;
	if (last) {
		for (const char *at = last + 1; at < end && *at >= '0' && *at <= '9' && row < 1e8;)
			row = row * 10 + *at++ - '0';
		rest.length = (uint32_t)(last - rest.text);
	}
	if (!rest.length)
		return false;
	if (rest.text[0] != '/') {
		*name = rest;
		return false; // the line's file is unknown
	}
	*file = rest;
	*line = row;
	*name = (struct jit_name){ "{main}", strlen("{main}"), name->reused };
	return true;
}

// YJIT's "[JIT] Cart#total", and ZJIT's "total@/srv/cart.rb:31".
static bool ruby_source(struct jit_name *name, struct jit_name *file, int *line)
{
	struct jit_name rest;
	int row;

	if (begins_with(name, "[JIT] "))
		skip(name, 6);
	rest = *name;
	const char *at = memmem(name->text, name->length, "@/", 2);
	if (!at || at == name->text || !take_number(&rest, &row) ||
	    rest.text + rest.length <= at + 2)
		return false;
	*file = (struct jit_name){ .text = at + 1,
		                   .length = (uint32_t)(rest.text + rest.length - (at + 1)) };
	*line = row;
	name->length = (uint32_t)(at - name->text);
	return true;
}

static bool in_type(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (unsigned char)c >= 0x80 || (c && strchr("_$.[]/", c));
}

// HotSpot's "long a.b.C.fit(int)" without its return type: what methods are called by.
static void take_java_type(struct jit_name *name)
{
	uint32_t type = 0, dots = 0, at;

	if (!name->length || name->text[name->length - 1] != ')')
		return;
	while (type < name->length && in_type(name->text[type]))
		type++;
	if (!type || type == name->length || name->text[type] != ' ')
		return;
	for (at = type + 1; at < name->length && name->text[at] != '('; at++) {
		char c = name->text[at];
		if (!in_type(c) && c != '<' && c != '>' && c != '-')
			return;
		dots += c == '.';
	}
	if (dots && at < name->length)
		skip(name, type + 1);
}

bool jit_map_source(struct jit_name *name, struct jit_name *file, int *line)
{
	*line = 0;
	if (python_source(name, file) || php_source(name, file, line) ||
	    ruby_source(name, file, line))
		return true;
	take_java_type(name);
	bool script = take_tier(name);
	bool found = split_source(name, script, file, line);
	// What V8's own profiler calls it.
	if (script && !name->length)
		*name = (struct jit_name){ "(anonymous)", strlen("(anonymous)"), name->reused };
	return found;
}
