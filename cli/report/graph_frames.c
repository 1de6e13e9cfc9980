// SPDX-License-Identifier: MIT
#include "cli/report/graph_frames.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/strings.h"
#include "merge/query/query.h"

#include <string.h>

struct graph_frames {
	struct strings *texts;
	struct graph_frame *frames;
	uint32_t count;
	size_t capacity;
	struct hash index;
};

struct graph_frames *graph_frames_new(void)
{
	cleanup(graph_frames) struct graph_frames *f = calloc(1, sizeof(*f));

	if (!f || !hash_init(&f->index, 1024) || !(f->texts = strings_new()))
		return NULL;
	return steal(f);
}

void graph_frames_free(struct graph_frames *f)
{
	if (!f)
		return;
	strings_free(f->texts);
	hash_fini(&f->index);
	free(f->frames);
	free(f);
}

static enum graph_frame_kind kind_of(const struct call_node *node)
{
	if (node->op)
		return GRAPH_FRAME_OP;
	if (node->gil)
		return GRAPH_FRAME_GIL;
	if (node->python)
		return GRAPH_FRAME_PYTHON;
	if (node->called)
		return GRAPH_FRAME_CALLED;
	if (node->kernel)
		return GRAPH_FRAME_KERNEL;
	if (!node->module && !node->file)
		return GRAPH_FRAME_NO_CODE;
	return node->inlined ? GRAPH_FRAME_INLINED : GRAPH_FRAME_NATIVE;
}

static uint64_t hash_of(const struct graph_frame *frame)
{
	return hash_pair(
		hash_pair(frame->name, frame->file),
		hash_pair(frame->module, (uint64_t)frame->line << 8 | (uint64_t)frame->kind));
}

static bool is_same(const struct graph_frame *a, const struct graph_frame *b)
{
	return a->name == b->name && a->file == b->file && a->module == b->module &&
	       a->line == b->line && a->kind == b->kind;
}

bool graph_frames_add(struct graph_frames *f, const struct call_node *node, uint32_t *index)
{
	const struct graph_frame frame = {
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

uint32_t graph_frames_text(struct graph_frames *f, const char *text)
{
	uint32_t id = strings_add(f->texts, text);

	return id ? id - 1 : 0;
}

uint32_t graph_frames_count(const struct graph_frames *f)
{
	return f->count;
}

const struct graph_frame *graph_frames_get(const struct graph_frames *f, uint32_t index)
{
	return &f->frames[index];
}

uint32_t graph_frames_texts(const struct graph_frames *f)
{
	return strings_count(f->texts);
}

const char *graph_frames_get_text(const struct graph_frames *f, uint32_t text)
{
	return strings_get(f->texts, text);
}
