/* SPDX-License-Identifier: MIT */
/*
 * The frames of a report's graphs, and other texts of them, each once: graphs hold their numbers.
 *
 * They own copies of all texts. One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct call_node;
struct graph_frames;

enum graph_frame_kind {
	GRAPH_FRAME_NATIVE,
	GRAPH_FRAME_INLINED,
	GRAPH_FRAME_KERNEL,
	GRAPH_FRAME_PYTHON,
	GRAPH_FRAME_CALLED, /* a C function that Python called */
	GRAPH_FRAME_OP,
	GRAPH_FRAME_GIL,
	GRAPH_FRAME_NO_CODE /* a process, what is not known */
};

struct graph_frame {
	uint32_t name, file, module; /* texts, from 1; 0: unknown */
	uint32_t line;               /* 0: unknown */
	enum graph_frame_kind kind;
};

struct graph_frames *graph_frames_new(void); /* NULL if there is no memory */
void graph_frames_free(struct graph_frames *f);

CLEANUP(graph_frames, struct graph_frames *, graph_frames_free)

/* The index of NODE's frame, added if it is new. False if there is no memory. */
bool graph_frames_add(struct graph_frames *f, const struct call_node *node, uint32_t *index);

/* The index, from 0, of TEXT among the texts. 0, which is some other one, if there is no memory. */
uint32_t graph_frames_text(struct graph_frames *f, const char *text);

/* What there is: frames run from 0, texts from 1. */
uint32_t graph_frames_count(const struct graph_frames *f);
const struct graph_frame *graph_frames_get(const struct graph_frames *f, uint32_t index);
uint32_t graph_frames_texts(const struct graph_frames *f);
const char *graph_frames_get_text(const struct graph_frames *f, uint32_t text);
