// SPDX-License-Identifier: MIT
#include "symbolize/jit_map.h"

#include "symbolize/cover.h"

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
	*name = (struct jit_name){ (const char *)c.at, (uint32_t)cursor_left(&c) };
	return true;
}

int jit_map_find(struct bytes map, const uint64_t *addresses, size_t count, struct jit_name *names)
{
	struct cover cover;

	memset(names, 0, count * sizeof(*names));
	if (!cover_init(&cover, addresses, count))
		return -1;
	// From the last line to the first: what was written last is what ran last.
	const uint8_t *end = map.size ? memrchr(map.data, '\n', map.size) : NULL;
	while (end) {
		size_t before = (size_t)(end - map.data);
		const uint8_t *newline = before ? memrchr(map.data, '\n', before) : NULL;
		const uint8_t *text = newline ? newline + 1 : map.data;
		struct bytes line = { text, (size_t)(end - text) };
		struct jit_name name;
		uint64_t start, size;
		size_t at;
		if (line.size && read_line(line, &start, &size, &name))
			while ((at = cover_take(&cover, start, size)) < count)
				names[at] = name;
		end = newline;
	}
	cover_fini(&cover);
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
	*file = (struct jit_name){ colon + 1, (uint32_t)(name->text + name->length - (colon + 1)) };
	name->text += 4;
	name->length = (uint32_t)(colon - name->text);
	return file->length && file->text[0] != '<';
}

bool jit_map_source(struct jit_name *name, struct jit_name *file, int *line)
{
	struct jit_name rest = *name;
	int column;

	*line = 0;
	if (python_source(name, file))
		return true;
	if (!take_number(&rest, &column) || !take_number(&rest, line))
		return false;
	const char *blank = find_last(&rest, ' ');
	if (!blank || blank == rest.text)
		return false;
	*file = (struct jit_name){ blank + 1, (uint32_t)(rest.text + rest.length - (blank + 1)) };
	if (file->length > 7 && memcmp(file->text, "file://", 7) == 0) {
		file->text += 7;
		file->length -= 7;
	}
	if (!file->length)
		return false;
	name->length = (uint32_t)(blank - name->text);
	return true;
}
