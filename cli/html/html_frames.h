/* SPDX-License-Identifier: MIT */
/*
 * The frames of a page's call trees, each once: trees hold their numbers.
 *
 * One thread at a time.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

struct call_node;
struct html_frames;
struct json;

struct html_frames *html_frames_new(void); /* NULL if there is no memory */
void html_frames_free(struct html_frames *f);

CLEANUP(html_frames, struct html_frames *, html_frames_free)

/* The index of NODE's frame, added if it is new. False if there is no memory. */
bool html_frames_add(struct html_frames *f, const struct call_node *node, uint32_t *index);

/* The index of TEXT among the texts. 0, which is some other one, if there is no memory. */
uint32_t html_frames_text(struct html_frames *f, const char *text);

/*
 * Writes two arrays: "texts", and "frames" with [name, file, line, module, kind] each, of which
 * names, files and modules are indices of texts (null: unknown), and the kind is one letter:
 * n(ative), i(nlined), k(ernel), p(ython), c (a C function that Python called), o(p), g(il), x (no
 * code: a process, what is not known).
 */
void html_frames_put(const struct html_frames *f, struct json *j);
