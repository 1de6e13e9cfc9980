// SPDX-License-Identifier: MIT
#include "tests/gpu/saved_buffers.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

struct saved_buffers {
	uint8_t *file;
	size_t file_bytes;
	char *strings;
	size_t string_bytes, string_room;
	struct saved_buffer *buffers;
	size_t count, room;
	uint32_t cuda;
};

static bool load(struct saved_buffers *s, const char *path, struct error *err)
{
	cleanup_fclose FILE *file = fopen(path, "re");
	size_t room = 0, got;

	if (!file) {
		error_set(err, errno, "could not open \"%s\"", path);
		return false;
	}
	do {
		if (!array_reserve(&s->file, &room, s->file_bytes + (1 << 16))) {
			error_set(err, ENOMEM, "could not read \"%s\"", path);
			return false;
		}
		got = fread(s->file + s->file_bytes, 1, 1 << 16, file);
		s->file_bytes += got;
	} while (got);
	return true;
}

static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

// The bytes of a part behind its header; SIZE_MAX: more than there can be.
static size_t part_bytes(const struct saved_part *part, size_t left)
{
	size_t names = part->names * sizeof(uint32_t);

	if (part->bytes > left || names > left - part->bytes)
		return SIZE_MAX;
	return padded(part->bytes + names);
}

static bool add_strings(struct saved_buffers *s, const uint8_t *from, size_t bytes)
{
	if (!bytes || from[bytes - 1] ||
	    !array_reserve(&s->strings, &s->string_room, s->string_bytes + bytes))
		return false;
	memcpy(s->strings + s->string_bytes, from, bytes);
	s->string_bytes += bytes;
	return true;
}

static bool add_buffer(struct saved_buffers *s, uint8_t *data, const struct saved_part *part)
{
	if (!array_reserve(&s->buffers, &s->room, s->count + 1))
		return false;
	s->buffers[s->count++] = (struct saved_buffer){ data, part->bytes, part->records };
	return true;
}

// WITH: strings have stopped moving, so that pointers can be told.
static bool relocate(const struct saved_buffers *s, uint8_t *data, const struct saved_part *part)
{
	for (uint32_t i = 0; i < part->names; i++) {
		uint32_t at;
		uint64_t offset;
		const char *name = NULL;
		memcpy(&at, data + part->bytes + i * sizeof(at), sizeof(at));
		if (part->bytes < sizeof(offset) || at > part->bytes - sizeof(offset))
			return false;
		memcpy(&offset, data + at, sizeof(offset));
		if (offset > s->string_bytes)
			return false;
		if (offset)
			name = s->strings + offset - 1;
		memcpy(data + at, &name, sizeof(name));
	}
	return true;
}

// Calls for each whole part: the first round finds strings and buffers, the second relocates.
static bool walk(struct saved_buffers *s, bool is_second)
{
	struct saved_part part;
	size_t size;

	for (size_t at = sizeof(struct saved_header); s->file_bytes - at >= sizeof(part);
	     at += sizeof(part) + size) {
		uint8_t *data = s->file + at + sizeof(part);
		bool ok = true;
		memcpy(&part, s->file + at, sizeof(part));
		size_t left = s->file_bytes - at - sizeof(part);
		size = part_bytes(&part, left);
		if (size > left)
			return true; // cut short
		if (part.type == SAVED_BUFFER)
			ok = is_second ? relocate(s, data, &part) : add_buffer(s, data, &part);
		else if (part.type == SAVED_STRINGS && !is_second)
			ok = add_strings(s, data, part.bytes);
		if (!ok)
			return false;
	}
	return true;
}

struct saved_buffers *saved_buffers_read(const char *path, struct error *err)
{
	cleanup_saved_buffers struct saved_buffers *s = calloc(1, sizeof(*s));
	struct saved_header header;

	if (!s) {
		error_set(err, errno, "could not read \"%s\"", path);
		return NULL;
	}
	if (!load(s, path, err))
		return NULL;
	if (s->file_bytes >= sizeof(header))
		memcpy(&header, s->file, sizeof(header));
	if (s->file_bytes < sizeof(header) || memcmp(header.magic, SAVED_MAGIC, 8) ||
	    header.format != 1) {
		error_set(err, 0, "\"%s\" holds no saved buffers", path);
		return NULL;
	}
	s->cuda = header.cuda;
	if (!walk(s, false) || !walk(s, true)) {
		error_set(err, 0, "\"%s\": the saved buffers are damaged", path);
		return NULL;
	}
	return steal(s);
}

void saved_buffers_free(struct saved_buffers *s)
{
	if (!s)
		return;
	free(s->file);
	free(s->strings);
	free(s->buffers);
	free(s);
}

uint32_t saved_buffers_cuda(const struct saved_buffers *s)
{
	return s->cuda;
}

size_t saved_buffers_count(const struct saved_buffers *s)
{
	return s->count;
}

struct saved_buffer saved_buffers_get(const struct saved_buffers *s, size_t index)
{
	return s->buffers[index];
}
