// SPDX-License-Identifier: MIT
#include "base/array.h"
#include "tests/gpu/record_kinds.h"
#include "tests/gpu/saved_buffers.h"

#include <errno.h>
#include <string.h>

struct saved_writer {
	FILE *file;
	// What was told so far: names, and where they lie.
	char *strings;
	size_t string_bytes, string_room, string_written;
	// Of the buffer at hand.
	uint8_t *data;
	size_t data_room;
	uint32_t *names;
	size_t name_count, name_room;
};

struct saved_writer *saved_writer_open(const char *path, uint32_t cuda, struct error *err)
{
	struct saved_header header = { SAVED_MAGIC, 1, cuda };
	struct saved_writer *w = calloc(1, sizeof(*w));

	if (w)
		w->file = fopen(path, "we");
	if (!w || !w->file || fwrite(&header, sizeof(header), 1, w->file) != 1) {
		error_set(err, errno, "could not write \"%s\"", path);
		saved_writer_close(w);
		return NULL;
	}
	return w;
}

void saved_writer_close(struct saved_writer *w)
{
	if (!w)
		return;
	if (w->file)
		fclose(w->file);
	free(w->strings);
	free(w->data);
	free(w->names);
	free(w);
}

// 1 + the name's offset. Few names, so that each is looked for from the start.
static uint64_t intern(struct saved_writer *w, const char *name)
{
	size_t at, bytes = name ? strlen(name) + 1 : 0;

	if (!name)
		return 0;
	for (at = 0; at < w->string_bytes; at += strlen(w->strings + at) + 1)
		if (!strcmp(w->strings + at, name))
			return at + 1;
	if (!array_reserve(&w->strings, &w->string_room, at + bytes))
		return 0;
	memcpy(w->strings + at, name, bytes);
	w->string_bytes += bytes;
	return at + 1;
}

static bool save_name(struct saved_writer *w, size_t at)
{
	const char *name;

	memcpy(&name, w->data + at, sizeof(name));
	uint64_t offset = intern(w, name);
	memcpy(w->data + at, &offset, sizeof(offset));
	if (!array_reserve(&w->names, &w->name_room, w->name_count + 1))
		return false;
	w->names[w->name_count++] = (uint32_t)at;
	return true;
}

static bool write_part(struct saved_writer *w, struct saved_part part, const void *bytes)
{
	static const uint8_t zeros[8];
	size_t size = part.bytes + part.names * sizeof(*w->names);

	return fwrite(&part, sizeof(part), 1, w->file) == 1 &&
	       fwrite(bytes, 1, part.bytes, w->file) == part.bytes &&
	       fwrite(w->names, sizeof(*w->names), part.names, w->file) == part.names &&
	       fwrite(zeros, 1, -size & 7, w->file) == (-size & 7);
}

static bool write_new_strings(struct saved_writer *w)
{
	struct saved_part part = { .type = SAVED_STRINGS,
		                   .bytes = w->string_bytes - w->string_written };
	const char *from = w->strings + w->string_written;

	w->string_written = w->string_bytes;
	return !part.bytes || write_part(w, part, from);
}

bool saved_writer_add(struct saved_writer *w, uint8_t *buffer, size_t valid_bytes, saved_next *next)
{
	struct saved_part part = { .type = SAVED_BUFFER, .bytes = valid_bytes };
	uint32_t *record = NULL;

	if (!valid_bytes || !array_reserve(&w->data, &w->data_room, valid_bytes))
		return false;
	memcpy(w->data, buffer, valid_bytes);
	w->name_count = 0;
	for (; next(buffer, valid_bytes, &record) == 0; part.records++) {
		const struct record_kind *kind = record_kind(*record);
		size_t at = (size_t)((uint8_t *)record - buffer);
		if (kind && kind->name_at && !save_name(w, at + kind->name_at))
			return false;
	}
	part.names = (uint32_t)w->name_count;
	return write_new_strings(w) && write_part(w, part, w->data) && fflush(w->file) == 0;
}
