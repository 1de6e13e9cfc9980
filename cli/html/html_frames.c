// SPDX-License-Identifier: MIT
#include "cli/html/html_frames.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/strings.h"
#include "cli/json.h"
#include "merge/query/query.h"

#include <string.h>

struct unique {
	uint32_t name, file, module; // texts; 0: none
	uint32_t line;
	char kind;
};

struct html_frames {
	struct strings *texts;
	struct unique *frames;
	uint32_t count;
	size_t capacity;
	struct hash index;
};

struct html_frames *html_frames_new(void)
{
	cleanup(html_frames) struct html_frames *f = calloc(1, sizeof(*f));

	if (!f || !hash_init(&f->index, 1024) || !(f->texts = strings_new()))
		return NULL;
	return steal(f);
}

void html_frames_free(struct html_frames *f)
{
	if (!f)
		return;
	strings_free(f->texts);
	hash_fini(&f->index);
	free(f->frames);
	free(f);
}

static char kind_of(const struct call_node *node)
{
	if (node->op)
		return 'o';
	if (node->gil)
		return 'g';
	if (node->python)
		return 'p';
	if (node->called)
		return 'c';
	if (node->kernel)
		return 'k';
	return !node->module && !node->file ? 'x' : node->inlined ? 'i' : 'n';
}

static uint64_t hash_of(const struct unique *frame)
{
	return hash_pair(
		hash_pair(frame->name, frame->file),
		hash_pair(frame->module, (uint64_t)frame->line << 8 | (unsigned char)frame->kind));
}

static bool is_same(const struct unique *a, const struct unique *b)
{
	return a->name == b->name && a->file == b->file && a->module == b->module &&
	       a->line == b->line && a->kind == b->kind;
}

bool html_frames_add(struct html_frames *f, const struct call_node *node, uint32_t *index)
{
	const struct unique frame = {
		.name = strings_add(f->texts, node->name),
		.file = strings_add(f->texts, node->file),
		.module = strings_add(f->texts, node->module),
		.line = node->line > 0 ? (uint32_t)node->line : 0,
		.kind = kind_of(node),
	};
	uint32_t at = hash_start(&f->index, hash_of(&frame));

	for (; f->index.slots[at]; at = hash_next(&f->index, at)) {
		*index = f->index.slots[at] - 1;
		if (is_same(&f->frames[*index], &frame))
			return true;
	}
	if (!frame.name || !array_reserve(&f->frames, &f->capacity, f->count + 1))
		return false;
	*index = f->count;
	f->frames[f->count++] = frame;
	hash_insert(&f->index, at, hash_of(&frame), f->count);
	return hash_make_room(&f->index);
}

uint32_t html_frames_text(struct html_frames *f, const char *text)
{
	uint32_t id = strings_add(f->texts, text);

	return id ? id - 1 : 0;
}

static void put_text_index(struct json *j, uint32_t id)
{
	if (id)
		json_put_count(j, NULL, id - 1);
	else
		json_put_null(j, NULL);
}

void html_frames_put(const struct html_frames *f, struct json *j)
{
	json_open(j, "texts", '[');
	for (uint32_t id = 1; id <= strings_count(f->texts); id++)
		json_put_text(j, NULL, strings_get(f->texts, id));
	json_close(j);
	json_open(j, "frames", '[');
	for (uint32_t i = 0; i < f->count; i++) {
		const struct unique *frame = &f->frames[i];
		json_open(j, NULL, '[');
		put_text_index(j, frame->name);
		put_text_index(j, frame->file);
		json_put_count(j, NULL, frame->line);
		put_text_index(j, frame->module);
		json_put_text(j, NULL, (const char[]){ frame->kind, '\0' });
		json_close(j);
	}
	json_close(j);
}
